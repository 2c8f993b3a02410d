"""Long-term memory asked within one budget of time, also while the embedder or the database hangs.

The vector comes first, then one search by vector and words. Where the vector is late, a search by words alone is begun
beside it and kept in hand; where the vector does not come in time, or the full search does not end, words alone have
found what there is. After an embedder was late once, it is waited for only as long as that takes to begin, for a while.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.deadlines import abandon, wait_for_result
from clearwell.ports import Embedder, LongTermSearch, SearchQuery
from clearwell.records import Found, Vector

Known: TypeAlias = asyncio.Future[Vector | None]
log = structlog.get_logger(__name__)

LATE: Final = 0.25
"""The share of the budget after which a search by words is begun beside the embedding."""
LAST: Final = 0.7
"""The share after which a vector comes too late for a search that ends in time."""
REMEMBERED: Final = 5.0
"""For so many budgets an embedder that was too late is waited for only until it is late."""


class LongTermSearcher:
    """Searches by vector and words, or by words alone."""

    def __init__(self, longterm: LongTermSearch, embedder: Embedder, *, budget: float) -> None:
        self._longterm = longterm
        self._embedder = embedder
        self._budget = budget
        self._hurried_until = 0.0

    async def vector(self, query: str, known: Known, degraded: list[str]) -> None:
        """The query's vector alone, for entries of working memory."""
        work = asyncio.create_task(self._embedder.embed([query]), name="embed the query")
        try:
            known.set_result((await wait_for_result(work, self._budget * LAST))[0])
        except (Unavailable, TimeoutError) as error:
            _note("embedder", error, degraded)
            known.set_result(None)
        finally:
            abandon(work)

    async def search(self, query: str, wanted: SearchQuery, known: Known, degraded: list[str]) -> Sequence[Found]:
        """What was found. What did not answer is ``degraded``.

        The query's vector is ``known`` when the search by it goes out; None, when it is waited for no longer.
        """
        clock = asyncio.get_running_loop().time
        start = clock()

        def left(share: float = 1.0) -> float:
            return max(0.0, start + self._budget * share - clock())

        by_vector, by_words = asyncio.create_task(self._by_vector(query, wanted, known), name="search"), None
        try:
            await asyncio.wait({by_vector}, timeout=left(LATE))
            if not known.done():
                by_words = asyncio.create_task(self._longterm.search(wanted), name="search by words")
                await self._late(by_vector, known, left(LAST), degraded)
                if known.result() is None:
                    return await self._kept(by_words, left(), degraded)
            try:
                return await wait_for_result(by_vector, left())
            except (Unavailable, TimeoutError) as error:
                if by_words is not None and _succeeded(by_words):
                    _note("embedder", error, degraded)
                    return by_words.result()
                _note("long_term_memory", error, degraded)
                return ()
        finally:
            abandon(by_vector)
            if by_words is not None:
                abandon(by_words)

    async def _by_vector(self, query: str, wanted: SearchQuery, known: Known) -> list[Found]:
        vector = (await self._embedder.embed([query]))[0]
        known.set_result(vector)
        return await self._longterm.search(replace(wanted, embedding=vector))

    async def _late(
        self, by_vector: asyncio.Task[list[Found]], known: Known, seconds: float, degraded: list[str]
    ) -> None:
        """Wait for a vector that is late: not long, where one was waited for in vain a moment ago."""
        now = asyncio.get_running_loop().time()
        hurried = now < self._hurried_until
        try:
            await wait_for_result(by_vector, 0.0 if hurried else seconds)
        except (Unavailable, TimeoutError) as error:
            if known.done():
                return
            if isinstance(error, TimeoutError) and not hurried:
                self._hurried_until = now + self._budget * REMEMBERED
            abandon(by_vector)
            known.set_result(None)
            _note("embedder", error, degraded)

    async def _kept(self, by_words: asyncio.Task[list[Found]], seconds: float, degraded: list[str]) -> Sequence[Found]:
        try:
            return await wait_for_result(by_words, seconds)
        except (Unavailable, TimeoutError) as error:
            _note("long_term_memory", error, degraded)
            return ()


def _succeeded(work: asyncio.Task[list[Found]]) -> bool:
    return work.done() and not work.cancelled() and work.exception() is None


def _note(part: str, error: Exception, degraded: list[str]) -> None:
    if part not in degraded:
        degraded.append(part)
    log.warning("retrieval degraded", part=part, reason=getattr(error, "code", "timeout"))
