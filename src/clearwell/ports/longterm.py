"""Tier 3: search, words and promotion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from clearwell.records import EVERYTHING, Found, Memory, Vector, Where


class Lexicon(Protocol):
    """What the words of a memory become. Dimensions count from 1."""

    version: int

    def dimensions(self, text: str) -> frozenset[int]:
        """The terms that stand in a text."""
        ...

    def lexemes(self, text: str, near: Sequence[str]) -> Mapping[int, float]:
        """What is stored with a text that has these neighbours in its session."""
        ...

    def name(self, name: str) -> str:
        """A name in the form in which ``QueryTerms.spoken`` is searched for it; empty if it has no words."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """The words of a query: the weight of each term, and the text in which names are searched."""

    weights: Mapping[int, float]
    spoken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """The weight of each part in the order of results. 0 switches a part off.

    Words count as a share of the highest score that the query's words can reach, so that common words leave the order
    to the vectors. The best ``pool`` chunks then gain by the best chunk next to them (``beside``), by a question just
    before them (``answer``), and by the best chunk in their session.
    """

    dense: float = 1 / 3
    lexical: float = 0.7
    author: float = 0.25
    beside: float = 0.15
    answer: float = 0.2
    session: float = 0.2
    pool: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A cold search in one group. Without an agent only group memory is found, and without words only vectors count.

    Without a vector, words alone are searched, of every model's memories, and only what has one of them is found.
    ``fusion.dense`` is per unit of cosine. What ``where`` leaves out is left out before the best are taken.
    ``text`` is what the vector was made of. ``move`` is the number of the last move to another model that the asker
    knows of, 0 for none: a store that knows of a later one raises ModelsMoved, since rows may have left ``model``.
    """

    group_id: str
    embedding: Vector | None
    model: str
    limit: int
    agent_id: str | None = None
    terms: QueryTerms | None = None
    fusion: Fusion = Fusion()
    where: Where = EVERYTHING
    text: str | None = None
    move: int | None = None


class LongTermSearch(Protocol):
    """What retrieval is given of long-term memory."""

    async def search(self, query: SearchQuery) -> list[Found]:
        """The best memories, best first, one chunk each: exactly, or nearly so in a group that has an index."""
        ...

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        """All chunks of these memories that the agent may see, in order."""
        ...

    async def ping(self) -> None: ...
