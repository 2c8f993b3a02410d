"""The index of a group's working memory: its words and vectors, made once for each state of the list."""

import re
from collections.abc import Collection, Mapping, Sequence
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
class EntryTerms:
    """The terms of one entry: the weights of its own and its neighbours' terms, and which of them are its own.

    ``texts`` are the text of the entry and those of its neighbours.
    """

    texts: tuple[str, ...]
    dimensions: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    own: npt.NDArray[np.int32]


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
        self._collect_terms()
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
        arrays = (self._dimensions, self._holders, self._weights, self._own, self._vectors, self._statements)
        terms = sum(one.dimensions.nbytes + one.weights.nbytes + one.own.nbytes for one in self.terms.values())
        return BYTES_OF_AN_ENTRY * len(self.entries) + terms + sum(array.nbytes for array in arrays)

    def holds(self, entries: Sequence[WorkingEntry], model: str) -> bool:
        """Whether the index was made of these very entries, for this model."""
        return (
            model == self._model
            and len(entries) == len(self.entries)
            and all(entry is own for entry, own in zip(entries, self.entries, strict=True))
        )

    def compute_shares(self, weights: Mapping[int, float]) -> npt.NDArray[np.float64]:
        """The share of the query's words that each entry and its neighbours have."""
        shares = np.zeros(len(self.entries))
        places = np.fromiter(weights, np.int32, len(weights))
        firsts = self._dimensions.searchsorted(places).tolist()
        lasts = self._dimensions.searchsorted(places, "right").tolist()
        for first, last, weight in zip(firsts, lasts, weights.values(), strict=True):
            if last > first:
                shares[self._holders[first:last]] += weight * self._weights[first:last]
        return shares

    def weigh(self, terms: QueryTerms) -> dict[int, float]:
        """The weights of the query's terms. Few entries say little about rarity, so they count as ``MIN_ENTRIES``."""
        counts = self._count_own(terms.weights)
        return weigh_by_rarity(terms, counts, max(len(self.entries), MIN_ENTRIES))

    def compare_names(self, terms: QueryTerms) -> float:
        """1 if every name of the query occurs in an entry, -1 if none does, 0 if the query has no names."""
        if not terms.names:
            return 0.0
        known = sum(any(self._count_own(name)) for name in terms.names)
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
        for number, whole in zip(self._numbers, (self._vectors @ vector).tolist(), strict=True):
            cosines[number] = whole
            first, last = self._spans[number]
            if by_statement is not None and last > first:
                best = int(by_statement[first:last].argmax())
                cosines[number], nearest[number] = (whole + float(by_statement[first + best])) / 2, best
        return cosines, nearest

    def _count_own(self, dimensions: Collection[int]) -> list[int]:
        """How many entries have each of these terms themselves."""
        places = np.fromiter(dimensions, np.int32, len(dimensions))
        counts: list[int] = (self._own.searchsorted(places, "right") - self._own.searchsorted(places)).tolist()
        return counts

    def _make_terms(self, number: int, known: Mapping[UUID, EntryTerms]) -> EntryTerms:
        """The terms of an entry. Those of an earlier index are used again if its neighbours are the same."""
        entry = self.entries[number]
        near = [self.entries[other].content for other in self.order.list_near(number, NEIGHBOURS)]
        earlier = known.get(entry.id)
        if earlier is not None and earlier.texts == (entry.content, *near):
            return earlier
        lexemes = _BM25.lexemes(entry.content, near)
        return EntryTerms(
            (entry.content, *near),
            np.fromiter(lexemes.keys(), np.int32, len(lexemes)),
            np.fromiter(lexemes.values(), np.float32, len(lexemes)),
            np.fromiter(_BM25.dimensions(entry.content), np.int32),
        )

    def _collect_terms(self) -> None:
        """Sort the terms of all entries by dimension, so that those of a query are found by bisection."""
        terms = [self.terms[entry.id] for entry in self.entries]
        dimensions = np.concatenate([_NO_TERMS, *(one.dimensions for one in terms)])
        holders = np.repeat(np.arange(len(terms), dtype=np.int32), [one.dimensions.size for one in terms])
        weights = np.concatenate([np.empty(0, np.float32), *(one.weights for one in terms)])
        by_dimension = np.argsort(dimensions, kind="stable")
        self._dimensions, self._holders = dimensions[by_dimension], holders[by_dimension]
        self._weights = weights[by_dimension]
        self._own = np.sort(np.concatenate([_NO_TERMS, *(one.own for one in terms)]))

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
        self._numbers = numbers
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
