"""Long-term memory asked within one budget of time, also while the embedder or the database hangs.

The vector comes first, then one search by vector and words. Where the vector is late, a search by words alone is begun
beside it and kept in hand; where the vector does not come in time, or the full search does not end, words alone have
found what there is. After an embedder was late once, it is waited for only as long as that takes to begin, for a while.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.in_time import begun, in_time, leave
from clearwell.ports import Embedder, LongTermSearch, SearchQuery
from clearwell.records import Found, Vector

log = structlog.get_logger(__name__)

LATE: Final = 0.25
"""The share of the budget after which a search by words is begun beside the embedding."""
LAST: Final = 0.7
"""The share after which a vector comes too late for a search that ends in time."""
REMEMBERED: Final = 5.0
"""For so many budgets an embedder that was too late is waited for only until it is late."""


class Searching:
    """Searches by vector and words, or by words alone."""

    def __init__(self, longterm: LongTermSearch, embedder: Embedder, *, budget: float) -> None:
        self._longterm = longterm
        self._embedder = embedder
        self._budget = budget
        self._hurried_until = 0.0

    async def vector(self, query: str, degraded: list[str]) -> Vector | None:
        """The query's vector alone, for entries of working memory."""
        work = begun(self._embedder.embed([query]), "embed")
        try:
            return (await in_time(work, self._budget * LAST))[0]
        except (Unavailable, TimeoutError) as error:
            _note("embedder", error, degraded)
            return None
        finally:
            leave(work)

    async def search(
        self, query: str, wanted: SearchQuery, degraded: list[str]
    ) -> tuple[Vector | None, Sequence[Found]]:
        """The query's vector, where there is one in time, and what was found. What did not answer is ``degraded``."""
        clock = asyncio.get_running_loop().time
        start = clock()
        embedding, by_words = begun(self._embedder.embed([query]), "embed"), None
        searches: list[asyncio.Task[list[Found]]] = []

        def search(vector: Vector | None) -> asyncio.Task[list[Found]]:
            searches.append(begun(self._longterm.search(replace(wanted, embedding=vector)), "search"))
            return searches[-1]

        def left(share: float = 1.0) -> float:
            return start + self._budget * share - clock()

        try:
            vector = await self._early(embedding, left(LATE))
            if vector is None:
                by_words = search(None)
                vector = await self._late(embedding, left(LAST), degraded)
            if vector is not None:
                try:
                    return vector, await in_time(search(vector), left())
                except (Unavailable, TimeoutError) as error:
                    if by_words is None or not _succeeded(by_words):
                        _note("long_term_memory", error, degraded)
                        return vector, ()
                    _note("embedder", error, degraded)
            return vector, await self._kept(by_words, left(), degraded)
        finally:
            for work in (embedding, *searches):
                leave(work)

    async def _early(self, embedding: asyncio.Task[list[Vector]], seconds: float) -> Vector | None:
        try:
            return (await in_time(embedding, seconds))[0]
        except (Unavailable, TimeoutError):
            return None

    async def _late(self, embedding: asyncio.Task[list[Vector]], seconds: float, degraded: list[str]) -> Vector | None:
        now = asyncio.get_running_loop().time()
        try:
            return (await in_time(embedding, 0.0 if now < self._hurried_until else seconds))[0]
        except (Unavailable, TimeoutError) as error:
            if isinstance(error, TimeoutError) and now >= self._hurried_until:
                self._hurried_until = now + self._budget * REMEMBERED
            _note("embedder", error, degraded)
            return None

    async def _kept(
        self, by_words: asyncio.Task[list[Found]] | None, seconds: float, degraded: list[str]
    ) -> Sequence[Found]:
        if by_words is None:
            return ()
        try:
            return await in_time(by_words, seconds)
        except (Unavailable, TimeoutError) as error:
            _note("long_term_memory", error, degraded)
            return ()


def _succeeded(work: asyncio.Task[list[Found]]) -> bool:
    return work.done() and not work.cancelled() and work.exception() is None


def _note(part: str, error: Exception, degraded: list[str]) -> None:
    if part not in degraded:
        degraded.append(part)
    log.warning("retrieval degraded", part=part, reason=getattr(error, "code", "timeout"))
