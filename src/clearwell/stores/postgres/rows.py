"""Conversion between rows of the database and records."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.ports import Signer
from clearwell.records import Admission, AuditEvent, Capture, Memory, Outcome, QuarantineRow, Scope, Vector, Verdict


def capture_of(row: DictRow) -> Capture:
    return Capture(
        id=row["id"],
        group_id=row["group_id"],
        session_id=row["session_id"],
        node_id=row["node_id"],
        node_type=row["node_type"],
        agent_id=row["agent_id"],
        content=row["content"],
        metadata=row["raw_metadata"],
        partial=row["partial"],
        occurred_at=row["occurred_at"],
        created_at=row["created_at"],
        captured_by=row["captured_by"],
    )


def quarantine_row_of(row: DictRow, verdicts: Sequence[Verdict]) -> QuarantineRow:
    return QuarantineRow(
        capture=capture_of(row),
        admission=Admission(row["state"]),
        attempts=row["attempts"],
        settled_at=row["settled_at"],
        flags=tuple(row["flags"]),
        verdicts=tuple(verdicts),
        removed_at=row["removed_at"],
        sighting_of=row["sighting_of"],
        next_try_at=row["next_try_at"] if row["state"] == Admission.PENDING else None,
    )


def verdict_of(row: DictRow) -> Verdict:
    return Verdict(
        check=row["check"],
        outcome=Outcome(row["outcome"]),
        value=row["value"],
        threshold=row["threshold"],
        reason=row["reason"],
        params=row["params"],
        at=row["at"],
    )


def verdicts_of(rows: Sequence[DictRow]) -> dict[UUID, tuple[Verdict, ...]]:
    """Group the rows of the query ``receipts`` by quarantine row."""
    judged = groupby((row for row in rows if row["check"] is not None), key=lambda row: row["log_id"])
    return {log_id: tuple(verdict_of(one) for one in given) for log_id, given in judged}


def verdict_params(group_id: str, log_id: UUID, verdict: Verdict, position: int) -> Mapping[str, Any]:
    return {
        "group_id": group_id,
        "log_id": log_id,
        "at": verdict.at,
        "position": position,
        "check": verdict.check,
        "outcome": verdict.outcome,
        "value": None if verdict.value is None else Jsonb(verdict.value),
        "threshold": verdict.threshold,
        "reason": verdict.reason,
        "params": Jsonb(dict(verdict.params)),
    }


def memory_of(row: DictRow) -> Memory:
    return Memory(
        id=row["id"],
        group_id=row["group_id"],
        chunk_no=row["chunk_no"],
        promotion_id=row["promotion_id"],
        scope=Scope(row["scope"]),
        agent_id=row["agent_id"],
        content=row["content"],
        embedding_model=row["embedding_model"],
        session_id=row["session_id"],
        author=row["author"],
        occurred_at=row["occurred_at"],
        metadata=row["metadata"],
        flags=tuple(row["flags"]),
        created_at=row["promoted_at"],
        promoted_at=row["promoted_at"],
        valid_to=row["valid_to"],
    )


def to_column(vector: Vector) -> HalfVector:
    return HalfVector(vector)


def from_column(value: HalfVector | None) -> Vector | None:
    return None if value is None else np.asarray(value.to_numpy(), dtype=np.float32)


def event_params(event: AuditEvent, signer: Signer | None) -> dict[str, Any]:
    """The parameters of ``add_event``. An event is signed when it is stored."""
    return {
        "id": event.id,
        "group_id": event.group_id,
        "at": event.at,
        "actor": event.actor,
        "action": event.action,
        "subject": event.subject,
        "detail": Jsonb(dict(event.detail)),
        "signature": None if signer is None else signer.sign(event.to_bytes()),
    }


def events_params(events: Sequence[AuditEvent], signer: Signer | None) -> dict[str, Any]:
    return {
        "events": Jsonb(
            [
                {
                    "id": str(event.id),
                    "group_id": event.group_id,
                    "at": event.at.isoformat(),
                    "actor": event.actor,
                    "action": event.action,
                    "subject": event.subject,
                    "detail": dict(event.detail),
                    "signature": None if signer is None else signer.sign(event.to_bytes()).hex(),
                }
                for event in events
            ]
        )
    }


def event_of(row: DictRow) -> AuditEvent:
    return AuditEvent(
        id=row["id"],
        group_id=row["group_id"],
        at=row["at"],
        actor=row["actor"],
        action=row["action"],
        subject=row["subject"],
        detail=row["detail"],
        signature=None if row["signature"] is None else bytes(row["signature"]),
    )
