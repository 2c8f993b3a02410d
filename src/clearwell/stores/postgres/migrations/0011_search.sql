-- Search by conditions, counts that tell nobody of what only another may read, and words made anew in the background.

-- One condition on metadata. Values are compared by their JSON type, text by code points whatever the collation.
-- Not in SQL: that would be made part of each search, and cost those without conditions too.
CREATE FUNCTION clearwell_meets(stored jsonb, operator text, wanted jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN CASE operator
        WHEN 'exists' THEN (stored IS NOT NULL) = (wanted = 'true'::jsonb)
        WHEN 'eq' THEN coalesce(stored = wanted, false)
        WHEN 'ne' THEN stored IS DISTINCT FROM wanted
        WHEN 'in' THEN coalesce(EXISTS (SELECT FROM jsonb_array_elements(wanted) AS one WHERE one = stored), false)
        WHEN 'nin' THEN NOT EXISTS (SELECT FROM jsonb_array_elements(wanted) AS one WHERE one = stored)
        WHEN 'contains' THEN CASE jsonb_typeof(stored)
            WHEN 'string' THEN jsonb_typeof(wanted) = 'string' AND strpos(stored #>> '{}', wanted #>> '{}') > 0
            WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(stored) AS one WHERE one = wanted)
            ELSE false END
        ELSE CASE
            WHEN jsonb_typeof(stored) IS DISTINCT FROM jsonb_typeof(wanted) THEN false
            WHEN jsonb_typeof(wanted) = 'number' THEN CASE operator
                WHEN 'gt' THEN stored > wanted WHEN 'gte' THEN stored >= wanted
                WHEN 'lt' THEN stored < wanted WHEN 'lte' THEN stored <= wanted ELSE false END
            WHEN jsonb_typeof(wanted) = 'string' THEN CASE operator
                WHEN 'gt' THEN (stored #>> '{}') COLLATE "C" > (wanted #>> '{}') COLLATE "C"
                WHEN 'gte' THEN (stored #>> '{}') COLLATE "C" >= (wanted #>> '{}') COLLATE "C"
                WHEN 'lt' THEN (stored #>> '{}') COLLATE "C" < (wanted #>> '{}') COLLATE "C"
                WHEN 'lte' THEN (stored #>> '{}') COLLATE "C" <= (wanted #>> '{}') COLLATE "C" ELSE false END
            ELSE false END
    END;
END
$$;

-- reader: '' for the group's memories, an agent for its own. Until a group's words are made anew its own are
-- counted as the group's.
ALTER TABLE group_terms ADD COLUMN reader text NOT NULL DEFAULT '';
ALTER TABLE group_terms DROP CONSTRAINT group_terms_pkey, ADD PRIMARY KEY (group_id, dimension, reader);
ALTER TABLE group_authors ADD COLUMN reader text NOT NULL DEFAULT '';
ALTER TABLE group_authors DROP CONSTRAINT group_authors_pkey, ADD PRIMARY KEY (group_id, author, reader);

-- Whether a memory ends as a question: what follows it in its session may be the answer.
ALTER TABLE memories ADD COLUMN asks boolean NOT NULL
    GENERATED ALWAYS AS (right(rtrim(content, E' \t\r\n"'')]*_”’」』）'), 1) IN ('?', '？')) STORED;

-- By which tokenizer each group's words were made: where the worker finds groups to index anew. Ids only.
CREATE TABLE indexed_groups (
    group_id text PRIMARY KEY,
    tokenizer_version smallint NOT NULL
);
CREATE INDEX indexed_groups_version ON indexed_groups (tokenizer_version, group_id);
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
INSERT INTO indexed_groups SELECT group_id, 0 FROM memories GROUP BY group_id;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
CALL clearwell_guard('indexed_groups');
CREATE POLICY worker_finds_groups ON indexed_groups FOR SELECT TO clearwell_worker USING (true);
GRANT SELECT, INSERT ON indexed_groups TO clearwell_reviewer, clearwell_worker, clearwell_eraser;
GRANT UPDATE (tokenizer_version) ON indexed_groups TO clearwell_worker, clearwell_eraser;

-- What a memory was promoted from tells that an unverified entry is the same thing.
GRANT SELECT (group_id, id, origin_id) ON promotions TO clearwell_agent;
