"""Context: retrieved memories, as an agent receives them.

In: an agent's task and the items of ``flow.retrieval``. Out: a prompt in five sections within a token budget, or
``history_context`` for the nodes that follow. Next: the agent's model; its output comes back through ``flow.capture``.

``builder`` collects the sections, ``budget`` fits them into the token budget, ``tokens`` counts tokens, ``fencing``
writes memories as fenced data, and ``retrieval_node`` is the memory-retrieval node of a workflow.
"""
