"""Results in the form of mem0, with the tier, the label and the end of what they are."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from clearwell.adapters.mem0.messages import ACTOR, ROLE
from clearwell.adapters.mem0.owner import make_id
from clearwell.messages import Language
from clearwell.records import (
    Admission,
    CaptureReceipt,
    ContextItem,
    Layer,
    Metadata,
    NewCapture,
    Outcome,
    VerifiedMemory,
)

Result: TypeAlias = dict[str, Any]
"""A memory as mem0 returns it: a mapping with ``id``, ``memory`` and more."""
EVENTS: Final = {Admission.ADMITTED: "ADD", Admission.REFUSED: "NONE", Admission.PENDING: "PENDING"}
TIERS: Final = {Admission.ADMITTED: Layer.WORKING}


def make_added(new: NewCapture, receipt: CaptureReceipt, language: Language) -> Result:
    """What became of a message. If it was not admitted, ``reason`` says why."""
    failed = [verdict for verdict in receipt.verdicts if verdict.outcome is Outcome.FAIL]
    result = {
        "id": make_id(receipt.group_id, receipt.id),
        "memory": new.content,
        "event": EVENTS[receipt.admission],
        "tier": str(TIERS.get(receipt.admission, Layer.QUARANTINE)),
        "verified": False,
        **_read_actor(new.metadata),
    }
    if failed:
        result["reason"] = failed[0].explanation(language)
    return result


def make_found(item: ContextItem, *, default_group: str, scored: bool = True) -> Result:
    """An item of retrieval. The score is its relevance, which is on one scale for both tiers."""
    score = {"score": item.score if item.relevance is None else item.relevance}
    return {
        "id": make_id(item.group_id, item.id),
        "memory": item.content,
        **(score if scored else {}),
        "created_at": _format(item.created_at),
        "updated_at": _format(item.promoted_at),
        "metadata": _read_metadata(item.metadata),
        **_name_scope(item, default_group),
        **_read_actor(item.metadata),
        "tier": str(item.layer),
        "verified": item.verified,
        "expires_at": _format(item.expires_at),
    }


def make_read(memory: VerifiedMemory, *, default_group: str) -> Result:
    """A verified memory that was read by its id."""
    return {
        "id": make_id(memory.group_id, memory.id),
        "memory": memory.content,
        "created_at": _format(memory.promoted_at),
        "updated_at": _format(memory.promoted_at),
        "metadata": _read_metadata(memory.metadata),
        **_name_scope(memory, default_group),
        **_read_actor(memory.metadata),
        "tier": str(Layer.LONGTERM),
        "verified": True,
        "expires_at": None,
    }


def _name_scope(found: ContextItem | VerifiedMemory, default_group: str) -> Mapping[str, str]:
    user_id = None if found.group_id == default_group else found.group_id
    ids = {"user_id": user_id, "agent_id": found.agent_id, "run_id": found.session_id}
    return {name: value for name, value in ids.items() if value is not None}


def _read_actor(metadata: Metadata) -> Mapping[str, Any]:
    return {name: metadata[name] for name in (ROLE, ACTOR) if name in metadata}


def _read_metadata(metadata: Metadata) -> dict[str, Any] | None:
    """The metadata of the caller; None if there is none, as in mem0."""
    return {name: value for name, value in metadata.items() if name not in (ROLE, ACTOR)} or None


def _format(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
