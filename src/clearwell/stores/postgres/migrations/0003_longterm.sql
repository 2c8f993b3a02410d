-- Tier 3: what people decided is knowledge.
CREATE TABLE promotions (
    group_id text NOT NULL CHECK (group_id <> '' AND group_id <> 'unassigned'),
    id uuid NOT NULL,
    memory_id uuid NOT NULL,
    scope text NOT NULL CHECK (scope IN ('group', 'agent')),
    agent_id text,
    origin text NOT NULL CHECK (origin IN ('typed', 'working', 'quarantine', 'insight')),
    origin_id uuid,
    content text NOT NULL,
    session_id text,
    author text,
    occurred_at timestamptz,
    metadata jsonb NOT NULL,
    supersedes uuid,
    decided_by text NOT NULL,
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, id),
    CHECK ((scope = 'agent') = (agent_id IS NOT NULL)),
    CHECK ((origin = 'typed') = (origin_id IS NULL))
);

-- One row a chunk; the chunks of one memory share its id.
CREATE TABLE memories (
    group_id text NOT NULL,
    id uuid NOT NULL,
    chunk_no integer NOT NULL,
    promotion_id uuid NOT NULL,
    scope text NOT NULL CHECK (scope IN ('group', 'agent')),
    agent_id text,
    content text NOT NULL,
    embedding halfvec NOT NULL,
    embedding_model text NOT NULL,
    session_id text,
    author text,
    occurred_at timestamptz,
    metadata jsonb NOT NULL,
    promoted_at timestamptz NOT NULL,
    valid_to timestamptz,
    PRIMARY KEY (group_id, id, chunk_no),
    FOREIGN KEY (group_id, promotion_id) REFERENCES promotions (group_id, id),
    CHECK ((scope = 'agent') = (agent_id IS NOT NULL))
);
-- The vector stays in the row, so that a scan never leaves the page; long text moves out instead.
ALTER TABLE memories ALTER COLUMN embedding SET STORAGE MAIN;
CREATE INDEX memories_promotion ON memories (group_id, promotion_id);

-- Which models the stored vectors were made with: what another model makes cannot be compared with them.
CREATE TABLE embedding_models (
    model text PRIMARY KEY,
    dimensions integer NOT NULL,
    first_used_at timestamptz NOT NULL
);
