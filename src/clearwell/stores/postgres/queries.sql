-- Every statement of Clearwell, by name. Parameters are always bound.

-- name: ping
SELECT 1 AS up

-- name: start
-- A new connection may do nothing until a transaction enters a working role.
SELECT set_config('role', 'clearwell_app', false), set_config('statement_timeout', %(milliseconds)s, false)

-- name: enter
-- One role and one group, until the transaction ends.
SELECT set_config('role', %(role)s, true), set_config('clearwell.group', %(group_id)s, true)

-- name: enter_transaction
-- As enter, for a transaction of several steps, which the server ends if nothing comes for so long.
SELECT set_config('role', %(role)s, true), set_config('clearwell.group', %(group_id)s, true),
    set_config('idle_in_transaction_session_timeout', %(milliseconds)s, true)

-- name: begin_snapshot
-- Begin a transaction that reads everything as it is at its beginning.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: capture
-- Store one output and its pending admission. A repeated request conflicts with its first row and adds nothing.
WITH kept AS (
    INSERT INTO quarantine_logs (
        group_id, id, session_id, node_id, node_type, agent_id, content, raw_metadata, partial,
        occurred_at, created_at, captured_by, idempotency_key, request_hash)
    VALUES (
        %(group_id)s, %(id)s, %(session_id)s, %(node_id)s, %(node_type)s, %(agent_id)s, %(content)s, %(metadata)s,
        %(partial)s, %(occurred_at)s, %(created_at)s, %(captured_by)s, %(idempotency_key)s, %(request_hash)s)
    ON CONFLICT DO NOTHING
    RETURNING group_id, id
)
INSERT INTO admissions (group_id, log_id, state, next_try_at, settled_at)
SELECT group_id, id, %(state)s, %(next_try_at)s, %(settled_at)s FROM kept

-- name: captured_before
-- The rows that earlier attempts of a request added.
SELECT id, idempotency_key, request_hash FROM quarantine_logs
WHERE group_id = %(group_id)s AND captured_by = %(captured_by)s AND idempotency_key = ANY(%(keys)s)

-- name: add_verdict
INSERT INTO ingress_verdicts (group_id, log_id, at, position, "check", outcome, value, threshold, reason, params)
VALUES (%(group_id)s, %(log_id)s, %(at)s, %(position)s, %(check)s, %(outcome)s, %(value)s, %(threshold)s,
    %(reason)s, %(params)s)

-- name: add_verdict_if_kept
-- For a row of the same transaction. A repeated request added no row, so it adds no verdict.
INSERT INTO ingress_verdicts (group_id, log_id, at, position, "check", outcome, value, threshold, reason, params)
SELECT group_id, id, %(at)s, %(position)s, %(check)s, %(outcome)s, %(value)s::jsonb, %(threshold)s::double precision,
    %(reason)s, %(params)s::jsonb
FROM quarantine_logs WHERE group_id = %(group_id)s AND id = %(log_id)s

-- name: pending
-- Due work of all groups that nobody has leased, oldest first. Only ids are visible here. A time that is too far ahead
-- to be a pause or a lease was written before the clock was set back, here and in the statements below.
SELECT group_id, log_id FROM admissions
WHERE state = 'pending' AND (next_try_at <= %(now)s OR next_try_at > %(ahead)s)
    AND (leased_until IS NULL OR leased_until <= %(now)s OR leased_until > %(ahead)s)
ORDER BY next_try_at LIMIT %(limit)s

-- name: claim_rows
-- Lease pending rows that nobody else has leased, and read them. A row that another transaction changes is left out.
WITH free AS (
    SELECT log_id FROM admissions
    WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s) AND state = 'pending'
        AND (leased_until IS NULL OR leased_until <= %(now)s OR leased_until > %(ahead)s OR leased_by = %(holder)s)
    ORDER BY log_id FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE admissions a SET leased_by = %(holder)s, leased_until = %(until)s
    FROM free WHERE a.group_id = %(group_id)s AND a.log_id = free.log_id
    RETURNING a.log_id
)
SELECT q.id, q.group_id, q.session_id, q.node_id, q.node_type, q.agent_id, q.content, q.raw_metadata, q.partial,
    q.occurred_at, q.created_at, q.captured_by
FROM claimed c JOIN quarantine_logs q ON q.group_id = %(group_id)s AND q.id = c.log_id
ORDER BY q.id

-- name: renew_leases
UPDATE admissions SET leased_until = %(until)s
WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s) AND state = 'pending' AND leased_by = %(holder)s

-- name: release_leases
UPDATE admissions SET leased_by = NULL, leased_until = NULL
WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s) AND state = 'pending' AND leased_by = %(holder)s

-- name: alone_in_group
-- One admission at a time in a group, over all processes.
SELECT pg_advisory_xact_lock(hashtextextended('admission:' || %(group_id)s, 0))

-- name: still_pending
SELECT log_id FROM admissions
WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s) AND state = 'pending'

-- name: settle
UPDATE admissions SET state = %(state)s, settled_at = %(at)s, flags = %(flags)s, attempts = attempts + 1,
    leased_by = NULL, leased_until = NULL
WHERE group_id = %(group_id)s AND log_id = %(log_id)s AND state = 'pending'

-- name: add_quarantine_vector
INSERT INTO quarantine_vectors (group_id, log_id, model, embedding)
VALUES (%(group_id)s, %(log_id)s, %(model)s, %(embedding)s)
ON CONFLICT DO NOTHING

-- name: add_sighting
INSERT INTO sightings (group_id, entry_id, log_id, layer, agent_id, session_id, at)
SELECT q.group_id, %(entry_id)s, q.id, %(layer)s, q.agent_id, q.session_id, %(at)s
FROM quarantine_logs q WHERE q.group_id = %(group_id)s AND q.id = %(log_id)s
ON CONFLICT DO NOTHING

-- name: note_segmentations
-- By which version outputs are segmented now. This also locks them for the statements that follow.
INSERT INTO segmentations (group_id, log_id, version, model, segmenter, due_at)
SELECT %(group_id)s, o.* FROM jsonb_to_recordset(%(outputs)s) AS o (
    log_id uuid, version smallint, model text, segmenter text, due_at timestamptz)
ORDER BY o.log_id
ON CONFLICT (group_id, log_id) DO UPDATE SET version = excluded.version, model = excluded.model,
    segmenter = excluded.segmenter, due_at = excluded.due_at, attempts = 0, problem = NULL

-- name: note_unsegmented
-- A settled output that the worker is to segment. One that was segmented before stays so.
INSERT INTO segmentations (group_id, log_id) VALUES (%(group_id)s, %(log_id)s) ON CONFLICT DO NOTHING

-- name: note_lost_statements
-- Settled outputs without statements. The worker segments them again; some of them have none.
INSERT INTO segmentations (group_id, log_id)
SELECT a.group_id, a.log_id FROM admissions a
WHERE a.group_id = %(group_id)s AND a.state <> 'pending'
    AND NOT EXISTS (SELECT FROM statements s WHERE s.group_id = a.group_id AND s.log_id = a.log_id)
ON CONFLICT (group_id, log_id) DO UPDATE SET version = 0

-- name: remove_statements
DELETE FROM statements WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s)

-- name: add_statements
-- Vectors as an array in the order of the statements, since they are long and binary.
INSERT INTO statements (
    group_id, log_id, number, span_start, span_end, kind, headings, lead_in, model, embedding)
SELECT %(group_id)s, s.* FROM ROWS FROM (
    jsonb_to_recordset(%(statements)s) AS (
        log_id uuid, number integer, span_start integer, span_end integer, kind text, headings text[], lead_in text,
        model text),
    unnest(%(embeddings)s::halfvec[])) AS s

-- name: statements
-- The statements of outputs in their order; an output that was segmented and has none has one row without a number.
SELECT g.log_id, g.segmenter, g.problem, s.number, s.span_start, s.span_end, s.kind, s.headings, s.lead_in, s.model,
    s.embedding
FROM segmentations g LEFT JOIN statements s ON s.group_id = g.group_id AND s.log_id = g.log_id
WHERE g.group_id = %(group_id)s AND g.log_id = ANY(%(ids)s) AND g.version > 0
ORDER BY g.log_id, s.number

-- name: outdated_segmentations
-- Outputs of an older version, of this version with another model, or of another language model as segmenter, by ranges
-- of the indexes, without those that are pending again. Ids only.
SELECT s.group_id, s.log_id, s.keeps_segments FROM (
    SELECT group_id, log_id, false AS keeps_segments FROM segmentations WHERE version < %(version)s::smallint
    UNION ALL
    SELECT group_id, log_id, segmenter <> 'rules' AND segmenter = %(segmenter)s FROM segmentations
    WHERE version = %(version)s::smallint AND model < %(model)s
    UNION ALL
    SELECT group_id, log_id, segmenter <> 'rules' AND segmenter = %(segmenter)s FROM segmentations
    WHERE version = %(version)s::smallint AND model > %(model)s
    UNION ALL
    SELECT group_id, log_id, false FROM segmentations
    WHERE segmenter <> 'rules' AND segmenter < %(segmenter)s AND version = %(version)s::smallint AND model = %(model)s
    UNION ALL
    SELECT group_id, log_id, false FROM segmentations
    WHERE segmenter <> 'rules' AND segmenter > %(segmenter)s AND version = %(version)s::smallint AND model = %(model)s
    ) AS s
WHERE NOT EXISTS (SELECT FROM admissions a WHERE a.group_id = s.group_id AND a.log_id = s.log_id
    AND a.state = 'pending')
LIMIT %(limit)s

-- name: due_segmentations
-- Outputs that a language model is to be asked about, without those that are pending again. Ids only.
SELECT s.group_id, s.log_id, s.attempts FROM segmentations s
WHERE s.due_at <= %(now)s AND NOT EXISTS (SELECT FROM admissions a WHERE a.group_id = s.group_id AND a.log_id = s.log_id
    AND a.state = 'pending')
ORDER BY s.due_at LIMIT %(limit)s

-- name: lease_segmentation
-- Nobody else asks about the output until then.
UPDATE segmentations SET due_at = %(until)s
WHERE group_id = %(group_id)s AND log_id = %(log_id)s AND due_at <= %(now)s

-- name: postpone_segmentation
UPDATE segmentations SET due_at = %(due_at)s, attempts = attempts + 1, problem = %(problem)s
WHERE group_id = %(group_id)s AND log_id = %(log_id)s AND due_at IS NOT NULL

-- name: admitted_among
SELECT log_id FROM admissions WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s) AND state = 'admitted'

-- name: settled_outputs
SELECT q.id, q.group_id, q.session_id, q.node_id, q.node_type, q.agent_id, q.content, q.raw_metadata, q.partial,
    q.occurred_at, q.created_at, q.captured_by
FROM admissions a JOIN quarantine_logs q ON q.group_id = a.group_id AND q.id = a.log_id
WHERE a.group_id = %(group_id)s AND a.log_id = ANY(%(ids)s) AND a.state <> 'pending'
ORDER BY q.id

-- name: postpone
-- Twice as long after each attempt, up to a limit. An outage counts as an attempt and not as a failure of the row.
UPDATE admissions SET attempts = attempts + 1, failures = failures + %(failures)s,
    next_try_at = %(now)s::timestamptz + least(%(longest)s::interval, %(first)s::interval * 2 ^ least(attempts, 10)),
    leased_by = NULL, leased_until = NULL
WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s) AND state = 'pending' AND leased_by = %(holder)s
RETURNING log_id, failures

-- name: judge_tries
SELECT judge_tries FROM admissions WHERE group_id = %(group_id)s AND log_id = %(log_id)s

-- name: hold
-- Postpone a row that the judge has not decided. A spent budget does not count as an attempt.
UPDATE admissions SET judge_tries = %(tries)s, attempts = attempts + (%(tries)s > judge_tries)::int,
    next_try_at = %(now)s::timestamptz + %(wait)s::interval, leased_by = NULL, leased_until = NULL
WHERE group_id = %(group_id)s AND log_id = %(log_id)s AND state = 'pending' AND leased_by = %(holder)s

-- name: requeue
UPDATE admissions SET state = 'pending', settled_at = NULL, attempts = 0, judge_tries = 0, failures = 0,
    next_try_at = %(now)s
WHERE group_id = %(group_id)s AND log_id = %(log_id)s AND state = 'refused'

-- name: hurry
UPDATE admissions SET next_try_at = %(now)s
WHERE group_id = %(group_id)s AND log_id = %(log_id)s AND state = 'pending'

-- name: refused
-- Rows that a check refused, found by the check's name or its reason, oldest first.
SELECT a.log_id FROM admissions a
WHERE a.group_id = %(group_id)s AND a.state = 'refused' AND EXISTS (
    SELECT FROM ingress_verdicts v
    WHERE v.group_id = a.group_id AND v.log_id = a.log_id AND v.at = a.settled_at AND v.outcome = 'fail'
        AND %(by)s IN (v."check", substr(v.reason, length('verdict_') + 1)))
ORDER BY a.log_id LIMIT %(limit)s

-- name: note_working_group
INSERT INTO working_groups (group_id, last_admitted_at, first_settled_at) VALUES (%(group_id)s, %(at)s, %(at)s)
ON CONFLICT (group_id) DO UPDATE SET last_admitted_at = greatest(working_groups.last_admitted_at, excluded.last_admitted_at),
    first_settled_at = coalesce(working_groups.first_settled_at, excluded.first_settled_at)

-- name: note_settled_group
-- A group in which nothing was admitted yet can still have rows for a digest.
INSERT INTO working_groups (group_id, first_settled_at) VALUES (%(group_id)s, %(at)s)
ON CONFLICT (group_id) DO UPDATE SET first_settled_at = excluded.first_settled_at
WHERE working_groups.first_settled_at IS NULL

-- name: working_groups
-- Also groups with pending rows: one of them may be pushed already, and its first admission not settled yet.
SELECT group_id FROM working_groups WHERE last_admitted_at > %(since)s
UNION SELECT group_id FROM admissions WHERE state = 'pending' ORDER BY group_id

-- name: mark_removed
UPDATE admissions SET removed_at = %(at)s, removed_by = %(by)s
WHERE group_id = %(group_id)s AND log_id = %(log_id)s AND state = 'admitted' AND removed_at IS NULL

-- name: count_verdicts
INSERT INTO ingress_counts (group_id, agent_id, "check", outcome, count)
VALUES (%(group_id)s, %(agent_id)s, %(check)s, %(outcome)s, %(count)s)
ON CONFLICT (group_id, agent_id, "check", outcome) DO UPDATE SET count = ingress_counts.count + excluded.count

-- name: count_settled
INSERT INTO ingress_days (group_id, day, "check", count) VALUES (%(group_id)s, %(day)s, %(check)s, %(count)s)
ON CONFLICT (group_id, day, "check") DO UPDATE SET count = ingress_days.count + excluded.count

-- name: ingress_counts
SELECT agent_id, "check", outcome, count FROM ingress_counts WHERE group_id = %(group_id)s
ORDER BY agent_id, "check", outcome

-- name: receipts
SELECT a.log_id, a.state, v."check", v.outcome, v.value, v.threshold, v.reason, v.params, v.at
FROM admissions a LEFT JOIN ingress_verdicts v ON v.group_id = a.group_id AND v.log_id = a.log_id
    AND v.at = (SELECT max(at) FROM ingress_verdicts WHERE group_id = a.group_id AND log_id = a.log_id)
WHERE a.group_id = %(group_id)s AND a.log_id = ANY(%(ids)s)
ORDER BY a.log_id, v.at, v.position

-- name: admitted
-- The entries that working memory should hold, for a rebuild: the newest that have a text, of which those of an agent
-- beyond its limit come last.
WITH ranked AS (
    SELECT a.log_id, a.settled_at, row_number() OVER
        (PARTITION BY q.agent_id ORDER BY a.settled_at DESC, a.log_id DESC) > %(agent_limit)s AS surplus
    FROM admissions a
    JOIN quarantine_logs q ON q.group_id = a.group_id AND q.id = a.log_id
    WHERE a.group_id = %(group_id)s AND a.state = 'admitted' AND a.settled_at > %(since)s AND a.removed_at IS NULL
        AND q.content <> ''
), kept AS (
    SELECT log_id FROM ranked ORDER BY surplus, settled_at DESC, log_id DESC LIMIT %(limit)s
)
SELECT q.id, q.group_id, q.session_id, q.node_type, q.agent_id, q.content, q.raw_metadata, q.occurred_at,
    q.created_at, a.settled_at, a.flags, v.model, v.embedding
FROM admissions a
JOIN quarantine_logs q ON q.group_id = a.group_id AND q.id = a.log_id
LEFT JOIN quarantine_vectors v ON v.group_id = a.group_id AND v.log_id = a.log_id
WHERE a.group_id = %(group_id)s AND a.log_id IN (SELECT log_id FROM kept)
ORDER BY a.settled_at DESC, q.id DESC

-- name: output_texts
SELECT id, content FROM quarantine_logs WHERE group_id = %(group_id)s AND id = ANY(%(ids)s)

-- part: whole_row_columns
SELECT q.id, q.group_id, q.session_id, q.node_id, q.node_type, q.agent_id, q.content, q.raw_metadata, q.partial,
    q.occurred_at, q.created_at, q.captured_by, a.state, a.attempts, a.settled_at, a.flags, a.removed_at,
    a.next_try_at,
    (SELECT s.entry_id FROM sightings s WHERE s.group_id = q.group_id AND s.log_id = q.id LIMIT 1) AS sighting_of

-- part: quarantine_window
-- This many of the newest outputs, by the filters that have an index.
SELECT q.* FROM quarantine_logs q
WHERE q.group_id = %(group_id)s
    AND (%(before)s::uuid IS NULL OR (q.created_at, q.id) < (%(before_at)s::timestamptz, %(before)s))
    AND (%(ids)s::uuid[] IS NULL OR q.id = ANY(%(ids)s))
    AND (%(session_id)s::text IS NULL OR q.session_id = %(session_id)s)
    AND (%(agent_id)s::text IS NULL OR q.agent_id = %(agent_id)s)
    AND (%(since)s::timestamptz IS NULL OR q.created_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR q.created_at < %(until)s)
ORDER BY q.created_at DESC, q.id DESC LIMIT %(window)s

-- name: captured_at
SELECT created_at FROM quarantine_logs WHERE group_id = %(group_id)s AND id = %(id)s

-- name: enter_to_list
-- As enter, for lists with filters: each is planned with the filters that are set.
SELECT set_config('role', %(role)s, true), set_config('clearwell.group', %(group_id)s, true),
    set_config('plan_cache_mode', 'force_custom_plan', true)

-- name: quarantine_rows
-- A page of a group's quarantine, newest first, from a window of it. Columns that no filter needs are not read, so the
-- window is mostly read from an index alone; admissions are looked up together, and whole rows only of the page.
-- include: whole_row_columns
FROM (
    SELECT w.id FROM (
-- include: quarantine_window
    ) AS w
    WHERE (%(node_type)s::text IS NULL OR w.node_type = %(node_type)s)
        AND (%(words)s::text IS NULL OR position(lower(%(words)s) IN lower(w.content)) > 0)
        AND (%(proposed)s::boolean IS NOT TRUE OR (
            w.raw_metadata @> '{"proposed": true}'
            AND NOT EXISTS (SELECT FROM promotions p WHERE p.group_id = w.group_id AND p.origin_id = w.id)))
        AND (%(admission)s::text IS NULL AND %(flag)s::text IS NULL OR w.id IN (
            SELECT a.log_id FROM (
                SELECT log_id, state, flags FROM admissions WHERE group_id = %(group_id)s AND log_id = ANY(ARRAY(
                    SELECT v.id FROM (
-- include: quarantine_window
                    ) AS v)) OFFSET 0
            ) AS a
            WHERE (%(admission)s::text IS NULL OR a.state = %(admission)s)
                AND (%(flag)s::text IS NULL OR %(flag)s = ANY(a.flags))))
    ORDER BY w.created_at DESC, w.id DESC LIMIT %(limit)s
) AS page CROSS JOIN LATERAL (
    SELECT * FROM quarantine_logs WHERE group_id = %(group_id)s AND id = page.id OFFSET 0
) AS q CROSS JOIN LATERAL (
    SELECT * FROM admissions WHERE group_id = %(group_id)s AND log_id = page.id OFFSET 0
) AS a
ORDER BY q.created_at DESC, q.id DESC

-- name: end_of_window
-- The last output of a window that is full.
SELECT w.id FROM (
-- include: quarantine_window
) AS w OFFSET %(window)s - 1

-- name: quarantine_row
-- include: whole_row_columns
FROM quarantine_logs q JOIN admissions a ON a.group_id = q.group_id AND a.log_id = q.id
WHERE q.group_id = %(group_id)s AND q.id = %(id)s

-- name: sightings
-- The later outputs that repeated an entry.
SELECT log_id, agent_id, session_id, at FROM sightings WHERE group_id = %(group_id)s AND entry_id = %(id)s
ORDER BY at, log_id LIMIT 1000

-- name: add_promotions
INSERT INTO promotions (
    group_id, id, memory_id, scope, agent_id, origin, origin_id, content, session_id, author, occurred_at, metadata,
    flags, supersedes, fingerprint, decided_by, decided_at)
SELECT %(group_id)s, p.* FROM jsonb_to_recordset(%(promotions)s) AS p (
    id uuid, memory_id uuid, scope text, agent_id text, origin text, origin_id uuid, content text, session_id text,
    author text, occurred_at timestamptz, metadata jsonb, flags text[], supersedes uuid, fingerprint bytea,
    decided_by text, decided_at timestamptz)

-- name: add_memories
-- Vectors and words as arrays in the order of the chunks, since they are long and binary.
INSERT INTO memories (
    group_id, id, chunk_no, promotion_id, scope, agent_id, content, embedding_model, session_id, author, occurred_at,
    metadata, flags, promoted_at, valid_to, position, tokenizer_version, embedding, lexemes)
SELECT %(group_id)s, c.* FROM ROWS FROM (
    jsonb_to_recordset(%(chunks)s) AS (
        id uuid, chunk_no integer, promotion_id uuid, scope text, agent_id text, content text, embedding_model text,
        session_id text, author text, occurred_at timestamptz, metadata jsonb, flags text[], promoted_at timestamptz,
        valid_to timestamptz, position integer, tokenizer_version smallint),
    unnest(%(embeddings)s::halfvec[]),
    unnest(%(lexemes)s::sparsevec[])) AS c

-- name: add_conflicts
-- Each pair is given in both directions, so that ids has every memory in question.
WITH added AS (
    INSERT INTO memory_conflicts (group_id, memory_id, other_id, found_at)
    SELECT %(group_id)s, c.*, %(at)s FROM unnest(%(ids)s::uuid[], %(others)s::uuid[]) AS c ON CONFLICT DO NOTHING
)
UPDATE memories SET disputed = true WHERE group_id = %(group_id)s AND id = ANY(%(ids)s) AND NOT disputed

-- name: conflicts_of_memories
-- The valid memories that each of these contradicts, as far as the agent may read them.
SELECT c.memory_id, array_agg(c.other_id ORDER BY c.other_id) AS others FROM memory_conflicts c
WHERE c.group_id = %(group_id)s AND c.memory_id = ANY(%(ids)s) AND EXISTS (
    SELECT FROM memories o WHERE o.group_id = c.group_id AND o.id = c.other_id AND o.valid_to IS NULL
        AND (o.agent_id IS NULL OR o.agent_id = %(agent_id)s))
GROUP BY c.memory_id

-- name: conflicts_of_memory
-- The valid memories that a valid memory contradicts.
SELECT c.other_id FROM memory_conflicts c
WHERE c.group_id = %(group_id)s AND c.memory_id = %(id)s AND (
    SELECT count(DISTINCT m.id) FROM memories m
    WHERE m.group_id = c.group_id AND m.id IN (c.memory_id, c.other_id) AND m.valid_to IS NULL) = 2
ORDER BY c.other_id

-- name: alone_in_longterm
-- Lock the long-term memory of a group for one writer: positions in a session and counts of terms depend on the last.
SELECT pg_advisory_xact_lock(hashtextextended('longterm:' || %(group_id)s, 0))

-- name: end_of_session
-- The last chunks of a session that the same readers see: those that get new neighbours, and the neighbours of those.
SELECT id, chunk_no, position, content FROM memories
WHERE group_id = %(group_id)s AND session_id = %(session_id)s AND agent_id IS NOT DISTINCT FROM %(agent_id)s
    AND valid_to IS NULL
ORDER BY position DESC NULLS LAST LIMIT %(limit)s

-- name: set_lexemes
UPDATE memories SET lexemes = %(lexemes)s, tokenizer_version = %(tokenizer_version)s
WHERE group_id = %(group_id)s AND id = %(id)s AND chunk_no = %(chunk_no)s

-- name: living_chunks
-- The chunks to index again, in the order in which they were promoted.
SELECT id, chunk_no, session_id, agent_id, author, content FROM memories
WHERE group_id = %(group_id)s AND valid_to IS NULL
ORDER BY position NULLS FIRST, promoted_at, id, chunk_no

-- name: place_again
UPDATE memories SET position = %(position)s, lexemes = %(lexemes)s, tokenizer_version = %(tokenizer_version)s
WHERE group_id = %(group_id)s AND id = %(id)s AND chunk_no = %(chunk_no)s

-- name: forget_terms
DELETE FROM group_terms WHERE group_id = %(group_id)s

-- name: forget_authors
DELETE FROM group_authors WHERE group_id = %(group_id)s

-- name: count_terms
-- Dimension 0 counts the chunks. Chunks that only one agent may read are counted for that agent.
INSERT INTO group_terms (group_id, reader, dimension, chunks)
SELECT %(group_id)s, %(reader)s, * FROM unnest(%(dimensions)s::integer[], %(chunks)s::integer[])
ON CONFLICT (group_id, dimension, reader) DO UPDATE SET chunks = group_terms.chunks + excluded.chunks

-- name: count_authors
INSERT INTO group_authors (group_id, reader, author, spoken, chunks)
SELECT %(group_id)s, %(reader)s, * FROM unnest(%(authors)s::text[], %(spoken)s::text[], %(chunks)s::integer[])
ON CONFLICT (group_id, author, reader) DO UPDATE SET chunks = group_authors.chunks + excluded.chunks

-- name: note_indexed
-- Record the tokenizer of a new group. A group with terms of an older one is updated when all of them are rebuilt.
INSERT INTO indexed_groups (group_id, tokenizer_version) VALUES (%(group_id)s, %(tokenizer_version)s)
ON CONFLICT DO NOTHING

-- name: mark_indexed
UPDATE indexed_groups SET tokenizer_version = %(tokenizer_version)s WHERE group_id = %(group_id)s

-- name: groups_to_index
-- Groups with terms of an older tokenizer. Only ids are visible here.
SELECT group_id FROM indexed_groups WHERE tokenizer_version <> %(tokenizer_version)s ORDER BY group_id LIMIT %(limit)s

-- name: enter_for_scan
-- As enter, for a search that compares every row of the group. One generic plan, always by the group's index: planning
-- each search again costs as much as scanning a small group.
SELECT set_config('role', %(role)s, true), set_config('clearwell.group', %(group_id)s, true),
    set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)

-- part: asked_words
-- The terms of a query, weighted by how rare they are in what the reader may read, and the one author that it names.
WITH rarity AS (
    SELECT q.dimension, term.chunks,
        q.weight * ln(1 + (whole.chunks - term.chunks + 0.5) / (term.chunks + 0.5)) AS weight
    FROM unnest(%(dimensions)s::integer[], %(weights)s::double precision[]) AS q (dimension, weight)
    CROSS JOIN (SELECT coalesce(sum(chunks), 0)::double precision AS chunks FROM group_terms
        WHERE group_id = %(group_id)s AND dimension = 0 AND reader IN ('', %(agent_id)s)) AS whole
    CROSS JOIN LATERAL (SELECT coalesce(sum(chunks), 0)::double precision AS chunks FROM group_terms
        WHERE group_id = %(group_id)s AND dimension = q.dimension AND reader IN ('', %(agent_id)s)) AS term
), asked AS (
    SELECT ('{' || coalesce(string_agg(dimension || ':' || (weight / most)::real, ',' ORDER BY dimension),
        '') || '}/1048576')::sparsevec AS words
    FROM rarity, (SELECT nullif(sum(weight), 0) * 2 AS most FROM rarity) AS best
), named AS (
    SELECT CASE WHEN count(DISTINCT author) = 1 THEN min(author) END AS author FROM group_authors
    WHERE group_id = %(group_id)s AND reader IN ('', %(agent_id)s) AND chunks > 0 AND strpos(%(spoken)s, spoken) > 0

-- part: lifted_pool
-- Raise the rank of the best chunks by their neighbours, by a question just before them and by their session. What is
-- needed for that is read only now, since each further column would cost something for every chunk that is compared.
-- OFFSET 0 keeps the planner, which does not know how few these chunks are, from reading the whole group again.
), pool AS (
    SELECT n.place, n.id, n.chunk_no, n.away, m.* FROM nearest n CROSS JOIN LATERAL (
        SELECT session_id, agent_id, position, asks FROM memories WHERE ctid = n.place OFFSET 0) AS m
), lifted AS (
    SELECT place, id, chunk_no, %(dense)s - away AS own,
        session_id IS NOT NULL AS placed,
        %(neighbour)s * coalesce(greatest(%(dense)s - min(away) OVER neighbour, 0), 0) AS neighbour,
        %(answer)s * coalesce(greatest(%(dense)s - min(away) FILTER (WHERE asks) OVER before, 0), 0) AS answer,
        %(session)s * greatest(%(dense)s - min(away) OVER (PARTITION BY session_id, agent_id), 0) AS session
    FROM pool
    WINDOW neighbour AS (PARTITION BY session_id, agent_id ORDER BY position
            RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW),
        before AS (PARTITION BY session_id, agent_id ORDER BY position RANGE BETWEEN 1 PRECEDING AND 1 PRECEDING)
), ranked AS (
    SELECT *, own + CASE WHEN placed THEN neighbour + answer + session ELSE 0 END AS rank FROM lifted
    ORDER BY rank DESC, id, chunk_no LIMIT %(limit)s
)
SELECT m.id, m.group_id, m.chunk_no, m.promotion_id, m.scope, m.agent_id, m.content, m.embedding_model, m.session_id,
    m.author, m.occurred_at, m.metadata, m.flags, m.promoted_at, m.valid_to,
    1 - (m.embedding <=> %(embedding)s) AS similarity,
    -(m.lexemes <#> (SELECT words FROM asked)) AS words, l.rank, l.placed, l.neighbour, l.answer, l.session,
    CASE WHEN m.author = (SELECT author FROM named) THEN %(author)s::double precision ELSE 0 END AS named,
    (SELECT p.origin_id FROM promotions p WHERE p.group_id = m.group_id AND p.id = m.promotion_id) AS origin_id,
    m.disputed, m.valid_to IS NOT NULL AND clearwell_is_superseded(m.id) AS superseded,
    (SELECT coalesce(max(2 * id + (moving_at IS NOT NULL)::integer), 0) FROM reembeddings) AS reembedding
FROM ranked l JOIN memories m ON m.ctid = l.place
ORDER BY l.rank DESC, l.id, l.chunk_no

-- name: search_with_words
-- Compare every valid chunk of the group by vector, terms and author, and rank the best again by their neighbours.
-- include: asked_words
), nearest AS MATERIALIZED (
    SELECT m.ctid AS place, m.id, m.chunk_no,
        %(dense)s * (m.embedding <=> %(embedding)s) + %(lexical)s * (m.lexemes <#> (SELECT words FROM asked))
        - CASE WHEN m.author = (SELECT author FROM named) THEN %(author)s::double precision ELSE 0 END AS away
    FROM memories m
    WHERE m.group_id = %(group_id)s AND m.embedding_model = %(model)s AND m.valid_to IS NULL
        AND (m.agent_id IS NULL OR m.agent_id = %(agent_id)s)
    ORDER BY away, m.id, m.chunk_no LIMIT %(pool)s
-- include: lifted_pool

-- name: search_with_filters
-- As search_with_words, among the chunks that meet the filters. Without a vector only the terms count, and chunks of
-- every model.
-- include: asked_words
), nearest AS MATERIALIZED (
    SELECT m.ctid AS place, m.id, m.chunk_no,
        coalesce(%(dense)s * (m.embedding <=> %(embedding)s), %(dense)s)
        + %(lexical)s * (m.lexemes <#> (SELECT words FROM asked))
        - CASE WHEN m.author = (SELECT author FROM named) THEN %(author)s::double precision ELSE 0 END AS away
    FROM memories m
    WHERE m.group_id = %(group_id)s AND (m.embedding_model = %(model)s OR %(by_words)s)
        AND (m.valid_to IS NULL OR m.valid_to > %(as_of)s
            AND (NOT %(still_valid)s OR clearwell_is_superseded(m.id)))
        AND (m.agent_id IS NULL OR m.agent_id = %(agent_id)s)
        AND (%(since)s::timestamptz IS NULL OR coalesce(m.occurred_at, m.promoted_at) >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR coalesce(m.occurred_at, m.promoted_at) < %(until)s)
        AND (%(as_of)s::timestamptz IS NULL OR m.promoted_at <= %(as_of)s AND NOT EXISTS (
            SELECT FROM memory_gaps g WHERE g.group_id = m.group_id AND g.memory_id = m.id
                AND g.withdrawn_at <= %(as_of)s AND g.restored_at > %(as_of)s))
        AND (%(session_id)s::text IS NULL OR m.session_id = %(session_id)s)
        AND (%(scope)s::text IS NULL OR m.scope = %(scope)s)
        AND NOT EXISTS (
            SELECT FROM jsonb_to_recordset(%(conditions)s::jsonb) AS c (path text[], operator text, value jsonb)
            WHERE clearwell_meets(m.metadata #> c.path, c.operator, coalesce(c.value, 'null')) IS NOT TRUE)
    ORDER BY away, m.id, m.chunk_no LIMIT %(pool)s
-- include: lifted_pool

-- name: search
-- The nearest chunks of the group. Every row of the group is compared.
SELECT id, group_id, chunk_no, promotion_id, scope, agent_id, content, embedding_model, session_id, author,
    occurred_at, metadata, flags, promoted_at, valid_to, 1 - (embedding <=> %(embedding)s) AS similarity
FROM memories
WHERE group_id = %(group_id)s AND embedding_model = %(model)s AND valid_to IS NULL
    AND (agent_id IS NULL OR agent_id = %(agent_id)s)
ORDER BY embedding <=> %(embedding)s, id, chunk_no LIMIT %(limit)s

-- name: last_reembedding_number
-- The number of the last re-embedding and its phase, 0 if there was none.
SELECT coalesce(max(2 * id + (moving_at IS NOT NULL)::integer), 0) AS reembedding FROM reembeddings

-- name: plan_by_index
-- A partial index is used only if the planner knows the group, and an approximate one only if it cannot sort.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_sort', 'off', true), set_config('hnsw.ef_search', %(effort)s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    (SELECT coalesce(max(2 * id + (moving_at IS NOT NULL)::integer), 0) FROM reembeddings) AS reembedding

-- name: search_large_with_words
-- As search_with_words, but only among the nearest chunks by the group's vector index and those with rare query terms.
-- include: asked_words
), telling AS (
    SELECT coalesce(array_agg(dimension), '{}') AS terms
    FROM (SELECT dimension, chunks, sum(chunks) OVER (ORDER BY chunks, dimension) AS total FROM rarity
        WHERE chunks > 0) AS counted
    WHERE total <= %(telling)s OR total = chunks
), near AS MATERIALIZED (
    SELECT m.ctid AS place FROM memories m
    WHERE m.group_id = %(group_id)s AND m.embedding_model = %(model)s AND m.valid_to IS NULL
        AND (m.agent_id IS NULL OR m.agent_id = %(agent_id)s)
    ORDER BY halfvec(m.embedding, %(size)s, true) <=> %(embedding)s LIMIT %(near)s
), nearest AS MATERIALIZED (
    SELECT m.ctid AS place, m.id, m.chunk_no,
        %(dense)s * (m.embedding <=> %(embedding)s) + %(lexical)s * (m.lexemes <#> (SELECT words FROM asked))
        - CASE WHEN m.author = (SELECT author FROM named) THEN %(author)s::double precision ELSE 0 END AS away
    FROM (SELECT place FROM near UNION SELECT clearwell_worded((SELECT terms FROM telling))) AS c
    JOIN memories m ON m.ctid = c.place
    WHERE m.group_id = %(group_id)s AND m.embedding_model = %(model)s AND m.valid_to IS NULL
        AND (m.agent_id IS NULL OR m.agent_id = %(agent_id)s)
    ORDER BY away, m.id, m.chunk_no LIMIT %(pool)s
-- include: lifted_pool

-- name: search_large
-- The nearest chunks by the group's own index, ordered by their exact distance.
WITH near AS MATERIALIZED (
    SELECT m.ctid AS place FROM memories m
    WHERE m.group_id = %(group_id)s AND m.embedding_model = %(model)s AND m.valid_to IS NULL
        AND (m.agent_id IS NULL OR m.agent_id = %(agent_id)s)
    ORDER BY halfvec(m.embedding, %(size)s, true) <=> %(embedding)s LIMIT %(near)s
)
SELECT m.id, m.group_id, m.chunk_no, m.promotion_id, m.scope, m.agent_id, m.content, m.embedding_model, m.session_id,
    m.author, m.occurred_at, m.metadata, m.flags, m.promoted_at, m.valid_to,
    1 - (m.embedding <=> %(embedding)s) AS similarity
FROM near JOIN memories m ON m.ctid = near.place
ORDER BY (m.embedding <=> %(embedding)s) + 0, m.id, m.chunk_no LIMIT %(limit)s

-- name: groups_with_indexes
SELECT group_id, model, dimensions FROM group_indexes WHERE state = 'ready'

-- name: groups_without_indexes
-- Large groups whose indexes are missing, incomplete or invalid. A failed build is retried later.
SELECT t.group_id, t.chunks, e.dimensions
FROM (SELECT group_id, sum(chunks)::integer AS chunks FROM group_terms WHERE dimension = 0 GROUP BY group_id) AS t
JOIN embedding_models e ON e.model = %(model)s
WHERE t.chunks > %(rows)s AND e.dimensions <= %(widest)s
    AND NOT EXISTS (SELECT FROM group_indexes i WHERE i.group_id = t.group_id AND i.model = %(model)s
        AND (i.state = 'failed' AND i.changed_at > %(failed_since)s
            OR i.state = 'ready' AND 2 = (SELECT count(*) FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
                WHERE x.indrelid = 'memories'::regclass AND x.indisvalid AND c.relname IN (
                    clearwell_index_name('near', t.group_id, %(model)s), clearwell_index_name('words', t.group_id, '')))))
ORDER BY t.group_id

-- name: groups_with_unneeded_indexes
-- Groups that have become small, and indexes of a model that is no longer used.
SELECT i.group_id, i.model FROM group_indexes i
WHERE i.model <> %(model)s OR 2 * (SELECT coalesce(sum(t.chunks), 0) FROM group_terms t
    WHERE t.group_id = i.group_id AND t.dimension = 0) < %(rows)s
ORDER BY i.group_id, i.model

-- name: record_index
INSERT INTO group_indexes (group_id, model, dimensions, state, chunks, changed_at)
VALUES (%(group_id)s, %(model)s, %(dimensions)s, %(state)s, %(chunks)s, %(at)s)
ON CONFLICT (group_id, model) DO UPDATE SET dimensions = excluded.dimensions, state = excluded.state,
    chunks = excluded.chunks, changed_at = excluded.changed_at

-- name: delete_index_record
DELETE FROM group_indexes WHERE group_id = %(group_id)s AND model = %(model)s

-- name: may_index
-- Whether this login owns the table and no other process builds. Builds have no time limit and use one core.
SELECT pg_has_role(current_user, c.relowner, 'USAGE') AS owner,
    pg_try_advisory_lock(hashtextextended('clearwell:indexes', 0)) AS alone,
    set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
    set_config('maintenance_work_mem', '256MB', false), set_config('max_parallel_maintenance_workers', '0', false)
FROM pg_class c WHERE c.oid = 'memories'::regclass

-- name: index_statements
-- Format the statements that drop invalid indexes of an interrupted build and create the indexes of a group.
SELECT statement FROM (
    SELECT 1 AS step, format('DROP INDEX CONCURRENTLY IF EXISTS %%I', c.relname) AS statement
    FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE x.indrelid = 'memories'::regclass AND NOT x.indisvalid AND c.relname IN (
        clearwell_index_name('near', %(group_id)s, %(model)s), clearwell_index_name('words', %(group_id)s, ''))
    UNION ALL
    SELECT 2, format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %%I ON memories USING gin (clearwell_dimensions(lexemes))'
        ' WITH (fastupdate = off) WHERE group_id = %%L', clearwell_index_name('words', %(group_id)s, ''), %(group_id)s)
    UNION ALL
    SELECT 3, format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %%I ON memories USING hnsw ((embedding::halfvec(%%s))'
        ' halfvec_cosine_ops) WITH (m = 16, ef_construction = 128) WHERE group_id = %%L AND embedding_model = %%L',
        clearwell_index_name('near', %(group_id)s, %(model)s), %(dimensions)s::integer, %(group_id)s, %(model)s)
) AS steps ORDER BY step

-- name: unindex_statements
-- The index of terms serves every model, so it is dropped with the last vector index.
SELECT format('DROP INDEX CONCURRENTLY IF EXISTS %%I', name) AS statement FROM unnest(ARRAY[
    clearwell_index_name('near', %(group_id)s, %(model)s),
    CASE WHEN %(last)s THEN clearwell_index_name('words', %(group_id)s, '') END]) AS name
WHERE name IS NOT NULL

-- name: get_memories
-- All chunks of memories that the agent may see, withdrawn ones too.
SELECT id, group_id, chunk_no, promotion_id, scope, agent_id, content, embedding_model, session_id, author,
    occurred_at, metadata, flags, promoted_at, valid_to
FROM memories
WHERE group_id = %(group_id)s AND id = ANY(%(ids)s) AND (agent_id IS NULL OR agent_id = %(agent_id)s)
ORDER BY id, chunk_no

-- name: find_promoted
-- The outputs among these that were promoted to a valid memory which the agent may see, and the statements of them that
-- an insight rests on which was.
SELECT p.origin_id AS log_id, NULL::integer AS span_start, NULL::integer AS span_end FROM promotions p
JOIN memories m ON m.group_id = p.group_id AND m.promotion_id = p.id
WHERE p.group_id = %(group_id)s AND p.origin_id = ANY(%(ids)s) AND m.valid_to IS NULL
    AND (m.agent_id IS NULL OR m.agent_id = %(agent_id)s)
UNION
SELECT s.log_id, s.span_start, s.span_end FROM insight_sources s
JOIN decisions d ON d.group_id = s.group_id AND d.insight_id = s.insight_id AND d.action = 'promote'
    AND (d.side_sources IS NULL OR s.log_id = ANY(d.side_sources))
JOIN memories m ON m.group_id = d.group_id AND m.id = d.memory_id
WHERE s.group_id = %(group_id)s AND s.log_id = ANY(%(ids)s) AND s.span_start IS NOT NULL AND m.valid_to IS NULL
    AND (m.agent_id IS NULL OR m.agent_id = %(agent_id)s)
    AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)

-- name: embedding_models
SELECT model, dimensions FROM embedding_models

-- name: note_embedding_model
INSERT INTO embedding_models (model, dimensions, first_used_at) VALUES (%(model)s, %(dimensions)s, %(at)s)
ON CONFLICT DO NOTHING

-- name: last_reembedding
SELECT id, from_model, from_choice, to_model, to_choice, moving_at, finished_at FROM reembeddings ORDER BY id DESC LIMIT 1

-- name: give_up_reembedding
UPDATE reembeddings SET finished_at = %(at)s WHERE finished_at IS NULL

-- name: begin_reembedding
INSERT INTO reembeddings (from_model, from_choice, to_model, to_choice, started_by, started_at, moving_at)
VALUES (%(from_model)s, %(from_choice)s, %(to_model)s, %(to_choice)s, %(by)s, %(at)s, %(moving_at)s)
RETURNING id, from_model, from_choice, to_model, to_choice, moving_at, finished_at

-- name: set_off_reembedding
UPDATE reembeddings SET moving_at = %(at)s WHERE id = %(id)s AND moving_at IS NULL

-- name: finish_reembedding
UPDATE reembeddings SET finished_at = %(at)s WHERE id = %(id)s AND finished_at IS NULL

-- name: groups_with_memories
SELECT group_id FROM indexed_groups ORDER BY group_id

-- name: vectors_left
SELECT count(*)::integer AS chunks FROM memories WHERE group_id = %(group_id)s AND embedding_model <> %(model)s

-- name: texts_of_other_models
SELECT id, chunk_no, content FROM memories
WHERE group_id = %(group_id)s AND embedding_model <> %(model)s
    AND (id, chunk_no) > (%(after_id)s, %(after_chunk)s::integer)
ORDER BY id, chunk_no LIMIT %(limit)s

-- name: put_vector
UPDATE memories SET embedding = %(embedding)s, embedding_model = %(model)s
WHERE group_id = %(group_id)s AND id = %(id)s AND chunk_no = %(chunk_no)s AND embedding_model <> %(model)s

-- name: find_key
SELECT any_key_ever, id, name, rights, groups, agent_id, created_at FROM clearwell_find_key(%(hash)s)

-- name: find_session
SELECT any_key_ever, id, name, rights, groups, agent_id, created_at FROM clearwell_find_session(%(hash)s, %(at)s)

-- name: add_session
INSERT INTO console_sessions (token_hash, key_id, created_at, expires_at)
VALUES (%(hash)s, %(key_id)s, %(at)s, %(expires_at)s)

-- name: remove_session
DELETE FROM console_sessions WHERE token_hash = %(hash)s

-- name: remove_expired_sessions
DELETE FROM console_sessions WHERE expires_at <= %(at)s

-- name: add_key
INSERT INTO api_keys (id, name, secret_hash, rights, groups, agent_id, created_at)
VALUES (%(id)s, %(name)s, %(secret_hash)s, %(rights)s, %(groups)s, %(agent_id)s, %(created_at)s)

-- name: list_keys
SELECT id, name, rights, groups, agent_id, created_at, revoked_at FROM api_keys ORDER BY id

-- name: revoke_key
UPDATE api_keys SET revoked_at = %(at)s WHERE id = %(id)s AND revoked_at IS NULL

-- name: add_event
-- Store an event, and its id for the next seal.
WITH waiting AS (INSERT INTO audit_pending (group_id, event_id) VALUES (%(group_id)s, %(id)s))
INSERT INTO audit_events (id, group_id, at, actor, action, subject, detail, signature)
VALUES (%(id)s, %(group_id)s, %(at)s, %(actor)s, %(action)s, %(subject)s, %(detail)s, %(signature)s)

-- name: add_events
WITH given AS (
    SELECT * FROM jsonb_to_recordset(%(events)s) AS e (
        id uuid, group_id text, at timestamptz, actor text, action text, subject text, detail jsonb, signature text)
), waiting AS (INSERT INTO audit_pending (group_id, event_id) SELECT group_id, id FROM given)
INSERT INTO audit_events (id, group_id, at, actor, action, subject, detail, signature)
SELECT id, group_id, at, actor, action, subject, detail, decode(signature, 'hex') FROM given

-- name: audit_page
-- Events of one group, newest first.
SELECT id, group_id, at, actor, action, subject, detail, signature FROM audit_events
WHERE group_id = %(group_id)s
    AND (%(before)s::uuid IS NULL OR id < %(before)s)
    AND (%(actor)s::text IS NULL OR actor = %(actor)s)
    AND (%(action)s::text IS NULL OR action = %(action)s)
    AND (%(since)s::timestamptz IS NULL OR at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR at < %(until)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: audit_read
SELECT id, group_id, at, actor, action, subject, detail, signature FROM audit_events
WHERE group_id = %(group_id)s AND id = ANY(%(ids)s)

-- name: audit_scan
-- Events of one group in the order of their ids.
SELECT id, group_id, at, actor, action, subject, detail, signature FROM audit_events
WHERE group_id = %(group_id)s AND (%(after)s::uuid IS NULL OR id > %(after)s)
ORDER BY id LIMIT %(limit)s

-- name: audit_unsealed_groups
-- The groups that have events without a seal.
SELECT DISTINCT group_id FROM audit_pending WHERE %(after)s::text IS NULL OR group_id > %(after)s
ORDER BY group_id LIMIT %(limit)s

-- name: alone_in_seals
-- One process seals a group at a time.
SELECT pg_advisory_xact_lock(hashtextextended('audit:' || %(group_id)s, 0))

-- name: audit_unsealed
-- The events of a group without a seal, in the order of their ids.
SELECT e.id, e.group_id, e.at, e.actor, e.action, e.subject, e.detail, e.signature
FROM audit_pending p JOIN audit_events e ON e.id = p.event_id AND e.group_id = p.group_id
WHERE p.group_id = %(group_id)s ORDER BY p.event_id LIMIT %(limit)s

-- name: add_seal
WITH sealed AS (DELETE FROM audit_pending WHERE group_id = %(group_id)s AND event_id = ANY(%(event_ids)s))
INSERT INTO audit_seals (group_id, number, sealed_at, event_ids, event_hashes, root, signature)
VALUES (%(group_id)s, %(number)s, %(sealed_at)s, %(event_ids)s, %(event_hashes)s, %(root)s, %(signature)s)

-- name: audit_seals
SELECT group_id, number, sealed_at, event_ids, event_hashes, root, signature FROM audit_seals
WHERE group_id = %(group_id)s AND number > %(after)s ORDER BY number LIMIT %(limit)s

-- name: last_seal
SELECT group_id, number, sealed_at, event_ids, event_hashes, root, signature FROM audit_seals
WHERE group_id = %(group_id)s ORDER BY number DESC LIMIT 1

-- name: claim
-- Take a free key, an expired one, or one whose holder's lease has run out.
INSERT INTO idempotency AS held (principal, route, key, request_hash, token, status, lease_until, expires_at)
VALUES (%(principal)s, %(route)s, %(key)s, %(request_hash)s, %(token)s, 'running', %(lease_until)s, %(expires_at)s)
ON CONFLICT (principal, route, key) DO UPDATE
SET request_hash = excluded.request_hash, token = excluded.token, status = 'running', answer = NULL,
    lease_until = excluded.lease_until, expires_at = excluded.expires_at
WHERE held.expires_at <= %(now)s
    OR (held.status = 'running' AND held.request_hash = excluded.request_hash
        AND (held.lease_until <= %(now)s OR held.lease_until > %(ahead)s))
RETURNING token

-- name: claimed
SELECT request_hash, status, answer FROM idempotency
WHERE principal = %(principal)s AND route = %(route)s AND key = %(key)s

-- name: complete_claim
UPDATE idempotency SET status = 'done', answer = %(answer)s
WHERE principal = %(principal)s AND route = %(route)s AND key = %(key)s AND token = %(token)s

-- name: release_claim
DELETE FROM idempotency
WHERE principal = %(principal)s AND route = %(route)s AND key = %(key)s AND token = %(token)s AND status = 'running'

-- name: expire_claims
DELETE FROM idempotency WHERE expires_at <= %(now)s

-- name: lock_schema
-- One process applies migrations at a time.
SELECT pg_advisory_lock(%(lock)s)

-- name: unlock_schema
SELECT pg_advisory_unlock(%(lock)s)

-- name: limit_lock_wait
SELECT set_config('lock_timeout', %(milliseconds)s, true)

-- name: lock_tables
-- Every table that the roles of the program may use, so that a migration never waits while it holds some of them.
DO $$
DECLARE
    used_table regclass;
BEGIN
    FOR used_table IN
        SELECT c.oid FROM pg_class c
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND EXISTS (
            SELECT FROM aclexplode(c.relacl) AS granted JOIN pg_roles r ON r.oid = granted.grantee
            WHERE starts_with(r.rolname, 'clearwell_'))
        ORDER BY c.oid
    LOOP
        EXECUTE 'LOCK TABLE ' || used_table || ' IN ACCESS EXCLUSIVE MODE';
    END LOOP;
END
$$

-- name: create_schema_migrations
CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)

-- name: record_migration
INSERT INTO schema_migrations (version, name, checksum) VALUES (%(version)s, %(name)s, %(checksum)s)

-- name: has_schema
SELECT to_regclass('schema_migrations') IS NOT NULL

-- name: enter_to_read_schema
-- A login may have been granted clearwell_app without inheriting from it, and then reads the versions in that role.
SELECT set_config('role', 'clearwell_app', false) FROM pg_class
WHERE oid = to_regclass('schema_migrations') AND NOT has_table_privilege(oid, 'SELECT')
    AND pg_has_role('clearwell_app', 'MEMBER')

-- name: pgvector_version
SELECT extversion FROM pg_extension WHERE extname = 'vector'

-- name: schema_versions
SELECT version, name, checksum FROM schema_migrations ORDER BY version

-- name: overview_sees_all
-- Whether row-level security lets this login see every group.
SELECT rolsuper OR rolbypassrls AND (
    SELECT bool_and(has_table_privilege(name, 'SELECT'))
    FROM unnest(ARRAY['quarantine_logs', 'admissions', 'ingress_verdicts', 'memories']) AS name) AS sees_all
FROM pg_roles WHERE rolname = current_user

-- name: overview_limit
SELECT set_config('statement_timeout', %(milliseconds)s, true)

-- name: leave
-- Back to the login's own rights, in the same transaction.
SELECT set_config('role', 'none', true), set_config('clearwell.group', '', true)

-- name: overview_server
SELECT current_setting('server_version') AS server,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS pgvector,
    to_regclass('schema_migrations') IS NOT NULL AS has_schema

-- name: overview_admissions
SELECT state, count(*) AS rows FROM admissions GROUP BY state

-- name: overview_pending
SELECT count(*) AS rows, min(q.created_at) AS oldest, coalesce(max(a.attempts), 0) AS attempts
FROM admissions a JOIN quarantine_logs q ON q.group_id = a.group_id AND q.id = a.log_id
WHERE a.state = 'pending'

-- name: overview_memories
SELECT count(*) FILTER (WHERE chunk_no = first_chunk) AS memories, count(*) AS chunks
FROM (SELECT chunk_no, min(chunk_no) OVER (PARTITION BY group_id, id) AS first_chunk
    FROM memories WHERE valid_to IS NULL) AS living

-- name: overview_keys
SELECT count(*) FILTER (WHERE revoked_at IS NULL) AS valid, count(revoked_at) AS revoked,
    count(*) FILTER (WHERE revoked_at IS NULL AND 'review' = ANY(rights)) AS reviewers
FROM api_keys

-- name: overview_groups
-- Every group that has captures or memories. Steps from group to group instead of reading every row.
WITH RECURSIVE captured AS (
    (SELECT group_id FROM quarantine_logs ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.group_id FROM quarantine_logs q WHERE q.group_id > c.group_id ORDER BY q.group_id LIMIT 1)
    FROM captured c WHERE c.group_id IS NOT NULL
), known AS (
    (SELECT group_id FROM memories ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.group_id FROM memories m WHERE m.group_id > k.group_id ORDER BY m.group_id LIMIT 1)
    FROM known k WHERE k.group_id IS NOT NULL
)
SELECT g.group_id, EXISTS (SELECT FROM memories m WHERE m.group_id = g.group_id AND m.valid_to IS NULL) AS has_memories
FROM (SELECT group_id FROM captured UNION SELECT group_id FROM known) AS g
WHERE g.group_id IS NOT NULL ORDER BY g.group_id

-- name: overview_settled
SELECT state, count(*) AS rows FROM admissions
WHERE settled_at >= %(since)s AND (%(group_id)s::text IS NULL OR group_id = %(group_id)s) GROUP BY state

-- name: overview_refusals
-- Why captures were refused, the most frequent reason first. Values are left out, because they may hold content.
SELECT "check", reason, count(*) AS rows FROM ingress_verdicts
WHERE outcome = 'fail' AND at >= %(since)s AND (%(group_id)s::text IS NULL OR group_id = %(group_id)s)
GROUP BY "check", reason ORDER BY rows DESC, "check", reason

-- name: overview_judge_waiting
-- Rows whose last verdict is that the judge has not answered.
SELECT count(*) AS rows FROM admissions a
WHERE a.state = 'pending' AND (%(group_id)s::text IS NULL OR a.group_id = %(group_id)s)
    AND (SELECT v.outcome FROM ingress_verdicts v WHERE v.group_id = a.group_id AND v.log_id = a.log_id
        ORDER BY v.at DESC, v.position DESC LIMIT 1) = 'pending'

-- name: overview_judge_gave_up
-- How many rows are refused because the judge never answered, and the newest of them.
SELECT count(*) OVER () AS rows, a.group_id, a.log_id
FROM admissions a JOIN ingress_verdicts v ON v.group_id = a.group_id AND v.log_id = a.log_id AND v.at = a.settled_at
WHERE a.state = 'refused' AND a.settled_at >= %(since)s AND v.at >= %(since)s AND v.reason = 'verdict_judge_gave_up'
    AND (%(group_id)s::text IS NULL OR a.group_id = %(group_id)s)
ORDER BY a.settled_at DESC LIMIT 1

-- name: overview_waiting
-- Waiting promotions by their problem, each with the oldest one.
SELECT DISTINCT ON (w.problem) w.problem, count(*) OVER (PARTITION BY w.problem) AS rows, p.decided_at AS oldest,
    p.group_id, p.memory_id
FROM promotion_work w JOIN promotions p ON p.group_id = w.group_id AND p.id = w.promotion_id
WHERE %(group_id)s::text IS NULL OR w.group_id = %(group_id)s
ORDER BY w.problem, p.decided_at, p.id

-- name: overview_group_memories
SELECT embedding_model, count(DISTINCT id) AS memories FROM memories
WHERE group_id = %(group_id)s AND valid_to IS NULL GROUP BY embedding_model

-- name: make_secret
INSERT INTO group_secrets (group_id, secret) VALUES (%(group_id)s, %(secret)s) ON CONFLICT DO NOTHING

-- name: read_secret
SELECT secret FROM group_secrets WHERE group_id = %(group_id)s

-- name: tombstones_in_force
SELECT value_hash, id, group_id, kind, reason, made_by, made_at, lifted_by, lifted_at FROM tombstones
WHERE group_id = %(group_id)s AND value_hash = ANY(%(value_hashes)s) AND lifted_at IS NULL
ORDER BY kind = 'forgotten' DESC, id

-- name: nearest_tombstone
-- The rejected value nearest to one of these vectors, among those of the same model.
SELECT t.id, t.group_id, t.kind, t.reason, t.made_by, t.made_at, t.lifted_by, t.lifted_at, 1 - n.away AS similarity
FROM tombstones t
CROSS JOIN LATERAL (SELECT min(t.embedding <=> v) AS away FROM unnest(%(embeddings)s::halfvec[]) AS v) AS n
WHERE t.group_id = %(group_id)s AND t.model = %(model)s AND t.embedding IS NOT NULL AND t.lifted_at IS NULL
ORDER BY n.away, t.id LIMIT 1

-- name: add_tombstone
INSERT INTO tombstones (group_id, id, value_hash, kind, reason, model, embedding, made_by, made_at)
VALUES (%(group_id)s, %(id)s, %(value_hash)s, %(kind)s, %(reason)s, %(model)s, %(embedding)s, %(made_by)s, %(made_at)s)
ON CONFLICT (group_id, value_hash) WHERE lifted_at IS NULL DO NOTHING

-- name: lift_tombstone
-- Only a rejection can be lifted. A forgotten value stays refused.
UPDATE tombstones SET lifted_by = %(by)s, lifted_at = %(at)s
WHERE group_id = %(group_id)s AND id = %(id)s AND kind = 'rejected' AND lifted_at IS NULL

-- name: list_tombstones
SELECT id, group_id, kind, reason, made_by, made_at, lifted_by, lifted_at FROM tombstones
WHERE group_id = %(group_id)s ORDER BY id DESC

-- name: add_digest
-- At most one digest for a tick of the schedule and one open digest in a group: a second one adds nothing.
INSERT INTO digests (group_id, id, status, due_at, requested_by, created_at)
VALUES (%(group_id)s, %(id)s, 'queued', %(due_at)s, %(requested_by)s, %(created_at)s)
ON CONFLICT DO NOTHING

-- part: digest_columns
    id, group_id, status, due_at, requested_by, created_at, started_at, finished_at, attempts, progress, note,
    note_params, report

-- name: open_digest
SELECT
-- include: digest_columns
FROM digests WHERE group_id = %(group_id)s AND status IN ('queued', 'running')

-- name: get_digest
SELECT
-- include: digest_columns
FROM digests WHERE group_id = %(group_id)s AND id = %(id)s

-- name: list_digests
SELECT
-- include: digest_columns
FROM digests WHERE group_id = %(group_id)s AND (%(before)s::uuid IS NULL OR id < %(before)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: name_digest
-- Until the transaction ends the digest by this id can be found without its group.
SELECT set_config('clearwell.digest', %(id)s, true)

-- name: group_of_digest
SELECT group_id FROM digests WHERE id = %(id)s

-- part: insight_columns
SELECT i.id, i.group_id, i.digest_id, i.version, i.state, i.summary, i.written_by, i.flags, i.contradictions, i.support,
    i.score, i.model, i.embedding, i.snoozed_until, i.merged_into, i.created_at, i.changed_at, i.sentences, i.notes,
    i.sides

-- name: insights_of_digest
-- include: insight_columns
FROM insights i WHERE i.group_id = %(group_id)s AND i.digest_id = %(digest_id)s ORDER BY i.position

-- name: digest_schedules
SELECT w.group_id, greatest(w.first_settled_at, g.scheduled_at) AS since, g.digest_cron, g.digest_zone
FROM working_groups w LEFT JOIN groups g ON g.group_id = w.group_id
WHERE w.first_settled_at IS NOT NULL ORDER BY w.group_id

-- name: digest_of_tick
SELECT id FROM digests WHERE group_id = %(group_id)s AND due_at = %(due_at)s

-- part: digest_is_due
status IN ('queued', 'running') AND (next_try_at IS NULL OR next_try_at <= %(at)s OR next_try_at > %(ahead)s)
    AND (leased_until IS NULL OR leased_until <= %(at)s OR leased_until > %(ahead)s)

-- name: due_digests
-- Due runs of all groups that nobody has leased, oldest first. Only ids are read here.
SELECT group_id, id FROM digests WHERE
-- include: digest_is_due
ORDER BY created_at, id

-- name: claim_digest
-- Of two workers the second waits for the first one's lock, then finds the lease.
UPDATE digests SET status = 'running', attempts = attempts + 1, started_at = coalesce(started_at, %(at)s), progress = 0,
    leased_until = %(until)s
WHERE group_id = %(group_id)s AND id = %(id)s AND
-- include: digest_is_due
RETURNING
-- include: digest_columns

-- name: renew_digest
UPDATE digests SET leased_until = %(until)s
WHERE group_id = %(group_id)s AND id = %(id)s AND status = 'running' AND attempts = %(attempt)s

-- name: release_digest
UPDATE digests SET leased_until = NULL
WHERE group_id = %(group_id)s AND id = %(id)s AND status = 'running' AND attempts = %(attempt)s

-- name: tell_digest
UPDATE digests SET progress = %(progress)s, note = %(note)s, note_params = %(params)s
WHERE group_id = %(group_id)s AND id = %(id)s AND status = 'running' AND attempts = %(attempt)s

-- name: put_off_digest
UPDATE digests SET status = 'queued', progress = 0, note = %(note)s, note_params = %(params)s,
    next_try_at = %(again)s, leased_until = NULL
WHERE group_id = %(group_id)s AND id = %(id)s AND status = 'running' AND attempts = %(attempt)s

-- name: end_digest
UPDATE digests SET status = %(status)s, progress = %(progress)s, finished_at = %(at)s, note = %(note)s,
    note_params = %(params)s, report = %(report)s, leased_until = NULL
WHERE group_id = %(group_id)s AND id = %(id)s AND status = 'running' AND attempts = %(attempt)s

-- name: add_insight
INSERT INTO insights (group_id, id, digest_id, position, summary, written_by, flags, contradictions, support, score,
    model, embedding, created_at, changed_at, sentences, notes, sides)
VALUES (%(group_id)s, %(id)s, %(digest_id)s, %(position)s, %(summary)s, %(written_by)s, %(flags)s,
    %(contradictions)s, %(support)s, %(score)s, %(model)s, %(embedding)s, %(at)s, %(at)s, %(sentences)s, %(notes)s,
    %(sides)s)

-- name: add_insight_sources
INSERT INTO insight_sources (group_id, insight_id, log_id, position, statement, number, span_start, span_end, side)
SELECT %(group_id)s, %(insight_id)s, * FROM unnest(%(log_ids)s::uuid[], %(positions)s::integer[],
    %(statements)s::text[], %(numbers)s::integer[], %(starts)s::integer[], %(ends)s::integer[], %(sides)s::smallint[])

-- name: mark_considered
INSERT INTO digest_marks (group_id, log_id, considered)
SELECT %(group_id)s, log_id, 1 FROM unnest(%(ids)s::uuid[]) AS log_id
ON CONFLICT (group_id, log_id) DO UPDATE SET considered = digest_marks.considered + 1

-- name: unsettled_rows
-- Rows that wait for admission or for their statements.
SELECT (SELECT count(*) FROM admissions WHERE group_id = %(group_id)s AND state = 'pending' AND judge_tries = 0)
    + (SELECT count(*) FROM segmentations WHERE group_id = %(group_id)s AND version = 0) AS rows

-- name: group_holds_rows
SELECT EXISTS (SELECT FROM admissions WHERE group_id = %(group_id)s) AS held

-- part: undigested_rows
-- OFFSET 0 makes the planner look up each row by its key. With statistics from when the group was small it would
-- otherwise choose a nested loop over all rows.
FROM admissions a
LEFT JOIN LATERAL (SELECT judged_by, considered FROM digest_marks
    WHERE group_id = %(group_id)s AND log_id = a.log_id OFFSET 0) d ON true

-- part: undigested
-- Without rows that were decided on as a whole: outputs that were promoted, and sources of insights made of outputs.
coalesce(d.considered, 0) < %(most_considered)s
    AND (d.judged_by IS NULL OR EXISTS (SELECT FROM insight_sources j WHERE j.group_id = %(group_id)s
        AND j.log_id = a.log_id AND j.insight_id = d.judged_by AND j.number IS NOT NULL OFFSET 0))
    AND NOT EXISTS (SELECT FROM insight_sources i WHERE i.group_id = %(group_id)s AND i.log_id = a.log_id
        AND i.number IS NULL OFFSET 0)

-- name: count_digest_candidates
SELECT count(*) AS rows
-- include: undigested_rows
WHERE a.group_id = %(group_id)s AND a.state <> 'pending' AND
-- include: undigested

-- name: plan_by_id
-- Read a page along the index and stop when it is full. Sorting all remaining rows for each page costs 100 times more.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true)

-- name: digest_rows
-- Settled and segmented rows that were not refused as an echo or an instruction, that no reviewer judged as a whole, and
-- that few digests have considered. A person may have admitted what was refused.
SELECT q.id, left(q.content, %(chars)s) AS content, q.agent_id, q.session_id, q.node_id, q.node_type, q.occurred_at,
    q.raw_metadata -> 'confidence' AS confidence, q.raw_metadata -> 'confidence_score' AS confidence_score,
    q.captured_by, a.state, a.flags, coalesce(d.considered, 0) AS considered
-- include: undigested_rows
CROSS JOIN LATERAL (SELECT id, content, agent_id, session_id, node_id, node_type, occurred_at, raw_metadata, captured_by
    FROM quarantine_logs WHERE group_id = %(group_id)s AND id = a.log_id OFFSET 0) q
CROSS JOIN LATERAL (SELECT version FROM segmentations
    WHERE group_id = %(group_id)s AND log_id = a.log_id OFFSET 0) g
WHERE a.group_id = %(group_id)s AND a.log_id > coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000') AND a.state <> 'pending' AND
-- include: undigested
    AND g.version > 0 AND q.node_type <> ALL(%(without_types)s)
    AND (a.state = 'admitted' OR NOT EXISTS (SELECT FROM ingress_verdicts e WHERE e.group_id = %(group_id)s
        AND e.log_id = a.log_id AND e.at = a.settled_at AND e."check" IN ('echo', 'instruction')
        AND e.outcome = 'fail' OFFSET 0))
ORDER BY a.log_id LIMIT %(limit)s

-- name: digest_statements
-- Claims and decisions of rows that no insight is based on, with their vectors of one model. By their places, since
-- numbers change when an output is segmented again.
SELECT s.log_id, s.number, s.span_start, s.span_end, s.kind, s.headings, s.lead_in,
    CASE WHEN s.model = %(model)s THEN s.model END AS model, CASE WHEN s.model = %(model)s THEN s.embedding END AS embedding
FROM statements s WHERE s.group_id = %(group_id)s AND s.log_id = ANY(%(ids)s) AND s.kind IN ('claim', 'decision')
    AND NOT EXISTS (SELECT FROM insight_sources i WHERE i.group_id = %(group_id)s AND i.log_id = s.log_id
        AND i.span_start < s.span_end AND i.span_end > s.span_start OFFSET 0)
ORDER BY s.log_id, s.number

-- name: contents
SELECT id, content FROM quarantine_logs WHERE group_id = %(group_id)s AND id = ANY(%(ids)s)

-- name: verified_texts
SELECT id, content, embedding FROM memories
WHERE group_id = %(group_id)s AND embedding_model = %(model)s AND valid_to IS NULL AND agent_id IS NULL
ORDER BY id, chunk_no

-- name: undecided_insights
SELECT id, summary AS content, embedding, sides <> '[]' AS has_sides FROM insights
WHERE group_id = %(group_id)s AND model = %(model)s AND state IN ('pending', 'snoozed') AND embedding IS NOT NULL
ORDER BY id

-- name: sources_of_insights
-- The rows that insights are based on, as digest_rows has them.
SELECT i.insight_id, q.id, left(q.content, %(chars)s) AS content, q.agent_id, q.session_id, q.node_id, q.node_type,
    q.occurred_at, q.raw_metadata -> 'confidence' AS confidence, q.raw_metadata -> 'confidence_score' AS confidence_score,
    q.captured_by, a.state, a.flags, 0 AS considered
FROM insight_sources i
JOIN quarantine_logs q ON q.group_id = %(group_id)s AND q.id = i.log_id
JOIN admissions a ON a.group_id = %(group_id)s AND a.log_id = i.log_id
WHERE i.group_id = %(group_id)s AND i.insight_id = ANY(%(ids)s)
ORDER BY i.insight_id, i.position

-- name: statements_of_insights
-- The claims and decisions that insights are based on, with their vectors of one model.
SELECT i.insight_id, s.log_id, s.number, s.span_start, s.span_end, s.kind, s.headings, s.lead_in,
    CASE WHEN s.model = %(model)s THEN s.model END AS model, CASE WHEN s.model = %(model)s THEN s.embedding END AS embedding
FROM insight_sources i JOIN statements s ON s.group_id = %(group_id)s AND s.log_id = i.log_id
    AND i.span_start < s.span_end AND i.span_end > s.span_start
WHERE i.group_id = %(group_id)s AND i.insight_id = ANY(%(ids)s) AND s.kind IN ('claim', 'decision')
ORDER BY i.insight_id, s.log_id, s.number

-- name: replace_insight
-- An insight of an earlier digest becomes part of a new one, unless it was decided meanwhile.
UPDATE insights SET state = 'merged', merged_into = %(by)s, snoozed_until = NULL, version = version + 1, changed_at = %(at)s
WHERE group_id = %(group_id)s AND id = %(id)s AND state IN ('pending', 'snoozed')

-- name: rejected_vectors
SELECT reason, made_at, embedding FROM tombstones
WHERE group_id = %(group_id)s AND model = %(model)s AND embedding IS NOT NULL AND lifted_at IS NULL
ORDER BY id

-- name: refused_values
SELECT value_hash FROM tombstones WHERE group_id = %(group_id)s AND lifted_at IS NULL

-- name: get_group
SELECT group_id, system_prompt, digest_cron, digest_zone, created_at, updated_at FROM groups
WHERE group_id = %(group_id)s

-- name: list_groups
-- Groups with settings, outputs or promotions. Steps from group to group instead of reading every row.
WITH RECURSIVE captured AS (
    (SELECT group_id FROM quarantine_logs ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.group_id FROM quarantine_logs q WHERE q.group_id > c.group_id ORDER BY q.group_id LIMIT 1)
    FROM captured c WHERE c.group_id IS NOT NULL
), promoted AS (
    (SELECT group_id FROM promotions ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT p.group_id FROM promotions p WHERE p.group_id > k.group_id ORDER BY p.group_id LIMIT 1)
    FROM promoted k WHERE k.group_id IS NOT NULL
), named AS (
    SELECT group_id FROM groups UNION SELECT group_id FROM captured UNION SELECT group_id FROM promoted
)
SELECT n.group_id, coalesce(g.system_prompt, '') AS system_prompt, g.digest_cron, g.digest_zone, g.created_at,
    g.updated_at
FROM named n LEFT JOIN groups g ON g.group_id = n.group_id
WHERE n.group_id <> 'unassigned' AND (%(among)s::text[] IS NULL OR n.group_id = ANY(%(among)s))
ORDER BY n.group_id COLLATE "C"

-- name: group_exists
SELECT EXISTS (SELECT FROM groups WHERE group_id = %(group_id)s)
    OR EXISTS (SELECT FROM agents WHERE group_id = %(group_id)s)
    OR EXISTS (SELECT FROM quarantine_logs WHERE group_id = %(group_id)s)
    OR EXISTS (SELECT FROM promotions WHERE group_id = %(group_id)s) AS found

-- name: change_group
-- Only what is named in "changed" is changed.
INSERT INTO groups (group_id, system_prompt, digest_cron, digest_zone, created_at, updated_at, scheduled_at)
VALUES (%(group_id)s, %(system_prompt)s, %(digest_cron)s, %(digest_zone)s, %(at)s, %(at)s,
    CASE WHEN coalesce(%(digest_cron)s, %(digest_zone)s) IS NOT NULL THEN %(at)s::timestamptz END)
ON CONFLICT (group_id) DO UPDATE SET updated_at = excluded.updated_at,
    scheduled_at = CASE WHEN 'digest_cron' = ANY(%(changed)s) AND excluded.digest_cron IS DISTINCT FROM groups.digest_cron
        OR 'digest_zone' = ANY(%(changed)s) AND excluded.digest_zone IS DISTINCT FROM groups.digest_zone
        THEN excluded.updated_at ELSE groups.scheduled_at END,
    system_prompt = CASE WHEN 'system_prompt' = ANY(%(changed)s) THEN excluded.system_prompt
        ELSE groups.system_prompt END,
    digest_cron = CASE WHEN 'digest_cron' = ANY(%(changed)s) THEN excluded.digest_cron ELSE groups.digest_cron END,
    digest_zone = CASE WHEN 'digest_zone' = ANY(%(changed)s) THEN excluded.digest_zone ELSE groups.digest_zone END

-- name: get_prompts
SELECT (SELECT system_prompt FROM groups WHERE group_id = %(group_id)s) AS system_prompt,
    (SELECT persona FROM agents WHERE group_id = %(group_id)s AND agent_id = %(agent_id)s) AS persona

-- name: get_agents
SELECT group_id, agent_id, persona, created_at, updated_at FROM agents
WHERE group_id = %(group_id)s AND (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s)
ORDER BY agent_id COLLATE "C"

-- name: list_agent_names
SELECT agent_id FROM clearwell_agent_names(%(group_id)s) AS names (agent_id)

-- name: put_agent
INSERT INTO agents (group_id, agent_id, persona, created_at, updated_at)
VALUES (%(group_id)s, %(agent_id)s, %(persona)s, %(at)s, %(at)s)
ON CONFLICT (group_id, agent_id) DO UPDATE SET persona = excluded.persona, updated_at = excluded.updated_at

-- name: remove_agent
DELETE FROM agents WHERE group_id = %(group_id)s AND agent_id = %(agent_id)s

-- name: session_chunks
-- The living chunks of a session that the same readers see, in the order of arrival.
SELECT id, chunk_no, session_id, agent_id, author, content, position FROM memories
WHERE group_id = %(group_id)s AND session_id = %(session_id)s AND agent_id IS NOT DISTINCT FROM %(agent_id)s
    AND valid_to IS NULL
ORDER BY promoted_at, id, chunk_no

-- name: withdraw_memories
UPDATE memories SET valid_to = %(at)s
WHERE group_id = %(group_id)s AND id = ANY(%(ids)s) AND valid_to IS NULL
RETURNING id, chunk_no, session_id, agent_id, author, content, position

-- name: add_memory_gaps
-- Record the time in which memories that are restored now were not valid.
INSERT INTO memory_gaps (group_id, memory_id, withdrawn_at, restored_at)
SELECT group_id, id, min(valid_to), %(at)s::timestamptz FROM memories
WHERE group_id = %(group_id)s AND id = ANY(%(ids)s) AND valid_to <= %(at)s GROUP BY group_id, id
ON CONFLICT (group_id, memory_id, withdrawn_at) DO NOTHING

-- name: supersede_by_waiting
-- What the decisions for a waiting promotion replace, withdrawn in the transaction that writes its chunks.
SELECT id, chunk_no, session_id, agent_id, author, content, position FROM clearwell_supersede(%(promotion_id)s, %(at)s)

-- name: restore_memories
UPDATE memories SET valid_to = NULL
WHERE group_id = %(group_id)s AND id = ANY(%(ids)s) AND valid_to IS NOT NULL
RETURNING id, chunk_no, session_id, agent_id, author, content, position

-- name: add_promotion_work
INSERT INTO promotion_work (group_id, promotion_id, next_try_at)
SELECT %(group_id)s, promotion_id, %(at)s::timestamptz FROM unnest(%(promotion_ids)s::uuid[]) AS promotion_id

-- name: withdraw_promotion_work
DELETE FROM promotion_work w USING promotions p
WHERE w.group_id = %(group_id)s AND p.group_id = w.group_id AND p.id = w.promotion_id AND p.memory_id = ANY(%(ids)s)

-- name: withdraw_replaced_work
-- Drop the work of waiting promotions that another waiting promotion replaces.
DELETE FROM promotion_work w USING promotions old, promotions p, decisions d
WHERE p.group_id = %(group_id)s AND p.id = %(promotion_id)s
    AND d.group_id = p.group_id AND d.memory_id = p.memory_id AND d.action = 'promote' AND d.supersedes <> p.memory_id
    AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
    AND old.group_id = d.group_id AND old.memory_id = d.supersedes
    AND w.group_id = old.group_id AND w.promotion_id = old.id

-- name: restore_promotion_work
-- Queue restored promotions again that were withdrawn before their chunks were written.
INSERT INTO promotion_work (group_id, promotion_id, next_try_at)
SELECT p.group_id, p.id, %(at)s::timestamptz FROM promotions p
WHERE p.group_id = %(group_id)s AND p.memory_id = ANY(%(ids)s)
    AND NOT EXISTS (SELECT FROM memories m WHERE m.group_id = p.group_id AND m.promotion_id = p.id)
ON CONFLICT (group_id, promotion_id) DO NOTHING

-- name: delete_promotion_work
DELETE FROM promotion_work WHERE group_id = %(group_id)s AND promotion_id = %(promotion_id)s

-- name: waiting_promotions
-- Due work of all groups, oldest first. Only ids are visible here.
SELECT group_id, promotion_id FROM promotion_work WHERE next_try_at <= %(now)s OR next_try_at > %(ahead)s
ORDER BY next_try_at LIMIT %(limit)s

-- name: postpone_promotion
UPDATE promotion_work SET attempts = attempts + 1, problem = %(problem)s,
    next_try_at = %(now)s::timestamptz + least(%(longest)s::interval, %(first)s::interval * 2 ^ least(attempts, 10))
WHERE group_id = %(group_id)s AND promotion_id = %(promotion_id)s

-- name: retry_refused_promotions
UPDATE promotion_work SET next_try_at = %(at)s WHERE group_id = %(group_id)s AND problem = %(problem)s

-- part: promotion_columns
SELECT p.id, p.memory_id, p.group_id, p.scope, p.agent_id, p.origin, p.origin_id, p.content, p.session_id, p.author,
    p.occurred_at, p.metadata, p.flags, p.supersedes, p.fingerprint, p.decided_by, p.decided_at,
    p.import_id, w.promotion_id IS NOT NULL AS waiting, w.problem, coalesce(m.chunks, 0) AS chunks, m.valid_to

-- part: promotion_fate
-- Whether the chunks of a promotion are still to be written, how many there are, and until when they are valid.
LEFT JOIN promotion_work w ON w.group_id = p.group_id AND w.promotion_id = p.id
LEFT JOIN LATERAL (SELECT count(*)::integer AS chunks, max(valid_to) AS valid_to FROM memories m
    WHERE m.group_id = p.group_id AND m.promotion_id = p.id) AS m ON true

-- name: valid_texts
SELECT DISTINCT ON (p.memory_id) p.memory_id, p.content FROM promotions p
WHERE p.group_id = %(group_id)s AND (%(after)s::uuid IS NULL OR p.memory_id > %(after)s)
    AND EXISTS (SELECT FROM memories m
        WHERE m.group_id = p.group_id AND m.id = p.memory_id AND m.valid_to IS NULL)
ORDER BY p.memory_id LIMIT %(limit)s

-- name: promotion_states
-- The promotions of memories and their current state.
-- include: promotion_columns
FROM promotions p
-- include: promotion_fate
WHERE p.group_id = %(group_id)s AND p.memory_id = ANY(%(memory_ids)s)
ORDER BY p.id

-- name: list_memories
-- Promoted memories, newest first, with their use, the valid memories that they contradict while they are valid, and the
-- memory that superseded them.
-- A memory is of a session or an agent if an output that it rests on is; where one side of a dispute was promoted, the
-- other side is no source. The memories of a session are read from its outputs, which are few; those of an agent not.
-- include: promotion_columns
    , u.last_used_at, coalesce(u.days, 0) AS days_used, coalesce(c.others, '{}') AS others
    , CASE WHEN m.valid_to IS NOT NULL THEN (SELECT d.memory_id FROM decisions d
        WHERE d.group_id = p.group_id AND d.supersedes = p.memory_id AND d.action = 'promote'
            AND d.memory_id <> p.memory_id
            AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
        ORDER BY d.id DESC LIMIT 1) END AS superseded_by
FROM promotions p
-- include: promotion_fate
LEFT JOIN memory_uses u ON u.group_id = p.group_id AND u.memory_id = p.memory_id
LEFT JOIN LATERAL (SELECT array_agg(c.other_id ORDER BY c.other_id) AS others FROM memory_conflicts c
    WHERE c.group_id = p.group_id AND c.memory_id = p.memory_id AND m.chunks > 0 AND m.valid_to IS NULL AND EXISTS (
        SELECT FROM memories o WHERE o.group_id = c.group_id AND o.id = c.other_id AND o.valid_to IS NULL)) AS c ON true
WHERE p.group_id = %(group_id)s AND (%(before)s::uuid IS NULL OR p.id < %(before)s)
    AND (%(ids)s::uuid[] IS NULL OR p.memory_id = ANY(%(ids)s))
    AND (%(origin)s::text IS NULL OR p.origin = %(origin)s)
    AND (%(agent_id)s::text IS NULL OR p.agent_id = %(agent_id)s OR p.author = %(agent_id)s OR EXISTS (
        SELECT FROM decisions d JOIN insight_sources s ON s.group_id = d.group_id AND s.insight_id = d.insight_id
            AND (d.side_sources IS NULL OR s.log_id = ANY(d.side_sources))
        JOIN quarantine_logs q ON q.group_id = s.group_id AND q.id = s.log_id
        WHERE d.group_id = p.group_id AND d.memory_id = p.memory_id AND d.action = 'promote' AND q.agent_id = %(agent_id)s
            AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)))
    AND (%(session_id)s::text IS NULL OR p.session_id = %(session_id)s OR p.memory_id = ANY(ARRAY(
        SELECT d.memory_id FROM quarantine_logs q
        JOIN insight_sources s ON s.group_id = q.group_id AND s.log_id = q.id
        JOIN decisions d ON d.group_id = s.group_id AND d.insight_id = s.insight_id AND d.action = 'promote'
            AND (d.side_sources IS NULL OR s.log_id = ANY(d.side_sources))
        WHERE q.group_id = %(group_id)s AND q.session_id = %(session_id)s
            AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id))))
    AND (%(promoted_by)s::text IS NULL OR p.decided_by = %(promoted_by)s)
    AND (%(since)s::timestamptz IS NULL OR p.decided_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR p.decided_at < %(until)s)
    AND (%(words)s::text IS NULL OR position(lower(%(words)s) IN lower(p.content)) > 0)
    AND (%(state)s::text IS NULL OR %(state)s = CASE WHEN p.content = '' THEN 'forgotten' WHEN w.promotion_id IS NOT NULL THEN 'promoting'
        WHEN m.chunks > 0 AND m.valid_to IS NULL THEN 'verified' ELSE 'withdrawn' END)
    AND (NOT %(disputed)s OR c.others IS NOT NULL AND EXISTS (SELECT FROM memory_conflicts x
        WHERE x.group_id = %(group_id)s AND x.memory_id = p.memory_id))
    AND (NOT %(unused)s OR u.memory_id IS NULL)
ORDER BY p.id DESC LIMIT %(limit)s

-- name: waiting_promotion
-- A promotion whose chunks are to be written: a decision for it is in force. Very old ones have none on record.
-- include: promotion_columns
FROM promotions p
-- include: promotion_fate
WHERE p.group_id = %(group_id)s AND p.id = %(promotion_id)s AND w.promotion_id IS NOT NULL AND m.chunks = 0
    AND (NOT EXISTS (SELECT FROM decisions d WHERE d.group_id = p.group_id AND d.memory_id = p.memory_id
            AND d.action = 'promote' AND NOT d.already)
        OR EXISTS (SELECT FROM decisions d WHERE d.group_id = p.group_id AND d.memory_id = p.memory_id
            AND d.action = 'promote'
            AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)))

-- part: stored_chunks
-- The chunks of a promotion, and whether they are not what was promoted: another text, or other facts about it.
CROSS JOIN LATERAL (
    SELECT array_agg(m.content ORDER BY m.chunk_no) AS chunks, coalesce(bool_or(
        (m.id, m.scope, m.agent_id, m.session_id, m.author, m.occurred_at, m.metadata, m.flags) IS DISTINCT FROM
        (p.memory_id, p.scope, p.agent_id, p.session_id, p.author, p.occurred_at, p.metadata, p.flags)), false) AS differ
    FROM memories m WHERE m.group_id = p.group_id AND m.promotion_id = p.id
) AS s
CROSS JOIN LATERAL (
    SELECT s.differ OR s.chunks <> ARRAY[p.content] AND NOT clearwell_is_split(p.content, s.chunks) AS changed
) AS v

-- part: lost_promotions
-- Promotions whose chunks were written and are gone or changed, with the time since which they were knowledge and, by the
-- decisions, the time of their withdrawal: the first one after they were written or last restored. A memory is withdrawn
-- by a retraction, by a memory that supersedes it (if that one waited for its chunks, when it got them), by the undo of
-- its last promotion in force, and by a later promotion of the same text, which is made only if it was not valid.
-- What waits, was withdrawn before its chunks were written, or was forgotten is not lost.
WITH completed AS MATERIALIZED (
    SELECT group_id, subject, at FROM audit_events
    WHERE action = 'carry out promotion' AND (%(group_id)s::text IS NULL OR group_id = %(group_id)s)
), waited AS MATERIALIZED (
    SELECT DISTINCT group_id, subject, at FROM audit_events
    WHERE action = 'promote' AND detail @> '{"waiting": true}'
        AND (%(group_id)s::text IS NULL OR group_id = %(group_id)s)
), written AS MATERIALIZED (
    SELECT group_id, subject, max(at) AS at FROM completed GROUP BY group_id, subject
), lost AS MATERIALIZED (
    SELECT p.group_id, p.id, p.memory_id, p.fingerprint, coalesce(c.at, p.decided_at) AS promoted_at, v.changed,
        (SELECT max(g.restored_at) FROM memory_gaps g
            WHERE g.group_id = p.group_id AND g.memory_id = p.memory_id) AS restored_at
    FROM promotions p LEFT JOIN written c ON c.group_id = p.group_id AND c.subject = 'memory ' || p.memory_id
-- include: stored_chunks
    WHERE (%(group_id)s::text IS NULL OR p.group_id = %(group_id)s)
        AND (%(ids)s::uuid[] IS NULL OR p.id = ANY(%(ids)s))
        AND (%(after)s::uuid IS NULL OR p.id > %(after)s)
        AND (v.changed OR s.chunks IS NULL AND p.content <> ''
            AND NOT EXISTS (SELECT FROM promotion_work w WHERE w.group_id = p.group_id AND w.promotion_id = p.id)
            AND (c.at IS NOT NULL OR NOT EXISTS (SELECT FROM waited w
                WHERE w.group_id = p.group_id AND w.subject = 'memory ' || p.memory_id AND w.at = p.decided_at)))
    ORDER BY p.id LIMIT %(limit)s
), retracted AS MATERIALIZED (
    -- Read once: row-level security keeps the index on others from being used, so that a look-up for each memory would
    -- read all decisions of the group.
    SELECT d.group_id, o.id AS memory_id, d.decided_at AS at FROM decisions d, unnest(d.others) AS o (id)
    WHERE d.action = 'retract' AND (%(group_id)s::text IS NULL OR d.group_id = %(group_id)s)
), ends AS MATERIALIZED (
    SELECT l.group_id, l.id, r.at FROM lost l
    JOIN retracted r ON r.group_id = l.group_id AND r.memory_id = l.memory_id
    UNION ALL
    SELECT l.group_id, l.id, CASE WHEN w.at IS NULL THEN d.decided_at ELSE (
        SELECT min(c.at) FROM completed c
        WHERE c.group_id = d.group_id AND c.subject = w.subject AND c.at >= d.decided_at
            AND (u.id IS NULL OR c.at < u.decided_at)) END
    FROM lost l
    JOIN decisions d ON d.group_id = l.group_id AND d.supersedes = l.memory_id AND d.action = 'promote'
        AND d.memory_id <> l.memory_id
    LEFT JOIN decisions u ON u.group_id = d.group_id AND u.undoes = d.id
    LEFT JOIN waited w ON w.group_id = d.group_id AND w.subject = 'memory ' || d.memory_id AND w.at = d.decided_at
    UNION ALL
    SELECT l.group_id, l.id, u.decided_at FROM lost l
    JOIN decisions d ON d.group_id = l.group_id AND d.memory_id = l.memory_id AND d.action = 'promote'
    JOIN decisions u ON u.group_id = d.group_id AND u.undoes = d.id
    WHERE EXISTS (SELECT FROM decisions f WHERE f.group_id = l.group_id AND f.memory_id = l.memory_id
            AND f.action = 'promote' AND NOT f.already)
        AND NOT EXISTS (SELECT FROM decisions o
            LEFT JOIN decisions v ON v.group_id = o.group_id AND v.undoes = o.id
            WHERE o.group_id = l.group_id AND o.memory_id = l.memory_id AND o.action = 'promote'
                AND o.id < u.id AND (v.id IS NULL OR v.id > u.id))
    UNION ALL
    SELECT l.group_id, l.id, o.decided_at FROM lost l
    JOIN promotions o ON o.group_id = l.group_id AND o.fingerprint = l.fingerprint AND o.id <> l.id
        AND o.decided_at > l.promoted_at
), dated AS (
    SELECT l.group_id, l.id, l.memory_id, l.promoted_at, l.changed, min(e.at) AS withdrawn_at
    FROM lost l LEFT JOIN ends e ON e.group_id = l.group_id AND e.id = l.id AND e.at >= l.promoted_at
        AND (l.restored_at IS NULL OR e.at > l.restored_at)
    GROUP BY l.group_id, l.id, l.memory_id, l.promoted_at, l.changed
)

-- name: list_lost_promotions
-- include: lost_promotions
SELECT d.promoted_at, d.withdrawn_at, f.* FROM dated d JOIN LATERAL (
-- include: promotion_columns
    FROM promotions p
-- include: promotion_fate
    WHERE p.group_id = d.group_id AND p.id = d.id) AS f ON true
ORDER BY d.id

-- name: count_lost_promotions
-- include: lost_promotions
SELECT count(*) AS promotions FROM dated

-- name: overview_lost
-- Memories in force without chunks, memories whose chunks were changed, and the first group that has such memories.
-- include: lost_promotions
SELECT count(*) FILTER (WHERE changed IS NOT TRUE) AS memories, count(*) FILTER (WHERE changed) AS changed,
    count(DISTINCT group_id) FILTER (WHERE changed IS NOT TRUE) AS groups,
    count(DISTINCT group_id) FILTER (WHERE changed) AS changed_groups,
    min(group_id) FILTER (WHERE changed IS NOT TRUE) AS group_id, min(group_id) FILTER (WHERE changed) AS changed_group_id
FROM dated WHERE withdrawn_at IS NULL OR changed

-- name: remove_changed_chunks
DELETE FROM memories WHERE group_id = %(group_id)s AND promotion_id IN (
    SELECT p.id FROM promotions p
-- include: stored_chunks
    WHERE p.group_id = %(group_id)s AND p.id = ANY(%(ids)s) AND v.changed)
RETURNING promotion_id

-- name: hold_lost_promotions
-- Lost promotions that are in force and whose value has a tombstone wait, as if it had been refused meanwhile.
INSERT INTO promotion_work (group_id, promotion_id, next_try_at, problem)
SELECT %(group_id)s, promotion_id, %(at)s::timestamptz, %(problem)s
FROM unnest(%(promotion_ids)s::uuid[]) AS promotion_id
ON CONFLICT (group_id, promotion_id) DO NOTHING

-- name: mark_disputed
UPDATE memories m SET disputed = true
WHERE m.group_id = %(group_id)s AND m.id = ANY(%(ids)s) AND NOT m.disputed
    AND EXISTS (SELECT FROM memory_conflicts c WHERE c.group_id = m.group_id AND c.memory_id = m.id)

-- name: outdated_terms
-- Groups with valid chunks whose terms are missing or of another tokenizer, or that are not counted as they are.
SELECT count(*) AS groups, min(group_id) AS group_id FROM (
    SELECT group_id, count(*) AS chunks, count(*) FILTER (WHERE tokenizer_version <> %(tokenizer_version)s) AS outdated
    FROM memories WHERE valid_to IS NULL AND (%(group_id)s::text IS NULL OR group_id = %(group_id)s)
    GROUP BY group_id
) AS stored FULL JOIN (
    SELECT group_id, sum(chunks) AS chunks FROM group_terms
    WHERE dimension = 0 AND (%(group_id)s::text IS NULL OR group_id = %(group_id)s) GROUP BY group_id
) AS counted USING (group_id)
WHERE stored.outdated > 0 OR coalesce(stored.chunks, 0) <> coalesce(counted.chunks, 0)

-- part: duplicates
-- By the number of the key: the same thing by what it says, or one from the same origin, which was made from it or
-- found made when it was promoted.
WITH asked AS (
    SELECT * FROM unnest(%(fingerprints)s::bytea[], %(origin_ids)s::uuid[]) WITH ORDINALITY
        AS a (fingerprint, origin_id, number)
), found AS MATERIALIZED (
    SELECT number, id, bool_or(own) AS own FROM (
        SELECT a.number, p.id, false AS own FROM asked a
        JOIN promotions p ON p.group_id = %(group_id)s AND p.fingerprint = a.fingerprint
        UNION ALL
        SELECT a.number, p.id, true FROM asked a
        JOIN promotions p ON p.group_id = %(group_id)s AND p.origin_id = a.origin_id
        UNION ALL
        SELECT a.number, d.promotion_id, true FROM asked a
        JOIN decisions d ON d.group_id = %(group_id)s AND d.origin_id = a.origin_id AND d.action = 'promote'
        WHERE NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
    ) AS one GROUP BY number, id
)

-- name: find_duplicates
-- Of each key the promotion that is valid or waits, from the same origin where there is one.
-- include: duplicates
, states AS (
-- include: promotion_columns
        , f.number, f.own
    FROM found f JOIN promotions p ON p.group_id = %(group_id)s AND p.id = f.id
-- include: promotion_fate
    WHERE w.promotion_id IS NOT NULL OR (m.chunks > 0 AND m.valid_to IS NULL)
)
SELECT DISTINCT ON (number) * FROM states ORDER BY number, own DESC, id

-- name: list_duplicates
-- include: duplicates
-- include: promotion_columns
FROM found f JOIN promotions p ON p.group_id = %(group_id)s AND p.id = f.id
-- include: promotion_fate
ORDER BY p.id

-- name: insights
-- Insights of a group, or those with these ids: the newest digest first, each in the order of its ranks, what is like
-- something rejected last. A snoozed one whose time has come is pending, one whose memory is still to come promoting.
-- A promoted one has the text of its last promotion in force.
-- include: insight_columns
    , w.waiting, t.promoted_text
FROM insights i
CROSS JOIN LATERAL (SELECT i.state = 'promoted' AND EXISTS (SELECT FROM decisions d
    JOIN promotion_work w ON w.group_id = d.group_id AND w.promotion_id = d.promotion_id
    WHERE d.group_id = i.group_id AND d.insight_id = i.id AND d.action = 'promote') AS waiting) AS w
LEFT JOIN LATERAL (SELECT p.content AS promoted_text FROM decisions d
    JOIN promotions p ON p.group_id = d.group_id AND p.memory_id = d.memory_id
    WHERE i.state = 'promoted' AND d.group_id = i.group_id AND d.insight_id = i.id AND d.action = 'promote'
        AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
    ORDER BY d.id DESC, p.id DESC LIMIT 1) AS t ON true
LEFT JOIN insights b ON b.group_id = i.group_id AND b.id = %(before)s::uuid
WHERE i.group_id = %(group_id)s
    AND (%(ids)s::uuid[] IS NULL OR i.id = ANY(%(ids)s))
    AND (%(before)s::uuid IS NULL OR i.digest_id < b.digest_id OR (i.digest_id = b.digest_id
        AND ('near_rejected' = ANY(i.flags), i.position, i.id) > ('near_rejected' = ANY(b.flags), b.position, b.id)))
    AND (%(state)s::text IS NULL
        OR CASE WHEN i.state = 'snoozed' AND i.snoozed_until <= %(now)s THEN 'pending'
            WHEN w.waiting THEN 'promoting' ELSE i.state END = %(state)s)
ORDER BY i.digest_id DESC, 'near_rejected' = ANY(i.flags), i.position, i.id LIMIT %(limit)s

-- name: insight_sources
-- Their own first, then those of each insight that was merged into them. Without a number of characters all are given.
SELECT s.insight_id, s.log_id, s.statement, s.number, s.span_start, s.span_end, s.side,
    q.agent_id, q.session_id, q.node_id, q.node_type, q.occurred_at,
    coalesce(left(q.content, %(chars)s::integer), q.content) AS content,
    coalesce(length(q.content) > %(chars)s::integer, false) AS cut,
    q.raw_metadata -> 'confidence' AS confidence, q.raw_metadata -> 'confidence_score' AS confidence_score,
    q.captured_by, a.state, a.flags
FROM insight_sources s
JOIN quarantine_logs q ON q.group_id = s.group_id AND q.id = s.log_id
JOIN admissions a ON a.group_id = s.group_id AND a.log_id = s.log_id
WHERE s.group_id = %(group_id)s AND s.insight_id = ANY(%(ids)s)
ORDER BY s.insight_id, s.merged_from NULLS FIRST, s.position, s.log_id

-- name: update_insight
UPDATE insights SET version = %(version)s, state = %(state)s, summary = %(summary)s, written_by = %(written_by)s,
    flags = %(flags)s, contradictions = %(contradictions)s, support = %(support)s, model = %(model)s, embedding = %(embedding)s,
    snoozed_until = %(snoozed_until)s, merged_into = %(merged_into)s, changed_at = %(changed_at)s, sides = %(sides)s
WHERE group_id = %(group_id)s AND id = %(id)s

-- name: flagged_insights
SELECT id FROM insights WHERE group_id = %(group_id)s AND %(flag)s = ANY(flags)

-- name: merge_sources
INSERT INTO insight_sources (group_id, insight_id, log_id, position, statement, number, span_start, span_end, merged_from)
SELECT s.group_id, %(id)s, s.log_id, s.position, s.statement, s.number, s.span_start, s.span_end, s.insight_id
FROM insight_sources s WHERE s.group_id = %(group_id)s AND s.insight_id = ANY(%(others)s)
ORDER BY s.insight_id, s.position
ON CONFLICT DO NOTHING

-- name: separate_sources
DELETE FROM insight_sources
WHERE group_id = %(group_id)s AND insight_id = %(id)s AND merged_from = ANY(%(others)s)

-- name: mark_judged
INSERT INTO digest_marks (group_id, log_id, judged_by)
SELECT %(group_id)s, log_id, judged_by FROM unnest(%(log_ids)s::uuid[], %(by)s::uuid[]) AS m (log_id, judged_by)
ORDER BY log_id
ON CONFLICT (group_id, log_id) DO UPDATE SET judged_by = excluded.judged_by WHERE digest_marks.judged_by IS NULL

-- name: clear_judged
UPDATE digest_marks SET judged_by = NULL WHERE group_id = %(group_id)s AND judged_by = %(by)s

-- name: add_decisions
INSERT INTO decisions (group_id, id, action, insight_id, promotion_id, memory_id, tombstone_id, supersedes, origin_id,
    side_sources, others, undoes, already, until, reason, text_before, text_after, writer_before, before, decided_by, decided_at)
SELECT %(group_id)s, d.* FROM jsonb_to_recordset(%(decisions)s) AS d (
    id uuid, action text, insight_id uuid, promotion_id uuid, memory_id uuid, tombstone_id uuid, supersedes uuid,
    origin_id uuid, side_sources uuid[], others uuid[], undoes uuid, already boolean, until timestamptz, reason text,
    text_before text, text_after text, writer_before text, before jsonb, decided_by text, decided_at timestamptz)

-- name: has_revoked_key
SELECT clearwell_has_revoked(%(ids)s) AS revoked

-- part: decision_columns
SELECT d.group_id, d.id, d.action, d.insight_id, d.promotion_id, d.memory_id, d.tombstone_id, d.supersedes,
    d.origin_id, d.side_sources, d.others, d.undoes, d.already, d.until, d.reason, d.text_before, d.text_after, d.writer_before,
    d.before, d.decided_by, d.decided_at

-- name: decisions
-- include: decision_columns
FROM decisions d
WHERE d.group_id = %(group_id)s AND (%(before)s::uuid IS NULL OR d.id < %(before)s)
ORDER BY d.id DESC LIMIT %(limit)s

-- name: decision
-- include: decision_columns
FROM decisions d WHERE d.group_id = %(group_id)s AND d.id = %(id)s

-- name: decisions_on_insight
-- Newest first; also a merge that took it in.
-- include: decision_columns
FROM decisions d
WHERE d.group_id = %(group_id)s AND (d.insight_id = %(insight_id)s OR d.others @> ARRAY[%(insight_id)s::uuid])
ORDER BY d.id DESC LIMIT 1000

-- name: last_decision
-- include: decision_columns
FROM decisions d
WHERE d.group_id = %(group_id)s AND (d.insight_id = %(insight_id)s OR d.others @> ARRAY[%(insight_id)s::uuid])
    AND d.action <> 'undo' AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
ORDER BY d.id DESC LIMIT 1

-- name: decisions_of_memories
-- include: decision_columns
FROM decisions d
WHERE d.group_id = %(group_id)s
    AND (d.memory_id = ANY(%(ids)s) OR d.supersedes = ANY(%(ids)s) OR d.others && %(ids)s::uuid[])
ORDER BY d.id

-- name: superseding_decisions
-- By memory the last decision that replaced it and is not undone.
SELECT DISTINCT ON (d.supersedes) d.* FROM (
-- include: decision_columns
    FROM decisions d
    WHERE d.group_id = %(group_id)s AND d.supersedes = ANY(%(ids)s) AND d.action = 'promote'
        AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
) AS d ORDER BY d.supersedes, d.id DESC

-- name: retracting_decision
-- The last retraction of a memory that is not undone.
-- include: decision_columns
FROM decisions d
WHERE d.group_id = %(group_id)s AND d.others @> ARRAY[%(id)s::uuid] AND d.action = 'retract'
    AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
ORDER BY d.id DESC LIMIT 1

-- name: is_undone
SELECT id FROM decisions WHERE group_id = %(group_id)s AND undoes = %(id)s

-- name: group_of_insight
SELECT group_id FROM insights WHERE id = %(id)s

-- name: group_of_decision
SELECT group_id FROM decisions WHERE id = %(id)s

-- name: group_of_row
-- Step from group to group along the key and look up the row in each.
WITH RECURSIVE named AS (
    (SELECT group_id FROM quarantine_logs ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.group_id FROM quarantine_logs q WHERE q.group_id > g.group_id ORDER BY q.group_id LIMIT 1)
    FROM named g WHERE g.group_id IS NOT NULL
)
SELECT g.group_id FROM named g
WHERE EXISTS (SELECT FROM quarantine_logs q WHERE q.group_id = g.group_id AND q.id = %(id)s) LIMIT 1

-- name: group_of_memory
SELECT group_id FROM promotions WHERE memory_id = %(id)s

-- name: row_ids_with_ending
-- The key has both columns, so that nothing but the index is read. Row-level security allows no index on the ending.
SELECT id FROM quarantine_logs
WHERE group_id = %(group_id)s AND right(id::text, %(length)s) = %(ending)s
ORDER BY id LIMIT %(limit)s

-- name: insight_ids_with_ending
SELECT id FROM insights
WHERE group_id = %(group_id)s AND right(id::text, %(length)s) = %(ending)s
ORDER BY id LIMIT %(limit)s

-- name: memory_ids_with_ending
SELECT DISTINCT memory_id AS id FROM promotions
WHERE group_id = %(group_id)s AND right(memory_id::text, %(length)s) = %(ending)s
ORDER BY id LIMIT %(limit)s

-- name: decision_ids_with_ending
SELECT id FROM decisions
WHERE group_id = %(group_id)s AND right(id::text, %(length)s) = %(ending)s
ORDER BY id LIMIT %(limit)s

-- name: tombstone_ids_with_ending
SELECT id FROM tombstones
WHERE group_id = %(group_id)s AND right(id::text, %(length)s) = %(ending)s
ORDER BY id LIMIT %(limit)s

-- name: digest_ids_with_ending
SELECT id FROM digests
WHERE group_id = %(group_id)s AND right(id::text, %(length)s) = %(ending)s
ORDER BY id LIMIT %(limit)s

-- name: insights_of_rows
SELECT DISTINCT insight_id FROM insight_sources WHERE group_id = %(group_id)s AND log_id = ANY(%(ids)s)

-- name: merged_insights
-- The insights that were merged into these, directly or through others.
WITH RECURSIVE merged AS (
    SELECT id FROM insights WHERE group_id = %(group_id)s AND merged_into = ANY(%(ids)s)
    UNION
    SELECT i.id FROM merged m JOIN insights i ON i.group_id = %(group_id)s AND i.merged_into = m.id
)
SELECT id FROM merged WHERE id <> ALL(%(ids)s)

-- name: rows_by_id
-- include: whole_row_columns
FROM quarantine_logs q JOIN admissions a ON a.group_id = q.group_id AND a.log_id = q.id
WHERE q.group_id = %(group_id)s AND q.id = ANY(%(ids)s) ORDER BY q.id

-- name: sightings_by_row
SELECT entry_id, layer FROM sightings WHERE group_id = %(group_id)s AND log_id = %(id)s ORDER BY entry_id

-- name: memories_on_rows
-- The memories whose promotion came from these rows, or from an insight that rests on one of them, or that were found
-- made when one of them was promoted. Where one side of a dispute was promoted, the other side is no source.
SELECT DISTINCT p.memory_id FROM promotions p
WHERE p.group_id = %(group_id)s AND p.origin_id = ANY(%(ids)s)
UNION
SELECT DISTINCT d.memory_id FROM insight_sources s JOIN decisions d ON d.group_id = s.group_id
    AND d.insight_id = s.insight_id AND d.action = 'promote'
WHERE s.group_id = %(group_id)s AND s.log_id = ANY(%(ids)s) AND d.memory_id IS NOT NULL
    AND (d.side_sources IS NULL OR s.log_id = ANY(d.side_sources))
UNION
SELECT DISTINCT d.memory_id FROM decisions d
WHERE d.group_id = %(group_id)s AND d.origin_id = ANY(%(ids)s) AND d.action = 'promote' AND d.memory_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)

-- name: rows_under
-- The outputs that memories rest on: what they were made from, and what decisions that stand promoted them from.
SELECT p.memory_id, p.origin_id AS log_id FROM promotions p
WHERE p.group_id = %(group_id)s AND p.memory_id = ANY(%(ids)s) AND p.origin IN ('working', 'quarantine')
UNION
SELECT d.memory_id, coalesce(s.log_id, d.origin_id) FROM decisions d
LEFT JOIN insight_sources s ON s.group_id = d.group_id AND s.insight_id = d.insight_id
    AND (d.side_sources IS NULL OR s.log_id = ANY(d.side_sources))
WHERE d.group_id = %(group_id)s AND d.memory_id = ANY(%(ids)s) AND d.action = 'promote'
    AND coalesce(s.log_id, d.origin_id) IS NOT NULL
    AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)

-- name: rows_of
-- The rows that a source, a session or an agent selects.
SELECT id FROM quarantine_logs
WHERE group_id = %(group_id)s AND (id = %(source)s::uuid OR session_id = %(session_id)s::text
    OR agent_id = %(agent_id)s::text)

-- name: memories_of
-- The memories whose own session, author or agent matches.
SELECT memory_id FROM promotions
WHERE group_id = %(group_id)s AND (session_id = %(session_id)s::text OR author = %(agent_id)s::text
    OR agent_id = %(agent_id)s::text)

-- name: note_uses
-- What was stored before is read again after a restart, and then changes nothing.
INSERT INTO memory_uses (group_id, memory_id, first_used_at, last_used_at)
SELECT %(group_id)s, u.memory_id, u.at, u.at FROM unnest(%(ids)s::uuid[], %(times)s::timestamptz[]) AS u (memory_id, at)
WHERE EXISTS (SELECT FROM promotions p WHERE p.group_id = %(group_id)s AND p.memory_id = u.memory_id)
ON CONFLICT (group_id, memory_id) DO UPDATE SET
    last_used_at = greatest(memory_uses.last_used_at, excluded.last_used_at),
    days = memory_uses.days + ((memory_uses.last_used_at AT TIME ZONE 'UTC')::date
        < (excluded.last_used_at AT TIME ZONE 'UTC')::date)::integer

-- part: outcome_of_source
-- What the decision means for one source: where a side was promoted, what the others said was rejected.
CROSS JOIN LATERAL (SELECT CASE WHEN i.state = 'promoted' AND EXISTS (SELECT FROM decisions d
    WHERE d.group_id = i.group_id AND d.insight_id = i.id AND d.action = 'promote' AND NOT d.already
        AND s.log_id <> ALL(d.side_sources)
        AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id))
    THEN 'rejected' ELSE i.state END AS state OFFSET 0) o

-- name: calibration
-- The confidence that agents stated, in tenths, and what was decided. Anything but a number from 0 to 1 is not stated.
WITH stated AS (
    SELECT q.id, q.agent_id, a.flags, CASE WHEN jsonb_typeof(c.value) = 'number'
        AND (c.value)::double precision BETWEEN 0 AND 1 THEN (c.value)::double precision END AS confidence
    FROM quarantine_logs q
    JOIN admissions a ON a.group_id = q.group_id AND a.log_id = q.id
    CROSS JOIN LATERAL (SELECT coalesce(q.raw_metadata -> 'confidence', q.raw_metadata -> 'confidence_score') AS value) c
    WHERE q.group_id = %(group_id)s
), fates AS (
    SELECT s.log_id, bool_or(o.state = 'promoted') AS promoted, bool_or(o.state = 'rejected') AS rejected
    FROM insight_sources s JOIN insights i ON i.group_id = s.group_id AND i.id = s.insight_id
-- include: outcome_of_source
    WHERE s.group_id = %(group_id)s AND i.state IN ('promoted', 'rejected') GROUP BY s.log_id
), direct AS (
    SELECT DISTINCT p.origin_id AS log_id FROM promotions p
    JOIN decisions d ON d.group_id = p.group_id AND d.promotion_id = p.id AND d.action = 'promote'
    WHERE p.group_id = %(group_id)s AND p.origin IN ('working', 'quarantine') AND d.insight_id IS NULL
        AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
)
SELECT agent_id, CASE WHEN confidence IS NOT NULL THEN least(floor(confidence * 10), 9)::integer END AS bucket,
    count(*)::integer AS entries,
    count(*) FILTER (WHERE f.promoted OR d.log_id IS NOT NULL)::integer AS promoted,
    count(*) FILTER (WHERE f.rejected AND NOT coalesce(f.promoted, false) AND d.log_id IS NULL)::integer AS rejected,
    count(*) FILTER (WHERE 'conflict' = ANY(t.flags))::integer AS conflict, avg(confidence) AS mean_stated
FROM stated t LEFT JOIN fates f ON f.log_id = t.id LEFT JOIN direct d ON d.log_id = t.id
GROUP BY 1, 2 ORDER BY 1 NULLS LAST, 2 NULLS LAST

-- name: statistics_insights
SELECT state, count(*)::integer AS count, min(created_at) FILTER (WHERE state = 'pending') AS oldest
FROM insights WHERE group_id = %(group_id)s GROUP BY state

-- name: statistics_lag
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY lag) AS median, percentile_cont(0.9) WITHIN GROUP (ORDER BY lag) AS p90,
    coalesce(sum(lag), 0.0) AS total, count(*)::integer AS count
FROM (SELECT extract(epoch FROM min(d.decided_at) - i.created_at)::double precision AS lag
    FROM decisions d CROSS JOIN LATERAL unnest(d.others || d.insight_id) AS decided (id)
    JOIN insights i ON i.group_id = d.group_id AND i.id = decided.id
    WHERE d.group_id = %(group_id)s AND d.action IN ('promote', 'reject', 'merge')
    GROUP BY i.id, i.created_at) AS lags

-- name: activity_days
-- By day in UTC. Ids begin with the time, so that the newest decisions are read along the key.
WITH named AS (
    SELECT generate_series(%(first)s::date, %(last)s::date, interval '1 day')::date AS day
), settled AS (
    SELECT day, sum(count) FILTER (WHERE "check" = '') AS admitted, sum(count) FILTER (WHERE "check" <> '') AS refused,
        coalesce(jsonb_object_agg("check", count) FILTER (WHERE "check" <> ''), '{}') AS refused_by
    FROM ingress_days WHERE group_id = %(group_id)s AND day BETWEEN %(first)s AND %(last)s GROUP BY day
), decided AS (
    SELECT (decided_at AT TIME ZONE 'UTC')::date AS day, count(*) FILTER (WHERE action = 'promote') AS promoted,
        count(*) FILTER (WHERE action = 'reject') AS rejected
    FROM decisions WHERE group_id = %(group_id)s AND id >= %(first_id)s::uuid AND NOT already GROUP BY 1
), lags AS (
    SELECT (f.decided_at AT TIME ZONE 'UTC')::date AS day,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM f.decided_at - f.created_at)) AS lag_median
    FROM (SELECT i.created_at, min(d.decided_at) AS decided_at
        FROM decisions d CROSS JOIN LATERAL unnest(d.others || d.insight_id) AS decided (id)
        JOIN insights i ON i.group_id = d.group_id AND i.id = decided.id
        WHERE d.group_id = %(group_id)s AND d.action IN ('promote', 'reject', 'merge') AND d.id >= %(first_id)s::uuid
        GROUP BY i.id, i.created_at) AS f GROUP BY 1
)
SELECT n.day, coalesce(s.admitted, 0)::integer AS admitted, coalesce(s.refused, 0)::integer AS refused,
    coalesce(s.refused_by, '{}') AS refused_by, coalesce(d.promoted, 0)::integer AS promoted,
    coalesce(d.rejected, 0)::integer AS rejected, l.lag_median::double precision AS lag_median
FROM named n LEFT JOIN settled s ON s.day = n.day LEFT JOIN decided d ON d.day = n.day LEFT JOIN lags l ON l.day = n.day
ORDER BY n.day

-- part: judged
-- Decided insights with their rows, and outputs that were promoted directly.
FROM (
    SELECT i.id, i.state, o.state AS outcome, s.log_id FROM insights i
    JOIN insight_sources s ON s.group_id = i.group_id AND s.insight_id = i.id
-- include: outcome_of_source
    WHERE i.group_id = %(group_id)s AND i.state IN ('promoted', 'rejected')
    UNION ALL
    SELECT p.id, 'promoted', 'promoted', p.origin_id FROM promotions p
    JOIN decisions d ON d.group_id = p.group_id AND d.promotion_id = p.id AND d.action = 'promote'
    WHERE p.group_id = %(group_id)s AND p.origin IN ('working', 'quarantine') AND d.insight_id IS NULL
        AND NOT EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id)
) AS j

-- name: statistics_accepted
SELECT NULL AS by, count(DISTINCT j.id) FILTER (WHERE j.state = 'promoted')::integer AS promoted,
    count(DISTINCT j.id) FILTER (WHERE j.state = 'rejected')::integer AS rejected
-- include: judged

-- name: statistics_by_agent
SELECT q.agent_id AS by, count(DISTINCT j.id) FILTER (WHERE j.outcome = 'promoted')::integer AS promoted,
    count(DISTINCT j.id) FILTER (WHERE j.outcome = 'rejected')::integer AS rejected
-- include: judged
CROSS JOIN LATERAL (SELECT agent_id FROM quarantine_logs WHERE group_id = %(group_id)s AND id = j.log_id OFFSET 0) q
GROUP BY q.agent_id ORDER BY q.agent_id NULLS LAST

-- name: statistics_by_check
-- By how each check of the ingress pipeline ended.
SELECT v."check" || ':' || v.outcome AS by, count(DISTINCT j.id) FILTER (WHERE j.outcome = 'promoted')::integer AS promoted,
    count(DISTINCT j.id) FILTER (WHERE j.outcome = 'rejected')::integer AS rejected
-- include: judged
CROSS JOIN LATERAL (SELECT "check", outcome FROM ingress_verdicts
    WHERE group_id = %(group_id)s AND log_id = j.log_id OFFSET 0) v
GROUP BY 1 ORDER BY 1

-- name: groups_under_review
-- Step from group to group along the index instead of reading every row.
WITH RECURSIVE decided AS (
    (SELECT group_id FROM decisions ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.group_id FROM decisions d WHERE d.group_id > g.group_id ORDER BY d.group_id LIMIT 1)
    FROM decided g WHERE g.group_id IS NOT NULL
), offered AS (
    (SELECT group_id FROM insights ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT i.group_id FROM insights i WHERE i.group_id > g.group_id ORDER BY i.group_id LIMIT 1)
    FROM offered g WHERE g.group_id IS NOT NULL
)
SELECT group_id FROM (SELECT group_id FROM decided UNION SELECT group_id FROM offered) AS g
WHERE group_id IS NOT NULL ORDER BY group_id LIMIT %(limit)s

-- name: statistics_memories
SELECT count(DISTINCT m.id)::integer AS memories, count(DISTINCT u.memory_id)::integer AS used,
    (SELECT count(*)::integer FROM promotion_work w WHERE w.group_id = %(group_id)s) AS promoting
FROM memories m LEFT JOIN memory_uses u ON u.group_id = m.group_id AND u.memory_id = m.id
WHERE m.group_id = %(group_id)s AND m.valid_to IS NULL

-- name: review_counts
SELECT (SELECT count(*)::integer FROM insights WHERE group_id = %(group_id)s
        AND (state = 'pending' OR state = 'snoozed' AND snoozed_until <= %(now)s)) AS waiting,
    (SELECT count(DISTINCT id)::integer FROM memories WHERE group_id = %(group_id)s AND valid_to IS NULL) AS memories,
    (SELECT count(*)::integer FROM promotion_work WHERE group_id = %(group_id)s) AS promoting

-- name: statistics_digests
-- The yield of a digest: the share of its insights that were promoted, of those that are decided.
SELECT (SELECT count(*)::integer FROM digests WHERE group_id = %(group_id)s AND status = 'done') AS digests,
    avg((state = 'promoted')::integer) FILTER (WHERE state IN ('promoted', 'rejected'))::double precision AS yield
FROM insights WHERE group_id = %(group_id)s

-- name: move_chunks
UPDATE memories m SET position = t.position
FROM unnest(%(ids)s::uuid[], %(chunk_nos)s::integer[], %(positions)s::integer[]) AS t (id, chunk_no, position)
WHERE m.group_id = %(group_id)s AND m.id = t.id AND m.chunk_no = t.chunk_no

-- name: promoting_decisions
-- Every decision that made these memories or found them made, and whether it is undone.
-- include: decision_columns
    , EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id) AS undone
FROM decisions d WHERE d.group_id = %(group_id)s AND d.memory_id = ANY(%(ids)s) AND d.action = 'promote' ORDER BY d.id

-- name: rejecting_decisions
-- Every decision that made a tombstone or found it made, and whether it is undone.
-- include: decision_columns
    , EXISTS (SELECT FROM decisions u WHERE u.group_id = d.group_id AND u.undoes = d.id) AS undone
FROM decisions d WHERE d.group_id = %(group_id)s AND d.tombstone_id = %(id)s AND d.action = 'reject' ORDER BY d.id

-- name: erasable_outputs
-- A page of a group's outputs with everything of them that is text.
SELECT id, session_id, agent_id, content, raw_metadata AS metadata,
    CASE WHEN idempotency_key LIKE 'assign %%' THEN substr(idempotency_key, 8)::uuid END AS assigned_from,
    concat_ws(' ', session_id, node_id, agent_id, raw_metadata::text, idempotency_key) AS extra
FROM quarantine_logs WHERE group_id = %(group_id)s AND (%(after)s::uuid IS NULL OR id > %(after)s)
ORDER BY id LIMIT %(limit)s

-- name: assigned_rows
-- The rows of a group that were assigned from these outputs.
SELECT group_id, id FROM quarantine_logs
WHERE group_id = %(group_id)s AND idempotency_key = ANY(%(keys)s) ORDER BY id

-- name: existing_rows
SELECT id FROM quarantine_logs WHERE group_id = %(group_id)s AND id = ANY(%(ids)s) ORDER BY id

-- name: erasable_insights
SELECT i.id, i.summary, i.sentences::text AS sentences,
    concat_ws(' ', i.contradictions::text, i.notes::text, i.sides::text, i.support::text) AS quoted,
    coalesce(array_agg(s.log_id) FILTER (WHERE s.log_id IS NOT NULL), '{}') AS sources,
    coalesce(string_agg(s.statement, ' '), '') AS statements
FROM insights i LEFT JOIN insight_sources s ON s.group_id = i.group_id AND s.insight_id = i.id
WHERE i.group_id = %(group_id)s GROUP BY i.group_id, i.id

-- name: erasable_promotions
-- Where one side of an insight was promoted, the outputs of that side stand for its origin.
SELECT p.id, p.memory_id, coalesce(d.side_sources, array_remove(ARRAY[p.origin_id], NULL)) AS refers_to, p.content,
    concat_ws(' ', p.session_id, p.author, p.metadata::text) AS extra
FROM promotions p LEFT JOIN decisions d ON d.group_id = p.group_id AND d.promotion_id = p.id AND d.action = 'promote'
    AND d.side_sources IS NOT NULL AND NOT d.already
WHERE p.group_id = %(group_id)s

-- name: erasable_decisions
SELECT id, array_remove(ARRAY[insight_id, promotion_id, memory_id, origin_id], NULL) || others AS refers_to,
    concat_ws(' ', text_before, text_after, reason, before::text) AS content
FROM decisions WHERE group_id = %(group_id)s

-- name: erasable_verdicts
-- The verdicts that say more than numbers.
SELECT log_id, string_agg(concat_ws(' ', params::text, value::text), ' ') AS content FROM ingress_verdicts
WHERE group_id = %(group_id)s AND params <> '{}' GROUP BY log_id

-- name: erasable_tombstones
SELECT id, value_hash, reason FROM tombstones WHERE group_id = %(group_id)s AND kind = 'rejected'

-- name: erasable_profiles
SELECT '' AS agent_id, system_prompt AS content FROM groups WHERE group_id = %(group_id)s
UNION ALL SELECT agent_id, persona FROM agents WHERE group_id = %(group_id)s

-- name: erase_memories
WITH erased AS (
    DELETE FROM memories WHERE group_id = %(group_id)s AND id = ANY(%(memories)s)
    RETURNING id, chunk_no, session_id, agent_id, author, content, position, valid_to
)
SELECT id, chunk_no, session_id, agent_id, author, content, position FROM erased WHERE valid_to IS NULL

-- name: erase_memory_marks
WITH uses AS (DELETE FROM memory_uses WHERE group_id = %(group_id)s AND memory_id = ANY(%(memories)s)),
gaps AS (DELETE FROM memory_gaps WHERE group_id = %(group_id)s AND memory_id = ANY(%(memories)s)),
work AS (DELETE FROM promotion_work WHERE group_id = %(group_id)s AND promotion_id = ANY(%(promotions)s))
DELETE FROM memory_conflicts
WHERE group_id = %(group_id)s AND (memory_id = ANY(%(memories)s) OR other_id = ANY(%(memories)s))

-- name: erase_empty_terms
WITH authors AS (DELETE FROM group_authors WHERE group_id = %(group_id)s AND chunks <= 0)
DELETE FROM group_terms WHERE group_id = %(group_id)s AND chunks <= 0 AND dimension <> 0

-- name: erase_promotions
UPDATE promotions SET content = '', metadata = '{}', session_id = NULL, author = NULL, fingerprint = NULL
WHERE group_id = %(group_id)s AND id = ANY(%(promotions)s)

-- name: erase_decisions
UPDATE decisions SET text_before = NULL, text_after = NULL, reason = NULL, before = NULL
WHERE group_id = %(group_id)s AND id = ANY(%(decisions)s)

-- name: erase_sources
DELETE FROM insight_sources
WHERE group_id = %(group_id)s AND (log_id = ANY(%(outputs)s) OR insight_id = ANY(%(insights)s))

-- name: erase_undecided_insights
-- An insight that no decision names is removed.
DELETE FROM insights i WHERE i.group_id = %(group_id)s AND i.id = ANY(%(insights)s)
    AND NOT EXISTS (SELECT FROM decisions d WHERE d.group_id = i.group_id AND d.insight_id = i.id)

-- name: erase_insights
-- One that a decision names stays without its text, and can no longer be decided on.
UPDATE insights SET summary = '', contradictions = '[]', support = '{}', sentences = '[]', notes = '[]', sides = '[]',
    model = NULL, embedding = NULL, version = version + 1, snoozed_until = NULL,
    state = CASE WHEN state IN ('pending', 'snoozed') THEN 'rejected' ELSE state END
WHERE group_id = %(group_id)s AND id = ANY(%(insights)s)

-- name: erase_quotations
UPDATE insights SET contradictions = '[]', notes = '[]', sides = '[]', version = version + 1
WHERE group_id = %(group_id)s AND id = ANY(%(quoting_insights)s)

-- name: erase_outputs
-- Everything that hangs on outputs.
WITH verdicts AS (DELETE FROM ingress_verdicts WHERE group_id = %(group_id)s AND log_id = ANY(%(outputs)s)),
vectors AS (DELETE FROM quarantine_vectors WHERE group_id = %(group_id)s AND log_id = ANY(%(outputs)s)),
said AS (DELETE FROM statements WHERE group_id = %(group_id)s AND log_id = ANY(%(outputs)s)),
cut AS (DELETE FROM segmentations WHERE group_id = %(group_id)s AND log_id = ANY(%(outputs)s)),
seen AS (DELETE FROM sightings WHERE group_id = %(group_id)s
    AND (log_id = ANY(%(outputs)s) OR entry_id = ANY(%(outputs)s) OR entry_id = ANY(%(memories)s))),
settled AS (DELETE FROM admissions WHERE group_id = %(group_id)s AND log_id = ANY(%(outputs)s))
DELETE FROM digest_marks
WHERE group_id = %(group_id)s AND (log_id = ANY(%(outputs)s) OR log_id = ANY(%(released)s))

-- name: erase_rows
DELETE FROM quarantine_logs WHERE group_id = %(group_id)s AND id = ANY(%(outputs)s)

-- name: erase_verdicts
UPDATE ingress_verdicts SET reason = %(verdict)s, params = '{}', value = NULL
WHERE group_id = %(group_id)s AND log_id = ANY(%(verdicts_of)s) AND params <> '{}'

-- name: erase_tombstones
DELETE FROM tombstones WHERE group_id = %(group_id)s AND id = ANY(%(tombstones)s)

-- name: add_forgotten
INSERT INTO tombstones (group_id, id, value_hash, kind, reason, made_by, made_at)
SELECT %(group_id)s, id, value_hash, 'forgotten', '', %(by)s, %(at)s
FROM unnest(%(ids)s::uuid[], %(value_hashes)s::bytea[]) AS given (id, value_hash)
ON CONFLICT DO NOTHING

-- name: erase_profiles
WITH removed AS (DELETE FROM agents WHERE group_id = %(group_id)s AND agent_id = ANY(%(agents)s)),
counted AS (DELETE FROM ingress_counts WHERE group_id = %(group_id)s AND agent_id = ANY(%(agents)s))
UPDATE groups SET system_prompt = '' WHERE group_id = %(group_id)s AND %(profile)s

-- name: count_erased_copies
-- What erase_answers removes, and the jobs that wait: admissions, statements for a model to find, and promotions.
SELECT (SELECT count(*) FROM idempotency WHERE answer::text LIKE ANY(%(patterns)s)) AS answers,
    (SELECT count(*) FROM admissions
        WHERE group_id = %(group_id)s AND log_id = ANY(%(outputs)s) AND state = 'pending')
    + (SELECT count(*) FROM segmentations
        WHERE group_id = %(group_id)s AND log_id = ANY(%(outputs)s) AND due_at IS NOT NULL)
    + (SELECT count(*) FROM promotion_work
        WHERE group_id = %(group_id)s AND promotion_id = ANY(%(promotions)s)) AS jobs

-- name: erase_answers
-- Stored answers name ids of what they are about; the hashes of their requests could be guessed.
DELETE FROM idempotency WHERE answer::text LIKE ANY(%(patterns)s)

-- name: add_forget
INSERT INTO forgets (group_id, id, token, receipt, agents, erased_at)
VALUES (%(group_id)s, %(id)s, %(token)s, %(receipt)s, %(agents)s, %(at)s)

-- name: find_forget
SELECT receipt, token, agents, finished_at FROM forgets WHERE group_id = %(group_id)s AND token = %(token)s
ORDER BY id LIMIT 1

-- name: unfinished_forgets
SELECT receipt, token, agents, finished_at FROM forgets WHERE finished_at IS NULL ORDER BY erased_at LIMIT 100

-- name: finish_forget
UPDATE forgets SET finished_at = %(at)s WHERE group_id = %(group_id)s AND id = %(id)s

-- name: forget_generation
SELECT count(*) AS forgets FROM forgets

-- name: empty_forgotten
SELECT clearwell_empty_forgotten(%(log_id)s)

-- name: export_count
-- How many rows an export has, for its progress.
SELECT 1 + (SELECT count(*) FROM agents WHERE group_id = %(group_id)s)
    + (SELECT count(*) FROM tombstones WHERE group_id = %(group_id)s)
    + (SELECT count(*) FROM quarantine_logs WHERE group_id = %(group_id)s)
    + (SELECT count(*) FROM digests WHERE group_id = %(group_id)s AND status NOT IN ('queued', 'running'))
    + (SELECT count(*) FROM insights WHERE group_id = %(group_id)s)
    + (SELECT count(*) FROM promotions WHERE group_id = %(group_id)s)
    + (SELECT count(*) FROM decisions WHERE group_id = %(group_id)s)
    + (SELECT count(*) FROM memory_gaps WHERE group_id = %(group_id)s)
    + (SELECT count(*) FROM memory_conflicts WHERE group_id = %(group_id)s) AS rows

-- name: export_group
-- The secret is needed for the tombstones: without it nobody could recognise what they refuse.
DECLARE archive NO SCROLL CURSOR FOR
SELECT jsonb_build_object(
    'group', (SELECT to_jsonb(g) FROM groups g WHERE g.group_id = %(group_id)s),
    'secret', (SELECT encode(s.secret, 'hex') FROM group_secrets s WHERE s.group_id = %(group_id)s)) AS row

-- name: export_agent
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(a) AS row FROM agents a WHERE a.group_id = %(group_id)s ORDER BY a.agent_id

-- name: export_tombstone
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(t) AS row FROM tombstones t WHERE t.group_id = %(group_id)s ORDER BY t.id

-- name: export_output
-- An output with its admission, verdicts, sightings and what digests made of it. Nobody has leased it elsewhere.
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(q) || jsonb_build_object(
    'admission', to_jsonb(a) || '{"leased_by": null, "leased_until": null}',
    'verdicts', (SELECT jsonb_agg(to_jsonb(v) ORDER BY v.at, v.position) FROM ingress_verdicts v
        WHERE v.group_id = q.group_id AND v.log_id = q.id),
    'sightings', (SELECT jsonb_agg(to_jsonb(s) ORDER BY s.entry_id) FROM sightings s
        WHERE s.group_id = q.group_id AND s.log_id = q.id),
    'marks', (SELECT jsonb_agg(to_jsonb(m)) FROM digest_marks m
        WHERE m.group_id = q.group_id AND m.log_id = q.id)) AS row
FROM quarantine_logs q LEFT JOIN admissions a ON a.group_id = q.group_id AND a.log_id = q.id
WHERE q.group_id = %(group_id)s ORDER BY q.id

-- name: export_digest
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(d) AS row FROM digests d
WHERE d.group_id = %(group_id)s AND d.status NOT IN ('queued', 'running') ORDER BY d.id

-- name: export_insight
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(i) || jsonb_build_object('sources', (
    SELECT jsonb_agg(to_jsonb(s) ORDER BY s.position) FROM insight_sources s
    WHERE s.group_id = i.group_id AND s.insight_id = i.id)) AS row
FROM insights i WHERE i.group_id = %(group_id)s ORDER BY i.id

-- name: export_memory
-- A promotion, with the times of its chunks, which are made again.
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(p) || jsonb_build_object(
    'waiting', EXISTS (SELECT FROM promotion_work w WHERE w.group_id = p.group_id AND w.promotion_id = p.id),
    'promoted_at', m.promoted_at, 'valid_to', m.valid_to) AS row
FROM promotions p LEFT JOIN LATERAL (
    SELECT min(c.promoted_at) AS promoted_at, min(c.valid_to) AS valid_to FROM memories c
    WHERE c.group_id = p.group_id AND c.promotion_id = p.id) AS m ON true
WHERE p.group_id = %(group_id)s ORDER BY p.id

-- name: export_decision
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(d) AS row FROM decisions d WHERE d.group_id = %(group_id)s ORDER BY d.id

-- name: export_gap
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(g) AS row FROM memory_gaps g WHERE g.group_id = %(group_id)s ORDER BY g.memory_id, g.withdrawn_at

-- name: export_conflict
DECLARE archive NO SCROLL CURSOR FOR
SELECT to_jsonb(c) AS row FROM memory_conflicts c WHERE c.group_id = %(group_id)s ORDER BY c.memory_id, c.other_id

-- name: fetch_archive
FETCH FORWARD 16 FROM archive

-- name: close_archive
CLOSE archive

-- name: begin_import
INSERT INTO imports (group_id, id, public_key, started_by, started_at)
VALUES (%(group_id)s, %(id)s, %(public_key)s, %(by)s, %(at)s) ON CONFLICT DO NOTHING

-- name: lock_import
SELECT next_number, root, finished_at FROM imports WHERE group_id = %(group_id)s AND id = %(id)s FOR UPDATE

-- name: find_import
SELECT next_number, root, finished_at FROM imports WHERE group_id = %(group_id)s AND id = %(id)s

-- name: advance_import
UPDATE imports SET next_number = %(number)s + 1, root = %(root)s, finished_at = %(finished_at)s
WHERE group_id = %(group_id)s AND id = %(id)s

-- name: import_secret
INSERT INTO group_secrets (group_id, secret) VALUES (%(group_id)s, decode(%(secret)s, 'hex')) ON CONFLICT DO NOTHING

-- name: import_group
INSERT INTO groups SELECT * FROM jsonb_populate_recordset(NULL::groups, %(rows)s) ON CONFLICT DO NOTHING
RETURNING group_id AS id

-- name: import_agent
INSERT INTO agents SELECT * FROM jsonb_populate_recordset(NULL::agents, %(rows)s) ON CONFLICT DO NOTHING
RETURNING agent_id AS id

-- name: import_tombstone
INSERT INTO tombstones SELECT * FROM jsonb_populate_recordset(NULL::tombstones, %(rows)s) ON CONFLICT DO NOTHING
RETURNING id

-- name: import_output
WITH logs AS (
    INSERT INTO quarantine_logs SELECT * FROM jsonb_populate_recordset(NULL::quarantine_logs, %(rows)s)
    ON CONFLICT DO NOTHING RETURNING id
), admitted AS (
    INSERT INTO admissions
    SELECT r.* FROM jsonb_populate_recordset(NULL::admissions, %(admission)s) r JOIN logs ON logs.id = r.log_id
    ON CONFLICT DO NOTHING
), judged AS (
    INSERT INTO ingress_verdicts
    SELECT r.* FROM jsonb_populate_recordset(NULL::ingress_verdicts, %(verdicts)s) r JOIN logs ON logs.id = r.log_id
    ON CONFLICT DO NOTHING
), seen AS (
    INSERT INTO sightings
    SELECT r.* FROM jsonb_populate_recordset(NULL::sightings, %(sightings)s) r JOIN logs ON logs.id = r.log_id
    ON CONFLICT DO NOTHING
), marked AS (
    INSERT INTO digest_marks
    SELECT r.* FROM jsonb_populate_recordset(NULL::digest_marks, %(marks)s) r JOIN logs ON logs.id = r.log_id
    ON CONFLICT DO NOTHING
)
SELECT id FROM logs

-- name: import_digest
INSERT INTO digests SELECT * FROM jsonb_populate_recordset(NULL::digests, %(rows)s) ON CONFLICT DO NOTHING
RETURNING id

-- name: import_insight
-- Without those that rest on an output that is not here, since what it said was forgotten.
WITH given AS (
    SELECT * FROM jsonb_populate_recordset(NULL::insight_sources, %(sources)s)
), added AS (
    INSERT INTO insights SELECT r.* FROM jsonb_populate_recordset(NULL::insights, %(rows)s) r
    WHERE NOT EXISTS (SELECT FROM given s WHERE s.insight_id = r.id AND NOT EXISTS (
        SELECT FROM quarantine_logs q WHERE q.group_id = s.group_id AND q.id = s.log_id))
    ON CONFLICT DO NOTHING RETURNING id
), sourced AS (
    INSERT INTO insight_sources SELECT s.* FROM given s JOIN added ON added.id = s.insight_id
    ON CONFLICT DO NOTHING
)
SELECT id FROM added

-- name: import_memory
INSERT INTO promotions SELECT * FROM jsonb_populate_recordset(NULL::promotions, %(rows)s) ON CONFLICT DO NOTHING
RETURNING id

-- name: import_waiting
INSERT INTO promotion_work (group_id, promotion_id, next_try_at)
SELECT %(group_id)s, promotion_id, %(at)s::timestamptz FROM unnest(%(ids)s::uuid[]) AS promotion_id
ON CONFLICT DO NOTHING

-- name: import_decision
-- Without those about something that is not here, since what it said was forgotten or refused.
WITH given AS (
    SELECT * FROM jsonb_populate_recordset(NULL::decisions, %(rows)s)
)
INSERT INTO decisions SELECT g.* FROM given g
WHERE (g.insight_id IS NULL OR EXISTS (
        SELECT FROM insights i WHERE i.group_id = g.group_id AND i.id = g.insight_id))
    AND (g.promotion_id IS NULL OR EXISTS (
        SELECT FROM promotions p WHERE p.group_id = g.group_id AND p.id = g.promotion_id))
    AND (g.undoes IS NULL OR g.undoes IN (SELECT id FROM given) OR EXISTS (
        SELECT FROM decisions d WHERE d.group_id = g.group_id AND d.id = g.undoes))
ON CONFLICT DO NOTHING RETURNING id

-- name: import_gap
INSERT INTO memory_gaps SELECT * FROM jsonb_populate_recordset(NULL::memory_gaps, %(rows)s) ON CONFLICT DO NOTHING
RETURNING memory_id AS id

-- name: import_conflict
INSERT INTO memory_conflicts SELECT * FROM jsonb_populate_recordset(NULL::memory_conflicts, %(rows)s)
ON CONFLICT DO NOTHING RETURNING memory_id AS id
