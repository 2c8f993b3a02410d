"""Digest: the outputs in quarantine become a few insights for a reviewer.

In: the claims and decisions of rows in quarantine that are not part of an insight, when a schedule or a person asks.
Out: up to ten insights, each one statement with its sources, sides and flags, in state ``pending``.
Next: ``flow.review``, where a person decides.

``requests`` accepts requests and answers readers, ``schedule`` and ``cron`` find what is due, and ``runner`` makes a
digest: ``material`` reads the statements, ``drafting`` groups them (pure functions), ``summaries`` writes the insights
(``inventions`` finds what a model made up), and ``outcome`` says what came of it. ``progress`` reports how far a digest
is.
"""

from clearwell.flow.digest.material import MaterialReader
from clearwell.flow.digest.requests import DigestRequests
from clearwell.flow.digest.runner import DigestRunner
from clearwell.flow.digest.schedule import DigestScheduler, find_latest_tick
from clearwell.flow.digest.summaries import InsightComposer

__all__ = ["DigestRequests", "DigestRunner", "DigestScheduler", "InsightComposer", "MaterialReader", "find_latest_tick"]
