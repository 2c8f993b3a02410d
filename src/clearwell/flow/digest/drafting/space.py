"""Where texts lie by meaning and by words: one matrix, so that one product says how near two texts are.

Vectors alone leave a paraphrase (cosine .44 and more with the default model) as near as another statement on the same
subject. Words that both have, weighed by how rare they are, bring texts nearer, and texts that share none, as in two
languages, are not pushed apart: the product is the cosine plus a share of the likeness of words. What all texts of the
span have in common is taken out of the vectors first, since a team that speaks of one system only would otherwise
make one cluster.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from clearwell.flow.digest.drafting.copies import originals
from clearwell.flow.digest.drafting.neighbours import Indices
from clearwell.flow.digest.drafting.texts import Text, unit
from clearwell.records import Vector
from clearwell.text.terms import PAIR, PAIR_WEIGHT, dimension, terms

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


def space_of(texts: Sequence[Text], similarity: Callable[[float], float]) -> Space:
    meaning = unit([text.embedding for text in texts])
    first = originals(texts, meaning, cosine_for(similarity, COPY))
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
    counted = [Counter(dict.fromkeys(terms(text.content), 1)) for text in texts]
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
