"""Retrieval: working and long-term memory, searched together.

In: a query, a group and options. Out: a ``Retrieval``: items in one order, each with source, score, relevance and
label, and what was missing (``degraded``). Next: ``flow.context`` puts the items into a prompt.

``retriever`` is the entry: it reads working memory while ``search`` asks long-term memory within a time limit, and
merges both. ``options`` turns a caller's options into a plan, ``metadata_filters`` reads and matches conditions on
metadata, ``bm25`` makes the lexical side of queries and memories, ``relevance`` calibrates scores, and ``ranking``
makes the items and puts them into one order. Quarantine is never read here: an import contract forbids it.
"""
