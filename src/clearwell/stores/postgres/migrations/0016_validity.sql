-- When a memory did not hold, so that what was verified at a moment can be told later.

-- A time in which a memory was withdrawn, until it came back. From its promotion to valid_to, but for these, it held.
CREATE TABLE memory_gaps (
    group_id text NOT NULL,
    memory_id uuid NOT NULL,
    withdrawn_at timestamptz NOT NULL,
    restored_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, memory_id, withdrawn_at),
    CHECK (withdrawn_at <= restored_at)
);
CALL clearwell_guard('memory_gaps');
GRANT SELECT ON memory_gaps TO clearwell_agent, clearwell_reviewer, clearwell_worker;
GRANT INSERT ON memory_gaps TO clearwell_reviewer;

-- What came back before gaps were kept: from the decision that withdrew it to the one that undid that.
ALTER TABLE decisions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_gaps NO FORCE ROW LEVEL SECURITY;
INSERT INTO memory_gaps (group_id, memory_id, withdrawn_at, restored_at)
SELECT d.group_id, gone.memory_id, d.decided_at, max(u.decided_at)
FROM decisions u JOIN decisions d ON d.group_id = u.group_id AND d.id = u.undoes
CROSS JOIN LATERAL unnest(CASE WHEN d.action = 'retract' THEN d.others ELSE ARRAY[d.supersedes] END) AS gone (memory_id)
WHERE d.action IN ('promote', 'retract') AND gone.memory_id IS NOT NULL
GROUP BY d.group_id, gone.memory_id, d.decided_at;
ALTER TABLE decisions FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_gaps FORCE ROW LEVEL SECURITY;

-- What a waiting promotion replaces holds until its chunks are there, and the worker writes these. It may withdraw
-- nothing else: only what a decision that stands says is replaced, and only while that promotion waits.
CREATE FUNCTION clearwell_supersede(waiting uuid, at timestamptz)
RETURNS TABLE (
    id uuid, chunk_no integer, session_id text, agent_id text, author text, content text, "position" integer
)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    UPDATE memories AS m SET valid_to = at
    FROM (SELECT DISTINCT d.group_id, d.supersedes AS id
        FROM promotion_work w
        JOIN promotions p ON p.group_id = w.group_id AND p.id = w.promotion_id
        JOIN decisions d ON d.group_id = p.group_id AND d.memory_id = p.memory_id AND d.action = 'promote'
        WHERE w.group_id = nullif(current_setting('clearwell.group', true), '') AND w.promotion_id = waiting
            AND d.supersedes <> p.memory_id
            AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)) AS replaced
    WHERE m.group_id = replaced.group_id AND m.id = replaced.id AND m.valid_to IS NULL
    RETURNING m.id, m.chunk_no, m.session_id, m.agent_id, m.author, m.content, m."position";
END;
REVOKE EXECUTE ON FUNCTION clearwell_supersede(uuid, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_supersede(uuid, timestamptz) TO clearwell_worker;
