-- Who may come in, what they did, and what they were answered.
CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    secret_hash bytea NOT NULL UNIQUE,
    rights text[] NOT NULL CHECK (rights <@ ARRAY['capture', 'read', 'review', 'admin'] AND rights <> '{}'),
    groups text[],
    agent_id text,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);

CREATE TABLE groups (
    group_id text PRIMARY KEY CHECK (group_id <> '' AND group_id <> 'unassigned'),
    system_prompt text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL
);

CREATE TABLE agents (
    group_id text NOT NULL,
    agent_id text NOT NULL,
    persona text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, agent_id)
);

-- group_id is empty for what concerns the whole installation, such as keys.
CREATE TABLE audit_events (
    id uuid PRIMARY KEY,
    group_id text NOT NULL,
    at timestamptz NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_events_group ON audit_events (group_id, id);

-- A stored answer holds ids, never content.
CREATE TABLE idempotency (
    principal text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    token uuid NOT NULL,
    status text NOT NULL CHECK (status IN ('running', 'done')),
    answer jsonb,
    lease_until timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (principal, route, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- The one thing that clearwell_app may do: find out who is asking.
CREATE FUNCTION clearwell_find_key(hash bytea)
RETURNS TABLE (
    any_key_ever boolean, id uuid, name text, rights text[], groups text[], agent_id text, created_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM api_keys), k.id, k.name, k.rights, k.groups, k.agent_id, k.created_at
    FROM (SELECT) AS one LEFT JOIN api_keys AS k ON k.secret_hash = hash AND k.revoked_at IS NULL;
END;
REVOKE EXECUTE ON FUNCTION clearwell_find_key(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_find_key(bytea) TO clearwell_app;
