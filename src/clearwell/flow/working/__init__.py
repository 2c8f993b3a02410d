"""Working memory: 24 hours of admitted outputs, marked as unverified.

In: entries from ``flow.ingress``. Out: entries for ``flow.retrieval``; every entry expires, and its row of quarantine
remains. Next: nothing follows by itself; only a person's promotion makes an entry long-term memory.

``capacity`` says how many entries a group and an agent keep. ``maintenance`` removes entries at a person's request and
rebuilds working memory from quarantine. ``recalls`` records which memories retrieval returned to whom, and how often
each was used.
"""
