"""The verified memories that are like texts. The ingress pipeline and promotion compare texts with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from clearwell.comparison import LOWEST_SIMILARITY, features_of
from clearwell.flow.ingress.candidates import ComparedText, Neighbour
from clearwell.flow.ingress.echo import normal_sentences
from clearwell.offload import offload
from clearwell.ports import Embedder, LongTermSearch, SearchQuery
from clearwell.records import FoundChunk, Layer, Memory, Sighting, Vector
from clearwell.text.normalisation import normalise
from clearwell.text.segments import bare_text, segment
from clearwell.text.splitter import rejoin

SHARED: Final = 0.5
"""Minimum share of the words of a text in a statement of a memory that is compared with it by itself."""


class MemoryNeighbours:
    """Searches verified memories by the vectors of texts, and relates what was found to the texts."""

    def __init__(self, longterm: LongTermSearch, embedder: Embedder) -> None:
        self._longterm = longterm
        self._embedder = embedder

    @property
    def model(self) -> str:
        """The model that vectors must have."""
        return self._embedder.model

    async def search(
        self, group_id: str, texts: Sequence[ComparedText], agent_ids: Sequence[str | None], *, limit: int
    ) -> list[list[FoundChunk]]:
        """For each text, the nearest memories that its agent may see, in one round trip."""
        queries = [
            SearchQuery(
                group_id=group_id,
                embedding=text.vector,
                model=self.model,
                limit=limit,
                agent_id=agent_id,
                text=text.text,
            )
            for text, agent_id in zip(texts, agent_ids, strict=True)
        ]
        return await self._longterm.search_nearest(queries)

    async def read_whole_texts(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None) -> dict[UUID, str]:
        """The texts of memories, from all of their chunks."""
        if not ids:
            return {}
        chunks = await self._longterm.get(group_id, ids, agent_id=agent_id)
        return await offload(sum(len(chunk.content) for chunk in chunks), _join_chunks, chunks)

    async def relate(
        self, texts: Sequence[ComparedText], found: Sequence[Sequence[FoundChunk]], whole: Mapping[UUID, str]
    ) -> list[Neighbour]:
        """What was found as neighbours of the texts. ``whole`` has texts of memories of which one chunk was found.

        Of a memory of several statements, the one that has most words of the text is compared.
        """
        pairs = [
            _Pair(place, texts[place], one, whole.get(one.memory.id, one.memory.content))
            for place, near in enumerate(found)
            for one in near
        ]
        statements = await offload(sum(len(one.content) for one in pairs), _choose_statements, pairs)
        chosen = list(dict.fromkeys(one for one in statements if one is not None))
        vectors = dict(zip(chosen, await self._embedder.embed(chosen), strict=True)) if chosen else {}
        related = [
            self._relate(pair, statement, None if statement is None else vectors[statement])
            for pair, statement in zip(pairs, statements, strict=True)
        ]
        return [one for one in related if one.similarity >= LOWEST_SIMILARITY]

    def _relate(self, pair: "_Pair", statement: str | None, vector: Vector | None) -> Neighbour:
        """A memory as the neighbour of a text, by its statement with this vector or by the whole."""
        content, similarity = pair.content, self._embedder.similarity(pair.found.similarity or 0.0)
        if statement is not None and vector is not None and pair.text.vector is not None:
            content, similarity = statement, self._embedder.similarity(float(vector @ pair.text.vector))
        if normalise(pair.text.text) in normal_sentences[pair.content]:
            content, similarity = pair.text.text, 1.0
        sighting = Sighting(entry_id=pair.found.memory.id, layer=Layer.LONGTERM)
        return Neighbour(sighting=sighting, content=content, similarity=similarity, of=pair.place)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A compared text, its place, and a memory that is like it, with the content of the memory."""

    place: int
    text: ComparedText
    found: FoundChunk
    content: str


def _choose_statements(pairs: Sequence[_Pair]) -> list[str | None]:
    """For each pair, the statement of the memory that is compared; None for the whole memory."""
    return [_choose_statement(one.text.text, one.content) for one in pairs]


def _choose_statement(text: str, content: str) -> str | None:
    """Return the statement that has most words of the text, or None if none has many of them or there is only one.

    Only such a statement is worth a vector of its own: most memories that are found are about something else.
    """
    words = features_of[text].content_words
    if len(words & features_of[content].content_words) < SHARED * len(words):
        return None
    statements = [bare_text(content, one) for one in segment(content) if one.is_statement]
    if not statements or statements == [content]:
        return None
    best = max(statements, key=lambda one: len(words & features_of[one].content_words))
    return best if len(words & features_of[best].content_words) >= SHARED * len(words) else None


def _join_chunks(chunks: Sequence[Memory]) -> dict[UUID, str]:
    parts: dict[UUID, list[str]] = {}
    for chunk in chunks:
        parts.setdefault(chunk.id, []).append(chunk.content)
    return {memory_id: rejoin(of) for memory_id, of in parts.items()}
