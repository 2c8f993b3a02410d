-- Since when a group has the schedule that it has: a tick before that asks for no digest.
ALTER TABLE groups ADD COLUMN scheduled_at timestamptz;
GRANT SELECT (scheduled_at) ON groups TO clearwell_worker;
