-- What the ingress filter needs to know of a group beyond its entries.

-- The key of a group's tombstones: without it a digest tells nothing about the value it stands for.
CREATE TABLE group_secrets (
    group_id text PRIMARY KEY,
    secret bytea NOT NULL
);

-- A value that a person rejected or forgot. Of a forgotten one nothing but the digest is kept.
CREATE TABLE tombstones (
    group_id text NOT NULL,
    id uuid NOT NULL,
    digest bytea NOT NULL,
    kind text NOT NULL CHECK (kind IN ('rejected', 'forgotten')),
    reason text NOT NULL,
    model text,
    embedding halfvec,
    made_by text NOT NULL,
    made_at timestamptz NOT NULL,
    lifted_by text,
    lifted_at timestamptz,
    PRIMARY KEY (group_id, id),
    CHECK (kind = 'rejected' OR (embedding IS NULL AND lifted_at IS NULL)),
    CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);
CREATE UNIQUE INDEX tombstones_standing ON tombstones (group_id, digest) WHERE lifted_at IS NULL;

-- A person may take an entry out of working memory; a rebuild must not bring it back.
ALTER TABLE admissions ADD COLUMN removed_at timestamptz, ADD COLUMN removed_by text;

-- How often the judge was asked about a row in vain.
ALTER TABLE admissions ADD COLUMN judge_tries integer NOT NULL DEFAULT 0;

-- Which groups have entries in working memory, so that it can be rebuilt after a loss. Ids only.
CREATE TABLE working_groups (
    group_id text PRIMARY KEY,
    last_admitted_at timestamptz NOT NULL
);

-- How often each check ended how, by agent.
CREATE TABLE ingress_counts (
    group_id text NOT NULL,
    agent_id text NOT NULL,
    "check" text NOT NULL,
    outcome text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (group_id, agent_id, "check", outcome)
);

-- From a repeated output to what it repeats.
CREATE INDEX sightings_log ON sightings (group_id, log_id);

GRANT SELECT, INSERT ON group_secrets TO clearwell_worker, clearwell_reviewer;
GRANT SELECT ON tombstones TO clearwell_worker, clearwell_reviewer;
GRANT INSERT, UPDATE (lifted_by, lifted_at) ON tombstones TO clearwell_reviewer;
GRANT UPDATE (removed_at, removed_by) ON admissions TO clearwell_reviewer;
GRANT UPDATE (judge_tries) ON admissions TO clearwell_worker;
GRANT SELECT, INSERT, UPDATE ON working_groups, ingress_counts TO clearwell_worker;
GRANT SELECT ON ingress_counts TO clearwell_reviewer;

DO $$
DECLARE
    path_table text;
BEGIN
    FOREACH path_table IN ARRAY ARRAY['group_secrets', 'tombstones', 'working_groups', 'ingress_counts'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', path_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', path_table);
        EXECUTE format(
            'CREATE POLICY own_group ON %I
                USING (group_id = nullif(current_setting(''clearwell.group'', true), ''''))
                WITH CHECK (group_id = nullif(current_setting(''clearwell.group'', true), ''''))', path_table);
    END LOOP;
END
$$;

-- The worker looks for the groups to rebuild here, where there are only ids, then enters the group.
CREATE POLICY worker_finds_groups ON working_groups FOR SELECT TO clearwell_worker USING (true);
