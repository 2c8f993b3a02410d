-- Groups can be exported and imported. The archivist reads everything of a group, and adds what is not there yet.

DO $$
BEGIN
    CREATE ROLE clearwell_archivist NOLOGIN NOINHERIT;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;
GRANT clearwell_archivist TO clearwell_app WITH INHERIT FALSE, SET TRUE;
GRANT USAGE ON SCHEMA public TO clearwell_archivist;

-- How far each import is. next_number is the batch that is expected, after the one that has this root.
CREATE TABLE imports (
    group_id text NOT NULL CHECK (group_id <> '' AND group_id <> 'unassigned'),
    id uuid NOT NULL,
    next_number integer NOT NULL DEFAULT 0,
    root text NOT NULL DEFAULT '',
    public_key text NOT NULL,
    started_by text NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (group_id, id)
);
CALL clearwell_guard('imports');
GRANT SELECT, INSERT ON imports TO clearwell_archivist;
GRANT UPDATE (next_number, root, finished_at) ON imports TO clearwell_archivist;
GRANT SELECT ON imports TO clearwell_reviewer;

-- The import that a row came with.
ALTER TABLE promotions ADD COLUMN import_id uuid;
ALTER TABLE quarantine_logs ADD COLUMN import_id uuid;

GRANT SELECT, INSERT ON groups, group_secrets, agents, tombstones, quarantine_logs, admissions, ingress_verdicts,
    sightings, digest_marks, digests, insights, insight_sources, promotions, promotion_work, memories, decisions,
    memory_gaps, memory_conflicts, group_terms, group_authors, indexed_groups, embedding_models TO clearwell_archivist;
GRANT UPDATE (chunks), DELETE ON group_terms, group_authors TO clearwell_archivist;
GRANT UPDATE (position, lexemes, tokenizer_version, disputed) ON memories TO clearwell_archivist;
GRANT UPDATE (tokenizer_version) ON indexed_groups TO clearwell_archivist;
GRANT SELECT ON reembeddings TO clearwell_archivist;
GRANT INSERT ON audit_events, audit_pending TO clearwell_archivist;
