"""Digest: condense the outputs in quarantine into a few insights for a reviewer.

In: the claims and decisions of quarantine rows that are not part of an insight, on a schedule or on request.
Out: up to ten insights, each one statement with its sources, sides and flags, in state ``pending``.
Next: ``flow.review``, where a person decides.

``requests`` accepts requests and reads digests, ``schedule`` and ``cron`` determine when a digest is due, and
``runner`` makes a digest: ``material`` reads the statements, ``drafting`` groups them (pure functions), ``summaries``
writes the insights (``inventions`` finds what a model made up), and ``outcome`` describes the result. ``progress``
reports the progress of a digest.
"""

from clearwell.flow.digest.material import MaterialReader
from clearwell.flow.digest.requests import DigestRequests
from clearwell.flow.digest.runner import DigestRunner
from clearwell.flow.digest.schedule import DigestScheduler, find_latest_tick
from clearwell.flow.digest.summaries import InsightComposer

__all__ = ["DigestRequests", "DigestRunner", "DigestScheduler", "InsightComposer", "MaterialReader", "find_latest_tick"]
