"""Measure the nearness of texts by meaning and by the rare terms that they share.

With the default model, freely worded statements of one fact have cosines of .35 to .75, and so have many statements
that only sound alike. The number of rare terms that they share distinguishes them: names, amounts, dates, identifiers.
The weight of a term ranges from 0 (in every text) to 1 (in one text), and the sum over shared terms is not divided by
the length of the texts: two texts that share four such terms are hardly ever about different things. Texts in two
languages share no words, and are treated as if they shared ``ACROSS`` terms. What all texts of a digest have in common
is first subtracted from the vectors, because a team that talks only about one system would otherwise get a single
cluster.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from clearwell.comparison import features_of
from clearwell.flow.digest.drafting.texts import Text, unit
from clearwell.records import Vector
from clearwell.text.languages import CHINESE
from clearwell.text.terms import dimension

SHARED: Final = 0.19
"""The increase in cosine that one shared term is worth if no other text has it."""
ACROSS: Final = 2.0
"""Number of terms that two texts in different languages are assumed to share."""
FEW: Final = 100
"""Smoothing for few texts: with this many, half of their common part is subtracted, and a term is as rare as if there
were this many more texts."""
COPY: Final = 0.9
"""Minimum similarity of two texts of one author that are copies."""
PLACES: Final = 1024
FEWER_PLACES: Final = 384
MANY: Final = 20_000
"""Number of columns for terms. More than ``MANY`` texts get fewer columns, to save memory, and terms share them."""
CHUNK: Final = 4096

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Texts as rows of matrices.

    ``meaning`` has the vectors. ``joint`` has the vectors without their common part, then terms, then language.
    """

    meaning: Vector
    joint: Vector
    originals: Indices
    """For each text, the index of the text that it copies, or its own."""
    terms: Sequence[tuple[int, ...]]
    weights: Vector
    """The weight of each term, from 0 to 1."""
    uses: Indices
    """The number of texts with each term."""
    similarity: Callable[[float], float]

    def head(self, count: int) -> "Space":
        """Return the space of the first texts alone, measured among all of them."""
        return replace(
            self,
            meaning=self.meaning[:count],
            joint=self.joint[:count],
            originals=self.originals[:count],
            terms=self.terms[:count],
        )

    def measure(self, rows: Vector, others: Vector) -> Vector:
        """Return the nearness of rows of ``joint``, or means of rows, to others."""
        turned = rows.copy()
        turned[..., -1] *= -1
        return turned @ others.T

    def mass(self, one: int, other: int) -> float:
        """Return the sum of the weights of the terms that two texts share."""
        return float(sum(self.weights[term] for term in set(self.terms[one]) & set(self.terms[other])))

    def cosine(self, value: float) -> float:
        """Return the cosine of a calibrated similarity."""
        return find_cosine(self.similarity, value)


def build_space(texts: Sequence[Text], similarity: Callable[[float], float]) -> Space:
    """Build the space of texts. ``similarity`` calibrates a cosine."""
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
    # The product of these columns is SHARED * ACROSS for texts in different languages, else 0.
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
    """Return the smallest cosine with a calibrated similarity of at least ``value``."""
    low, high = -1.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if similarity(middle) >= value else (middle, high)
    return high


def _read_terms(texts: Sequence[Text]) -> tuple[list[tuple[int, ...]], list[str], npt.NDArray[np.bool_]]:
    """Return the content terms of each text as numbers, the terms by number, and which texts are Chinese."""
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
    """Return the weights of terms by their rarity. ``FEW`` is added to the number of texts, so that the terms of a
    small digest do not count as common."""
    among = count + FEW
    return np.asarray(np.log(among / np.maximum(uses, 1)) / math.log(among), dtype=np.float32).clip(0, 1)


def _place_terms(columns: Vector, terms: Sequence[tuple[int, ...]], names: Sequence[str], weights: Vector) -> None:
    """Fill the columns of terms that at least two texts have. If there are too few columns, terms share them."""
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
    """Return for each text the index of the first text that it copies, or its own.

    Copies are texts with the same sole author and a cosine of at least ``limit``.
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
    """Set in ``first`` which of these texts of one author are copies, a chunk at a time."""
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
    """Set in ``first`` which texts of a chunk are copies of each other, and return those that are not copies."""
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
