-- A decision is stored only while the key of the person who makes it is in force: the transaction looks, and holds the
-- key, so that a revocation comes either before it or after it.

CREATE FUNCTION clearwell_has_revoked(held uuid[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM api_keys WHERE id = ANY(held) FOR SHARE;
    RETURN EXISTS (SELECT FROM api_keys WHERE id = ANY(held) AND revoked_at IS NOT NULL);
END
$$;
REVOKE EXECUTE ON FUNCTION clearwell_has_revoked(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_has_revoked(uuid[]) TO clearwell_reviewer;
