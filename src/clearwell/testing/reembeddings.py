"""Re-embeddings of the chunks of a MemoryLongTerm."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from clearwell.records import NewReembedding, Reembedding, StoredText, Vector
from clearwell.testing.longterm import MemoryLongTerm


class MemoryReembeddings:
    def __init__(self, longterm: MemoryLongTerm) -> None:
        self._longterm = longterm
        self._reembeddings: list[Reembedding] = []
        self._models: dict[str, int] = {}

    async def last(self) -> Reembedding | None:
        return self._reembeddings[-1] if self._reembeddings else None

    async def begin(self, reembedding: NewReembedding) -> Reembedding:
        self._reembeddings = [
            replace(one, finished_at=one.finished_at or reembedding.started_at) for one in self._reembeddings
        ]
        begun = Reembedding(
            id=len(self._reembeddings) + 1,
            from_model=reembedding.from_model,
            from_choice=reembedding.from_choice,
            to_model=reembedding.to_model,
            to_choice=reembedding.to_choice,
            moving_at=reembedding.started_at if reembedding.at_once else None,
            finished_at=None,
        )
        self._reembeddings.append(begun)
        self._longterm.last_reembedding = begun.number
        return begun

    async def set_off(self, reembedding_id: int, *, at: datetime) -> None:
        self._reembeddings = [
            replace(one, moving_at=one.moving_at or at) if one.id == reembedding_id else one
            for one in self._reembeddings
        ]
        self._longterm.last_reembedding = self._reembeddings[-1].number

    async def finish(self, reembedding_id: int, *, at: datetime) -> None:
        self._reembeddings = [
            replace(one, finished_at=at) if one.id == reembedding_id and one.finished_at is None else one
            for one in self._reembeddings
        ]

    async def models(self) -> dict[str, int]:
        self._models |= await self._longterm.models()
        return dict(self._models)

    async def groups(self) -> list[str]:
        return sorted({chunk.group_id for chunk in self._longterm.chunks})

    async def count_remaining(self, group_id: str, model: str) -> int:
        return len(self._others(group_id, model))

    async def texts(self, group_id: str, model: str, *, after: StoredText | None, limit: int) -> list[StoredText]:
        others = self._others(group_id, model)
        if after is not None:
            others = [one for one in others if (one.id, one.chunk_no) > (after.id, after.chunk_no)]
        return others[:limit]

    async def put(self, group_id: str, model: str, made: Sequence[tuple[StoredText, Vector]], *, at: datetime) -> int:
        del at  # nobody asks a twin when
        await self.models()
        vectors = {(text.id, text.chunk_no): vector for text, vector in made}
        there = {(one.id, one.chunk_no) for one in self._others(group_id, model)} & vectors.keys()
        self._longterm.chunks[:] = [
            replace(chunk, embedding=vectors[chunk.id, chunk.chunk_no], embedding_model=model)
            if chunk.group_id == group_id and (chunk.id, chunk.chunk_no) in there
            else chunk
            for chunk in self._longterm.chunks
        ]
        return len(there)

    def _others(self, group_id: str, model: str) -> list[StoredText]:
        return sorted(
            (
                StoredText(chunk.id, chunk.chunk_no, chunk.content)
                for chunk in self._longterm.chunks
                if chunk.group_id == group_id and chunk.embedding_model != model
            ),
            key=lambda one: (one.id, one.chunk_no),
        )
