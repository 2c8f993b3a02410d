-- The lexical side of retrieval: a memory's words beside its vector, and how rare each word is in its group.

-- lexemes: BM25's saturated weights of the memory's own terms, plus those of the memory together with its neighbours.
-- position: the memory's place among those of its session that the same readers see. Without a session it has none.
ALTER TABLE memories
    ADD COLUMN position integer,
    ADD COLUMN lexemes sparsevec(1048576) NOT NULL DEFAULT '{}/1048576',
    ADD COLUMN tokenizer_version smallint NOT NULL DEFAULT 0;
ALTER TABLE memories ALTER COLUMN lexemes SET STORAGE MAIN;
-- Vector and words stay in the row: out of line or compressed, each query would have to fetch or unpack every one.
ALTER TABLE memories SET (toast_tuple_target = 8160);
CREATE INDEX memories_session ON memories (group_id, session_id, position) WHERE session_id IS NOT NULL;

-- In how many living chunks of the group a term stands; dimension 0 counts the chunks themselves.
CREATE TABLE group_terms (
    group_id text NOT NULL,
    dimension integer NOT NULL,
    chunks integer NOT NULL,
    PRIMARY KEY (group_id, dimension)
);

-- Who speaks in the group, each name as it is looked for in a query.
CREATE TABLE group_authors (
    group_id text NOT NULL,
    author text NOT NULL,
    spoken text NOT NULL CHECK (spoken <> ''),
    chunks integer NOT NULL,
    PRIMARY KEY (group_id, author)
);

GRANT SELECT ON group_terms, group_authors TO clearwell_agent, clearwell_reviewer, clearwell_worker, clearwell_eraser;
GRANT INSERT, UPDATE (chunks), DELETE ON group_terms, group_authors
    TO clearwell_reviewer, clearwell_worker, clearwell_eraser;
GRANT UPDATE (position, lexemes, tokenizer_version) ON memories TO clearwell_reviewer, clearwell_worker, clearwell_eraser;

DO $$
DECLARE
    path_table text;
BEGIN
    FOREACH path_table IN ARRAY ARRAY['group_terms', 'group_authors'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', path_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', path_table);
        EXECUTE format(
            'CREATE POLICY own_group ON %I
                USING (group_id = nullif(current_setting(''clearwell.group'', true), ''''))
                WITH CHECK (group_id = nullif(current_setting(''clearwell.group'', true), ''''))', path_table);
    END LOOP;
END
$$;
