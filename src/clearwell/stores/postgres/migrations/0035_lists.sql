-- Lists of quarantine, newest first: all outputs, those of a session, and those of an agent.
CREATE INDEX quarantine_logs_time ON quarantine_logs (group_id, created_at, id);
CREATE INDEX quarantine_logs_session ON quarantine_logs (group_id, session_id, created_at, id)
    WHERE session_id IS NOT NULL;
CREATE INDEX quarantine_logs_agent ON quarantine_logs (group_id, agent_id, created_at, id) WHERE agent_id IS NOT NULL;

-- How many outputs were admitted on a day, under the check '', and refused by each check. Counted when it is decided, so
-- that a chart of a month does not read every output of it.
CREATE TABLE ingress_days (
    group_id text NOT NULL,
    day date NOT NULL,
    "check" text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (group_id, day, "check")
);

-- The owner is bound by row-level security too.
ALTER TABLE admissions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ingress_verdicts NO FORCE ROW LEVEL SECURITY;
INSERT INTO ingress_days (group_id, day, "check", count)
SELECT a.group_id, (a.settled_at AT TIME ZONE 'UTC')::date, coalesce(v."check", ''), count(*)
FROM admissions a LEFT JOIN LATERAL (SELECT v."check" FROM ingress_verdicts v
    WHERE v.group_id = a.group_id AND v.log_id = a.log_id AND v.outcome = 'fail'
    ORDER BY v.at DESC, v.position DESC LIMIT 1) AS v ON a.state = 'refused'
WHERE a.state <> 'pending' AND a.group_id <> 'unassigned' AND (a.state = 'admitted' OR v."check" IS NOT NULL)
GROUP BY 1, 2, 3;
ALTER TABLE admissions FORCE ROW LEVEL SECURITY;
ALTER TABLE ingress_verdicts FORCE ROW LEVEL SECURITY;

CALL clearwell_guard('ingress_days');
GRANT SELECT, INSERT, UPDATE (count) ON ingress_days TO clearwell_worker;
GRANT SELECT ON ingress_days TO clearwell_reviewer;
