"""Digests and insights as plain objects in the caller's language."""

from clearwell.adapters.http.answers import Object, verdict
from clearwell.flow.hidden import escaped
from clearwell.messages import Language
from clearwell.records import Contradiction, Digest, DigestStatus, Insight, InsightSource


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
        "id": one.id,
        "group_id": one.group_id,
        "digest_id": one.digest_id,
        "version": one.version,
        "state": one.state,
        "summary": one.summary,
        "summary_shown": escaped(one.summary),
        "written_by": one.written_by,
        "sentences": [{"text": each.text, "sources": each.sources} for each in one.sentences],
        "sources": [source(each, language) for each in one.sources],
        "contradictions": [contradiction(each, language) for each in one.contradictions],
        "flags": one.flags,
        "support": {
            "agents": one.support.agents,
            "sessions": one.support.sessions,
            "days": one.support.days,
            "rows": one.support.rows,
        },
        "score": round(one.score, 4),
        "notes": [{"code": each.code, "text": each.text(language)} for each in one.notes],
        "created_at": one.created_at,
        "changed_at": one.changed_at,
        "snoozed_until": one.snoozed_until,
        "merged_into": one.merged_into,
    }


def source(one: InsightSource, language: Language) -> Object:
    return {
        "log_id": one.log_id,
        "agent_id": one.agent_id,
        "session_id": one.session_id,
        "node_id": one.node_id,
        "node_type": one.node_type,
        "occurred_at": one.occurred_at,
        "confidence": one.confidence,
        "admission": one.admission,
        "content": one.content,
        "content_shown": escaped(one.content),
        "cut": one.cut,
        "flags": one.flags,
        "statement": one.statement,
        "verdicts": [verdict(each, language) for each in one.verdicts],
    }


def contradiction(one: Contradiction, language: Language) -> Object:
    return {"of": one.of, "with": one.against, "layer": one.layer, "why": one.explanation(language)}
