"""The search of long-term memory within a time limit, also while the embedder or the database does not answer.

First the query is embedded, then one search uses vector and words. If the vector is late, a search by words alone is
started as a reserve. Its result is used if the vector does not arrive in time, or if the full search does not end. For
a while after an embedder was too late, it gets only the time until the search by words starts.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.deadlines import abandon, wait_for_result
from clearwell.ports import Embedder, LongTermSearch, SearchQuery
from clearwell.records import FoundChunk, Vector

VectorFuture: TypeAlias = asyncio.Future[Vector | None]
"""The query's vector, once it is known; None if the search does without it."""
log = structlog.get_logger(__name__)

LATE: Final = 0.25
"""The share of the budget after which a search by words is started."""
TOO_LATE: Final = 0.7
"""The share of the budget after which a vector comes too late for a search that ends in time."""
HURRIED_BUDGETS: Final = 5.0
"""For how many budgets an embedder that was too late gets less time."""


class LongTermSearcher:
    """Searches by vector and words, or by words alone."""

    def __init__(self, longterm: LongTermSearch, embedder: Embedder, *, budget: float) -> None:
        self._longterm = longterm
        self._embedder = embedder
        self._budget = budget
        self._hurried_until = 0.0

    async def embed(self, text: str, vector: VectorFuture, degraded: list[str]) -> None:
        """Set the query's vector without a search, for the entries of working memory."""
        task = asyncio.create_task(self._embedder.embed([text]), name="embed the query")
        try:
            vector.set_result((await wait_for_result(task, self._budget * TOO_LATE))[0])
        except (Unavailable, TimeoutError) as error:
            _report("embedder", error, degraded)
            vector.set_result(None)
        finally:
            abandon(task)

    async def search(
        self, text: str, query: SearchQuery, vector: VectorFuture, degraded: list[str]
    ) -> Sequence[FoundChunk]:
        """Return the memories found. Parts that did not answer are added to ``degraded``.

        ``vector`` is set before the search by it is sent, or to None when it is no longer waited for.
        """
        clock = asyncio.get_running_loop().time
        start = clock()

        def remaining(share: float = 1.0) -> float:
            return max(0.0, start + self._budget * share - clock())

        full, by_words = asyncio.create_task(self._search_by_vector(text, query, vector), name="search"), None
        try:
            await asyncio.wait({full}, timeout=remaining(LATE))
            if not vector.done():
                by_words = asyncio.create_task(self._longterm.search(query), name="search by words")
                await self._wait_for_vector(full, vector, remaining(TOO_LATE), degraded)
                if vector.result() is None:
                    return await self._wait_for_words(by_words, remaining(), degraded)
            try:
                return await wait_for_result(full, remaining())
            except (Unavailable, TimeoutError) as error:
                if by_words is not None and _has_succeeded(by_words):
                    _report("embedder", error, degraded)
                    return by_words.result()
                _report("long_term_memory", error, degraded)
                return ()
        finally:
            abandon(full)
            if by_words is not None:
                abandon(by_words)

    async def _search_by_vector(self, text: str, query: SearchQuery, vector: VectorFuture) -> list[FoundChunk]:
        embedding = (await self._embedder.embed([text]))[0]
        vector.set_result(embedding)
        return await self._longterm.search(replace(query, embedding=embedding))

    async def _wait_for_vector(
        self, full: asyncio.Task[list[FoundChunk]], vector: VectorFuture, seconds: float, degraded: list[str]
    ) -> None:
        """Wait for a late vector; not at all if the embedder was too late a short time ago."""
        now = asyncio.get_running_loop().time()
        hurried = now < self._hurried_until
        try:
            await wait_for_result(full, 0.0 if hurried else seconds)
        except (Unavailable, TimeoutError) as error:
            if vector.done():
                return
            if isinstance(error, TimeoutError) and not hurried:
                self._hurried_until = now + self._budget * HURRIED_BUDGETS
            abandon(full)
            vector.set_result(None)
            _report("embedder", error, degraded)

    async def _wait_for_words(
        self, by_words: asyncio.Task[list[FoundChunk]], seconds: float, degraded: list[str]
    ) -> Sequence[FoundChunk]:
        try:
            return await wait_for_result(by_words, seconds)
        except (Unavailable, TimeoutError) as error:
            _report("long_term_memory", error, degraded)
            return ()


def _has_succeeded(task: asyncio.Task[list[FoundChunk]]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _report(part: str, error: Exception, degraded: list[str]) -> None:
    if part not in degraded:
        degraded.append(part)
    log.warning("retrieval degraded", part=part, reason=getattr(error, "code", "timeout"))
