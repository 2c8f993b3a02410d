"""The verified memories that are like texts. The ingress pipeline and promotion compare texts with them."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from clearwell.comparison import LOWEST_SIMILARITY
from clearwell.flow.ingress.candidates import ComparedText, Neighbour
from clearwell.flow.ingress.echo import normal_sentences
from clearwell.offload import offload
from clearwell.ports import Embedder, LongTermSearch, SearchQuery
from clearwell.records import FoundChunk, Layer, Memory, Sighting
from clearwell.text.normalisation import normalise
from clearwell.text.splitter import rejoin


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

    def relate(
        self, texts: Sequence[ComparedText], found: Sequence[Sequence[FoundChunk]], whole: Mapping[UUID, str]
    ) -> Iterator[Neighbour]:
        """What was found as neighbours of the texts. ``whole`` has texts of memories of which one chunk was found."""
        for place, (text, near) in enumerate(zip(texts, found, strict=True)):
            normal = normalise(text.text)
            for one in near:
                content = whole.get(one.memory.id, one.memory.content)
                similarity = self._embedder.similarity(one.similarity or 0.0)
                if normal in normal_sentences[content]:
                    content, similarity = text.text, 1.0
                if similarity >= LOWEST_SIMILARITY:
                    sighting = Sighting(entry_id=one.memory.id, layer=Layer.LONGTERM)
                    yield Neighbour(sighting=sighting, content=content, similarity=similarity, of=place)


def _join_chunks(chunks: Sequence[Memory]) -> dict[UUID, str]:
    parts: dict[UUID, list[str]] = {}
    for chunk in chunks:
        parts.setdefault(chunk.id, []).append(chunk.content)
    return {memory_id: rejoin(of) for memory_id, of in parts.items()}
