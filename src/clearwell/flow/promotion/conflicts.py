"""Which verified memories a text contradicts. Found before the transaction that stores the text.

A person may promote a text that contradicts what is verified: both are then memories, and each names the other until
one of them is withdrawn, which is what ``supersedes`` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from uuid import UUID

from clearwell.comparison import LOWEST_SIMILARITY
from clearwell.offload import offload
from clearwell.ports import Embedder, LongTermSearch, SearchQuery, StatementComparison
from clearwell.records import Found, NewMemory, Relation, Vector
from clearwell.text.sentences import split_sentences

MEMORIES_COMPARED: Final = 2
SENTENCES_COMPARED: Final = 16
"""Of a longer text, the first sentences are compared."""


@dataclass(frozen=True, slots=True)
class PlannedText:
    """A text that is to be promoted, and the vector of its only chunk; None if it has more, or another model's."""

    text: NewMemory
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: int
    content: str
    agent_id: str | None
    vector: Vector


class ConflictFinder:
    """Compares texts with the verified memories most similar to them."""

    def __init__(self, longterm: LongTermSearch, comparison: StatementComparison, embedder: Embedder) -> None:
        self._longterm = longterm
        self._comparison = comparison
        self._embedder = embedder

    @property
    def model(self) -> str:
        """The model that vectors must have."""
        return self._embedder.model

    async def find(self, group_id: str, texts: Sequence[PlannedText]) -> list[tuple[UUID, ...]]:
        """For each text, the ids of the memories that it contradicts."""
        sentences = await self._split(texts)
        queries = [
            SearchQuery(
                group_id=group_id,
                embedding=one.vector,
                model=self.model,
                limit=MEMORIES_COMPARED,
                agent_id=one.agent_id,
                text=one.content,
            )
            for one in sentences
        ]
        found = await self._longterm.search_nearest(queries)
        size = sum(len(one.memory.content) for near in found for one in near)
        pairs = await offload(size, self._compare, sentences, found)
        conflicts = {place: dict.fromkeys(one for _, one in ids) for place, ids in groupby(pairs, lambda pair: pair[0])}
        return [tuple(conflicts.get(place, ())) for place in range(len(texts))]

    def _compare(self, sentences: Sequence[_Sentence], found: Sequence[Sequence[Found]]) -> list[tuple[int, UUID]]:
        return [
            (sentence.place, one.memory.id)
            for sentence, near in zip(sentences, found, strict=True)
            for one in near
            if self._conflicts(sentence.content, one)
        ]

    def _conflicts(self, content: str, one: Found) -> bool:
        similarity = self._embedder.similarity(one.similarity or 0.0)
        if similarity < LOWEST_SIMILARITY:
            return False
        return self._comparison.compare(content, one.memory.content, similarity).relation is Relation.CONFLICT

    async def _split(self, texts: Sequence[PlannedText]) -> list[_Sentence]:
        """The sentences of each text with their vectors. A text of one sentence has its vector already."""
        parts = [(await offload(len(one.text.content), split_sentences, one.text.content)) for one in texts]
        missing = [
            sentence
            for one, of in zip(texts, parts, strict=True)
            if one.vector is None or len(of) > 1
            for sentence in of[:SENTENCES_COMPARED]
        ]
        embedded = iter(await self._embedder.embed(missing) if missing else ())
        sentences: list[_Sentence] = []
        for place, (one, of) in enumerate(zip(texts, parts, strict=True)):
            if one.vector is not None and len(of) <= 1:
                sentences.append(_Sentence(place, one.text.content, one.text.agent_id, one.vector))
            else:
                sentences += [
                    _Sentence(place, content, one.text.agent_id, next(embedded)) for content in of[:SENTENCES_COMPARED]
                ]
        return sentences
