-- Verified memories that contradict each other, each pair in both directions. Ids only. A conflict stands while both
-- memories are valid.
CREATE TABLE memory_conflicts (
    group_id text NOT NULL,
    memory_id uuid NOT NULL,
    other_id uuid NOT NULL CHECK (other_id <> memory_id),
    found_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, memory_id, other_id)
);
GRANT SELECT, INSERT ON memory_conflicts TO clearwell_worker, clearwell_reviewer;
GRANT SELECT ON memory_conflicts TO clearwell_agent;
CALL clearwell_guard('memory_conflicts');
