"""The index of a group's working memory: its words and vectors, made once for each state of the list."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import UUID

import numpy as np
import numpy.typing as npt

from clearwell.caches import MIB, ByteCache
from clearwell.flow.retrieval.bm25 import Bm25, is_question, spell_words
from clearwell.flow.retrieval.fusion import NEIGHBOURS, SessionOrder, weigh_by_rarity
from clearwell.offload import offload
from clearwell.ports import QueryTerms
from clearwell.records import Vector, WorkingEntry

SPEAKER: Final = re.compile(r"\s*(?:\[[^\]\n]{0,60}\]\s*)?([^\s:：\[\]][^:：\n\[\]]{0,39})[:：]")
"""A text may begin with its speaker, as a line of a transcript does: '[9:30] Ann: …'."""
INDEX_BYTES: Final = 32 * MIB
BYTES_OF_AN_ENTRY: Final = 2_000
MIN_ENTRIES: Final = 50

_BM25: Final = Bm25()
_NO_TERMS: Final = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms by their dimensions, with their weights."""

    dimensions: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]

    @classmethod
    def of(cls, lexemes: Mapping[int, float]) -> "Terms":
        return cls(
            np.fromiter(lexemes.keys(), np.int32, len(lexemes)), np.fromiter(lexemes.values(), np.float32, len(lexemes))
        )

    @property
    def size(self) -> int:
        return self.dimensions.nbytes + self.weights.nbytes


class Postings:
    """The terms of all entries, sorted by dimension, so that those of a query are found by bisection."""

    def __init__(self, terms: Sequence[Terms]) -> None:
        dimensions = np.concatenate([_NO_TERMS, *(one.dimensions for one in terms)])
        holders = np.repeat(np.arange(len(terms), dtype=np.int32), [one.dimensions.size for one in terms])
        weights = np.concatenate([np.empty(0, np.float32), *(one.weights for one in terms)])
        by_dimension = np.argsort(dimensions, kind="stable")
        self._dimensions, self._holders = dimensions[by_dimension], holders[by_dimension]
        self._weights, self._entries = weights[by_dimension], len(terms)

    @property
    def size(self) -> int:
        return self._dimensions.nbytes + self._holders.nbytes + self._weights.nbytes

    def score(self, weights: Mapping[int, float]) -> npt.NDArray[np.float64]:
        """The inner product of each entry with these weights of a query's terms."""
        scores = np.zeros(self._entries)
        places = np.fromiter(weights, np.int32, len(weights))
        firsts = self._dimensions.searchsorted(places).tolist()
        lasts = self._dimensions.searchsorted(places, "right").tolist()
        for first, last, weight in zip(firsts, lasts, weights.values(), strict=True):
            if last > first:
                scores[self._holders[first:last]] += weight * self._weights[first:last]
        return scores

    def count(self, dimensions: Collection[int]) -> list[int]:
        """How many entries have each of these terms."""
        places = np.fromiter(dimensions, np.int32, len(dimensions))
        firsts = self._dimensions.searchsorted(places)
        counts: list[int] = (self._dimensions.searchsorted(places, "right") - firsts).tolist()
        return counts


@dataclass(frozen=True, slots=True)
class EntryTerms:
    """The terms of one entry with their weights: together with those of its neighbours, and its own alone.

    ``texts`` are the text of the entry and those of its neighbours.
    """

    texts: tuple[str, ...]
    together: "Terms"
    own: "Terms"


class EntryIndex:
    """The entries of a group, newest first, with what a query is compared with. An entry is known by its number."""

    def __init__(self, entries: Sequence[WorkingEntry], model: str, known: Mapping[UUID, EntryTerms]) -> None:
        self.entries = tuple(entries)
        self._model = model
        arrival = range(len(entries) - 1, -1, -1)
        self.order = SessionOrder((number, entries[number].session_id) for number in arrival)
        self.terms = {entry.id: self._make_terms(number, known) for number, entry in enumerate(entries)}
        self._asks = [is_question(entry.content) for entry in entries]
        self.speakers = [spell_words(_find_speaker(entry)) for entry in entries]
        terms = [self.terms[entry.id] for entry in entries]
        self._together = Postings([one.together for one in terms])
        self._own = Postings([one.own for one in terms])
        self._collect_vectors()

    def asks(self, number: int) -> bool:
        """Whether the entry is a question."""
        return self._asks[number]

    @cached_property
    def spellings(self) -> dict[str, str]:
        """The speakers, each by the spelling of its name."""
        return {name: name for name in self.speakers}

    @property
    def size(self) -> int:
        """The bytes that the index takes, besides the entries."""
        terms = sum(one.together.size + one.own.size for one in self.terms.values())
        vectors = self._vectors.nbytes + self._statements.nbytes
        return BYTES_OF_AN_ENTRY * len(self.entries) + terms + self._together.size + self._own.size + vectors

    def holds(self, entries: Sequence[WorkingEntry], model: str) -> bool:
        """Whether the index was made of these very entries, for this model."""
        return (
            model == self._model
            and len(entries) == len(self.entries)
            and all(entry is own for entry, own in zip(entries, self.entries, strict=True))
        )

    def compute_shares(self, weights: Mapping[int, float]) -> npt.NDArray[np.float64]:
        """The share of the query's words that each entry and its neighbours have."""
        return self._together.score(weights)

    def compute_own_shares(self, weights: Mapping[int, float]) -> npt.NDArray[np.float64]:
        """The share of the query's words that each entry has itself."""
        return self._own.score(weights)

    def weigh(self, terms: QueryTerms) -> dict[int, float]:
        """The weights of the query's terms. Few entries say little about rarity, so they count as ``MIN_ENTRIES``."""
        counts = self._own.count(terms.weights)
        return weigh_by_rarity(terms, counts, max(len(self.entries), MIN_ENTRIES))

    def compare_names(self, terms: QueryTerms) -> float:
        """1 if every name of the query occurs in an entry, -1 if none does, 0 if the query has no names."""
        if not terms.names:
            return 0.0
        known = sum(any(self._own.count(name)) for name in terms.names)
        return 2 * known / len(terms.names) - 1

    def compute_cosines(self, vector: Vector | None) -> tuple[list[float | None], list[int | None]]:
        """The cosine of each entry, None where it has no vector of this model, and its nearest statement.

        The cosine is the mean of those of the whole text and of the nearest statement.
        """
        cosines: list[float | None] = [None] * len(self.entries)
        nearest: list[int | None] = [None] * len(self.entries)
        if vector is None or not self._vectors.size:
            return cosines, nearest
        by_statement = self._statements @ vector if self._statements.size else None
        for number, whole in zip(self._rows, (self._vectors @ vector).tolist(), strict=True):
            cosines[number] = whole
            first, last = self._spans[number]
            if by_statement is not None and last > first:
                best = int(by_statement[first:last].argmax())
                cosines[number], nearest[number] = (whole + float(by_statement[first + best])) / 2, best
        return cosines, nearest

    def compare_near(self, number: int) -> Iterator[tuple[int, float]]:
        """The entries before and after this one in its session, each with the cosine between the two.

        Entries without a vector of this model are left out.
        """
        row = self._rows.get(number)
        if row is None:
            return
        for other in self.order.list_near(number, 1):
            if other in self._rows:
                yield other, float(self._vectors[row] @ self._vectors[self._rows[other]])

    def _make_terms(self, number: int, known: Mapping[UUID, EntryTerms]) -> EntryTerms:
        """The terms of an entry. Those of an earlier index are used again if its neighbours are the same."""
        entry = self.entries[number]
        near = [self.entries[other].content for other in self.order.list_near(number, NEIGHBOURS)]
        earlier = known.get(entry.id)
        if earlier is not None and earlier.texts == (entry.content, *near):
            return earlier
        return EntryTerms(
            (entry.content, *near),
            Terms.of(_BM25.weigh(entry.content, near)),
            Terms.of(_BM25.weigh(entry.content, ())),
        )

    def _collect_vectors(self) -> None:
        numbers: list[int] = []
        vectors: list[Vector] = []
        statements: list[Vector] = []
        self._spans: dict[int, tuple[int, int]] = {}
        for number, entry in enumerate(self.entries):
            if entry.embedding is None or entry.embedding_model != self._model:
                continue
            numbers.append(number)
            vectors.append(entry.embedding)
            self._spans[number] = len(statements), len(statements) + len(entry.statements)
            statements += [statement.embedding for statement in entry.statements]
        self._rows = {number: row for row, number in enumerate(numbers)}
        self._vectors = np.array(vectors, np.float32)
        self._statements = np.array(statements, np.float32)


class EntryIndexes:
    """The indexes of the groups that were asked last."""

    def __init__(self) -> None:
        self._kept = ByteCache[str, EntryIndex](max_bytes=INDEX_BYTES, largest_share=1)

    async def find(self, group_id: str, entries: Sequence[WorkingEntry], model: str) -> EntryIndex:
        """Return the index of these entries of a group. For long texts it is made in a thread."""
        earlier = self._kept.get(group_id)
        if earlier is not None and earlier.holds(entries, model):
            return earlier
        known = {} if earlier is None else earlier.terms
        size = sum(len(entry.content) for entry in entries if entry.id not in known)
        return await offload(size, self._make, group_id, entries, model, known)

    def _make(
        self, group_id: str, entries: Sequence[WorkingEntry], model: str, known: Mapping[UUID, EntryTerms]
    ) -> EntryIndex:
        """Make an index and keep it, also if the caller that needed it waits no longer."""
        generation, index = self._kept.generation, EntryIndex(entries, model, known)
        self._kept.keep(group_id, index, index.size, generation=generation)
        return index


def _find_speaker(entry: WorkingEntry) -> str:
    speaker = SPEAKER.match(entry.content)
    return speaker[1] if speaker else entry.agent_id or ""
