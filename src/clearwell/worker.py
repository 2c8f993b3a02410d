"""What runs beside the callers: the sweep for admissions left behind, tidying up, and indexing anew."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import structlog

from clearwell.app import Clearwell
from clearwell.errors import Unavailable
from clearwell.flow.lexical import Bm25
from clearwell.records import Principal
from clearwell.stores.postgres.words import groups_to_index, index_again

log = structlog.get_logger(__name__)
SWEEP_LIMIT = 500
TIDY_EVERY = 60
INDEX_LIMIT = 10
BEAT_SECONDS, BEAT_LASTS = 5, timedelta(seconds=20)


async def sweep(clearwell: Clearwell) -> int:
    """Take up every admission that is due and nobody is doing; how many there were."""
    due = await clearwell.admissions.pending(limit=SWEEP_LIMIT)
    for one in due:
        clearwell.queue.offer(one.group_id, one.log_id)
    return len(due)


async def tidy(clearwell: Clearwell) -> None:
    """Remove expired entries and answers."""
    await clearwell.memory.cleanup_working_memory(by=Principal.local("worker"))
    await clearwell.idempotency.expire()


async def index(clearwell: Clearwell) -> int:
    """Make the words of groups anew that an older tokenizer made, some groups a round; how many there were."""
    groups = await groups_to_index(clearwell.database, Bm25(), limit=INDEX_LIMIT)
    for group_id in groups:
        chunks = await index_again(clearwell.database, Bm25(), group_id)
        log.info("words made anew", chunks=chunks)
    return len(groups)


async def work(clearwell: Clearwell) -> None:
    """Sweep for ever."""
    rounds = 0
    while True:
        try:
            found = await sweep(clearwell)
            if found:
                log.info("admissions taken up again", rows=found)
            rebuilt = await clearwell.rebuilding.after_a_loss()
            if rebuilt:
                log.warning("working memory rebuilt", groups=len(rebuilt), entries=sum(rebuilt.values()))
            if rounds % TIDY_EVERY == 0:
                await tidy(clearwell)
            await index(clearwell)
        except Unavailable as error:
            log.warning("sweep put off", reason=error.code)
        except Exception:
            # The worker's loop must outlive a bad round.
            log.exception("sweep failed")
        rounds += 1
        await clearwell.queue.drained()
        await asyncio.sleep(clearwell.settings.sweep_seconds)


async def beat(clearwell: Clearwell) -> None:
    """Let other processes know that this one settles captures, and how: they leave that to it where they differ."""
    while True:
        try:
            await clearwell.beats.beat(lasts=BEAT_LASTS)
        except Unavailable as error:
            log.debug("not known as a worker", reason=error.code)
        await asyncio.sleep(BEAT_SECONDS)


@asynccontextmanager
async def worker(clearwell: Clearwell) -> AsyncIterator[None]:
    """The worker, as long as this lasts."""
    tasks = [
        asyncio.create_task(work(clearwell), name="worker"),
        asyncio.create_task(beat(clearwell), name="worker's beat"),
    ]
    try:
        yield
    finally:
        # One cancellation can get lost: asyncio.wait_for of Python 3.11, which drivers use, swallows it at times.
        while running := [task for task in tasks if not task.done()]:
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=0.1)
        with suppress(Unavailable):
            await clearwell.beats.stop()
