"""The embedding models in use, and the search of long-term memory during a re-embedding.

During a re-embedding each row has a vector of the old model or of the new one, and changes once from the old to the
new. The old model is therefore searched first: a row that changes between the two searches is found by both, and none
is missed.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from clearwell.errors import ReembeddingStarted, Unavailable
from clearwell.flow.reembedding.scale import Measure, Scale, measure_scale, rescale_fusion, translate_cosine
from clearwell.ports import Embedder, LongTermSearch, ReembeddingStore, SearchQuery
from clearwell.records import FoundChunk, Memory, ModelChoice, PromotedPart, Reembedding

EmbedderFactory = Callable[[ModelChoice], Embedder]
log = structlog.get_logger(__name__)


class EmbeddingModels:
    """The configured model and, during and after a re-embedding, its other model.

    Everything except long-term memory uses the configured model until the program is restarted.
    """

    def __init__(self, embedder: Embedder, reembeddings: ReembeddingStore, make_embedder: EmbedderFactory) -> None:
        self.embedder = embedder
        self._reembeddings = reembeddings
        self._make_embedder = make_embedder
        self._others: list[Embedder] = []
        self._loading: set[asyncio.Task[None]] = set()
        self._reembedding: Reembedding | None = None

    @property
    def last_reembedding(self) -> int:
        """The number of the last known re-embedding, which a search must state; 0 if there was none."""
        return 0 if self._reembedding is None else self._reembedding.number

    @property
    def is_reembedding(self) -> bool:
        return self._reembedding is not None and self._reembedding.finished_at is None

    async def refresh(self) -> None:
        """Read the last re-embedding, and start to load the other model if rows have its vectors or will have them."""
        self._reembedding = await self._reembeddings.last()
        if self._reembedding is not None:
            self._load_missing(self._reembedding)

    async def wait_until_loaded(self) -> None:
        """Wait until the models that ``refresh`` started to load are loaded."""
        if self._loading:
            await asyncio.wait(self._loading)

    def list_stored(self) -> list[Embedder]:
        """The models that stored vectors may belong to, in the order in which they must be searched."""
        if self._reembedding is None:
            return [self.embedder]
        return [self._find_embedder(model) for model in _list_stored_models(self._reembedding)]

    async def fetch_current(self) -> Embedder:
        """The model for new rows. Reads the last re-embedding each time: another process may have started one."""
        await self.refresh()
        return self.list_stored()[-1]

    async def close(self) -> None:
        await self.wait_until_loaded()
        for embedder in self._others:
            await embedder.close()

    def _load_missing(self, reembedding: Reembedding) -> None:
        choices = {reembedding.from_model: reembedding.from_choice, reembedding.to_model: reembedding.to_choice}
        for model in {*_list_stored_models(reembedding), reembedding.to_model}:
            if self._find_embedder(model).model != model:
                self._others.append(self._make_embedder(choices[model]))
                task = asyncio.create_task(self._load(self._others[-1]), name="load the other model")
                self._loading.add(task)
                task.add_done_callback(self._loading.discard)

    async def _load(self, embedder: Embedder) -> None:
        try:
            await embedder.load()
        except Unavailable as error:
            log.error("embedding model not loaded", model=embedder.model, reason=str(error))

    def _find_embedder(self, model: str) -> Embedder:
        return next((embedder for embedder in self._others if embedder.model == model), self.embedder)


class MultiModelSearch(LongTermSearch):
    """Long-term memory for callers that know one model.

    Results of rows that belong to the other model are translated to the scale of the caller's model.
    """

    def __init__(self, longterm: LongTermSearch, models: EmbeddingModels) -> None:
        self._longterm = longterm
        self._models = models
        self._scales: dict[str, Scale] = {}

    async def search(self, query: SearchQuery) -> list[FoundChunk]:
        """Search the rows of every stored model, and again if a re-embedding was started in the meantime."""
        if query.embedding is None or query.text is None:
            return await self._longterm.search(query)
        try:
            if [embedder.model for embedder in self._models.list_stored()] == [query.model]:
                return await self._longterm.search(replace(query, reembedding=self._models.last_reembedding))
            return await self._search_all(query)
        except ReembeddingStarted:
            await self._models.refresh()
            return await self._search_all(query)

    async def search_nearest(self, queries: Sequence[SearchQuery]) -> list[list[FoundChunk]]:
        """In one round trip, except while rows of two models are stored: then one query after the other."""
        own = [embedder.model for embedder in self._models.list_stored()] == [self._models.embedder.model]
        if own:
            last = self._models.last_reembedding
            try:
                return await self._longterm.search_nearest([replace(one, reembedding=last) for one in queries])
            except ReembeddingStarted:
                await self._models.refresh()
        return [await self.search(one) for one in queries]

    async def find_promoted(self, group_id: str, log_ids: Sequence[UUID], *, agent_id: str | None) -> set[PromotedPart]:
        return await self._longterm.find_promoted(group_id, log_ids, agent_id=agent_id)

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        return await self._longterm.get(group_id, ids, agent_id=agent_id)

    async def ping(self) -> None:
        await self._longterm.ping()

    async def _search_all(self, query: SearchQuery) -> list[FoundChunk]:
        """Search by each stored model in turn, and return the best chunk of each memory."""
        query = replace(query, reembedding=self._models.last_reembedding)
        embedders = self._models.list_stored()
        chunks: list[FoundChunk] = []
        for embedder in embedders:
            is_own = embedder.model == query.model
            chunks += await self._longterm.search(query) if is_own else await self._search_by_other(query, embedder)
        if len(embedders) == 1:
            return chunks
        chunks.sort(key=lambda chunk: (-_rank_of(chunk), chunk.memory.id, chunk.memory.chunk_no))
        best: dict[UUID, FoundChunk] = {}
        for chunk in chunks:
            best.setdefault(chunk.memory.id, chunk)
        return list(best.values())[: query.limit]

    async def _search_by_other(self, query: SearchQuery, other: Embedder) -> list[FoundChunk]:
        (vector,) = await other.embed([query.text or ""])
        own_scale, other_scale = self._scale_of(self._models.embedder), self._scale_of(other)
        fusion, shift = rescale_fusion(query.fusion, own_scale, other_scale)
        chunks = await self._longterm.search(replace(query, embedding=vector, model=other.model, fusion=fusion))
        measure: Measure = "similarity" if query.terms is None else "relevance"
        return [
            replace(
                chunk,
                similarity=None
                if chunk.similarity is None
                else translate_cosine(chunk.similarity, other_scale, own_scale, measure),
                rank=None if chunk.rank is None else chunk.rank + shift,
                parts=None if chunk.parts is None else replace(chunk.parts, dense=chunk.parts.dense + shift),
            )
            for chunk in chunks
        ]

    def _scale_of(self, embedder: Embedder) -> Scale:
        if embedder.model not in self._scales:
            self._scales[embedder.model] = measure_scale(embedder)
        return self._scales[embedder.model]


def list_startable(stored: Mapping[str, int], reembedding: Reembedding | None) -> dict[str, ModelChoice]:
    """The models that a program may be configured with, by the names stored with their vectors.

    During a re-embedding there are two. ``stored`` are the models that vectors were ever stored with.
    """
    if reembedding is None:
        return {name: ModelChoice.parse(name) for name in sorted(stored)}
    target = {reembedding.to_model: reembedding.to_choice}
    return (
        target if reembedding.finished_at is not None else {reembedding.from_model: reembedding.from_choice, **target}
    )


def _list_stored_models(reembedding: Reembedding) -> list[str]:
    """The models that rows may belong to, in the order in which rows change from one to the other."""
    if reembedding.finished_at is not None:
        return [reembedding.to_model]
    return [reembedding.from_model] if reembedding.moving_at is None else [reembedding.from_model, reembedding.to_model]


def _rank_of(chunk: FoundChunk) -> float:
    return (chunk.similarity or 0.0) if chunk.rank is None else chunk.rank
