-- Proof that the audit trail is whole: each event is signed by the program, and seals chain them by group.

ALTER TABLE audit_events ADD COLUMN signature bytea;

-- The events that no seal covers yet. Ids only.
CREATE TABLE audit_pending (
    group_id text NOT NULL,
    event_id uuid NOT NULL,
    PRIMARY KEY (group_id, event_id)
);

-- A seal covers the events it names, and by its root all seals before it. It is signed with a key that is not here.
CREATE TABLE audit_seals (
    group_id text NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    sealed_at timestamptz NOT NULL,
    event_ids uuid[] NOT NULL CHECK (event_ids <> '{}'),
    event_hashes bytea NOT NULL,
    root bytea NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (group_id, number)
);

-- What was recorded before there were seals is covered by the first one.
ALTER TABLE audit_events NO FORCE ROW LEVEL SECURITY;
INSERT INTO audit_pending (group_id, event_id) SELECT group_id, id FROM audit_events;
ALTER TABLE audit_events FORCE ROW LEVEL SECURITY;

CALL clearwell_guard('audit_pending');
CALL clearwell_guard('audit_seals');

-- The worker finds what to seal here, where there are only ids, then enters the group.
CREATE POLICY worker_finds_events ON audit_pending TO clearwell_worker USING (true) WITH CHECK (true);
-- Events of the whole installation have no group.
CREATE POLICY operator_waits ON audit_pending FOR INSERT TO clearwell_operator WITH CHECK (group_id = '');
CREATE POLICY operator_reads ON audit_events FOR SELECT TO clearwell_operator USING (group_id = '');
CREATE POLICY operator_reads ON audit_seals FOR SELECT TO clearwell_operator USING (group_id = '');
CREATE POLICY worker_reads ON audit_events FOR SELECT TO clearwell_worker USING (group_id = '');
CREATE POLICY worker_seals ON audit_seals TO clearwell_worker USING (group_id = '') WITH CHECK (group_id = '');

GRANT INSERT ON audit_pending TO clearwell_reviewer, clearwell_worker, clearwell_operator;
GRANT SELECT, DELETE ON audit_pending TO clearwell_worker;
GRANT SELECT ON audit_events TO clearwell_worker, clearwell_operator;
GRANT SELECT ON audit_seals TO clearwell_reviewer, clearwell_operator, clearwell_worker;
GRANT INSERT ON audit_seals TO clearwell_worker;
