"""The watch for what other processes forget."""

import asyncio
from contextlib import suppress

from structlog.testing import capture_logs

from clearwell.caches import TextCache
from clearwell.testing.erasure import NoErasure
from tests.path import Path


class Failing(NoErasure):
    """Fails in a way that nobody expects."""

    asked = 0

    def __init__(self) -> None:
        self.asked_twice = asyncio.Event()

    async def generation(self) -> int:
        self.asked += 1
        if self.asked > 1:
            self.asked_twice.set()
        raise ValueError("unexpected")


async def test_the_watch_outlives_a_failure_and_keeps_no_text() -> None:
    cache, erasure = TextCache[str, int](len, max_bytes=10_000, bytes_per_character=1), Failing()
    assert cache["a secret"] == 8
    program = Path(erasure=erasure).program
    with capture_logs() as logs:
        watch = asyncio.create_task(program.forgetter.watch(seconds=0.01))
        await erasure.asked_twice.wait()
    assert not cache
    assert [(log["event"], log["log_level"]) for log in logs] == [("forgets not read", "error")]
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch
