"""What runs beside the callers: admissions left behind, tidying up, indexing anew, and the digests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta

import structlog

from clearwell.app import Clearwell
from clearwell.errors import Unavailable
from clearwell.records import Principal

log = structlog.get_logger(__name__)
SWEEP_LIMIT = 500
TIDY_EVERY = 60
INDEX_LIMIT = 10
USES_EVERY = 6
BEAT_SECONDS, BEAT_LASTS = 5, timedelta(seconds=20)
SCHEDULE_SECONDS = 60.0
"""As often as a schedule of cron can name a time."""


async def sweep(clearwell: Clearwell) -> int:
    """Offer the admissions that are due and nobody works on to the queue; how many were new to it.

    A queue that is full gets no more: what it holds is done first.
    """
    before = clearwell.queue.length
    if before >= SWEEP_LIMIT:
        return 0
    for due in await clearwell.stores.admissions.pending(limit=SWEEP_LIMIT):
        clearwell.queue.offer(due.group_id, due.log_id)
    return clearwell.queue.length - before


async def tidy(clearwell: Clearwell) -> None:
    """Remove expired entries and answers."""
    await clearwell.memory.cleanup_working_memory(by=Principal.local("worker"))
    await clearwell.stores.idempotency.expire()


async def index(clearwell: Clearwell) -> int:
    """Make the words of groups anew that an older tokenizer made, some groups a round; how many there were."""
    groups = await clearwell.stores.lexical_index.find_outdated_groups(limit=INDEX_LIMIT)
    for group_id in groups:
        chunks = await clearwell.stores.lexical_index.rebuild_group(group_id)
        log.info("words made anew", chunks=chunks)
    return len(groups)


async def look_after_digests(clearwell: Clearwell) -> int:
    """Every digest that has not ended has a job that somebody does; how many were found without."""
    stores = clearwell.stores
    taken_up = await stores.digest_queue.take_up()
    waiting = await stores.digest_queue.queued()
    lost = [one for one in await stores.digest_runs.open_runs() if one.digest_id not in waiting]
    for one in lost:
        await stores.digest_queue.put(one.group_id, one.digest_id)
    return taken_up + len(lost)


async def _sweep_round(clearwell: Clearwell, number: int) -> None:
    await clearwell.models.refresh()
    found = await sweep(clearwell)
    if found:
        log.info("admissions taken up again", rows=found)
    made = await clearwell.waiting_promotions.complete_due()
    if made:
        log.info("promotions carried out", memories=made)
    if number % USES_EVERY == 0:
        await clearwell.uses.record()
    rebuilt = await clearwell.rebuilder.rebuild_after_loss()
    if rebuilt:
        log.warning("working memory rebuilt", groups=len(rebuilt), entries=sum(rebuilt.values()))
    if number % TIDY_EVERY == 0:
        await tidy(clearwell)
    await index(clearwell)


async def _digest_round(clearwell: Clearwell, _: int) -> None:
    found = await look_after_digests(clearwell)
    if found:
        log.info("digests taken up again", digests=found)


async def _schedule_round(clearwell: Clearwell, _: int) -> None:
    made = await clearwell.digests.scheduler.make_due()
    if made:
        log.info("digests are due", digests=len(made))


async def work(clearwell: Clearwell) -> None:
    """Sweep for ever. A round does not wait for the queue: under steady traffic, or while a judge is slow, it is
    never empty."""
    await _rounds(
        "sweep",
        lambda number: _sweep_round(clearwell, number),
        lambda: asyncio.sleep(clearwell.settings.sweep_seconds),
    )


async def build_indexes(clearwell: Clearwell) -> None:
    """Look for large groups for ever, beside the sweep: building an index can take minutes."""
    told = False

    async def one_round(_: int) -> None:
        nonlocal told
        if not clearwell.models.is_moving:
            told = await _indexed(clearwell, told=told)

    await _rounds("indexes", one_round, lambda: asyncio.sleep(clearwell.settings.sweep_seconds))


async def _indexed(clearwell: Clearwell, *, told: bool) -> bool:
    """One look; whether it was told that this login cannot build. Once is enough."""
    changes = await clearwell.stores.vector_indexes.maintain((await clearwell.models.fetch_current()).model)
    if changes.not_owner and not told:
        log.warning("large groups need indexes, and this login may not build them", run="clearwell index")
    for group_id in changes.built:
        log.info("group indexed", group_id=group_id)
    return told or changes.not_owner


async def work_at_digests(clearwell: Clearwell, *, scheduled: bool) -> None:
    """Look after digests for ever; the jobs themselves run beside this."""
    seconds = clearwell.settings.sweep_seconds
    every = max(1, round(SCHEDULE_SECONDS / seconds))

    async def one_round(number: int) -> None:
        await _digest_round(clearwell, number)
        if scheduled and number % every == 0:
            await _schedule_round(clearwell, number)

    await _rounds("digests", one_round, lambda: asyncio.sleep(seconds))


async def _rounds(what: str, act: Callable[[int], Awaitable[None]], pause: Callable[[], Awaitable[None]]) -> None:
    number = 0
    while True:
        try:
            await act(number)
        except Unavailable as error:
            log.warning("a round is put off", of=what, reason=error.code)
        except Exception:
            # The worker's loop must outlive a bad round.
            log.exception("a round failed", of=what)
        number += 1
        await pause()


async def beat(clearwell: Clearwell) -> None:
    """Let other processes know that this one settles captures, and how: they leave that to it where they differ."""
    while True:
        try:
            await clearwell.stores.heartbeats.beat(lasts=BEAT_LASTS)
        except Unavailable as error:
            log.debug("not known as a worker", reason=error.code)
        await asyncio.sleep(BEAT_SECONDS)


@asynccontextmanager
async def worker(clearwell: Clearwell) -> AsyncIterator[None]:
    """The worker, as long as this lasts."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_as_long(work(clearwell), "worker"))
        await stack.enter_async_context(_as_long(build_indexes(clearwell), "indexes"))
        stack.push_async_callback(_stop_beating, clearwell)
        await stack.enter_async_context(_as_long(beat(clearwell), "worker's beat"))
        await stack.enter_async_context(digest_worker(clearwell))
        yield


async def _stop_beating(clearwell: Clearwell) -> None:
    with suppress(Unavailable):
        await clearwell.stores.heartbeats.stop()


@asynccontextmanager
async def digest_worker(clearwell: Clearwell, *, scheduled: bool = True) -> AsyncIterator[None]:
    """The part of the worker that makes digests: those that somebody asks for, and those that are due."""
    looking = work_at_digests(clearwell, scheduled=scheduled)
    async with clearwell.stores.digest_queue.working(clearwell.digests.runner.run), _as_long(looking, "digests"):
        yield


@asynccontextmanager
async def _as_long(work: Coroutine[object, object, None], name: str) -> AsyncIterator[None]:
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        # One cancellation can get lost: asyncio.wait_for of Python 3.11, which drivers use, swallows it at times.
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=0.1)
