"""Promotion: a person's decision becomes long-term memory.

In: texts that a person decided to promote: typed, from an output, or from an insight of ``flow.review``.
Out: a promotion, its chunks with vectors and terms in long-term memory, and the decision with its audit event, in one
transaction. Without the embedding model the decision is committed, and the chunks follow.
Next: ``flow.retrieval`` finds the chunks.

``texts`` and ``outputs`` promote for callers. ``planning`` chunks, embeds and hashes before the transaction, and
``conflicts`` finds what a text contradicts; ``writing`` checks and stores in it. ``completion`` completes promotions
that had to wait for the model. ``screening`` has a person acknowledge what a text hides or demands, ``copies`` finds
what still says a rejected value, ``withdrawal`` withdraws memories, and ``rebuild`` makes lost chunks again.
"""
