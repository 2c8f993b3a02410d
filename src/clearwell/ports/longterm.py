"""Tier 3: search in long-term memory, and the encoder of its words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from clearwell.records import EVERYTHING, FoundChunk, Memory, PromotedPart, SearchFilter, Vector


class SparseEncoder(Protocol):
    """Maps the words of a text to the dimensions of a sparse vector, which count from 1."""

    version: int

    def dimensions(self, text: str) -> frozenset[int]:
        """Return the dimensions of the terms in a text."""
        ...

    def lexemes(self, text: str, near: Sequence[str]) -> Mapping[int, float]:
        """Return the weights to store with a text that has these neighbours in its session."""
        ...

    def name(self, name: str) -> str:
        """Return a name in the form that is searched in ``QueryTerms.spoken``, or "" if it has no words."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """The words of a query: the weight of each term, and the text in which the names of speakers are searched.

    ``names`` has the words that are written as names, each by the dimensions of its terms.
    """

    weights: Mapping[int, float]
    spoken: str
    names: tuple[frozenset[int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """The weight of each part in the order of results. 0 switches a part off.

    Words count as a share of the highest score that the query's words can reach, so that common words leave the order
    to the vectors. The best ``pool`` chunks then gain by the best chunk next to them (``neighbour``), by a question
    just before them (``answer``), and by the best chunk in their session.
    """

    dense: float = 1 / 3
    lexical: float = 0.7
    author: float = 0.25
    neighbour: float = 0.15
    answer: float = 0.2
    session: float = 0.2
    pool: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A search of long-term memory in one group. Without an agent, only group memory is searched.

    Without terms, only vectors count. Without a vector, the memories of every embedding model are searched by words,
    and only those with at least one of the words are found. ``fusion.dense`` is per unit of cosine. ``where`` applies
    before the best are selected. ``text`` is the text of the vector. ``reembedding`` is the number of the last
    re-embedding that the caller knows, 0 for none; a store that knows a later one raises ReembeddingStarted.
    ``explain`` asks for the parts of each rank.
    """

    group_id: str
    embedding: Vector | None
    model: str
    limit: int
    agent_id: str | None = None
    terms: QueryTerms | None = None
    fusion: Fusion = Fusion()
    where: SearchFilter = EVERYTHING
    text: str | None = None
    reembedding: int | None = None
    explain: bool = False


class LongTermSearch(Protocol):
    """Search in long-term memory."""

    async def search(self, query: SearchQuery) -> list[FoundChunk]:
        """Return the best memories, best first, one chunk each. In a group with an index, the result is approximate."""
        ...

    async def search_nearest(self, queries: Sequence[SearchQuery]) -> list[list[FoundChunk]]:
        """Return the nearest memories of each query, in one round trip.

        All queries are of one group and one model, have a vector and neither terms nor conditions.
        """
        ...

    async def find_promoted(self, group_id: str, log_ids: Sequence[UUID], *, agent_id: str | None) -> set[PromotedPart]:
        """What of these outputs was promoted to a memory that is valid and that the agent may see.

        That is the output itself, or a statement of it that a promoted insight rests on. If one side of an insight was
        promoted, only the statements of that side count.
        """
        ...

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        """Return all chunks of these memories that the agent may see, in order, also of withdrawn memories."""
        ...

    async def ping(self) -> None: ...
