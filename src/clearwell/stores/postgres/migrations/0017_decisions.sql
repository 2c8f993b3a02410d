-- What a decision rests on, and what it changed, so that each holds by itself and its undo is exact.

-- origin_id: the output that was promoted, also where the same words were knowledge already.
-- before: what the insight that others were merged into had of its own.
ALTER TABLE decisions ADD COLUMN origin_id uuid, ADD COLUMN before jsonb;
CREATE INDEX decisions_origin ON decisions (group_id, origin_id) WHERE origin_id IS NOT NULL;
CREATE INDEX decisions_supersedes ON decisions (group_id, supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX decisions_tombstone ON decisions (group_id, tombstone_id) WHERE tombstone_id IS NOT NULL;

ALTER TABLE decisions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE promotions NO FORCE ROW LEVEL SECURITY;
UPDATE decisions d SET origin_id = p.origin_id FROM promotions p
WHERE p.group_id = d.group_id AND p.id = d.promotion_id AND p.origin IN ('working', 'quarantine')
    AND d.action = 'promote' AND d.insight_id IS NULL;
ALTER TABLE decisions FORCE ROW LEVEL SECURITY;
ALTER TABLE promotions FORCE ROW LEVEL SECURITY;

-- Who lifts a tombstone makes what waited for that due.
GRANT UPDATE (next_try_at) ON promotion_work TO clearwell_reviewer;
