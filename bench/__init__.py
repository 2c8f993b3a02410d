"""Measurements of Clearwell against their own floors. See README.md."""
