"""Drafting: the outputs of one digest become at most ten drafts of insights. Pure: no clock, no store, no model.

In: candidates (rows of quarantine with their vectors), what the group has verified, what waits for a person, what was
rejected, how reliable each agent has proved, and the comparison of statements. Out: ``Drafts``, best first, each with
its sources, quotes, contradictions, flags, support and score, and a report in numbers. The order of the candidates
makes no difference. Next: ``flow.digest.summaries`` writes the insights.

In order: ``texts`` (distinct texts, without their ``refrains``), ``space`` (how near texts are), ``clusters``,
``scores`` (what a cluster is worth, from ``support``, ``agreement`` and what is verified), ``selection``, ``quotes``.
``agreement`` finds who contradicts whom, with ``consensus`` (values that depart from the majority), ``contradictions``
(which contradictions to believe), ``subjects`` (who speaks of something else) and ``small_talk``.

Embed what ``own_words`` returns before drafting: vectors of texts without their refrains cluster better.
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
    KnownText,
    Nearest,
    NearRejected,
    Quote,
    RejectedText,
)
from clearwell.flow.digest.drafting.pipeline import draft
from clearwell.flow.digest.drafting.texts import own_words

__all__ = [
    "CONFLICTS_WITH_VERIFIED",
    "CONTRADICTION",
    "DUPLICATES_VERIFIED",
    "NEAR_REJECTED",
    "SINGLE_AUTHOR",
    "Draft",
    "DraftLimits",
    "Drafts",
    "KnownText",
    "NearRejected",
    "Nearest",
    "Quote",
    "RejectedText",
    "draft",
    "own_words",
]
