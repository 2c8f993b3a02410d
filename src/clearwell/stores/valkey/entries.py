"""An entry of working memory as one self-contained JSON text.

``id`` and ``expires_ms`` come first and in this order: the scripts find them by what the text begins with.
"""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np

from clearwell.caches import MIB, TextCache
from clearwell.records import Vector, WorkingEntry

SENTENCE_ENDS = "。！？；.!?;\n"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def head(entry_id: UUID) -> str:
    """Return the beginning of the element of this entry, by which scripts find it."""
    return f'{{"id":"{entry_id}",'


def encode(entry: WorkingEntry, *, max_bytes: int) -> str:
    content = cut_at_sentence(entry.content, max_bytes)
    record: dict[str, Any] = {
        "id": str(entry.id),
        "expires_ms": to_ms(entry.expires_at) if entry.expires_at else 0,
        "content": content,
        "cut": entry.cut or content != entry.content,
        "label": "ephemeral",
        "group_id": entry.group_id,
        "session_id": entry.session_id,
        "agent_id": entry.agent_id,
        "node_type": entry.node_type,
        "occurred_ms": to_ms(entry.occurred_at) if entry.occurred_at else None,
        "created_ms": to_ms(entry.created_at),
        "metadata": dict(entry.metadata),
        "flags": list(entry.flags),
        "model": entry.embedding_model,
        "vector": None if entry.embedding is None else vector_text(entry.embedding),
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def decode(element: bytes) -> WorkingEntry | None:
    """Return the entry, or None if the element is not an entry of this version."""
    try:
        return _entry(json.loads(element))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


entry_of = TextCache(decode, max_bytes=32 * MIB, bytes_per_character=6)
"""The entries of elements that were read before: an element never changes, and is read by every retrieval."""


def _entry(record: Any) -> WorkingEntry:
    return WorkingEntry(
        id=UUID(record["id"]),
        group_id=record["group_id"],
        session_id=record["session_id"],
        agent_id=record["agent_id"],
        node_type=record["node_type"],
        content=record["content"],
        cut=record["cut"],
        occurred_at=None if record["occurred_ms"] is None else from_ms(record["occurred_ms"]),
        created_at=from_ms(record["created_ms"]),
        expires_at=from_ms(record["expires_ms"]),
        metadata=record["metadata"],
        flags=tuple(record["flags"]),
        embedding_model=record["model"],
        embedding=None if record["vector"] is None else vector_of(record["vector"]),
    )


def cut_at_sentence(text: str, max_bytes: int) -> str:
    """Return the text, or as many of its first sentences as fit."""
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    fits = data[:max_bytes].decode(errors="ignore")
    end = max(fits.rfind(mark) for mark in SENTENCE_ENDS) + 1
    return fits[:end] if end > len(fits) // 2 else fits


def vector_text(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f2").tobytes()).decode()


def vector_of(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float32)


def to_ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def from_ms(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)
