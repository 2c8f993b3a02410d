"""Fact check: what memory says about a claim.

In: a claim, or a text whose statements are claims. Out: a ``FactCheck``: each claim rated supported, contradicted or
unknown, with the memories that it rests on, and a text for the nodes that follow. Next: the output of the node is
captured with the node type ``fact_check``; it is evidence in review and no candidate of a digest by itself.

``claims`` reads the claims of a state, ``checker`` retrieves evidence from both tiers and builds the result,
``assessor`` holds evidence against a claim by the comparison rules (``models.assessor`` asks a language model
instead), ``ratings`` follows from the assessed evidence, ``report`` writes the text, and ``node`` is the node of a
workflow. Like retrieval, none of it is given quarantine.
"""
