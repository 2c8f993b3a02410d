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

import numpy as np

from clearwell.ports import Embedder


def relevance(embedder: Embedder, cosine: float | None, words: float) -> float | None:
    """0 to 1, on the scale that thresholds are set on. None where nothing is known."""
    by_words = of_words(words)
    if cosine is None:
        return by_words if words > 0 else None
    by_vector = embedder.relevance(cosine)
    return by_vector + (1 - by_vector) * by_words**2


def of_words(share: float) -> float:
    places, values = _curve()
    return float(np.interp(share, places, values))


@cache
def _curve() -> tuple[list[float], list[float]]:
    text = files("clearwell.flow").joinpath("words/relevance.toml").read_text(encoding="utf-8")
    points = tomllib.loads(text)["words"]
    return [place for place, _ in points], [value for _, value in points]
