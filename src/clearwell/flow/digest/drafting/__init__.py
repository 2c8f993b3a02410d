"""Drafting: turn the statements of one digest into at most ten drafts of insights. Pure: no clock, no store, no model.

In: candidates (claims and decisions of quarantine rows, with their vectors), the verified memories, the insights
without a decision, the rejected texts, the reliability of each agent, and the comparison of statements. Out:
``Drafts``, best first, each with its representative statement, sources, sides, contradictions, flags, support and
score, and a report in numbers. The order of the candidates makes no difference. Next: ``flow.digest.summaries``.

In order: ``texts`` (distinct texts, without ``boilerplate``), ``space`` (the distance between texts), ``clusters``,
``links`` (splits clusters by fact), ``scores`` (rates a cluster by ``support``, ``agreement``, ``disputes`` and the
verified memories), ``selection``, ``headlines``.
``drafts`` has the records, ``pipeline`` the order; ``disputes`` uses ``stated_values``, ``denials``, ``opposites``,
``slots`` (owners and causes), ``states`` (done or not) and ``oppositions``.

``bench/results/digest.md`` measures all thresholds of these modules together, on councils of agents and on synthetic
months, and ``bench/results/support.md`` on pairs of statements.

Embed what ``find_stripped_texts`` returns before drafting: vectors of texts without boilerplate cluster better.
"""

from clearwell.flow.digest.drafting.drafts import (
    CONFLICTS_WITH_VERIFIED,
    CONTRADICTION,
    DUPLICATES_VERIFIED,
    NEAR_REJECTED,
    SINGLE_AUTHOR,
    Draft,
    DraftLimits,
    Drafts,
    DraftSide,
    KnownText,
    Nearest,
    NearRejected,
    RejectedText,
    UndecidedInsight,
)
from clearwell.flow.digest.drafting.pipeline import draft
from clearwell.flow.digest.drafting.support import count_support
from clearwell.flow.digest.drafting.texts import find_stripped_texts, speaker

__all__ = [
    "CONFLICTS_WITH_VERIFIED",
    "CONTRADICTION",
    "DUPLICATES_VERIFIED",
    "NEAR_REJECTED",
    "SINGLE_AUTHOR",
    "Draft",
    "DraftLimits",
    "DraftSide",
    "Drafts",
    "KnownText",
    "NearRejected",
    "Nearest",
    "RejectedText",
    "UndecidedInsight",
    "count_support",
    "draft",
    "find_stripped_texts",
    "speaker",
]
