-- Forgetting: the eraser removes texts in one group, and keeps a receipt without them.

CREATE TABLE forgets (
    group_id text NOT NULL,
    id uuid NOT NULL,
    token text NOT NULL,
    receipt jsonb NOT NULL,
    agents text[] NOT NULL DEFAULT '{}',
    erased_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (group_id, id)
);
CREATE INDEX forgets_unfinished ON forgets (erased_at) WHERE finished_at IS NULL;
CALL clearwell_guard('forgets');
-- Every process asks how many there were; a worker finishes those of all groups. There are only ids and numbers.
CREATE POLICY eraser_finds_forgets ON forgets FOR SELECT TO clearwell_eraser USING (true);
GRANT SELECT, INSERT ON forgets TO clearwell_eraser;
GRANT UPDATE (finished_at) ON forgets TO clearwell_eraser;

GRANT SELECT ON quarantine_logs, admissions, ingress_verdicts, quarantine_vectors, sightings, statements, segmentations,
    digest_marks, digests, insights, insight_sources, promotions, promotion_work, memories, memory_conflicts,
    memory_gaps, memory_uses, decisions, tombstones, agents, groups, ingress_counts, idempotency TO clearwell_eraser;
GRANT DELETE ON quarantine_logs, admissions, ingress_verdicts, quarantine_vectors, sightings, statements, segmentations,
    digest_marks, insights, insight_sources, promotion_work, memories, memory_conflicts, memory_gaps, memory_uses,
    tombstones, agents, ingress_counts, idempotency TO clearwell_eraser;
GRANT UPDATE (summary, flags, contradictions, support, model, embedding, sentences, notes, sides, state, snoozed_until,
    merged_into, version) ON insights TO clearwell_eraser;
GRANT UPDATE (content, metadata, session_id, author, fingerprint) ON promotions TO clearwell_eraser;
GRANT UPDATE (text_before, text_after, reason, before) ON decisions TO clearwell_eraser;
GRANT UPDATE (reason, params, value) ON ingress_verdicts TO clearwell_eraser;
GRANT UPDATE (system_prompt) ON groups TO clearwell_eraser;
GRANT UPDATE (statement) ON insight_sources TO clearwell_eraser;
GRANT INSERT ON tombstones, audit_events, audit_pending TO clearwell_eraser;

-- A forgotten text that is captured again is refused; its row stays, without the text.
CREATE FUNCTION clearwell_empty_forgotten(emptied uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    UPDATE quarantine_logs AS q SET content = '', raw_metadata = '{}', request_hash = NULL
    WHERE q.group_id = nullif(current_setting('clearwell.group', true), '') AND q.id = emptied
        AND EXISTS (SELECT FROM ingress_verdicts v WHERE v.group_id = q.group_id AND v.log_id = q.id
            AND v.reason = 'verdict_tombstone_forgotten');
END;
REVOKE EXECUTE ON FUNCTION clearwell_empty_forgotten(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_empty_forgotten(uuid) TO clearwell_worker;
