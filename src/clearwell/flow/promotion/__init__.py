"""Promotion: a person's decision becomes long-term memory.

In: texts that a reviewer decided to promote. Out: a promotion, and chunks with vectors and terms in long-term memory,
in one transaction; without the embedding model the decision is committed and the chunks follow.
Next: ``flow.retrieval`` finds the chunks.

``eligibility`` says what may be promoted, ``promoter`` plans and writes promotions, ``chunks`` splits and embeds,
``texts`` promotes typed texts, and ``waiting`` completes promotions that had to wait for the model. ``tombstones``
keeps refused values out, and ``lifting`` removes a tombstone again.
"""
