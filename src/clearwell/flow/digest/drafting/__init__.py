"""Drafting: the statements of one digest become at most ten drafts of insights. Pure: no clock, no store, no model.

In: candidates (claims and decisions of rows of quarantine, with their vectors), what the group has verified, what waits
for a person, what was rejected, how reliable each agent has proved, and the comparison of statements. Out: ``Drafts``,
best first, each with the statement that stands for it, its sources, sides, contradictions, flags, support and score,
and a report in numbers. The order of the candidates makes no difference. Next: ``flow.digest.summaries``.

In order: ``texts`` (distinct texts, without their ``refrains``), ``space`` (how near texts are), ``clusters``,
``scores`` (what a cluster is worth, from ``support``, ``agreement``, ``disputes`` and what is verified), ``selection``,
``headlines``.

Embed what ``find_own_words`` returns before drafting: vectors of texts without their refrains cluster better.
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
)
from clearwell.flow.digest.drafting.pipeline import draft
from clearwell.flow.digest.drafting.texts import find_own_words

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
    "draft",
    "find_own_words",
]
