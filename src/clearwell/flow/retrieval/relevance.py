"""Relevance: the estimated probability, from the vector and the words of an item, that it answers the query.

Each embedder has a curve for the cosine. One curve for all models reads the share of the query's words that the item
has. Either can be sufficient: a ticket number means nothing to an embedding model, and a paraphrase shares no word
with the query. Words therefore reduce the distance to 1 by the square of their own relevance, and never lower the
relevance by the cosine. In measurements this separates answers from other items better than the maximum of the two,
and lets hardly more items pass a threshold of 0.7 than the cosine alone. ``bench/calibrate.py`` fits the curve;
``bench/results/retrieval.md`` has the figures.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

from clearwell.ports import Embedder
from clearwell.records import Curve

LEAST_BY_COSINE: Final = 0.5
"""The relevance by its cosine alone that an unverified entry needs to be placed first."""
MARGIN: Final = 0.01


def compute_relevance(embedder: Embedder, cosine: float | None, words: float) -> float | None:
    """Relevance of a verified item from 0 to 1, on the scale of the thresholds; None if nothing is known."""
    if cosine is None:
        return read_words_alone(words) if words > 0 else None
    return _combine(embedder.relevance(cosine), words)


def compute_unverified_relevance(
    embedder: Embedder, cosine: float | None, words: float, *, first: float
) -> float | None:
    """Relevance of an unverified entry. Words alone do not raise it to ``first``, where it precedes verified items.

    Anyone can write the words of an expected query into an output; the cosine has to confirm the meaning.
    """
    if cosine is None:
        combined, by_vector = compute_relevance(embedder, None, words), 0.0
    else:
        by_vector = embedder.relevance(cosine)
        combined = _combine(by_vector, words)
    if combined is None or combined < first or by_vector >= LEAST_BY_COSINE:
        return combined
    return max(by_vector, min(combined, first - MARGIN))


def read_words_alone(share: float) -> float:
    """Relevance by words if there is no cosine: a small share then counts a little instead of nothing."""
    return _load_curves()[1](share)


def read_words(share: float) -> float:
    """Relevance by the share of the query's words."""
    return _load_curves()[0](share)


def _combine(by_vector: float, words: float) -> float:
    return by_vector + (1 - by_vector) * read_words(words) ** 2


@cache
def _load_curves() -> tuple[Curve, Curve]:
    text = files("clearwell.flow.retrieval").joinpath("relevance.toml").read_text(encoding="utf-8")
    first, *others = ((place, value) for place, value in tomllib.loads(text)["words"])
    return Curve((first, *others)), Curve(((0.0, first[1]), *others))
