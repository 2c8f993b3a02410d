"""Retrieval: working and long-term memory, searched together.

In: a query, a group and options. Out: a ``Retrieval``: items in one order, each with source, score, relevance and
label, and what was missing (``degraded``). Next: ``flow.context`` puts the items into a prompt.

``retriever`` is the entry: ``working_search`` reads working memory while ``search`` asks long-term memory within a time
limit, and both are merged. ``fusion`` is the formula by which entries are ranked as long-term memory is, and
``entry_index`` has their words and vectors. ``options`` turns a caller's options into a plan, ``metadata_filters``
reads and matches conditions on metadata, ``bm25`` makes the lexical side of queries and memories, ``relevance``
calibrates scores, ``ranking`` makes the items and puts them into one order, and ``passages`` shortens them.
``memories`` reads and lists memories, ``agent_names`` has the names that labels may show, and ``rejections`` keeps
rejected values out of what was valid at an earlier time. Quarantine is never read here: an import contract forbids it.
"""
