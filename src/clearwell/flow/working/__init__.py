"""Working memory: 24 hours of admitted outputs, marked as unverified.

In: entries from ``flow.ingress``. Out: entries for ``flow.retrieval``; every entry expires, and its row of quarantine
remains. Next: nothing follows by itself; only a person's promotion makes an entry long-term memory.

``removal`` takes entries out on request, ``rebuild`` restores them from quarantine after a loss, ``recalls`` keeps
which memories retrieval returned to whom, and ``usage`` stores how often each was returned.
"""
