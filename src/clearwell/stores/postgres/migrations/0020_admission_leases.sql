-- A pending row is leased to the process that works on it, so that no other one embeds it or asks the judge about it.
-- The lease ends when the row is settled or postponed, or when the process no longer renews it.
ALTER TABLE admissions ADD COLUMN leased_by uuid, ADD COLUMN leased_until timestamptz,
    ADD CHECK ((leased_by IS NULL) = (leased_until IS NULL));
GRANT UPDATE (leased_by, leased_until) ON admissions TO clearwell_worker;

-- An agent captures, and leases nothing.
CREATE POLICY agent_leases_nothing ON admissions AS RESTRICTIVE FOR INSERT TO clearwell_agent
    WITH CHECK (leased_by IS NULL);
