"""Ingress: the checks between quarantine and working memory.

In: a row of quarantine whose admission is pending. Out: one verdict for each check, and an admission that is
``admitted`` or ``refused``; an admitted output is an entry of working memory.
Next: ``flow.retrieval`` can return the entry; ``flow.digest`` considers the row, whatever the verdicts were.

``policies`` says what each node type may become. ``segmentation`` makes the statements of an output: the claims and
decisions in it, each with its place and its vector; ``refinement`` asks the digest model for them after admission.
``candidates`` holds a capture on its way and what it is compared with, ``checks`` the checks, ``echo`` recognises
repeated memories, ``known_texts`` reads what the group already knows, ``neighbours`` the verified memories that are
like a text, and ``pipeline`` runs the checks in their order.
``admission`` runs the pipeline for rows and records the result, ``queue`` does so off the caller's path, and
``requeue`` starts it again. ``override`` lets a person admit what was refused. ``redaction`` removes from verdicts what
a caller may not read; ``fingerprint`` tells whether two processes would decide alike.
"""
