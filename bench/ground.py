"""What the measurements stand on: real servers in a folder of their own, a filled group, precomputed vectors."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psycopg
import uuid_utils.compat
from pgvector.psycopg import register_vector_async
from psycopg.rows import DictRow, dict_row

from clearwell.app import Clearwell, open_clearwell
from clearwell.ports import Embedder
from clearwell.records import Memory, NewMemory, Promotion, Scope, Vector, WorkingEntry
from clearwell.servers import Servers, running_servers
from clearwell.settings import Settings

DIMENSIONS = 512
TEXT = "The payment service was moved to the new cluster on Monday without any downtime at all. " * 3


class FixedEmbedder:
    """The same vector for every text: what is measured is not the model."""

    model = "fixed"

    def __init__(self) -> None:
        self._vector = vectors(1, seed=7)[0]

    async def load(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector for _ in texts]

    def similarity(self, cosine: float) -> float:
        return max(0.0, cosine)

    relevance = similarity

    async def close(self) -> None:
        """Nothing to close."""


def vectors(count: int, *, seed: int) -> list[Vector]:
    made = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return list(made / np.linalg.norm(made, axis=1, keepdims=True))


def alike_vectors(count: int, *, seed: int, topics: int = 200, latent: int = 48) -> list[Vector]:
    """Vectors with the structure that a model's have: topics, and far fewer directions than dimensions."""
    rng, shared = np.random.default_rng(seed), np.random.default_rng(99)
    directions, centres = shared.normal(size=(latent, DIMENSIONS)), shared.normal(size=(topics, latent))
    places = centres[rng.integers(0, topics, count)] + 0.7 * rng.normal(size=(count, latent))
    made = (places @ directions + 2 * rng.normal(size=(count, DIMENSIONS))).astype(np.float32)
    return list(made / np.linalg.norm(made, axis=1, keepdims=True))


@asynccontextmanager
async def ground(embedder: Embedder | None = None, *, pinned: bool = False) -> AsyncIterator[tuple[Clearwell, Servers]]:
    """Clearwell on bundled servers that are removed afterwards.

    With ``pinned`` this process has a core for itself and the servers have another one. Otherwise the scheduler decides
    whether a caller and its connection share a core, which can take longer than what is measured.
    """
    folder = Path(tempfile.mkdtemp(prefix="cw-bench-"))
    cores = os.sched_getaffinity(0)
    own, other = ({min(cores)}, {max(cores)}) if pinned else (cores, cores)
    try:
        settings = Settings(data_dir=folder, database_url=None, redis_url=None)
        _use_cores(other)  # what is started now inherits it
        async with running_servers(settings) as servers:
            _use_cores(own)
            async with open_clearwell(settings, servers, embedder=embedder or FixedEmbedder()) as clearwell:
                yield clearwell, servers
    finally:
        _use_cores(cores)
        await asyncio.to_thread(shutil.rmtree, folder)


def _use_cores(cores: set[int]) -> None:
    """For every thread of this process: servers are started by any of them."""
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


async def promote(clearwell: Clearwell, group_id: str, made: Sequence[tuple[Promotion, Sequence[Memory]]]) -> None:
    """Memories without a decision."""
    async with clearwell.stores.decisions.transaction(group_id) as transaction:
        await transaction.insert_promotions(made)


async def fill(clearwell: Clearwell, group_id: str, memories: int, *, live: int, seed: int = 1) -> None:
    """Verified memories and live entries of one group, with vectors that no model made."""
    now = datetime.now(UTC)
    model = clearwell.embedder.model
    made = [memory(group_id, vector, model) for vector in vectors(memories, seed=seed)] if memories else []
    for start in range(0, len(made), 500):
        await promote(clearwell, group_id, made[start : start + 500])
    for vector in vectors(live, seed=seed + 1) if live else []:
        await clearwell.stores.working.push(_entry(group_id, vector, now))


def memory(group_id: str, vector: Vector, model: str = FixedEmbedder.model) -> tuple[Promotion, list[Memory]]:
    now = datetime.now(UTC)
    decided = Promotion(
        id=uuid_utils.compat.uuid7(),
        memory_id=uuid_utils.compat.uuid7(),
        group_id=group_id,
        decided_by="bench",
        decided_at=now,
        text=NewMemory(content=TEXT),
        chunks=1,
    )
    chunk = Memory(
        id=decided.memory_id,
        group_id=group_id,
        chunk_no=0,
        promotion_id=decided.id,
        scope=Scope.GROUP,
        content=TEXT,
        embedding=vector,
        embedding_model=model,
        session_id="s",
        created_at=now,
        promoted_at=now,
    )
    return decided, [chunk]


def _entry(group_id: str, vector: Vector, now: datetime) -> WorkingEntry:
    return WorkingEntry(
        id=uuid_utils.compat.uuid7(),
        group_id=group_id,
        session_id="s",
        content=TEXT,
        created_at=now,
        expires_at=now + timedelta(hours=24),
        embedding=vector,
        embedding_model=FixedEmbedder.model,
    )


async def bare_connection(url: str) -> psycopg.AsyncConnection[DictRow]:
    """One open connection that prepares every statement: no role, no group, no pool."""
    connection = await psycopg.AsyncConnection.connect(url, autocommit=True, row_factory=dict_row)
    connection.prepare_threshold = 0
    await register_vector_async(connection)
    return connection


async def analyze(url: str) -> None:
    connection = await bare_connection(url)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
