"""The servers that hold the three tiers."""
