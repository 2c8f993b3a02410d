-- Review: what people decide, what follows from it, and what it rests on.

-- Every decision, for ever. An undo is a decision too. The texts are kept where a person wrote another one.
CREATE TABLE decisions (
    group_id text NOT NULL CHECK (group_id <> '' AND group_id <> 'unassigned'),
    id uuid NOT NULL,
    action text NOT NULL CHECK (action IN ('promote', 'reject', 'merge', 'snooze', 'retract', 'undo')),
    insight_id uuid,
    promotion_id uuid,
    memory_id uuid,
    tombstone_id uuid,
    supersedes uuid,
    others uuid[] NOT NULL DEFAULT '{}',
    undoes uuid,
    already boolean NOT NULL DEFAULT false,
    until timestamptz,
    reason text,
    text_before text,
    text_after text,
    writer_before text,
    decided_by text NOT NULL,
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, id),
    FOREIGN KEY (group_id, insight_id) REFERENCES insights (group_id, id),
    FOREIGN KEY (group_id, promotion_id) REFERENCES promotions (group_id, id),
    FOREIGN KEY (group_id, undoes) REFERENCES decisions (group_id, id),
    CHECK ((action = 'undo') = (undoes IS NOT NULL))
);
-- A decision is undone once.
CREATE UNIQUE INDEX decisions_undone ON decisions (group_id, undoes) WHERE undoes IS NOT NULL;
CREATE INDEX decisions_insight ON decisions (group_id, insight_id) WHERE insight_id IS NOT NULL;
CREATE INDEX decisions_memory ON decisions (group_id, memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX decisions_others ON decisions USING gin (others);

-- What makes two promotions the same thing: an HMAC with the group's secret, of the normalised text and its place.
ALTER TABLE promotions ADD COLUMN fingerprint bytea;
CREATE INDEX promotions_fingerprint ON promotions (group_id, fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX promotions_origin ON promotions (group_id, origin_id) WHERE origin_id IS NOT NULL;
CREATE INDEX promotions_memory ON promotions (memory_id);

-- Promotions whose chunks are still to be made: the model was down when the person decided. Ids only.
CREATE TABLE promotion_work (
    group_id text NOT NULL,
    promotion_id uuid NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_try_at timestamptz NOT NULL,
    problem text,
    PRIMARY KEY (group_id, promotion_id),
    FOREIGN KEY (group_id, promotion_id) REFERENCES promotions (group_id, id)
);
CREATE INDEX promotion_work_due ON promotion_work (next_try_at);

-- When retrieval first and last returned a memory.
CREATE TABLE memory_uses (
    group_id text NOT NULL,
    memory_id uuid NOT NULL,
    first_used_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, memory_id)
);

-- A source that came by merging, and from which insight: undoing the merge takes it away again.
ALTER TABLE insight_sources ADD COLUMN merged_from uuid;

GRANT SELECT, INSERT ON decisions TO clearwell_reviewer;
GRANT SELECT ON decisions TO clearwell_worker;
GRANT SELECT, INSERT, DELETE ON promotion_work TO clearwell_reviewer;
GRANT SELECT, DELETE, UPDATE (attempts, next_try_at, problem) ON promotion_work TO clearwell_worker;
GRANT SELECT ON memory_uses TO clearwell_reviewer;
GRANT SELECT, INSERT, UPDATE (last_used_at) ON memory_uses TO clearwell_worker;
GRANT UPDATE (support, model, embedding) ON insights TO clearwell_reviewer;
GRANT DELETE ON insight_sources TO clearwell_reviewer;

CALL clearwell_guard('decisions');
CALL clearwell_guard('promotion_work');
CALL clearwell_guard('memory_uses');

CREATE POLICY worker_finds_promotions ON promotion_work FOR SELECT TO clearwell_worker USING (true);
CREATE POLICY sources_of_a_digest_stay ON insight_sources AS RESTRICTIVE FOR DELETE TO clearwell_reviewer
    USING (merged_from IS NOT NULL);
-- The worker writes the chunks of promotions that a reviewer left to it, and no others.
CREATE POLICY worker_writes_what_waits ON memories AS RESTRICTIVE FOR INSERT TO clearwell_worker
    WITH CHECK (EXISTS (SELECT FROM promotion_work w
        WHERE w.group_id = memories.group_id AND w.promotion_id = memories.promotion_id));

-- The group of something that is named by its id alone. Ids only; whether the caller covers the group is asked next.
CREATE INDEX insights_id ON insights (id);
CREATE INDEX decisions_id ON decisions (id);
GRANT SELECT (id, group_id) ON insights, decisions TO clearwell_operator;
GRANT SELECT (memory_id, group_id) ON promotions TO clearwell_operator;
CREATE POLICY operator_finds_group ON insights FOR SELECT TO clearwell_operator USING (true);
CREATE POLICY operator_finds_group ON decisions FOR SELECT TO clearwell_operator USING (true);
CREATE POLICY operator_finds_group ON promotions FOR SELECT TO clearwell_operator USING (true);
