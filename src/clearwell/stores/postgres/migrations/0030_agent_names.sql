-- The names of agents that an operator wrote, with a persona or with a key: only these stand outside of a fence.
CREATE FUNCTION clearwell_agent_names(wanted text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT agent_id FROM agents WHERE group_id = wanted
    UNION
    SELECT agent_id FROM api_keys WHERE agent_id IS NOT NULL AND (groups IS NULL OR wanted = ANY (groups));
END;
REVOKE EXECUTE ON FUNCTION clearwell_agent_names(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_agent_names(text) TO clearwell_agent, clearwell_reviewer;
