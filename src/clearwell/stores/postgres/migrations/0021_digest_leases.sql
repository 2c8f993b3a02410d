-- A digest run is its own job: its row says when it is due and until when a worker has it. The queue of procrastinate,
-- which held a second copy of that, goes.
ALTER TABLE digests ADD COLUMN next_try_at timestamptz, ADD COLUMN leased_until timestamptz;
GRANT UPDATE (next_try_at, leased_until) ON digests TO clearwell_worker;
DROP SCHEMA procrastinate CASCADE;
