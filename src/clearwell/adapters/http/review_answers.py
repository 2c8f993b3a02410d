"""What goes out of review, as plain objects in the caller's language."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from clearwell.adapters.http.answers import Object, flags, quarantine_row, verdict
from clearwell.adapters.http.answers import promotion as promoted
from clearwell.adapters.http.digest_answers import insight_alone, source_alone
from clearwell.adapters.http.problems import problem_of
from clearwell.errors import ClearwellError
from clearwell.flow.review import RetractionPreview
from clearwell.messages import Language, catalogue, say
from clearwell.records import (
    AcceptRate,
    CalibrationRow,
    Decision,
    DecisionResult,
    Dossier,
    Insight,
    InsightSource,
    NearbyMemory,
    PromotionResult,
    PromotionState,
    Provenance,
    ReviewStatistics,
    Verdict,
)
from clearwell.text.hidden_text import escaped

Names: TypeAlias = Mapping[str, str]
"""What keys are called, by how their holders are recorded."""


def decided(one: DecisionResult) -> Object:
    return dict(one.to_json())


def decided_or_problem(one: DecisionResult | ClearwellError, language: Language) -> Object:
    return problem_of(one, language) if isinstance(one, ClearwellError) else decided(one)


def promoted_or_problem(one: PromotionResult | ClearwellError, language: Language) -> Object:
    return problem_of(one, language) if isinstance(one, ClearwellError) else promoted(one, "promoted")


def insight(
    one: Insight,
    language: Language,
    *,
    verdicts: Mapping[UUID, Sequence[Verdict]] | None = None,
    given: Sequence[str] | None = None,
) -> Object:
    flagged = one.flags if given is None else given
    return {
        **insight_alone(one, language),
        "sentences": [{"text": each.text, "sources": each.sources} for each in one.cited],
        "notes": [{"code": each.code, "text": each.text(language)} for each in one.notes],
        "sources": [source(each, language, verdicts) for each in one.sources],
        "flags": list(flagged),
        "flags_said": flags([flag for flag in flagged if f"flag_{flag}" in catalogue()], language),
        "score": one.score,
    }


def source(one: InsightSource, language: Language, verdicts: Mapping[UUID, Sequence[Verdict]] | None) -> Object:
    found = source_alone(one)
    if verdicts is not None:
        found["verdicts"] = [verdict(each, language) for each in verdicts.get(one.log_id, ())]
    return found


def dossier(one: Dossier, language: Language, names: Names) -> Object:
    rejected = one.rejected
    return {
        **insight(one.insight, language, verdicts=one.verdicts, given=one.flags),
        "beside": [beside(each, language) for each in one.nearby],
        **{
            relation: [
                {"id": each.memory.id, "why": each.explanation(language), "similarity": each.similarity}
                for each in one.related(relation)
            ]
            for relation in ("duplicates", "contradicts", "supersedes")
        },
        "rejected": None
        if rejected is None
        else {
            "at": rejected.at,
            "by": rejected.by,
            "by_name": names.get(rejected.by, rejected.by),
            "reason": rejected.reason,
            "similarity": rejected.similarity,
            "text": say("rejected_before", language, at=f"{rejected.at:%Y-%m-%d}", reason=rejected.reason),
        },
        "decisions": [decision(each, names) for each in one.decisions],
        "promotion": None if one.promotion is None else _promotion_of(one.promotion, language),
        "degraded": one.degraded,
    }


def _promotion_of(one: PromotionState, language: Language) -> Object:
    return {
        "id": one.promotion.id,
        "memory_id": one.promotion.memory_id,
        "state": one.state,
        "problem": one.explanation(language),
        "problem_code": one.problem,
        "chunks": one.chunks,
    }


def beside(one: NearbyMemory, language: Language) -> Object:
    memory = one.memory
    return {
        "id": memory.id,
        "content": memory.content,
        "content_shown": escaped(memory.content),
        "chunk_no": memory.chunk_no,
        "scope": memory.scope,
        "author": memory.author,
        "occurred_at": memory.occurred_at,
        "promoted_at": memory.promoted_at,
        "similarity": one.similarity,
        "relation": one.relation,
        "why": one.explanation(language),
        "diff": [{"op": piece.op, "text": piece.text} for piece in one.diff],
    }


def decision(one: Decision, names: Names) -> Object:
    return {
        "id": one.id,
        "group_id": one.group_id,
        "action": one.action,
        "by": one.by,
        "by_name": names.get(one.by, one.by),
        "at": one.at,
        "insight_id": one.insight_id,
        "promotion_id": one.promotion_id,
        "memory_id": one.memory_id,
        "tombstone_id": one.tombstone_id,
        "supersedes": one.supersedes,
        "others": list(one.others),
        "undoes": one.undoes,
        "already": one.already,
        "until": one.until,
        "reason": one.reason,
        "text_before": one.text_before,
        "text_after": one.text_after,
    }


def promotion(one: PromotionState, language: Language, names: Names) -> Object:
    made, text = one.promotion, one.promotion.text
    return {
        "id": made.id,
        "memory_id": made.memory_id,
        "state": one.state,
        "problem": one.explanation(language),
        "problem_code": one.problem,
        "content": text.content,
        "content_shown": escaped(text.content),
        "agent_id": text.agent_id,
        "session_id": text.session_id,
        "author": text.author,
        "occurred_at": text.occurred_at,
        "origin": text.origin,
        "origin_id": text.origin_id,
        "supersedes": made.supersedes,
        "decided_by": made.decided_by,
        "decided_by_name": names.get(made.decided_by, made.decided_by),
        "decided_at": made.decided_at,
        "valid_to": one.valid_to,
        "chunks": one.chunks,
    }


def provenance(one: Provenance, language: Language, names: Names) -> Object:
    return {
        "promotions": [promotion(each, language, names) for each in one.promotions],
        "decisions": [decision(each, names) for each in one.decisions],
        "insights": [insight(each, language) for each in one.insights],
        "rows": [quarantine_row(each, language) for each in one.rows],
        "sightings_of": [{"id": entry, "layer": layer} for entry, layer in one.sightings_of],
    }


def listed(one: RetractionPreview, language: Language, names: Names) -> Object:
    return {
        "status": "listed",
        "memories": [
            {**promotion(each.state, language, names), "rests_on": {"meant": each.matching, "others": each.others}}
            for each in one.memories
        ],
        "token": one.token,
    }


def calibration_row(one: CalibrationRow) -> Object:
    return {
        "agent_id": one.agent_id,
        "confidence": None if one.low is None else [one.low, one.high],
        "mean_stated": one.mean_stated,
        "entries": one.entries,
        "promoted": one.promoted,
        "rejected": one.rejected,
        "conflict": one.conflict,
        "open": one.entries - one.promoted - one.rejected,
    }


def numbers(one: ReviewStatistics) -> Object:
    return {
        "insights": one.insights,
        "review_lag_seconds": {"median": one.lag_median, "p90": one.lag_p90},
        "oldest_pending_at": one.oldest_pending_at,
        "accept_rate": {
            "by_agent": [{"agent_id": each.by, **_rate(each)} for each in one.by_agent],
            "by_check": [_by_check(each) for each in one.by_check],
        },
        "memories": {
            "verified": one.memories,
            "ever_retrieved": one.memories_used,
            "share_ever_retrieved": one.memories_used / one.memories if one.memories else None,
            "promoting": one.promoting,
        },
        "digests": {"done": one.digests, "yield": one.digests_yield},
    }


def _by_check(one: AcceptRate) -> Object:
    check, _, outcome = (one.by or "").partition(":")
    return {"check": check, "outcome": outcome, **_rate(one)}


def _rate(one: AcceptRate) -> Object:
    return {"promoted": one.promoted, "rejected": one.rejected, "rate": one.rate}
