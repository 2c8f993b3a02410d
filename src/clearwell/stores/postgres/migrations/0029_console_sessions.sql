-- Who is signed in to the console: the hash of the token in the cookie, and the key that was used to sign in.
-- A session ends with its key: the look-up finds it only while the key is valid.
CREATE TABLE console_sessions (
    token_hash bytea PRIMARY KEY,
    key_id uuid NOT NULL REFERENCES api_keys (id),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX console_sessions_expiry ON console_sessions (expires_at);
GRANT SELECT, INSERT, DELETE ON console_sessions TO clearwell_operator;

-- The other thing that clearwell_app may do: find out who is signed in.
CREATE FUNCTION clearwell_find_session(hash bytea, at timestamptz)
RETURNS TABLE (
    any_key_ever boolean, id uuid, name text, rights text[], groups text[], agent_id text, created_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM api_keys), k.id, k.name, k.rights, k.groups, k.agent_id, k.created_at
    FROM (SELECT) AS one
    LEFT JOIN console_sessions AS s ON s.token_hash = hash AND s.expires_at > at
    LEFT JOIN api_keys AS k ON k.id = s.key_id AND k.revoked_at IS NULL;
END;
REVOKE EXECUTE ON FUNCTION clearwell_find_session(bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_find_session(bytea, timestamptz) TO clearwell_app;
