"""Digests and insights as plain objects in the caller's language."""

from dataclasses import asdict

from clearwell.adapters.http.answers import Object, verdict
from clearwell.messages import Language
from clearwell.records import Digest, DigestStatus, Insight, InsightSource
from clearwell.text.hidden_text import escaped


def digest(one: Digest, language: Language) -> Object:
    return {
        "id": one.id,
        "group_id": one.group_id,
        "status": one.status,
        "progress": round(one.progress, 4),
        "note": one.explanation(language),
        "note_code": one.note,
        "requested_by": one.requested_by,
        "due_at": one.due_at,
        "created_at": one.created_at,
        "started_at": one.started_at,
        "finished_at": one.finished_at,
        "attempts": one.attempts,
        "report": one.report,
    }


def whole_digest(one: Digest, language: Language) -> Object:
    """With its insights, once it is done."""
    shown = digest(one, language)
    if one.status is DigestStatus.DONE:
        shown["insights"] = [insight(each, language) for each in one.insights]
    return shown


def insight(one: Insight, language: Language) -> Object:
    return {
        **insight_alone(one, language),
        "sentences": [{"text": each.text, "sources": each.sources} for each in one.sentences],
        "sources": [
            {**source_alone(each), "cut": each.cut, "verdicts": [verdict(given, language) for given in each.verdicts]}
            for each in one.sources
        ],
        "flags": one.flags,
        "score": round(one.score, 4),
        "notes": [{"code": each.code, "text": each.text(language)} for each in one.notes],
    }


def insight_alone(one: Insight, language: Language) -> Object:
    """What is said of an insight wherever it is shown."""
    return {
        "id": one.id,
        "group_id": one.group_id,
        "digest_id": one.digest_id,
        "version": one.version,
        "state": one.state,
        "summary": one.summary,
        "summary_shown": escaped(one.summary),
        "written_by": one.written_by,
        "contradictions": [
            {"of": each.of, "with": each.against, "layer": each.layer, "why": each.explanation(language)}
            for each in one.contradictions
        ],
        "support": asdict(one.support),
        "created_at": one.created_at,
        "changed_at": one.changed_at,
        "snoozed_until": one.snoozed_until,
        "merged_into": one.merged_into,
    }


def source_alone(one: InsightSource) -> Object:
    """What is said of a source wherever it is shown."""
    return {
        "log_id": one.log_id,
        "agent_id": one.agent_id,
        "session_id": one.session_id,
        "node_id": one.node_id,
        "node_type": one.node_type,
        "occurred_at": one.occurred_at,
        "confidence": one.confidence,
        "admission": one.admission,
        "flags": one.flags,
        "content": one.content,
        "content_shown": escaped(one.content),
        "statement": one.statement,
    }
