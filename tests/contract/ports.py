"""What the contract tests are given, and records to fill it with."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from clearwell.ports import AdmissionResult, Lease, Stores
from clearwell.records import (
    Admission,
    AuditEvent,
    Capture,
    IdempotencyKey,
    Memory,
    NewMemory,
    Outcome,
    Promotion,
    Scope,
    Vector,
    Verdict,
    WorkingCapacity,
    WorkingEntry,
)

CAPACITY = WorkingCapacity(size=50, agent_size=25)
START = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = Lease(holder=UUID(int=9001), lasts=timedelta(seconds=30))
OTHER_LEASE = Lease(holder=UUID(int=9002), lasts=timedelta(seconds=30))


async def promote(stores: Stores, group_id: str, made: Sequence[tuple[Promotion, Sequence[Memory]]]) -> None:
    """Memories that a person decided on, without the decision."""
    async with stores.decisions.transaction(group_id) as transaction:
        await transaction.insert_promotions(made)


def capture(number: int, group_id: str = "g", *, content: str = "", agent_id: str | None = "a1") -> Capture:
    return Capture(
        id=UUID(int=number),
        group_id=group_id,
        session_id="s1",
        node_id="n1",
        agent_id=agent_id,
        content=content or f"output {number}",
        metadata={"confidence": 0.9, "tags": ["é", "中文", None, True]},
        occurred_at=START - timedelta(days=1),
        created_at=START + timedelta(seconds=number),
        captured_by="tester",
    )


def request(key: str = "k1", *, body: bytes = b"body", principal: str = "tester") -> IdempotencyKey:
    return IdempotencyKey(principal=principal, route="POST /x", key=key, request_hash=body)


def settled(number: int, state: Admission = Admission.ADMITTED, *, vector: Vector | None = None) -> AdmissionResult:
    at = START + timedelta(hours=1, seconds=number)
    verdict = Verdict(check="length", outcome=Outcome.PASS, reason="verdict_length_ok", value=60, threshold=50.0, at=at)
    return AdmissionResult(
        log_id=UUID(int=number),
        state=state,
        at=at,
        verdicts=[verdict],
        flags=("self_consistency_not_checked",),
        embedding=vector,
        embedding_model=None if vector is None else "m",
    )


def entry(
    number: int, group_id: str = "g", *, now: datetime = START, lives: timedelta = timedelta(hours=24)
) -> WorkingEntry:
    return WorkingEntry(
        id=UUID(int=number),
        group_id=group_id,
        session_id="s1",
        agent_id="a1",
        content=f"entry {number} 中文 \u200b🙂 שלום",
        metadata={"confidence": 0.9},
        occurred_at=now - timedelta(days=1),
        created_at=now,
        expires_at=now + lives,
        embedding=unit(number),
        embedding_model="m",
        flags=("conflict",),
    )


def unit(axis: int, *, tilt: float = 0.0) -> Vector:
    """A unit vector along one axis, tilted towards the next."""
    vector = np.zeros(8, dtype=np.float32)
    vector[axis % 8] = 1.0
    vector[(axis + 1) % 8] = tilt
    normalised: Vector = vector / np.linalg.norm(vector)
    return normalised


def promotion(
    number: int, group_id: str = "g", *, vectors: list[Vector] | None = None, agent_id: str | None = None
) -> tuple[Promotion, list[Memory]]:
    vectors = vectors or [unit(number)]
    text = NewMemory(
        content=f"memory {number}", session_id="s1", author="Ann", agent_id=agent_id, metadata={"ref": number}
    )
    decided = Promotion(
        id=UUID(int=number),
        memory_id=UUID(int=1000 + number),
        group_id=group_id,
        decided_by="reviewer",
        decided_at=START,
        text=text,
        chunks=len(vectors),
    )
    chunks = [
        Memory(
            id=decided.memory_id,
            group_id=group_id,
            chunk_no=number_of_chunk,
            promotion_id=decided.id,
            scope=Scope.GROUP if agent_id is None else Scope.AGENT,
            agent_id=agent_id,
            content=f"memory {number} chunk {number_of_chunk}",
            embedding=vector,
            embedding_model="m",
            session_id="s1",
            author="Ann",
            occurred_at=START - timedelta(days=2),
            metadata={"ref": number},
            created_at=START,
            promoted_at=START,
        )
        for number_of_chunk, vector in enumerate(vectors)
    ]
    return decided, chunks


def event(number: int, group_id: str = "g") -> AuditEvent:
    return AuditEvent(
        id=UUID(int=5000 + number), group_id=group_id, at=START, actor="ann", action="act", subject="something"
    )
