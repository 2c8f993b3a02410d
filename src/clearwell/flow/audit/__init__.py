"""Audit: an event for each change of state and each refusal, and proof that none was changed or removed.

In: what was done, by whom; a change is stored in the same transaction as its event. ``events`` makes events, the gate
in ``flow/access`` records refusals. Out: ``seals`` chains the events of each group in batches, off the path of
requests, ``trail`` reads them, and ``verification`` finds what was changed, removed, inserted or reordered.
``acceptance`` lets an operator continue a trail after the database was restored.
"""
