"""The periodic duties of a process that works: each one has its interval and runs in a task of its own.

The work itself is rows in PostgreSQL: admissions, waiting promotions and digests say when they are due, and those that
cost money or minutes are leased while a process works on them. Any number of processes can share it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import structlog

from clearwell.app import Clearwell
from clearwell.errors import Unavailable
from clearwell.flow.audit.seals import SEAL_SECONDS
from clearwell.flow.deadlines import cancel_tasks
from clearwell.records import Principal

log = structlog.get_logger(__name__)
SWEEP_LIMIT = 500
SWEEP_FLOOR = 50
"""A sweep looks for at least this many rows, because most rows of a long queue may wait for the judge, which does not
hold up the others."""
INDEX_LIMIT = 10
HEARTBEAT_SECONDS, HEARTBEAT_LASTS = 5.0, timedelta(seconds=20)
DIGEST_SECONDS = 0.5
"""How soon a digest that somebody requests begins. Looking costs less than a connection kept for LISTEN, and works
behind a PgBouncer too."""
SCHEDULE_SECONDS = 60.0
"""As often as a cron expression can name a time."""


@dataclass(frozen=True, slots=True)
class Duty:
    """A periodic task and the pause between two runs."""

    name: str
    seconds: float
    act: Callable[[], Awaitable[None]]


class Worker:
    """The duties of one process."""

    def __init__(self, clearwell: Clearwell) -> None:
        self._clearwell = clearwell
        self._missing_rights_logged = False

    def duties(self, *, sweeps: bool = True) -> Sequence[Duty]:
        """All duties, with their intervals. Without ``sweeps`` those that every process has to do for itself."""
        sweep = self._clearwell.settings.sweep_seconds
        own = Duty("embedding models", sweep, self._clearwell.models.refresh)
        if not sweeps:
            return (own,)
        return (
            own,
            Duty("heartbeat", HEARTBEAT_SECONDS, self._send_heartbeat),
            Duty("audit seals", SEAL_SECONDS, self._seal_audit),
            Duty("unfinished forgets", sweep, self._finish_forgets),
            Duty("admissions", sweep, self._sweep_admissions),
            Duty("statements", sweep, self._update_statements),
            Duty("statements by the model", sweep, self._refine_statements),
            Duty("waiting promotions", sweep, self._complete_promotions),
            Duty("rebuild of working memory", sweep, self._rebuild_working_memory),
            Duty("use of memories", 6 * sweep, self._record_use),
            Duty("expiry", 60 * sweep, self._remove_expired),
            Duty("lexical index", sweep, self._rebuild_lexical_index),
            Duty("vector indexes", sweep, self._maintain_vector_indexes),
            *self.digest_duties(scheduled=True),
        )

    def digest_duties(self, *, scheduled: bool) -> Sequence[Duty]:
        """The duties that create digests: requested ones and, with ``scheduled``, those that are due."""
        requested = Duty("digests", DIGEST_SECONDS, self._run_digests)
        return (
            (requested, Duty("digest schedule", SCHEDULE_SECONDS, self._add_due_digests)) if scheduled else (requested,)
        )

    async def _send_heartbeat(self) -> None:
        """Let other processes know that this one admits captures, and how: they leave it to this one if they differ."""
        with suppress(Unavailable):
            await self._clearwell.stores.heartbeats.beat(lasts=HEARTBEAT_LASTS)

    async def _seal_audit(self) -> None:
        await self._clearwell.sealer.seal_all()

    async def _finish_forgets(self) -> None:
        if forgets := await self._clearwell.forgetter.finish_all():
            log.info("forgets finished", forgets=forgets)

    async def _sweep_admissions(self) -> None:
        if rows := await sweep(self._clearwell):
            log.info("admissions resumed", rows=rows)

    async def _complete_promotions(self) -> None:
        if memories := await self._clearwell.promotion_completer.complete_due():
            log.info("waiting promotions completed", memories=memories)

    async def _update_statements(self) -> None:
        """Make missing and outdated statements. A process with another model than the current one leaves them alone."""
        clearwell = self._clearwell
        if (await clearwell.models.fetch_current()).model != clearwell.embedder.model:
            return
        if outputs := await clearwell.statement_updater.update_outdated():
            log.info("statements updated", outputs=outputs)

    async def _refine_statements(self) -> None:
        """Ask the digest model for the statements of admitted outputs, if it is configured to find them."""
        clearwell = self._clearwell
        if (await clearwell.models.fetch_current()).model != clearwell.embedder.model:
            return
        if outputs := await clearwell.statement_refiner.refine_due():
            log.info("statements found by the model", outputs=outputs)

    async def _rebuild_working_memory(self) -> None:
        if rebuilt := await self._clearwell.rebuilder.rebuild_after_loss():
            log.warning("working memory rebuilt", groups=len(rebuilt), entries=sum(rebuilt.values()))

    async def _record_use(self) -> None:
        await self._clearwell.uses.record()

    async def _remove_expired(self) -> None:
        await self._clearwell.memory.acting_as(Principal.local("worker")).cleanup_working_memory()
        await self._clearwell.stores.idempotency.expire()

    async def _rebuild_lexical_index(self) -> None:
        await rebuild_lexical_index(self._clearwell)

    async def _maintain_vector_indexes(self) -> None:
        """Build the indexes of large groups, which can take minutes, and drop those that are no longer needed."""
        clearwell = self._clearwell
        if clearwell.models.is_reembedding:
            return
        changes = await clearwell.stores.vector_indexes.maintain((await clearwell.models.fetch_current()).model)
        for group_id in changes.built:
            log.info("group indexed", group_id=group_id)
        if changes.not_owner and not self._missing_rights_logged:
            log.warning("indexes not built", reason="not owner", run="clearwell index")
            self._missing_rights_logged = True

    async def _run_digests(self) -> None:
        await run_due_digests(self._clearwell)

    async def _add_due_digests(self) -> None:
        if digests := await self._clearwell.digests.scheduler.add_due_digests():
            log.info("digests due", digests=len(digests))


async def sweep(clearwell: Clearwell) -> int:
    """Offer the admissions that are due and nobody works on to the queue; how many were new to it.

    A queue that is full gets only a few: what it holds is done first.
    """
    limit = max(SWEEP_LIMIT - clearwell.queue.length, SWEEP_FLOOR)
    due = await clearwell.stores.admissions.find_pending(limit=limit)
    paused = await find_paused(clearwell, {one.group_id for one in due})
    before = clearwell.queue.length
    for one in due:
        if one.group_id not in paused:
            clearwell.queue.offer(one.group_id, one.log_id)
    return clearwell.queue.length - before


async def run_due_digests(clearwell: Clearwell) -> int:
    """Make one attempt at each digest that is due and that no other worker has. Returns how many there were."""
    runner = clearwell.digests.runner
    due = await runner.find_due()
    paused = await find_paused(clearwell, {one.group_id for one in due})
    mine = [one for one in due if one.group_id not in paused]
    for one in mine:
        await runner.run(one.group_id, one.digest_id)
    return len(mine)


async def find_paused(clearwell: Clearwell, group_ids: AbstractSet[str]) -> AbstractSet[str]:
    """Return those of the groups that another process drives by a clock of its own; none if that is not known."""
    if not group_ids:
        return frozenset()
    try:
        return await clearwell.stores.pauses.find_paused(group_ids)
    except Unavailable as error:
        log.warning("pauses of groups not read", reason=error.code)
        return frozenset()


async def rebuild_lexical_index(clearwell: Clearwell) -> int:
    """Rebuild the terms of groups that an older tokenizer made, some groups at a time; how many there were."""
    groups = await clearwell.stores.lexical_index.find_outdated_groups(limit=INDEX_LIMIT)
    for group_id in groups:
        chunks = await clearwell.stores.lexical_index.rebuild_group(group_id)
        log.info("lexical index rebuilt", chunks=chunks)
    return len(groups)


@asynccontextmanager
async def worker(clearwell: Clearwell, *, sweeps: bool = True) -> AsyncIterator[None]:
    """All duties, as long as this lasts. Without ``sweeps`` another process does what can be shared."""
    async with AsyncExitStack() as stack:
        if sweeps:
            stack.push_async_callback(_stop_heartbeat, clearwell)
        for duty in Worker(clearwell).duties(sweeps=sweeps):
            await stack.enter_async_context(_run_duty(duty))
        yield


@asynccontextmanager
async def digest_worker(clearwell: Clearwell, *, scheduled: bool = True) -> AsyncIterator[None]:
    """The duties that make digests, as long as this lasts."""
    async with AsyncExitStack() as stack:
        for duty in Worker(clearwell).digest_duties(scheduled=scheduled):
            await stack.enter_async_context(_run_duty(duty))
        yield


async def _stop_heartbeat(clearwell: Clearwell) -> None:
    with suppress(Unavailable):
        await clearwell.stores.heartbeats.stop()


@asynccontextmanager
async def _run_duty(duty: Duty) -> AsyncIterator[None]:
    task = asyncio.create_task(_repeat(duty), name=duty.name)
    try:
        yield
    finally:
        await cancel_tasks(task)


async def _repeat(duty: Duty) -> None:
    while True:
        try:
            await duty.act()
        except Unavailable as error:
            log.warning("duty postponed", duty=duty.name, reason=error.code)
        except Exception:
            # The worker's loop must outlive a failure.
            log.exception("duty failed", duty=duty.name)
        await asyncio.sleep(duty.seconds)
