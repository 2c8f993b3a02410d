"""How relevant an item is, from its vector and its words: the chance, as far as both tell, that it answers the query.

The embedder reads the cosine by its own curve. Words are read by one curve for all models: the share of the query's
words that the item has. Either can be enough: a ticket number says nothing to a model, and a paraphrase has no word of
the query. So words take away a part of what is missing to 1, the square of what they say by themselves, and never
lower what the cosine gave: measured, that tells answers from the rest better than the larger of the two, and lets
hardly more through at 0.7 than the cosine alone. ``bench/calibrate.py`` fits the curve, ``bench/results/retrieval.md``
has the figures.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from clearwell.ports import Embedder

MEANT: Final = 0.5
"""The relevance by its cosine alone that an unverified entry needs to go first."""
SHORT_OF: Final = 0.01


def relevance(embedder: Embedder, cosine: float | None, words: float) -> float | None:
    """0 to 1, on the scale that thresholds are set on. None where nothing is known."""
    if cosine is None:
        return of_words_alone(words) if words > 0 else None
    by_words = of_words(words)
    by_vector = embedder.relevance(cosine)
    return by_vector + (1 - by_vector) * by_words**2


def unverified_relevance(embedder: Embedder, cosine: float | None, words: float, *, first: float) -> float | None:
    """The same for what nobody has verified: words alone do not lift it to ``first``, from where it goes before what is
    verified. Anybody can write a word down; that an entry means what was asked, the cosine has to say too."""
    found = relevance(embedder, cosine, words)
    by_vector = 0.0 if cosine is None else embedder.relevance(cosine)
    if found is None or found < first or by_vector >= MEANT:
        return found
    return max(by_vector, min(found, first - SHORT_OF))


def of_words_alone(share: float) -> float:
    """Where no cosine tells noise from an answer, few words are little, and not nothing."""
    places, values = _curve()
    return float(np.interp(share, [0.0, *places[1:]], values))


def of_words(share: float) -> float:
    places, values = _curve()
    return float(np.interp(share, places, values))


@cache
def _curve() -> tuple[list[float], list[float]]:
    text = files("clearwell.flow").joinpath("words/relevance.toml").read_text(encoding="utf-8")
    points = tomllib.loads(text)["words"]
    return [place for place, _ in points], [value for _, value in points]
