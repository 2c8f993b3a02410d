"""Everything that runs, for the ways in."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from clearwell.errors import Unavailable
from clearwell.flow.access.keys import KeyRing
from clearwell.flow.counters import Counters
from clearwell.flow.digest import DigestRequests, DigestRunner, DigestScheduler
from clearwell.flow.ingress.admission import Admitter
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.flow.promotion.waiting import WaitingPromotions
from clearwell.flow.reembedding.models import Models
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.flow.review import Gauges, Reviewing
from clearwell.flow.working.rebuild import WorkingMemoryRebuilder
from clearwell.flow.working.usage import UsageRecorder
from clearwell.ports import AdmissionStore, Embedder
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.stores.postgres import (
    Database,
    GroupIndexes,
    LargeGroups,
    PostgresAudit,
    PostgresDigestRuns,
    PostgresIdempotency,
    PostgresJobs,
)
from clearwell.stores.valkey import ValkeyBeats, ValkeyWorking


@dataclass(frozen=True, slots=True)
class Health:
    """``ready`` once PostgreSQL is reachable and migrated and the model has embedded; the rest is ``degraded``."""

    ready: bool
    problems: dict[str, str]


@dataclass(frozen=True, slots=True)
class Digests:
    """What asks for digests, finds those that are due, and makes them."""

    desk: DigestRequests
    scheduler: DigestScheduler
    runner: DigestRunner
    runs: PostgresDigestRuns
    jobs: PostgresJobs


@dataclass(frozen=True, slots=True)
class Clearwell:
    """Everything that runs, for the ways in."""

    settings: Settings
    memory: MemoryManager
    review: Reviewing
    waiting_promotions: WaitingPromotions
    uses: UsageRecorder
    gauges: Gauges
    keys: KeyRing
    queue: AdmissionQueue
    admitter: Admitter
    retriever: Retriever
    admissions: AdmissionStore
    rebuilder: WorkingMemoryRebuilder
    digests: Digests
    counters: Counters
    audit: PostgresAudit
    idempotency: PostgresIdempotency
    models: Models
    large: LargeGroups
    indexes: GroupIndexes
    database: Database
    working: ValkeyWorking
    beats: ValkeyBeats
    embedder: Embedder

    async def health(self) -> Health:
        """Ask every part at once, each for at most the time that retrieval would wait for it."""
        parts: dict[str, Awaitable[object]] = {
            "database": self.database.ping(),
            "working_memory": self.working.ping(),
            "embedder": self.embedder.embed(["ready?"]),
        }
        answers = await asyncio.gather(*(self._problem(asked) for asked in parts.values()))
        problems = {name: problem for name, problem in zip(parts, answers, strict=True) if problem is not None}
        return Health(ready="database" not in problems and "embedder" not in problems, problems=problems)

    async def _problem(self, asked: Awaitable[object]) -> str | None:
        seconds = self.settings.retrieve_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await asked
        except Unavailable as error:
            return str(error)
        except TimeoutError:
            return f"no answer in {seconds:g} s"
        return None
