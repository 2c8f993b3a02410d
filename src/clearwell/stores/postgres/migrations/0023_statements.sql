-- The segments of an output: what the agent claims and decides, and everything else, each with its place in the output.
-- Claims and decisions have vectors.
CREATE TABLE statements (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    number integer NOT NULL CHECK (number >= 0),
    span_start integer NOT NULL CHECK (span_start >= 0),
    span_end integer NOT NULL CHECK (span_end > span_start),
    kind text NOT NULL,
    headings text[] NOT NULL DEFAULT '{}',
    lead_in text NOT NULL DEFAULT '',
    model text,
    embedding halfvec,
    PRIMARY KEY (group_id, log_id, number),
    FOREIGN KEY (group_id, log_id) REFERENCES quarantine_logs (group_id, id),
    CHECK ((model IS NULL) = (embedding IS NULL))
);
ALTER TABLE statements ALTER COLUMN embedding SET STORAGE MAIN;

-- By which version of the segmenter an output was segmented, and for which model its statements have vectors. A settled
-- output has a row here. Version 0: it was not segmented yet. The worker finds everything but the current version and
-- model by the index. Ids only.
CREATE TABLE segmentations (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    version smallint NOT NULL DEFAULT 0,
    model text NOT NULL DEFAULT '',
    PRIMARY KEY (group_id, log_id),
    FOREIGN KEY (group_id, log_id) REFERENCES quarantine_logs (group_id, id)
);
CREATE INDEX segmentations_made ON segmentations (version, model);

-- Outputs that were settled before are segmented by the worker. The owner is bound by row-level security too.
ALTER TABLE admissions NO FORCE ROW LEVEL SECURITY;
INSERT INTO segmentations (group_id, log_id)
SELECT group_id, log_id FROM admissions WHERE state <> 'pending' AND group_id <> 'unassigned';
ALTER TABLE admissions FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, DELETE ON statements TO clearwell_worker;
GRANT SELECT, INSERT, UPDATE (version, model) ON segmentations TO clearwell_worker;
GRANT SELECT ON statements, segmentations TO clearwell_reviewer;
CALL clearwell_guard('statements');
CALL clearwell_guard('segmentations');
CREATE POLICY worker_finds_segmentations ON segmentations FOR SELECT TO clearwell_worker USING (true);

-- A source of an insight is one statement of an output; an insight on which the sources disagree has sides.
ALTER TABLE insight_sources ADD COLUMN number integer, ADD COLUMN span_start integer, ADD COLUMN span_end integer,
    ADD COLUMN side smallint;
ALTER TABLE insights ADD COLUMN sides jsonb NOT NULL DEFAULT '[]';
GRANT UPDATE (sides) ON insights TO clearwell_reviewer;
