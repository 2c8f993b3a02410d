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

from clearwell.ports import Embedder
from clearwell.records import Curve

MEANT: Final = 0.5
"""The relevance by its cosine alone that an unverified entry needs to go first."""
SHORT_OF: Final = 0.01


def relevance(embedder: Embedder, cosine: float | None, words: float) -> float | None:
    """0 to 1, on the scale that thresholds are set on. None where nothing is known."""
    if cosine is None:
        return of_words_alone(words) if words > 0 else None
    return _together(embedder.relevance(cosine), words)


def unverified_relevance(embedder: Embedder, cosine: float | None, words: float, *, first: float) -> float | None:
    """The same for what nobody has verified: words alone do not lift it to ``first``, from where it goes before what is
    verified. Anybody can write a word down; that an entry means what was asked, the cosine has to say too."""
    if cosine is None:
        found, by_vector = relevance(embedder, None, words), 0.0
    else:
        by_vector = embedder.relevance(cosine)
        found = _together(by_vector, words)
    if found is None or found < first or by_vector >= MEANT:
        return found
    return max(by_vector, min(found, first - SHORT_OF))


def of_words_alone(share: float) -> float:
    """Where no cosine tells noise from an answer, few words are little, and not nothing."""
    return _curves()[1](share)


def of_words(share: float) -> float:
    return _curves()[0](share)


def _together(by_vector: float, words: float) -> float:
    return by_vector + (1 - by_vector) * of_words(words) ** 2


@cache
def _curves() -> tuple[Curve, Curve]:
    text = files("clearwell.flow.retrieval").joinpath("relevance.toml").read_text(encoding="utf-8")
    first, *others = ((place, value) for place, value in tomllib.loads(text)["words"])
    return Curve((first, *others)), Curve(((0.0, first[1]), *others))
