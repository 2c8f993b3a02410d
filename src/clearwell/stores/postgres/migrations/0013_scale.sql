-- Large groups get indexes of their own, and a database can move to another embedding model.

-- Which group has indexes, and for which model. Search reads this now and then, and never the catalog.
CREATE TABLE group_indexes (
    group_id text NOT NULL,
    model text NOT NULL,
    dimensions integer NOT NULL,
    state text NOT NULL CHECK (state IN ('building', 'ready', 'failed')),
    chunks integer NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, model)
);
CALL clearwell_guard('group_indexes');
GRANT SELECT, INSERT, UPDATE, DELETE ON group_indexes TO clearwell_worker;

-- The worker looks for large groups here, where there are only sizes, then builds.
CREATE POLICY worker_keeps_indexes ON group_indexes TO clearwell_worker USING (true) WITH CHECK (true);
CREATE POLICY worker_finds_groups ON group_terms FOR SELECT TO clearwell_worker USING (dimension = 0);
CREATE INDEX group_sizes ON group_terms (group_id, chunks) WHERE dimension = 0;

-- A group's id may be longer than the name of an index, and may hold anything.
CREATE FUNCTION clearwell_index_name(kind text, group_id text, model text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'memories_' || kind || '_' || left(encode(sha256(convert_to(
        length(group_id) || ':' || group_id || model, 'UTF8')), 'hex'), 32);

-- The terms of a memory without their weights: what an inverted index holds.
CREATE FUNCTION clearwell_dimensions(lexemes sparsevec) RETURNS integer[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000
    RETURN split_part(regexp_replace(lexemes::text, ':[^,}]+', '', 'g'), '/', 1)::integer[];

-- Row-level security keeps a condition from an index unless its operator is known to leak nothing, and that of arrays
-- is not. So one function looks into the inverted index, by a role that can do nothing else, and tells the places of
-- rows of the group that the transaction has entered. What they hold is read by the caller, with the caller's rights.
DO $$
BEGIN
    CREATE ROLE clearwell_finder NOLOGIN NOINHERIT;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;
GRANT USAGE ON SCHEMA public TO clearwell_finder;
GRANT SELECT (ctid, group_id, lexemes) ON memories TO clearwell_finder;
CREATE POLICY finder_finds_places ON memories FOR SELECT TO clearwell_finder USING (true);

-- The group is a constant of the statement inside, as the predicate of a partial index needs it.
CREATE FUNCTION clearwell_worded(terms integer[]) RETURNS SETOF tid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 2000
    SET search_path = pg_catalog SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY EXECUTE
        'SELECT ctid FROM public.memories WHERE group_id = $1 AND public.clearwell_dimensions(lexemes) && $2'
        USING nullif(current_setting('clearwell.group', true), ''), terms;
END
$$;
REVOKE EXECUTE ON FUNCTION clearwell_worded(integer[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_worded(integer[]) TO clearwell_agent, clearwell_reviewer, clearwell_worker;
GRANT CREATE ON SCHEMA public TO clearwell_finder;
GRANT clearwell_finder TO CURRENT_USER WITH INHERIT FALSE, SET TRUE;
ALTER FUNCTION clearwell_worded(integer[]) OWNER TO clearwell_finder;
REVOKE CREATE ON SCHEMA public FROM clearwell_finder;

-- Moves of the whole database from one embedding model to another: one at a time, the last one counts. A move is
-- announced first, so that programs can load the other model; from moving_at on there may be vectors of both.
CREATE TABLE reembeddings (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    from_model text NOT NULL,
    from_choice jsonb NOT NULL,
    to_model text NOT NULL,
    to_choice jsonb NOT NULL,
    started_by text NOT NULL,
    started_at timestamptz NOT NULL,
    moving_at timestamptz,
    finished_at timestamptz,
    CHECK (from_model <> to_model)
);
CREATE UNIQUE INDEX reembeddings_open ON reembeddings ((true)) WHERE finished_at IS NULL;
GRANT SELECT ON reembeddings TO clearwell_agent, clearwell_reviewer, clearwell_worker, clearwell_operator;
GRANT INSERT, UPDATE (moving_at, finished_at) ON reembeddings TO clearwell_worker;
-- The worker gives a memory another vector. What the memory says it cannot change.
GRANT UPDATE (embedding, embedding_model) ON memories TO clearwell_worker;
