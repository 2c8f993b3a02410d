-- A query about a past time tells what was superseded since apart from what was withdrawn. Decisions are not for agents,
-- so that a search asks this function.

CREATE FUNCTION clearwell_is_superseded(superseded uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM decisions d WHERE d.group_id = nullif(current_setting('clearwell.group', true), '')
            AND d.supersedes = superseded AND d.action = 'promote' AND d.memory_id <> superseded
            AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
    ) AND NOT EXISTS (
        SELECT FROM decisions d WHERE d.group_id = nullif(current_setting('clearwell.group', true), '')
            AND d.action = 'retract' AND superseded = ANY(d.others)
            AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
    );
END;
REVOKE EXECUTE ON FUNCTION clearwell_is_superseded(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_is_superseded(uuid) TO clearwell_agent, clearwell_reviewer, clearwell_worker;
