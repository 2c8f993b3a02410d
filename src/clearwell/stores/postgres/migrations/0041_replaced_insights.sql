-- A digest that finds outputs against an insight without a decision makes one insight with both sides of it, and the
-- earlier one becomes part of that. The worker still decides nothing: it can only move an open insight into another one.

GRANT UPDATE (state, merged_into, snoozed_until, version, changed_at) ON insights TO clearwell_worker;
CREATE POLICY worker_only_merges ON insights AS RESTRICTIVE FOR UPDATE TO clearwell_worker
    USING (state IN ('pending', 'snoozed')) WITH CHECK (state = 'merged' AND merged_into IS NOT NULL);
