"""Audit: an event for each change of state, stored in the same transaction as the change."""
