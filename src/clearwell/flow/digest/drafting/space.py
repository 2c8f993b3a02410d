"""How near texts are: by meaning, and by the rare terms that they have in common.

Statements of one fact in free words have cosines of .35 to .75 with the default model, and so have many that only
sound alike. What tells them apart is how many rare terms they share: names, amounts, dates, identifiers. A term counts
from 0 (in every text) to 1 (in one alone), and the sum over shared terms is not divided by the length of the texts: two
that share four such terms hardly ever speak of different things. Texts in two languages share no words, and are taken
to share ``ACROSS``. What all texts of the span have in common is taken out of the vectors first, since a team that
speaks of one system only would otherwise make one cluster.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from clearwell.comparison import features_of
from clearwell.flow.digest.drafting.texts import Text, unit
from clearwell.records import Vector
from clearwell.text.languages import CHINESE
from clearwell.text.terms import dimension

SHARED: Final = 0.19
"""The cosine that one shared term stands for which no other text has."""
ACROSS: Final = 2.0
"""Terms that two texts in different languages are taken to share."""
FEW: Final = 100
"""Among so many texts, what they have in common counts half as much as it would among many, and a term is as rare
as if there were so many more texts."""
COPY: Final = 0.9
"""Similarity from which two texts of one author are copies."""
PLACES: Final = 1024
FEWER_PLACES: Final = 384
MANY: Final = 20_000
"""Columns of the terms; with more texts than ``MANY`` they are fewer, to save memory, and terms share columns."""
CHUNK: Final = 4096

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Texts as rows: vectors, and vectors less what all have in common beside their terms and language."""

    meaning: Vector
    joint: Vector
    originals: Indices
    """For each text the one that it copies, else itself."""
    terms: Sequence[tuple[int, ...]]
    weights: Vector
    """How much each term counts, from 0 to 1."""
    uses: Indices
    """In how many texts each term stands."""
    similarity: Callable[[float], float]

    def measure(self, rows: Vector, others: Vector) -> Vector:
        """How near the rows of one part or mean of ``joint`` are to those of another."""
        turned = rows.copy()
        turned[..., -1] *= -1
        return turned @ others.T

    def mass(self, one: int, other: int) -> float:
        """How many rare terms two texts share."""
        return float(sum(self.weights[term] for term in set(self.terms[one]) & set(self.terms[other])))

    def cosine(self, value: float) -> float:
        """The cosine that stands for a calibrated similarity."""
        return find_cosine(self.similarity, value)


def build_space(texts: Sequence[Text], similarity: Callable[[float], float]) -> Space:
    meaning = unit([text.embedding for text in texts])
    first = find_originals(texts, meaning, find_cosine(similarity, COPY))
    terms, names, chinese = _read_terms(texts)
    uses = np.bincount([term for some in terms for term in some], minlength=len(names)).astype(np.int64)
    weights = _weigh(uses, len(texts))
    places = PLACES if len(texts) <= MANY else FEWER_PLACES
    joint = np.zeros((len(texts), meaning.shape[1] + places + 2), dtype=np.float32)
    distinct = first == np.arange(len(texts))
    shared = meaning[distinct].mean(axis=0) * (distinct.sum() / (distinct.sum() + FEW))
    vectors = joint[:, : meaning.shape[1]]
    vectors[:] = meaning - shared
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    _place_terms(joint[:, meaning.shape[1] : -2], terms, names, weights)
    # Of two texts the product of these columns is SHARED * ACROSS in different languages, else 0.
    joint[:, -2] = math.sqrt(SHARED * ACROSS / 2)
    joint[:, -1] = np.where(chinese, joint[:, -2], -joint[:, -2])
    return Space(
        meaning=meaning,
        joint=joint,
        originals=first,
        terms=terms,
        weights=weights,
        uses=uses,
        similarity=similarity,
    )


def find_cosine(similarity: Callable[[float], float], value: float) -> float:
    """The smallest cosine that is read as ``value`` or more."""
    low, high = -1.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if similarity(middle) >= value else (middle, high)
    return high


def _read_terms(texts: Sequence[Text]) -> tuple[list[tuple[int, ...]], list[str], npt.NDArray[np.bool_]]:
    """The content terms of each text as numbers, the terms by number, and which texts are Chinese."""
    numbers: dict[str, int] = {}
    terms: list[tuple[int, ...]] = []
    chinese = np.zeros(len(texts), dtype=bool)
    for at, text in enumerate(texts):
        read = features_of[text.content]
        keys = {token.key for token in read.tokens if token.content}
        terms.append(tuple(sorted(numbers.setdefault(key, len(numbers)) for key in sorted(keys))))
        chinese[at] = read.language is CHINESE
    return terms, list(numbers), chinese


def _weigh(uses: Indices, count: int) -> Vector:
    """A few texts are taken as if there were others: what all of them say is not common for that."""
    among = count + FEW
    return np.asarray(np.log(among / np.maximum(uses, 1)) / math.log(among), dtype=np.float32).clip(0, 1)


def _place_terms(columns: Vector, terms: Sequence[tuple[int, ...]], names: Sequence[str], weights: Vector) -> None:
    """A column for each term that two texts have; where terms are more than columns, several share one."""
    counts = Counter(term for some in terms for term in some)
    shared = [term for term, count in counts.items() if count > 1]
    width = columns.shape[1]
    exact = len(shared) <= width
    column, sign = {}, {}
    for at, term in enumerate(sorted(shared)):
        place = dimension(names[term])
        column[term] = at if exact else place % width
        sign[term] = 1.0 if exact or place // width % 2 else -1.0
    for row, some in zip(columns, terms, strict=True):
        for term in some:
            if term in column:
                row[column[term]] += sign[term] * math.sqrt(SHARED * weights[term])


def find_originals(texts: Sequence[Text], meaning: Vector, limit: float) -> Indices:
    """For each text the place of the first text that it copies, its own where it copies none.

    Copies are texts of one sole author whose cosine reaches ``limit``.
    """
    first = np.arange(len(texts), dtype=np.int64)
    by_author: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if len(text.agents) == 1:
            by_author.setdefault(next(iter(text.agents)), []).append(place)
    for places in by_author.values():
        _follow(np.array(places, dtype=np.int64), meaning, limit, first)
    return first


def _follow(places: Indices, meaning: Vector, limit: float, first: Indices) -> None:
    leaders = np.zeros(0, dtype=np.int64)
    for start in range(0, len(places), CHUNK):
        part = places[start : start + CHUNK]
        if len(leaders):
            products = meaning[part] @ meaning[leaders].T
            best = products.argmax(axis=1)
            copied = products[np.arange(len(part)), best] >= limit
            first[part[copied]] = leaders[best[copied]]
            part = part[~copied]
        leaders = np.concatenate([leaders, _lead(part, meaning, limit, first)])


def _lead(part: Indices, meaning: Vector, limit: float, first: Indices) -> Indices:
    near = meaning[part] @ meaning[part].T >= limit
    free = np.ones(len(part), dtype=bool)
    leaders = []
    for at in range(len(part)):
        if free[at]:
            mine = near[at] & free
            mine[at] = True
            first[part[mine]] = part[at]
            free &= ~mine
            leaders.append(part[at])
    return np.array(leaders, dtype=np.int64)
