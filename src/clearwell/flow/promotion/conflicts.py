"""Which verified memories a text contradicts. Found before the transaction that stores the text.

A person may promote a text that contradicts what is verified: both are then memories, and each names the other until
one of them is withdrawn, which is what ``supersedes`` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final
from uuid import UUID

from clearwell.flow.ingress.candidates import ComparedText, Neighbour
from clearwell.flow.ingress.neighbours import MemoryNeighbours
from clearwell.flow.ingress.segmentation import read_compared_texts, segment_output
from clearwell.offload import offload
from clearwell.ports import Embedder, LongTermSearch, StatementComparison
from clearwell.records import NewMemory, Relation, Vector

MEMORIES_COMPARED: Final = 2
STATEMENTS_COMPARED: Final = 16
"""Of a longer text, the first statements are compared."""


@dataclass(frozen=True, slots=True)
class PlannedText:
    """A text that is to be promoted, and the vector of its only chunk; None if it has more, or another model's."""

    text: NewMemory
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement of a planned text, or the whole of it, and the place of that text among the planned ones."""

    place: int
    text: str
    agent_id: str | None
    vector: Vector | None


class ConflictFinder:
    """Compares texts with the verified memories most similar to them."""

    def __init__(self, longterm: LongTermSearch, comparison: StatementComparison, embedder: Embedder) -> None:
        self._neighbours = MemoryNeighbours(longterm, embedder)
        self._comparison = comparison
        self._embedder = embedder

    @property
    def model(self) -> str:
        """The model that vectors must have."""
        return self._neighbours.model

    async def find(self, group_id: str, texts: Sequence[PlannedText]) -> list[tuple[UUID, ...]]:
        """For each text, the ids of the memories that it contradicts."""
        parts = [part for place, one in enumerate(texts) for part in await _read_parts(place, one)]
        missing = list(dict.fromkeys(part.text for part in parts if part.vector is None))
        vectors = dict(zip(missing, await self._embedder.embed(missing), strict=True)) if missing else {}
        compared = [ComparedText(part.text, vectors.get(part.text, part.vector)) for part in parts]
        agent_ids = [part.agent_id for part in parts]
        found = await self._neighbours.search(group_id, compared, agent_ids, limit=MEMORIES_COMPARED)
        near = await self._neighbours.relate(compared, found, {})
        contradicted = await offload(sum(len(one.content) for one in near), self._compare, compared, near)
        conflicts: list[dict[UUID, None]] = [{} for _ in texts]
        for one in contradicted:
            conflicts[parts[one.of].place][one.sighting.entry_id] = None
        return [tuple(ids) for ids in conflicts]

    def _compare(self, texts: Sequence[ComparedText], near: Sequence[Neighbour]) -> list[Neighbour]:
        return [
            one
            for one in near
            if self._comparison.compare(texts[one.of].text, one.content, one.similarity).relation is Relation.CONFLICT
        ]


async def _read_parts(place: int, planned: PlannedText) -> list[_Part]:
    """The statements of a text, as in an output. The vector of a text that is one statement is known."""
    content = planned.text.content
    texts = await offload(len(content), _read_texts, content)
    agent_id = planned.text.agent_id
    return [
        _Part(place, text, agent_id, planned.vector if text in (content, content.strip()) else None)
        for text in islice(texts.values(), STATEMENTS_COMPARED)
    ]


def _read_texts(content: str) -> dict[int, str]:
    return read_compared_texts(content, segment_output(content), content)
