"""The digest: rows of quarantine become 5 to 10 drafts of insights. Pure: no clock, no store, no model.

    draft(
        candidates: Sequence[DigestCandidate],        # with ``embedding``; rows without one stand alone
        *,
        known: Sequence[KnownText] = (),              # verified memories, chunks of one memory under one id
        pending: Sequence[KnownText] = (),            # insights of earlier digests that nobody has decided on
        rejected: Sequence[RejectedText] = (),        # refused insights and tombstones that kept a vector
        reliability: Mapping[str, float] | None = None,  # agent -> 0..1, how its confidence has proved
        similarity: Callable[[float], float],         # embedder.similarity
        comparison: StatementComparison,
        limits: DraftLimits = DraftLimits(),
    ) -> Drafts

Whoever has a model at hand embeds ``own_words`` first: rows whose vector is of their words without refrains cluster
better.

``Drafts.drafts`` are in order of rank; each ``Draft`` has ``sources`` (candidates, most central first), ``quotes`` and
``summary`` (extractive), ``contradictions``, ``flags``, ``support``, ``score``, ``nearest`` (ids of verified memories
with similarity), ``near_rejected`` (reason, at) and ``embedding``. ``Drafts.report`` is JSON. The order of the
candidates makes no difference.
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
