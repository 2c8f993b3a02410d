-- The group of an output that is named by its id alone: ids only, and the operator's role reads nothing else of quarantine.
-- It goes from group to group by the key, so that capturing pays for no further index.
GRANT SELECT (id, group_id) ON quarantine_logs TO clearwell_operator;
CREATE POLICY operator_finds_group ON quarantine_logs FOR SELECT TO clearwell_operator USING (true);
