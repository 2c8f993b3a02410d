"""The path, one verb a file, in the order an agent's words travel it.

In: ``limits`` (what may come in at all), ``capture`` (an output becomes a row of quarantine), ``intake`` (and its
admission is set going or waited for), ``policies`` (what may become of it, by the type of its node).

The filter: ``hidden`` (text that a reader does not see, or that speaks to the reader's machine), ``normal`` (one form
for all the ways to write a value), ``echo`` (what an agent only repeats), ``sameness`` (whether two texts say the same,
contradict each other, or neither), ``ingress`` (the checks, each with its verdict), ``known`` (what the group knows
that bears on them), ``filter`` (the checks in their order), ``telling`` (what a caller may hear of their verdicts).

Into working memory: ``admit``, ``queue`` (off the caller's path), ``requeue`` (once more), ``rebuild`` (after a loss),
``removing`` and ``tombstones`` (what a person takes out, and what must not come back) with ``lifting`` (and may after
all), ``alike`` (whether another process would decide the same).

To knowledge: ``digest`` (rows become drafts of insights, by arithmetic alone), ``digesting`` (when one is due, what it
looks at, who writes it), ``schedules``, ``review`` (what people decide), ``promotable`` (what may become knowledge),
``promote`` and ``promoter`` (a decision becomes verified chunks), ``split`` and ``chunks``, ``carry_out`` (what waited
for the model).

Out: ``options`` and ``filters`` (what may be asked), ``retrieve`` and ``searching`` (both tiers at once, in time),
``items`` (what is answered), ``lexical`` with ``terms``, ``stems`` and ``dates`` (its words), ``relevance``,
``context`` with ``budget`` and ``tokens``, ``node`` with ``history``, ``fencing`` and ``cutting`` (memories in a
prompt), ``recalling`` and ``uses`` (what was returned).

Beside it: ``access``, ``gate`` and ``keyring`` (who may), ``once`` (a repeated request), ``audit``, ``tally``,
``profiles`` (what groups and agents are told), ``moving``, ``reembed`` and ``scale`` (from one model to another),
``in_time`` and ``apart`` (nobody is kept waiting).
"""
