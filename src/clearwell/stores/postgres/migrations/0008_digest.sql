-- The digest: candidates for a reviewer, made of quarantine. What a person decides on them is another matter.

-- Row-level security for a table of the path, as 0005 does it.
CREATE PROCEDURE clearwell_guard(path_table regclass) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', path_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', path_table);
    EXECUTE format(
        'CREATE POLICY own_group ON %s
            USING (group_id = nullif(current_setting(''clearwell.group'', true), ''''))
            WITH CHECK (group_id = nullif(current_setting(''clearwell.group'', true), ''''))', path_table);
END
$$;
REVOKE EXECUTE ON PROCEDURE clearwell_guard(regclass) FROM PUBLIC;

-- One run. due_at is the tick of the schedule that asked for it; a person's request has none.
CREATE TABLE digests (
    group_id text NOT NULL CHECK (group_id <> '' AND group_id <> 'unassigned'),
    id uuid NOT NULL,
    status text NOT NULL CHECK (status IN ('queued', 'running', 'done', 'failed')),
    due_at timestamptz,
    requested_by text NOT NULL,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    progress real NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
    note text,
    note_params jsonb NOT NULL DEFAULT '{}',
    report jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (group_id, id)
);
-- Two workers never make two digests of one tick, and a group has one digest at a time.
CREATE UNIQUE INDEX digests_tick ON digests (group_id, due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX digests_open ON digests (group_id) WHERE status IN ('queued', 'running');

CREATE TABLE insights (
    group_id text NOT NULL,
    id uuid NOT NULL,
    digest_id uuid NOT NULL,
    position smallint NOT NULL,
    version integer NOT NULL DEFAULT 1,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'promoted', 'rejected', 'snoozed', 'merged')),
    summary text NOT NULL,
    written_by text NOT NULL CHECK (written_by IN ('extractive', 'model', 'person')),
    flags text[] NOT NULL DEFAULT '{}',
    contradictions jsonb NOT NULL DEFAULT '[]',
    support jsonb NOT NULL DEFAULT '{}',
    score double precision NOT NULL DEFAULT 0,
    model text,
    embedding halfvec,
    snoozed_until timestamptz,
    merged_into uuid,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, id),
    FOREIGN KEY (group_id, digest_id) REFERENCES digests (group_id, id),
    CHECK ((state = 'merged') = (merged_into IS NOT NULL)),
    CHECK ((state = 'snoozed') = (snoozed_until IS NOT NULL))
);
CREATE INDEX insights_digest ON insights (group_id, digest_id, position);
CREATE INDEX insights_open ON insights (group_id, id) WHERE state IN ('pending', 'snoozed');

CREATE TABLE insight_sources (
    group_id text NOT NULL,
    insight_id uuid NOT NULL,
    log_id uuid NOT NULL,
    position integer NOT NULL,
    statement text,
    PRIMARY KEY (group_id, insight_id, log_id),
    FOREIGN KEY (group_id, insight_id) REFERENCES insights (group_id, id),
    FOREIGN KEY (group_id, log_id) REFERENCES quarantine_logs (group_id, id)
);
CREATE INDEX insight_sources_log ON insight_sources (group_id, log_id);

-- What became of a row of quarantine in digests. No row here: nobody has looked at it yet.
CREATE TABLE digest_marks (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    considered smallint NOT NULL DEFAULT 0,
    shown_in uuid,
    judged_by uuid,
    PRIMARY KEY (group_id, log_id),
    FOREIGN KEY (group_id, log_id) REFERENCES quarantine_logs (group_id, id)
);

-- The worker digests and decides nothing: it cannot change an insight.
GRANT SELECT, INSERT ON digests TO clearwell_worker, clearwell_reviewer;
GRANT UPDATE (status, started_at, finished_at, attempts, progress, note, note_params, report) ON digests
    TO clearwell_worker;
GRANT SELECT, INSERT ON insights, insight_sources TO clearwell_worker, clearwell_reviewer;
GRANT UPDATE (version, state, summary, written_by, flags, contradictions, snoozed_until, merged_into, changed_at)
    ON insights TO clearwell_reviewer;
GRANT SELECT, INSERT ON digest_marks TO clearwell_worker, clearwell_reviewer;
GRANT UPDATE (considered, shown_in) ON digest_marks TO clearwell_worker;
GRANT UPDATE (judged_by) ON digest_marks TO clearwell_reviewer;

CALL clearwell_guard('digests');
CALL clearwell_guard('insights');
CALL clearwell_guard('insight_sources');
CALL clearwell_guard('digest_marks');

-- What the worker makes is undecided.
CREATE POLICY worker_decides_nothing ON insights AS RESTRICTIVE FOR INSERT TO clearwell_worker
    WITH CHECK (state = 'pending');
CREATE POLICY worker_finds_digests ON digests FOR SELECT TO clearwell_worker USING (status IN ('queued', 'running'));
