"""A kept answer becomes the answer again."""

from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict
from clearwell.records import Action, DecisionResult, InsightState, InsightStatus, Json, PromotionResult


def decided_of(stored: Json) -> DecisionResult:
    if not isinstance(stored, dict):
        raise TypeError(f"a stored answer is an object, not {type(stored).__name__}")
    chunks, memories = stored.get("chunks"), stored.get("memories")
    return DecisionResult(
        status=str(stored["status"]),
        id=UUID(str(stored["id"])),
        decision_id=_id(stored.get("decision_id")),
        promotion_id=_id(stored.get("promotion_id")),
        tombstone_id=_id(stored.get("tombstone_id")),
        superseded=_id(stored.get("superseded")),
        chunks=chunks if isinstance(chunks, int) else None,
        already=bool(stored.get("already")),
        undone=Action(str(stored["undone"])) if stored.get("undone") else None,
        memories=tuple(UUID(str(one)) for one in memories) if isinstance(memories, list) else (),
        withdrawn=_id(stored.get("withdrawn")),
        insight=_standing(stored.get("insight")),
    )


def result_of(stored: Json) -> DecisionResult | Conflict:
    """One result of many. Of a problem only its name was kept: its words may quote what has changed since."""
    if isinstance(stored, dict) and "problem" in stored:
        return Conflict("decided_in_vain", problem=stored["problem"])
    return decided_of(stored)


def promoted_of(stored: Json) -> PromotionResult | Conflict:
    """One promotion of many."""
    if isinstance(stored, dict) and "problem" in stored:
        return Conflict("decided_in_vain", problem=stored["problem"])
    return PromotionResult.from_json(stored)


def _standing(stored: Json) -> InsightStatus | None:
    if not isinstance(stored, dict):
        return None
    return InsightStatus(
        id=UUID(str(stored["id"])),
        version=int(str(stored["version"])),
        state=InsightState(str(stored["state"])),
        changed_at=datetime.fromisoformat(str(stored["changed_at"])),
        snoozed_until=datetime.fromisoformat(str(stored["snoozed_until"])) if stored["snoozed_until"] else None,
        merged_into=_id(stored["merged_into"]),
    )


def _id(stored: Json) -> UUID | None:
    return None if stored is None else UUID(str(stored))
