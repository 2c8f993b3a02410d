"""The event loop answers others while a large text is analysed: the analysis takes no time of the loop's thread."""

import time
from collections.abc import Coroutine, Sequence
from typing import Final

import pytest

from clearwell.caches import clear_text_caches
from clearwell.flow.context.builder import ContextRequest
from clearwell.records import Vector
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from tests.path import AGENT, LONG, OTHER, Path, said

MIB: Final = 1024 * 1024
LARGE: Final = {
    "English": (f"{LONG} {OTHER} " * 10_000)[:MIB],
    "Chinese": ("数据库每天凌晨三点备份，备份保留三十天。项目经理是张伟。" * 20_000)[: MIB // 3],
    "one word": "a" * MIB,
}
QUARTER: Final = LARGE["English"][: MIB // 4]
MAX_SECONDS: Final = 0.1
"""Processor time of the loop's own thread, on which the load of the machine has no influence."""


class ShortReader(WordEmbedder):
    """Reads the beginning of a text, as the real embedders do."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await super().embed([text[:2000] for text in texts])


@pytest.fixture
def path() -> Path:
    clear_text_caches()
    settings = Settings(wait_seconds=60, retrieve_timeout_seconds=60, working_content_bytes=MIB, max_query_bytes=MIB)
    return Path(settings=settings, embedder=ShortReader())


async def seconds_of_the_loop(call: Coroutine[object, object, object]) -> float:
    started = time.thread_time()
    await call
    return time.thread_time() - started


@pytest.mark.parametrize("kind", LARGE)
async def test_a_large_query_leaves_the_loop_free(path: Path, kind: str) -> None:
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    assert await seconds_of_the_loop(path.memory.acting_as(AGENT).retrieve(LARGE[kind], group="g")) < MAX_SECONDS


async def test_large_entries_of_working_memory_leave_the_loop_free(path: Path) -> None:
    await path.memory.acting_as(AGENT).capture(said(QUARTER), wait=True)
    clear_text_caches()
    assert await seconds_of_the_loop(path.memory.acting_as(AGENT).retrieve("payment", group="g")) < MAX_SECONDS


async def test_a_large_proposal_leaves_the_loop_free(path: Path) -> None:
    request = ContextRequest(proposal=QUARTER)
    assert await seconds_of_the_loop(path.memory.acting_as(AGENT).build_context(request, group="g")) < MAX_SECONDS


async def test_a_small_capture_beside_large_memories_leaves_the_loop_free(path: Path) -> None:
    """The echo guard compares it with everything that was recalled."""
    await path.memory.acting_as(AGENT).capture(said(QUARTER), wait=True)
    await path.memory.acting_as(AGENT).retrieve("payment", group="g")
    clear_text_caches()
    assert await seconds_of_the_loop(path.memory.acting_as(AGENT).capture(said(), wait=True)) < MAX_SECONDS


async def test_a_large_dry_run_leaves_the_loop_free(path: Path) -> None:
    assert await seconds_of_the_loop(path.memory.acting_as(AGENT).check(said(LARGE["English"]))) < MAX_SECONDS


async def test_a_large_tombstone_leaves_the_loop_free(path: Path) -> None:
    await path.memory.acting_as(AGENT).capture(said(QUARTER), wait=True)
    call = path.memory.add_tombstone(QUARTER, reason="wrong", group="g")
    assert await seconds_of_the_loop(call) < MAX_SECONDS
