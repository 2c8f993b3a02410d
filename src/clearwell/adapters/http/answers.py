"""What goes out, as plain objects in the caller's language."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TypeVar

from pydantic_core import to_json
from starlette.responses import Response

from clearwell.adapters.http.problems import problem_of
from clearwell.errors import ClearwellError
from clearwell.messages import Language, say
from clearwell.records import (
    Agent,
    BuiltContext,
    Capture,
    CaptureReceipt,
    ContextItem,
    DecisionResult,
    Explanation,
    Group,
    ItemReport,
    Label,
    NodeRun,
    PromotionResult,
    QuarantineRow,
    Retrieval,
    SectionReport,
    SeenAgain,
    Tombstone,
    Verdict,
    WorkingEntry,
)
from clearwell.text.hidden_text import escaped

T = TypeVar("T")
Object = dict[str, object]
REPLAYED: Mapping[str, str] = {"Idempotency-Replayed": "true"}
STANDING: Mapping[str, str] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def answer(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON as UTF-8."""
    return Response(to_json(content), status, {**STANDING, **(headers or {})}, "application/json")


def page(name: str, found: Sequence[T], limit: int, shown: Callable[[T], Object]) -> Response:
    """A page of what was found: one more than the page holds was asked for, and tells that there is a next."""
    rows = [shown(one) for one in found[:limit]]
    return answer({name: rows, "next": rows[-1]["id"] if len(found) > limit else None})


def replay_mark(
    results: Sequence[CaptureReceipt | PromotionResult | DecisionResult | ClearwellError],
) -> Mapping[str, str]:
    """The header that says that all this was done before."""
    done = [one for one in results if not isinstance(one, ClearwellError)]
    return REPLAYED if done and all(one.replayed for one in done) else {}


def receipt(one: CaptureReceipt, language: Language) -> Object:
    return {
        "id": one.id,
        "group_id": one.group_id,
        "admission": one.admission,
        "verdicts": [verdict(each, language) for each in one.verdicts],
    }


def verdict(one: Verdict, language: Language) -> Object:
    return {
        "check": one.check,
        "outcome": one.outcome,
        "value": one.value,
        "threshold": one.threshold,
        "reason": one.explanation(language),
        "params": one.params,
    }


def receipt_or_problem(one: CaptureReceipt | ClearwellError, language: Language) -> Object:
    return problem_of(one, language) if isinstance(one, ClearwellError) else receipt(one, language)


def promotion(one: PromotionResult, done: str) -> Object:
    """The memory that a text became. ``done`` is the word for it where nothing is left to do."""
    return {
        "status": "promoting" if one.waiting else done,
        "id": one.id,
        "promotion_id": one.promotion_id,
        "decision_id": one.decision_id,
        "chunks": one.chunks,
        "already": one.already,
    }


def promoted_or_problem(one: PromotionResult | ClearwellError, language: Language) -> Object:
    return problem_of(one, language) if isinstance(one, ClearwellError) else promotion(one, "ingested")


def batch_status(results: Sequence[PromotionResult | ClearwellError]) -> str:
    """One word for many texts. Where every one that is kept still waits for the model nothing can be found yet."""
    kept = [one for one in results if isinstance(one, PromotionResult)]
    if not kept:
        return "refused"
    return "promoting" if all(one.waiting for one in kept) else "ingested"


def retrieval(found: Retrieval, language: Language) -> Object:
    labels = {label: say(f"label_{label}", language) for label in Label}
    return {
        "results": [_item(one, labels[one.label]) for one in found.items],
        "degraded": found.degraded,
        "sources": found.sources,
    }


def _item(one: ContextItem, label_text: str) -> Object:
    return {
        "content": one.content,
        "source": one.source,
        "score": one.score,
        "id": one.id,
        "group_id": one.group_id,
        "layer": one.layer,
        "label": one.label,
        "label_text": label_text,
        "verified": one.verified,
        "relevance": one.relevance,
        "scope": one.scope,
        "session_id": one.session_id,
        "agent_id": one.agent_id,
        "author": one.author,
        "occurred_at": one.occurred_at,
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "promoted_at": one.promoted_at,
        "chunk_no": one.chunk_no,
        "metadata": one.metadata,
        "flags": one.flags,
        "cut": one.cut,
        "explanation": None if one.explanation is None else _explanation(one.explanation),
    }


def _explanation(one: Explanation) -> Object:
    parts = None if one.parts is None else asdict(one.parts)
    return {
        "cosine": one.cosine,
        "words": one.words,
        "parts": parts,
        "rank": one.rank,
        "age_seconds": one.age_seconds,
    }


def quarantine_row(one: QuarantineRow, language: Language) -> Object:
    capture = one.capture
    return {
        "id": capture.id,
        "group_id": capture.group_id,
        "session_id": capture.session_id,
        "node_id": capture.node_id,
        "node_type": capture.node_type,
        "agent_id": capture.agent_id,
        "content": capture.content,
        "metadata": capture.metadata,
        "partial": capture.partial,
        "occurred_at": capture.occurred_at,
        "created_at": capture.created_at,
        "captured_by": capture.captured_by,
        "admission": one.admission,
        "attempts": one.attempts,
        "next_try_at": one.next_try_at,
        "settled_at": one.settled_at,
        "flags": one.flags,
        "verdicts": [verdict(each, language) for each in one.verdicts],
        "content_shown": escaped(capture.content),
        "removed_at": one.removed_at,
        "sighting_of": one.sighting_of,
        "sightings": None if one.sightings is None else [_sighting(each, capture) for each in one.sightings],
    }


def _sighting(one: SeenAgain, of: Capture) -> Object:
    return {
        "id": one.log_id,
        "agent_id": one.agent_id,
        "session_id": one.session_id,
        "at": one.at,
        "corroborates": one.agent_id is not None and one.agent_id != of.agent_id,
    }


def flags(given: Sequence[str], language: Language) -> list[Object]:
    return [{"flag": flag, "text": say(f"flag_{flag}", language)} for flag in given]


def tombstone(one: Tombstone, names: Mapping[str, str]) -> Object:
    return {
        "id": one.id,
        "group_id": one.group_id,
        "kind": one.kind,
        "reason": one.reason,
        "made_by": one.made_by,
        "made_by_name": names.get(one.made_by, one.made_by),
        "made_at": one.made_at,
        "lifted_by": one.lifted_by,
        "lifted_by_name": None if one.lifted_by is None else names.get(one.lifted_by, one.lifted_by),
        "lifted_at": one.lifted_at,
    }


def group(one: Group) -> Object:
    return {
        "group_id": one.group_id,
        "system_prompt": one.system_prompt,
        "digest_cron": one.digest_cron,
        "digest_zone": one.digest_zone,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


def agent(one: Agent) -> Object:
    return {
        "group_id": one.group_id,
        "agent_id": one.agent_id,
        "persona": one.persona,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


def context(built: BuiltContext, language: Language, *, text: bool, messages: bool) -> Object:
    found: Object = {"text": built.text} if text else {}
    if messages:
        found["messages"] = [{"role": one.role, "content": one.content} for one in built.messages]
    sections = [
        {
            "section": one.section,
            **_fate(one, language),
            "items": [{"id": item.id, **_fate(item, language)} for item in one.items],
        }
        for one in built.report.sections
    ]
    report = {"max_tokens": built.report.max_tokens, "tokens": built.report.tokens, "sections": sections}
    return {**found, "report": report, "degraded": built.degraded}


def _fate(one: SectionReport | ItemReport, language: Language) -> Object:
    said = None if one.reason is None else say(one.reason, language)
    return {"fate": one.fate, "tokens": one.tokens, "reason": one.reason, "reason_text": said}


def node_run(one: NodeRun) -> Object:
    return {"output": one.output, "events": [{"type": e.type, "at": e.at, "data": e.data} for e in one.events]}


def working_entry(one: WorkingEntry, now: datetime, language: Language) -> Object:
    expires_in = (one.expires_at - now).total_seconds() if one.expires_at else None
    return {
        "id": one.id,
        "group_id": one.group_id,
        "content": one.content,
        "layer": one.layer,
        "label": Label.EPHEMERAL,
        "label_text": say("label_ephemeral", language),
        "verified": False,
        "session_id": one.session_id,
        "agent_id": one.agent_id,
        "node_type": one.node_type,
        "occurred_at": one.occurred_at,
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "age_seconds": max(0.0, (now - one.created_at).total_seconds()),
        "expires_in_seconds": expires_in,
        "metadata": one.metadata,
        "flags": one.flags,
        "cut": one.cut,
        "content_shown": escaped(one.content),
    }
