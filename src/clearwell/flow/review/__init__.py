"""Review: people decide what becomes knowledge. Agents cannot, through any adapter.

In: the insights of ``flow.digest``, and outputs in quarantine or working memory.
Out: decisions, each with its audit event; promoted texts, tombstones of rejected values, insights in another state.
Next: ``flow.promotion`` writes what was promoted to long-term memory.

``service`` is the facade: it checks the rights of the caller and reads. ``dossier`` is what a reviewer sees of an
insight. ``executor`` carries a decision out: ``promotion``, ``rejection``, ``merge`` and ``snooze`` decide on an
insight by the rules of ``insights``, and ``recorder`` stores their decisions with the audit events. ``sides`` makes the
text of an insight whose sources contradict each other. ``undo`` reverts any decision, with ``validity`` to say which
memories are valid then, and ``retraction`` withdraws what is based on a source. ``origins`` tells agents who promoted a
memory. ``statistics`` keeps the figures for metrics.
"""

from clearwell.flow.review.service import ReviewService
from clearwell.flow.review.statistics import StatisticsCache

__all__ = ["ReviewService", "StatisticsCache"]
