"""In which order retrieval asks its parts, and what an embedder that is late still gives."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.flow.retrieval.options import RetrieveOptions, plan_retrieval
from clearwell.flow.retrieval.ranking import merge_tiers
from clearwell.ports import SearchQuery
from clearwell.records import ContextItem, FoundChunk, Source, Vector, WorkingEntry
from clearwell.settings import Settings
from clearwell.testing import ManualClock, MemoryLongTerm, MemoryWorkingStore, WordEmbedder
from tests.path import AGENT, LONG, Path, said
from tests.unit.test_fencing import COLD, HOT

EXPLAINED = RetrieveOptions(explain=True)


class ToldWorking(MemoryWorkingStore):
    """Tells when it is read."""

    def __init__(self, told: list[str]) -> None:
        super().__init__(ManualClock())
        self._told = told

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        self._told.append("working memory")
        return await super().entries(group_id)


class ToldSearch(MemoryLongTerm):
    """Tells when it is searched, and that a search by words alone has begun."""

    def __init__(self, told: list[str]) -> None:
        super().__init__(Bm25())
        self._told = told
        self.by_words = asyncio.Event()

    async def search(self, query: SearchQuery) -> list[FoundChunk]:
        self._told.append("words" if query.embedding is None else "vector")
        if query.embedding is None:
            self.by_words.set()
        return await super().search(query)


class LateEmbedder(WordEmbedder):
    """Answers only once a search by words alone has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_for: asyncio.Event | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.waits_for is not None:
            await self.waits_for.wait()
        return await super().embed(texts)


async def test_the_search_is_begun_before_working_memory_is_read() -> None:
    told: list[str] = []
    path = Path(working=ToldWorking(told), search=ToldSearch(told))
    await path.memory.acting_as(AGENT).retrieve(LONG, group="g")
    assert told == ["vector", "working memory"]


async def test_an_entry_is_scored_by_a_vector_that_came_late() -> None:
    told: list[str] = []
    search, embedder = ToldSearch(told), LateEmbedder()
    path = Path(settings=Settings(retrieve_timeout_seconds=0.4), search=search, embedder=embedder)
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    told.clear()
    embedder.waits_for = search.by_words
    found = await path.memory.acting_as(AGENT).retrieve(LONG, group="g", options=EXPLAINED)
    assert (told, found.degraded) == (["words", "vector"], ())
    (item,) = found.items
    assert item.source is Source.HOT
    assert item.explanation is not None
    assert item.explanation.cosine is not None


def test_nothing_unverified_comes_before_a_verified_answer() -> None:
    """An output can repeat an expected question word for word, so that nothing is nearer to it."""
    planted = replace(HOT, id=UUID(int=1), content="Which account? Another one was opened this week.", relevance=0.99)
    answer = replace(COLD, id=UUID(int=2), content="Invoices are paid from Northern Trust.", relevance=0.7)
    other = replace(COLD, id=UUID(int=3), content="The gate closes at nine.", relevance=0.69)
    plan = plan_retrieval(RetrieveOptions(), Settings(), datetime(2026, 1, 1, tzinfo=UTC))

    def order(*verified: ContextItem) -> list[int]:
        return [item.id.int for item in merge_tiers([planted], verified, plan, hot_first=0.85)]

    assert order(other, answer) == [2, 1, 3]
    assert order(other) == [1, 3], "where nothing verified answers, it comes first"
