-- A group as it looks after half a year. The statements run in this order, each with group, rows, model and version.

-- name: id_function
-- An id of version 7 for a moment; its last digits are a number, so that ids of one moment differ.
CREATE OR REPLACE FUNCTION bench_id(at timestamptz, number bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000'
        || lpad(to_hex(number), 12, '0'))::uuid
$$

-- name: outputs
-- One in 8 is refused and one in 100 disputed. Ten are of a rare agent, ten of a rare node type, ten have a rare word.
CREATE UNLOGGED TABLE bench_outputs AS
SELECT n, bench_id(t.at, n) AS id, t.at, n %% 8 = 0 AS refused,
    CASE WHEN n %% (%(rows)s / 10) = 5 THEN '{hidden_text}'::text[] WHEN n %% 100 = 1 THEN '{conflict}'
        ELSE '{}' END AS flags
FROM generate_series(1, %(rows)s) AS n,
    LATERAL (SELECT now() - (%(rows)s - n) * (interval '180 days' / %(rows)s) AS at) AS t

-- name: quarantine
INSERT INTO quarantine_logs (group_id, id, session_id, node_id, node_type, agent_id, content, raw_metadata, partial,
    occurred_at, created_at, captured_by)
SELECT %(group)s, id, 'session-' || n / 50, 'node-' || n %% 7,
    CASE WHEN n %% (%(rows)s / 10) = 3 THEN 'audit' ELSE (ARRAY['agent', 'proposal', 'vote', 'summary'])[1 + n %% 4] END,
    CASE WHEN n %% (%(rows)s / 10) = 1 THEN 'auditor' ELSE 'agent-' || n %% 40 END,
    'In week ' || n / 5000 || ' the team of district ' || n %% 311 || ' moved the '
        || (ARRAY['backup', 'invoice', 'cluster', 'payment', 'release', 'contract', 'latency', 'office'])[1 + n %% 8]
        || ' service to site ' || n %% 97 || ' and measured ' || n %% 1009 || ' requests a second. '
        || CASE WHEN n %% (%(rows)s / 10) = 2 THEN 'The warehouse in Zanzibar confirmed it. ' ELSE '' END
        || 'Nobody objected, and the next review is due when the figures of the quarter are there.',
    jsonb_build_object('confidence', (n %% 100) / 100.0), false, at, at, 'bench'
FROM bench_outputs ORDER BY n

-- name: admissions
INSERT INTO admissions (group_id, log_id, state, next_try_at, settled_at, flags)
SELECT %(group)s, id, CASE WHEN refused THEN 'refused' ELSE 'admitted' END, at, at, flags FROM bench_outputs ORDER BY n

-- name: verdicts
-- All checks of the newest tenth; of the others, the one that decided.
INSERT INTO ingress_verdicts (group_id, log_id, at, position, "check", outcome, value, threshold, reason)
SELECT %(group)s, o.id, o.at, (c.number - 1)::smallint, c.name,
    CASE WHEN o.refused AND c.number = 1 THEN 'fail' ELSE 'pass' END, '0.7', 0.8,
    CASE WHEN o.refused AND c.number = 1 THEN 'verdict_confidence_low' ELSE c.reason END
FROM bench_outputs o, unnest(
    ARRAY['confidence', 'length', 'instruction', 'substance', 'tombstone', 'echo', 'non_duplicate'],
    ARRAY['verdict_confidence_ok', 'verdict_length_ok', 'verdict_no_instruction', 'verdict_substance',
        'verdict_no_tombstone', 'verdict_no_echo', 'verdict_new']) WITH ORDINALITY AS c (name, reason, number)
WHERE c.number = 1 OR o.n > %(rows)s * 0.9
ORDER BY o.n

-- name: statements
INSERT INTO statements (group_id, log_id, number, span_start, span_end, kind)
SELECT %(group)s, id, k, k * 90, k * 90 + 80, 'claim' FROM bench_outputs, generate_series(0, 1) AS k ORDER BY n

-- name: segmentations
INSERT INTO segmentations (group_id, log_id, version, model)
SELECT %(group)s, id, %(version)s, %(model)s FROM bench_outputs ORDER BY n

-- name: counts
INSERT INTO ingress_counts (group_id, agent_id, "check", outcome, count)
SELECT %(group)s, 'agent-' || a, 'confidence', o, %(rows)s / 40 / CASE o WHEN 'fail' THEN 8 ELSE 1 END
FROM generate_series(0, 39) AS a, unnest(ARRAY['pass', 'fail']) AS o

-- name: days
INSERT INTO ingress_days (group_id, day, "check", count)
SELECT %(group)s, (at AT TIME ZONE 'UTC')::date, CASE WHEN refused THEN 'confidence' ELSE '' END, count(*)
FROM bench_outputs GROUP BY 2, 3

-- name: digests
INSERT INTO digests (group_id, id, status, requested_by, created_at, started_at, finished_at, progress)
SELECT %(group)s, bench_id(t.at, w), 'done', 'schedule', t.at, t.at, t.at, 1
FROM generate_series(1, 26) AS w, LATERAL (SELECT now() - (27 - w) * interval '7 days' AS at) AS t

-- name: insights
-- 80 a week, of which those of the last week wait.
INSERT INTO insights (group_id, id, digest_id, position, state, summary, written_by, created_at, changed_at)
SELECT %(group)s, bench_id(created_at, 1000 + p), id, p,
    CASE WHEN created_at = max(created_at) OVER () THEN 'pending' WHEN p %% 4 = 0 THEN 'rejected' ELSE 'promoted' END,
    'The team moved service ' || p || ' and measured it for a week.', 'extractive', created_at, created_at
FROM digests, generate_series(1, 80) AS p WHERE group_id = %(group)s

-- name: sources
INSERT INTO insight_sources (group_id, insight_id, log_id, position, statement, number, span_start, span_end)
SELECT %(group)s, i.id, o.id, s, 'The team moved service ' || i.position || '.', 0, 0, 80
FROM insights i, generate_series(0, 2) AS s, bench_outputs o
WHERE i.group_id = %(group)s AND o.n = 1 + (%(rows)s * 0.9 / 181 * extract(day FROM now() - i.created_at) + i.position
    * 7 + s * 3)::integer %% %(rows)s

-- name: decisions
INSERT INTO decisions (group_id, id, action, insight_id, reason, decided_by, decided_at)
SELECT %(group)s, bench_id(created_at + interval '9 hours', 5000 + position),
    CASE state WHEN 'rejected' THEN 'reject' ELSE 'promote' END, id,
    CASE state WHEN 'rejected' THEN 'outdated' END, 'local', created_at + interval '9 hours'
FROM insights WHERE group_id = %(group)s AND state <> 'pending'

-- name: origins
-- The memories of the group come from outputs of the last days.
UPDATE promotions p SET origin = 'quarantine', origin_id = o.id, session_id = 'session-' || o.n / 50
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM promotions WHERE group_id = %(group)s) AS k,
    bench_outputs o
WHERE p.group_id = %(group)s AND p.id = k.id AND o.n = %(rows)s - k.number * 3

-- name: uses
INSERT INTO memory_uses (group_id, memory_id, first_used_at, last_used_at, days)
SELECT group_id, memory_id, now() - interval '9 days', now(), 3 FROM promotions
WHERE group_id = %(group)s ORDER BY id LIMIT %(rows)s / 200
