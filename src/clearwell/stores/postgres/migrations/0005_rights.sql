-- What each role may do. Nothing here is ever updated or deleted but where it says so.

-- An agent adds captures. Of quarantine it reads only what a repeated request needs, and of knowledge everything.
GRANT INSERT ON quarantine_logs, admissions, ingress_verdicts TO clearwell_agent;
GRANT SELECT (id, group_id, captured_by, idempotency_key, request_hash) ON quarantine_logs TO clearwell_agent;
GRANT SELECT ON memories, groups, agents TO clearwell_agent;

-- A reviewer reads the path and decides.
GRANT SELECT ON quarantine_logs, admissions, ingress_verdicts, quarantine_vectors, sightings, promotions, memories,
    audit_events, groups, agents TO clearwell_reviewer;
GRANT INSERT ON promotions, memories, audit_events TO clearwell_reviewer;
GRANT UPDATE (valid_to) ON memories TO clearwell_reviewer;
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency TO clearwell_reviewer;
GRANT SELECT, INSERT ON embedding_models TO clearwell_reviewer, clearwell_worker;

-- The worker admits, and writes the chunks of promotions that a reviewer committed. It decides nothing.
GRANT SELECT ON quarantine_logs, admissions, ingress_verdicts, quarantine_vectors, sightings, promotions, memories
    TO clearwell_worker;
GRANT UPDATE (state, attempts, next_try_at, settled_at, flags) ON admissions TO clearwell_worker;
GRANT INSERT ON ingress_verdicts, quarantine_vectors, sightings, memories, audit_events TO clearwell_worker;
GRANT SELECT, DELETE ON idempotency TO clearwell_worker;

-- The operator looks after keys, groups and agents.
GRANT SELECT, INSERT ON api_keys TO clearwell_operator;
GRANT UPDATE (revoked_at) ON api_keys TO clearwell_operator;
GRANT SELECT, INSERT, UPDATE ON groups, agents TO clearwell_operator;
GRANT INSERT ON audit_events TO clearwell_operator;

-- Every row of the path is visible in its own group only, also to the owner.
DO $$
DECLARE
    path_table text;
BEGIN
    FOREACH path_table IN ARRAY ARRAY[
        'quarantine_logs', 'admissions', 'ingress_verdicts', 'quarantine_vectors', 'sightings',
        'promotions', 'memories', 'groups', 'agents', 'audit_events'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', path_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', path_table);
        EXECUTE format(
            'CREATE POLICY own_group ON %I
                USING (group_id = nullif(current_setting(''clearwell.group'', true), ''''))
                WITH CHECK (group_id = nullif(current_setting(''clearwell.group'', true), ''''))', path_table);
    END LOOP;
END
$$;

-- The worker looks for pending rows of all groups here, where there are only ids, then enters the group.
CREATE POLICY worker_finds_work ON admissions FOR SELECT TO clearwell_worker USING (state = 'pending');

-- An agent's capture is pending, but for one without a group, which is refused as it comes.
CREATE POLICY agent_captures_pending ON admissions AS RESTRICTIVE FOR INSERT TO clearwell_agent
    WITH CHECK (state = 'pending' OR group_id = 'unassigned');
CREATE POLICY agent_gives_no_verdict ON ingress_verdicts AS RESTRICTIVE FOR INSERT TO clearwell_agent
    WITH CHECK (group_id = 'unassigned');

-- Events of the whole installation have no group.
CREATE POLICY operator_events ON audit_events FOR INSERT TO clearwell_operator WITH CHECK (group_id = '');
