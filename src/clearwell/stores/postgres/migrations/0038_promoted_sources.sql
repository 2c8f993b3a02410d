-- Which statements of outputs an insight rests on, and that it was promoted, tells that an unverified entry says what is
-- verified by now. Agents see the places, not the texts.
GRANT SELECT (group_id, insight_id, log_id, span_start, span_end) ON insight_sources TO clearwell_agent;
GRANT SELECT (group_id, id, insight_id, memory_id, action, side_sources, undoes) ON decisions TO clearwell_agent;
