"""While a database moves to another embedding model, each row is found by the query's vector of its own model.

A row is of the old model or of the new one, and goes from the one to the other once. The old model is therefore asked
first: a row that is moved between the two searches is found by both, and none is missed.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from clearwell.errors import ModelsMoved, Unavailable
from clearwell.flow.reembedding.scale import Measure, Scale, equivalent, on_scale, scale_of
from clearwell.ports import Embedder, LongTermSearch, MoveStore, SearchQuery
from clearwell.records import Found, Memory, ModelChoice, Move

Make = Callable[[ModelChoice], Embedder]
log = structlog.get_logger(__name__)


class Models:
    """The configured model and, where the database moves or has moved between it and another, that other one.

    Everything but long-term memory goes on with the configured model until the program is started anew.
    """

    def __init__(self, embedder: Embedder, moves: MoveStore, make: Make) -> None:
        self.embedder = embedder
        self._moves = moves
        self._make = make
        self._made: list[Embedder] = []
        self._loading: set[asyncio.Task[None]] = set()
        self._move: Move | None = None

    @property
    def last_move(self) -> int:
        return 0 if self._move is None else self._move.number

    @property
    def moving(self) -> bool:
        return self._move is not None and self._move.finished_at is None

    async def follow(self) -> None:
        """Learn of the last move, and begin to load the other model where rows have or will have its vectors."""
        self._move = await self._moves.last()
        if self._move is not None:
            self._get_ready(self._move)

    async def loaded(self) -> None:
        """Wait until the other model is loaded, where there is one."""
        if self._loading:
            await asyncio.wait(self._loading)

    def to_read(self) -> list[Embedder]:
        """The models of which there may be rows, in the order to ask them."""
        return [self.embedder] if self._move is None else [self._named(name) for name in _stored(self._move)]

    async def to_write(self) -> Embedder:
        """The model for new rows, asked for anew each time: another process may have begun a move."""
        await self.follow()
        return self.to_read()[-1]

    async def close(self) -> None:
        await self.loaded()
        for embedder in self._made:
            await embedder.close()

    def _get_ready(self, move: Move) -> None:
        choices = {move.from_model: move.from_choice, move.to_model: move.to_choice}
        for model in {*_stored(move), move.to_model}:
            if self._named(model).model != model:
                self._made.append(self._make(choices[model]))
                task = asyncio.create_task(self._load(self._made[-1]), name="load the other model")
                self._loading.add(task)
                task.add_done_callback(self._loading.discard)

    async def _load(self, embedder: Embedder) -> None:
        try:
            await embedder.load()
        except Unavailable as error:
            log.error("the other model cannot be loaded", reason=str(error))

    def _named(self, model: str) -> Embedder:
        return next((one for one in self._made if one.model == model), self.embedder)


class MovingLongTerm:
    """Long-term memory for askers who know one model: what rows of the other give is put on that one's scale."""

    def __init__(self, longterm: LongTermSearch, models: Models) -> None:
        self._longterm = longterm
        self._models = models
        self._scales: dict[str, Scale] = {}

    async def search(self, query: SearchQuery) -> list[Found]:
        if query.embedding is None or query.text is None:
            return await self._longterm.search(query)
        try:
            return await self._search(query)
        except ModelsMoved:
            await self._models.follow()
            return await self._search(query)

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        return await self._longterm.get(group_id, ids, agent_id=agent_id)

    async def ping(self) -> None:
        await self._longterm.ping()

    async def _search(self, query: SearchQuery) -> list[Found]:
        models = self._models.to_read()
        if len(models) == 1:
            return await self._one(query, models[0])
        found = [one for embedder in models for one in await self._one(query, embedder)]
        found.sort(key=lambda one: (-_order(one), one.memory.id, one.memory.chunk_no))
        best: dict[UUID, Found] = {}
        for one in found:
            best.setdefault(one.memory.id, one)
        return list(best.values())[: query.limit]

    async def _one(self, query: SearchQuery, embedder: Embedder) -> list[Found]:
        query = replace(query, move=self._models.last_move)
        if embedder.model == query.model:
            return await self._longterm.search(query)
        return await self._by_other(query, embedder)

    async def _by_other(self, query: SearchQuery, other: Embedder) -> list[Found]:
        (vector,) = await other.embed([query.text or ""])
        asker, its = self._scale(self._models.embedder), self._scale(other)
        fusion, shift = on_scale(query.fusion, asker, its)
        found = await self._longterm.search(replace(query, embedding=vector, model=other.model, fusion=fusion))
        reading: Measure = "similarity" if query.asked is None else "relevance"
        return [
            replace(
                one,
                similarity=None if one.similarity is None else equivalent(one.similarity, its, asker, reading),
                rank=None if one.rank is None else one.rank + shift,
                parts=None if one.parts is None else replace(one.parts, dense=one.parts.dense + shift),
            )
            for one in found
        ]

    def _scale(self, embedder: Embedder) -> Scale:
        if embedder.model not in self._scales:
            self._scales[embedder.model] = scale_of(embedder)
        return self._scales[embedder.model]


def startable(stored: Mapping[str, int], move: Move | None) -> dict[str, ModelChoice]:
    """The models that a program may be started with, by the names of their vectors. A move has two."""
    if move is None:
        return {name: ModelChoice.named(name) for name in sorted(stored)}
    to = {move.to_model: move.to_choice}
    return to if move.finished_at is not None else {move.from_model: move.from_choice, **to}


def _stored(move: Move) -> list[str]:
    """The models of which there may be rows, in the order in which rows go from one to the other."""
    if move.finished_at is not None:
        return [move.to_model]
    return [move.from_model] if move.moving_at is None else [move.from_model, move.to_model]


def _order(one: Found) -> float:
    return (one.similarity or 0.0) if one.rank is None else one.rank
