-- What a group and its agents are told: kept by an operator, read by whoever builds a context.
ALTER TABLE groups ADD COLUMN updated_at timestamptz, ADD COLUMN digest_cron text, ADD COLUMN digest_zone text;
UPDATE groups SET updated_at = created_at;
ALTER TABLE groups ALTER COLUMN updated_at SET NOT NULL;

ALTER TABLE agents ADD COLUMN updated_at timestamptz;
UPDATE agents SET updated_at = created_at;
ALTER TABLE agents ALTER COLUMN updated_at SET NOT NULL;
ALTER TABLE agents ADD CHECK (group_id <> '' AND group_id <> 'unassigned' AND agent_id <> '');

GRANT DELETE ON agents TO clearwell_operator;

-- The operator lists groups; whom it tells of which is decided by the key.
CREATE POLICY operator_lists_groups ON groups FOR SELECT TO clearwell_operator USING (true);

-- The worker finds the schedules of all groups here, and can read nothing else of them.
GRANT SELECT (group_id, digest_cron, digest_zone) ON groups TO clearwell_worker;
CREATE POLICY worker_finds_schedules ON groups FOR SELECT TO clearwell_worker USING (true);
