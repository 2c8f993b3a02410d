"""The rating of a claim, which follows from the memories that support or contradict it.

Verified memories outrank unverified ones: if there is a verified one, only those count. If memories of one tier
contradict each other, the rating is unknown, and both sides are cited.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clearwell.errors import ClearwellError
from clearwell.records import Citation, ClaimRating, Metadata, Stance
from clearwell.records.factcheck import FAILED
from clearwell.records.values import make_json


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedClaim:
    """A rating and the reason for it: a message code with parameters."""

    rating: ClaimRating
    reason: str
    params: Metadata = field(default_factory=dict)


def rate(citations: Sequence[Citation], *, retrieved: int, repeated: bool, undecided: bool) -> RatedClaim:
    """Rate a claim by its citations.

    ``retrieved`` is the number of memories that were held against it, ``repeated`` says that the session of the claim
    supports it, and ``undecided`` that a language model found the evidence insufficient.
    """
    tier = [one for one in citations if one.verified] or list(citations)
    if tier:
        rated = _rate_tier(tier, "verified" if tier[0].verified else "unverified")
        if rated.rating is ClaimRating.UNKNOWN or not undecided:
            return rated
    if undecided and retrieved:
        return RatedClaim(rating=ClaimRating.UNKNOWN, reason="fact_check_undecided", params={"count": retrieved})
    if repeated:
        return RatedClaim(rating=ClaimRating.UNKNOWN, reason="fact_check_only_repeated")
    reason = "fact_check_not_answered" if retrieved else "fact_check_nothing_found"
    return RatedClaim(rating=ClaimRating.UNKNOWN, reason=reason, params={"count": retrieved})


def rate_failed(error: ClearwellError) -> RatedClaim:
    """The rating of a claim that could not be checked."""
    params: Metadata = {"problem_code": error.code, "problem_params": make_json(error.params)}
    return RatedClaim(rating=ClaimRating.UNKNOWN, reason=FAILED, params=params)


def drop_repetitions(citations: Sequence[Citation], session_id: str | None) -> list[Citation]:
    """The citations without unverified support from the session of the claim: that is the claim itself."""
    return [
        one
        for one in citations
        if one.verified or one.stance is not Stance.SUPPORTS or session_id is None or one.session_id != session_id
    ]


def _rate_tier(citations: Sequence[Citation], tier: str) -> RatedClaim:
    supports = sum(one.stance is Stance.SUPPORTS for one in citations)
    contradicts = len(citations) - supports
    if supports and contradicts:
        params: Metadata = {"supports": supports, "contradicts": contradicts}
        return RatedClaim(rating=ClaimRating.UNKNOWN, reason=f"fact_check_disputed_{tier}", params=params)
    if supports:
        return RatedClaim(
            rating=ClaimRating.SUPPORTED, reason=f"fact_check_supported_{tier}", params={"count": supports}
        )
    return RatedClaim(
        rating=ClaimRating.CONTRADICTED, reason=f"fact_check_contradicted_{tier}", params={"count": contradicts}
    )
