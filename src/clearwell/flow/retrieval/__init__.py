"""Retrieval: working and long-term memory, searched together.

In: a query, a group and options. Out: a ``Retrieval``: items in one order, each with source, score, relevance and
label, and what was missing (``degraded``). Next: ``flow.context`` puts the items into a prompt.

``options`` and ``metadata_filters`` read what the caller asks for. ``search`` asks long-term memory within a time
limit, ``bm25`` makes the lexical side of the query, ``relevance`` calibrates scores, ``items`` makes the items, and
``retriever`` brings both tiers together. Quarantine is never read here: an import contract forbids it.
"""
