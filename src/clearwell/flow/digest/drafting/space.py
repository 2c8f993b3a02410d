"""Where texts lie by meaning and by words: one matrix, so that one product says how near two texts are.

Vectors alone leave a paraphrase (cosine .44 and more with the default model) as near as another statement on the same
subject. Words that both have, weighted by how rare they are, bring texts nearer, and texts that share none, as in two
languages, are not pushed apart: the product is the cosine plus a share of the likeness of words. What all texts of the
span have in common is taken out of the vectors first, since a team that speaks of one system only would otherwise
make one cluster.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from clearwell.flow.digest.drafting.texts import Text, unit
from clearwell.records import Vector
from clearwell.text.terms import PAIR, PAIR_WEIGHT, count_terms, dimension

MOST: Final = 64
"""Neighbours kept of one text, the nearest."""
BLOCK: Final = 256
VOICES: Final = 64
"""Agents are counted in so many bins: more make no text more central."""

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Of each text: its nearest ones, and how many speakers there are among all that are near."""

    nearest: Sequence[Indices]
    speakers: Indices


def find_neighbours(texts: Sequence[Text], joint: Vector, limit: float) -> Neighbours:
    """All pairs whose product reaches ``limit``, the text itself included."""
    voices = _voices(texts)
    nearest: list[Indices] = []
    speakers = np.zeros(len(texts), dtype=np.int64)
    for start in range(0, len(texts), BLOCK):
        products = joint[start : start + BLOCK] @ joint.T
        near = products >= limit
        speakers[start : start + BLOCK] = ((near.astype(np.float32) @ voices) > 0).sum(axis=1)
        nearest.extend(_best(row, hits) for row, hits in zip(products, near, strict=True))
    return Neighbours(nearest=nearest, speakers=speakers)


def _voices(texts: Sequence[Text]) -> Vector:
    names = sorted({name for text in texts for name in text.agents})
    bins = {name: number % VOICES for number, name in enumerate(names)}
    voices = np.zeros((len(texts), min(VOICES, max(1, len(names)))), dtype=np.float32)
    for row, text in zip(voices, texts, strict=True):
        row[[bins[name] for name in text.agents]] = 1
    return voices


def _best(products: Vector, hits: npt.NDArray[np.bool_]) -> Indices:
    found = np.flatnonzero(hits)
    if len(found) > MOST:
        order = np.argsort(-products[found], kind="stable")[:MOST]
        found = np.sort(found[order])
    return found


CHUNK: Final = 4096


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
        leaders = np.concatenate([leaders, _led(part, meaning, limit, first)])


def _led(part: Indices, meaning: Vector, limit: float, first: Indices) -> Indices:
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


PLACES: Final = 256
"""Terms are hashed to so many places with a sign: two unlike texts have a likeness of 0 ± 0.06 by chance."""
COPY: Final = 0.9
"""Similarity from which two texts of one author are copies."""
FEW: Final = 100
"""Among so many texts, what they have in common counts half as much as it would among many."""
WORDS: Final = 0.3
"""What texts of the same words are nearer by, on the calibrated scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Texts as rows: the vectors, and the vectors less what all have in common, with words."""

    meaning: Vector
    joint: Vector
    originals: Indices
    """For each text the one that it copies, else itself."""
    similarity: Callable[[float], float]

    def cosine(self, value: float) -> float:
        """The cosine that stands for a calibrated similarity."""
        return cosine_for(self.similarity, value)

    def product(self, value: float) -> float:
        """The product of two rows of ``joint`` that stands for a calibrated similarity."""
        nothing = self.cosine(1e-9)
        return (self.cosine(value) - nothing) / (1 - nothing)

    def likeness(self, product: float) -> float:
        """The calibrated similarity that a product stands for."""
        nothing = self.cosine(1e-9)
        return self.similarity(product * (1 - nothing) + nothing)


def build_space(texts: Sequence[Text], similarity: Callable[[float], float]) -> Space:
    meaning = unit([text.embedding for text in texts])
    first = find_originals(texts, meaning, cosine_for(similarity, COPY))
    joint = np.empty((len(texts), meaning.shape[1] + PLACES), dtype=np.float32)
    space = Space(meaning=meaning, joint=joint, originals=first, similarity=similarity)
    vectors, words = joint[:, : meaning.shape[1]], joint[:, meaning.shape[1] :]
    distinct = first == np.arange(len(texts))
    shared = meaning[distinct].mean(axis=0) * (distinct.sum() / (distinct.sum() + FEW))
    vectors[:] = meaning - shared
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    _place_words(texts, words)
    words *= math.sqrt(WORDS * (space.product(0.6) - space.product(0.4)) / 0.2)
    return space


def cosine_for(similarity: Callable[[float], float], value: float) -> float:
    """The smallest cosine that is read as ``value`` or more."""
    low, high = -1.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if similarity(middle) >= value else (middle, high)
    return high


def _place_words(texts: Sequence[Text], places: Vector) -> None:
    counted = [Counter(dict.fromkeys(count_terms(text.content), 1)) for text in texts]
    seen: Counter[str] = Counter()
    for some in counted:
        seen.update(some)
    places[:] = 0
    for row, some in zip(places, counted, strict=True):
        for term in some:
            place = dimension(term)
            weight = math.log(1 + len(texts) / seen[term]) * (PAIR_WEIGHT if term.startswith(PAIR) else 1.0)
            row[place % PLACES] += weight if place & PLACES else -weight
    places /= np.maximum(np.linalg.norm(places, axis=1, keepdims=True), 1e-12)
