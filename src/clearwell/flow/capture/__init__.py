"""Capture: an output of a node is accepted and stored in quarantine.

In: a ``NewCapture`` from a caller. Out: a committed row of quarantine whose admission is pending, and a receipt.
Next: ``flow.ingress`` decides whether the output enters working memory.

``recorder`` validates an output and stores it; ``intake`` also starts the admission and can wait for it.
"""
