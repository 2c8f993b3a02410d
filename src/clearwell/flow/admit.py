"""Admission: run the checks, push what passed to working memory, settle the row.

A row is pushed before it is settled, and a push of the same id replaces the earlier one. So a crash between the
two leaves a pending row that is admitted again, and working memory holds it once.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import numpy as np
import structlog

from clearwell.errors import Unavailable
from clearwell.flow import ingress
from clearwell.ports import (
    AdmissionBatch,
    AdmissionStore,
    Clock,
    Embedder,
    LongTermSearch,
    SearchQuery,
    Settled,
    WorkingStore,
)
from clearwell.records import Admission, Capture, Layer, Sighting, Vector, Verdict, WorkingEntry
from clearwell.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pending row with its first verdicts and, where they let it pass, its vector."""

    capture: Capture
    verdicts: Sequence[Verdict]
    vector: Vector | None = None


Receipts = Mapping[UUID, tuple[Admission, tuple[Verdict, ...]]]


class Admitting:
    """Admits rows of one group at a time, alone in that group over all processes."""

    def __init__(
        self,
        admissions: AdmissionStore,
        working: WorkingStore,
        longterm: LongTermSearch,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._admissions = admissions
        self._working = working
        self._longterm = longterm
        self._embedder = embedder
        self._clock = clock
        self._settings = settings

    async def admit(self, group_id: str, log_ids: Sequence[UUID]) -> Receipts:
        """Settle what is pending among these rows; where each of them stands now."""
        captures = await self._admissions.load(group_id, log_ids)
        looked_at = [Candidate(capture=one, verdicts=ingress.check_text(one, self._settings)) for one in captures]
        refused = [one for one in looked_at if ingress.failed(one.verdicts)]
        passing = [one for one in looked_at if not ingress.failed(one.verdicts)]
        if refused:
            await self._refuse(group_id, refused)
        if passing:
            await self._admit(group_id, await self._with_vectors(passing))
        return await self._admissions.receipts(group_id, log_ids)

    async def postpone(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        await self._admissions.postpone(group_id, log_ids)

    async def _with_vectors(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        vectors = await self._embedder.embed([one.capture.content for one in candidates])
        return [replace(one, vector=vector) for one, vector in zip(candidates, vectors, strict=True)]

    async def _refuse(self, group_id: str, candidates: Sequence[Candidate]) -> None:
        async with self._admissions.open(group_id, [one.capture.id for one in candidates]) as batch:
            await batch.settle(
                [self._settled(one, one.verdicts) for one in candidates if one.capture.id in batch.pending]
            )

    async def _admit(self, group_id: str, candidates: Sequence[Candidate]) -> None:
        async with self._admissions.open(group_id, [one.capture.id for one in candidates]) as batch:
            live = await self._working.entries(group_id)
            for candidate in candidates:
                if candidate.capture.id in batch.pending:
                    await self._decide(candidate, live, batch)

    async def _decide(self, candidate: Candidate, live: list[WorkingEntry], batch: AdmissionBatch) -> None:
        nearest = await self._nearest(candidate, live)
        verdicts = [*candidate.verdicts, ingress.check_non_duplicate(nearest, self._settings)]
        if not ingress.failed(verdicts):
            verdicts.append(ingress.check_self_consistency(self._settings))
        settled = self._settled(candidate, verdicts)
        if settled.state is Admission.ADMITTED:
            entry = self._entry(candidate, settled)
            await self._working.push(entry)
            live.insert(0, entry)
        elif nearest is not None and verdicts[-1].check == ingress.NON_DUPLICATE:
            settled = replace(settled, sighting=nearest.sighting)
        await batch.settle([settled])

    async def _nearest(self, candidate: Candidate, live: Sequence[WorkingEntry]) -> ingress.Neighbour | None:
        """What working and long-term memory hold that is most like this."""
        vector, own = candidate.vector, candidate.capture.id
        if vector is None:
            return None
        cosines = [
            (float(np.dot(vector, entry.embedding)), Sighting(entry_id=entry.id, layer=Layer.WORKING))
            for entry in live
            if entry.id != own and entry.embedding is not None and entry.embedding_model == self._embedder.model
        ]
        query = SearchQuery(
            group_id=candidate.capture.group_id,
            embedding=vector,
            model=self._embedder.model,
            limit=1,
            agent_id=candidate.capture.agent_id,
        )
        cosines += [
            (found.similarity, Sighting(entry_id=found.memory.id, layer=Layer.LONGTERM))
            for found in await self._longterm.search(query)
        ]
        if not cosines:
            return None
        cosine, sighting = max(cosines, key=lambda one: one[0])
        return ingress.Neighbour(sighting=sighting, similarity=self._embedder.similarity(cosine))

    def _settled(self, candidate: Candidate, verdicts: Sequence[Verdict]) -> Settled:
        now = self._clock.now()
        complete = [replace(verdict, at=now) for verdict in ingress.completed(verdicts)]
        not_checked = complete[-1].reason == "verdict_no_judge"
        return Settled(
            log_id=candidate.capture.id,
            state=Admission.REFUSED if ingress.failed(verdicts) else Admission.ADMITTED,
            at=now,
            verdicts=complete,
            flags=(ingress.NOT_CHECKED_FLAG,) if not_checked else (),
            embedding=candidate.vector,
            embedding_model=None if candidate.vector is None else self._embedder.model,
        )

    def _entry(self, candidate: Candidate, settled: Settled) -> WorkingEntry:
        capture = candidate.capture
        return WorkingEntry(
            id=capture.id,
            group_id=capture.group_id,
            session_id=capture.session_id,
            agent_id=capture.agent_id,
            node_type=capture.node_type,
            content=capture.content,
            metadata=capture.metadata,
            occurred_at=capture.occurred_at,
            created_at=capture.created_at,
            expires_at=settled.at + timedelta(seconds=self._settings.working_ttl_seconds),
            embedding=candidate.vector,
            embedding_model=settled.embedding_model,
            flags=tuple(settled.flags),
        )


class AdmissionQueue:
    """Admissions that this process is about to do, off the caller's path: one at a time in a group, in batches."""

    def __init__(self, admitting: Admitting, *, batch: int, groups_at_once: int = 4) -> None:
        self._admitting = admitting
        self._batch = batch
        self._slots = asyncio.Semaphore(groups_at_once)
        self._waiting: defaultdict[str, dict[UUID, asyncio.Future[tuple[Admission, tuple[Verdict, ...]] | None]]]
        self._waiting = defaultdict(dict)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def offer(self, group_id: str, log_id: UUID) -> "asyncio.Future[tuple[Admission, tuple[Verdict, ...]] | None]":
        """Admit this row soon. The future ends with where it stands, or None where it stays pending."""
        waiting = self._waiting[group_id]
        if log_id not in waiting:
            waiting[log_id] = asyncio.get_running_loop().create_future()
        if group_id not in self._tasks:
            self._tasks[group_id] = asyncio.create_task(self._drain(group_id), name=f"admission of {group_id}")
        return waiting[log_id]

    async def drained(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        await self.drained()

    async def _drain(self, group_id: str) -> None:
        waiting = self._waiting[group_id]
        try:
            while waiting:
                async with self._slots:
                    await self._admit_some(group_id, list(waiting)[: self._batch])
        finally:
            for future in waiting.values():
                if not future.done():
                    future.set_result(None)
            del self._waiting[group_id], self._tasks[group_id]

    async def _admit_some(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        receipts: Receipts = {}
        try:
            receipts = await self._admitting.admit(group_id, log_ids)
        except Unavailable as error:
            log.warning("admission postponed", group_id=group_id, rows=len(log_ids), reason=error.code)
            await self._postpone(group_id, log_ids)
        except Exception:
            # The worker's loop: one bad row must not stop the others.
            log.exception("admission failed", group_id=group_id, rows=len(log_ids))
            await self._postpone(group_id, log_ids)
        finally:
            for log_id in log_ids:
                future = self._waiting[group_id].pop(log_id)
                if not future.done():
                    future.set_result(receipts.get(log_id))

    async def _postpone(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        try:
            await self._admitting.postpone(group_id, log_ids)
        except Unavailable as error:
            # The rows stay pending and due: the sweep finds them when the database is back.
            log.warning("admission left to the sweep", group_id=group_id, rows=len(log_ids), reason=error.code)
