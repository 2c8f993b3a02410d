-- On how many days a memory was given to an agent: reviewers see what is used and what never was.
ALTER TABLE memory_uses ADD COLUMN days integer NOT NULL DEFAULT 1;
GRANT UPDATE (days) ON memory_uses TO clearwell_worker;
