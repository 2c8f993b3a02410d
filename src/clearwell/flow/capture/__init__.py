"""Capture: an output of a node is accepted and stored in quarantine.

In: a ``NewCapture`` from a caller. Out: a committed row of quarantine whose admission is pending, and a receipt.
Next: ``flow.ingress`` decides whether the output enters working memory.

``intake`` checks an output, stores it, and starts its admission or waits for it. ``quarantine`` is what
reviewers read of it, and ``assignment`` gives an output that was captured without a group to one.
"""
