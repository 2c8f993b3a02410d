-- A memory that contradicts another one is marked, so that a search looks for the others only where there are any.
ALTER TABLE memories ADD COLUMN disputed boolean NOT NULL DEFAULT false;
GRANT UPDATE (disputed) ON memories TO clearwell_worker, clearwell_reviewer;

-- The owner is bound by row-level security too.
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_conflicts NO FORCE ROW LEVEL SECURITY;
UPDATE memories m SET disputed = true
FROM memory_conflicts c WHERE c.group_id = m.group_id AND c.memory_id = m.id;
ALTER TABLE memory_conflicts FORCE ROW LEVEL SECURITY;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
