"""An entry of working memory as one self-contained JSON text.

``id``, ``expires_ms``, ``key``, a hash of the rest, and ``agent_key``, a hash of the agent, come first and in this
order. The scripts find an entry by what its text begins with and count the entries of an agent, and a process that has
read an entry recognises it by its head and does not read it again.
"""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any
from uuid import UUID

import numpy as np

from clearwell.caches import ENTRY_BYTES, MIB, ByteCache
from clearwell.records import EntryStatement, Vector, WorkingEntry

SENTENCE_ENDS = "。！？；.!?;\n"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEAD_BYTES = 96
"""What identifies an element: its id, when it expires, and its key."""
KEY_BYTES = 8
RESULT_BYTES = 4
"""What an entry takes in memory for each byte of its element: vectors are stored in a quarter of their size."""
LARGEST_INT8 = 127


def head(entry_id: UUID) -> str:
    """Return the beginning of the element of this entry, by which scripts find it."""
    return f'{{"id":"{entry_id}",'


def encode(entry: WorkingEntry, *, max_bytes: int) -> str:
    content = cut_at_sentence(entry.content, max_bytes)
    statements = [one for one in entry.statements if one.end <= len(content)]
    record: dict[str, Any] = {
        "agent_key": "" if entry.agent_id is None else make_key(entry.agent_id),
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
        "statements": [[one.start, one.end] for one in statements],
        "statement_vectors": pack_vectors([one.embedding for one in statements]),
    }
    rest = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    expires = to_ms(entry.expires_at) if entry.expires_at else 0
    return f'{head(entry.id)}"expires_ms":{expires},"key":"{make_key(rest)}",{rest[1:]}'


def make_key(text: str) -> str:
    return blake2b(text.encode(), digest_size=KEY_BYTES).hexdigest()


def decode(element: bytes) -> WorkingEntry | None:
    """Return the entry, or None where the element is none of ours or of another version."""
    try:
        return _entry(json.loads(element))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


known_entries = ByteCache[bytes, WorkingEntry | None](max_bytes=32 * MIB)
"""The entries that were read before, by the heads of their elements. An element never changes."""


def read_element(element: bytes) -> WorkingEntry | None:
    """Return the entry of an element, decoded once."""
    key = element[:HEAD_BYTES]
    if key not in known_entries:
        generation, entry = known_entries.generation, decode(element)
        known_entries.keep(key, entry, ENTRY_BYTES + RESULT_BYTES * len(element), generation=generation)
        return entry
    return known_entries[key]


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
        statements=_statements(record.get("statements", ()), record.get("statement_vectors", "")),
    )


def _statements(spans: Sequence[Sequence[int]], vectors: str) -> tuple[EntryStatement, ...]:
    return tuple(
        EntryStatement(start=start, end=end, embedding=vector)
        for (start, end), vector in zip(spans, unpack_vectors(vectors, len(spans)), strict=True)
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


def pack_vectors(vectors: Sequence[Vector]) -> str:
    """The vectors in a byte for each number, which moves a cosine by less than 0.01. Each has a scale of its own."""
    if not vectors:
        return ""
    matrix = np.array(vectors, np.float32)
    scales = np.maximum(np.abs(matrix).max(axis=1), np.finfo(np.float32).tiny) / LARGEST_INT8
    numbers = np.rint(matrix / scales[:, None]).astype(np.int8)
    return base64.b64encode(scales.astype("<f4").tobytes() + numbers.tobytes()).decode()


def unpack_vectors(text: str, count: int) -> Sequence[Vector]:
    if not count:
        return ()
    data = base64.b64decode(text)
    scales = np.frombuffer(data, "<f4", count)
    numbers = np.frombuffer(data, np.int8, offset=scales.nbytes).reshape(count, -1)
    return list(numbers.astype(np.float32) * scales[:, None])


def to_ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def from_ms(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)
