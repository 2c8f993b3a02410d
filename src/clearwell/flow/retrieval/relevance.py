"""Relevance: the estimated probability, from the vector and the words of an item, that it answers the query.

Each embedder has a curve for the cosine. One curve for all models reads the share of the query's words that the item
has. Either can be sufficient: a ticket number means nothing to an embedding model, and a paraphrase shares no word
with the query. Words therefore reduce the distance to 1 by the square of their own relevance, and never lower the
relevance by the cosine. In measurements this separates answers from other items better than the maximum of the two,
and lets hardly more items pass a threshold of 0.7 than the cosine alone. ``bench/calibrate.py`` fits the curve;
``bench/results/retrieval.md`` has the figures.

Working memory is small and always has a best entry, so there the question is whether the best one answers at all. Its
words, its cosine and the names of the query decide it together; ``bench hot`` fits the weights and the curve, with the
same meaning of 0.4, 0.7 and 0.85 as above, and ``bench/results/hot.md`` has the figures.

Another entry is then as relevant as its rank is near to the best one, if it says something about the query itself: a
session lifts all of its entries, also those about other matters. An entry whose own words and cosine say less than
those of nearly all entries that have nothing to do with a query stays below every usual threshold. Less is enough for
an entry next to one that says enough, if the two are alike: a short answer has little of the question in it.
"""

import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from clearwell.ports import Embedder
from clearwell.records import Curve

MIN_BY_COSINE: Final = 0.5
"""The relevance by its cosine alone that an unverified entry needs to be placed first."""
MARGIN: Final = 0.01
MAX_UNRELATED: Final = 0.3
"""The highest relevance of an entry that says too little about the query itself."""
DECIMALS: Final = 3
"""Entries of working memory whose relevance is equal when rounded so are equally relevant: the newer comes first."""


def compute_relevance(embedder: Embedder, cosine: float | None, words: float) -> float | None:
    """Relevance of a verified item from 0 to 1, on the scale of the thresholds; None if nothing is known."""
    if cosine is None:
        return read_words_alone(words) if words > 0 else None
    return _combine(embedder.relevance(cosine), words)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMatch:
    """How well working memory matches a query, as the best value of all entries.

    ``words`` is the largest share of the query's words, ``vector`` the largest cosine, counted over the span in which
    the embedder's relevance rises from 0 to 1, and ``names`` says how many names of the query occur (-1 to 1).
    """

    words: float
    vector: float | None
    names: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The fitted model that rates how well working memory answers a query.

    ``words``, ``vector`` and ``names`` are the weights of a match, and ``curve`` maps the weighted sum to a relevance.
    The relevance of one entry is limited by the weighted sum of its own words and vector. There is no limit if that sum
    is at least ``alone``, or if it is at least ``near`` and a similar neighbour reaches ``alone``. Neighbours are
    similar from the cosine ``likeness`` on, which has the scale of ``QueryMatch.vector``.
    """

    words: float
    vector: float
    names: float
    curve: Curve
    alone: float
    near: float
    likeness: float

    def rate(self, match: QueryMatch) -> float | None:
        """Relevance of the best entry of working memory from 0 to 1; None if nothing is known."""
        if match.vector is None:
            return read_words_alone(match.words) if match.words > 0 else None
        return self.curve(self.weigh(match.words, match.vector) + self.names * match.names)

    def weigh(self, words: float, vector: float | None) -> float:
        """How much a share of the query's words and a vector speak for an answer."""
        return self.words * words + self.vector * (vector or 0.0)

    def limit(self, relevance: float, own: float, alike: Iterable[float]) -> float:
        """The relevance of an entry that itself speaks so much for an answer.

        ``alike`` says the same of the neighbours that it is like.
        """
        if own >= self.alone or (own >= self.near and any(one >= self.alone for one in alike)):
            return relevance
        return round(min(relevance, MAX_UNRELATED * max(own, 0.0) / self.alone), DECIMALS)


@cache
def load_evidence() -> Evidence:
    """What ``bench hot`` has fitted."""
    fitted = _read_toml("evidence.toml")
    curve = Curve(tuple((place, value) for place, value in fitted["curve"]))
    return Evidence(curve=curve, **fitted["weights"], **fitted["own"])


def relate_to_best(best: float, rank: float, best_rank: float) -> float:
    """Relevance of another entry, from that of the best one and from both ranks.

    A question is often answered by several entries of a conversation, of which some have neither its words nor its
    meaning. They are as likely to help as their rank is near to the best one.
    """
    return round(best * math.sqrt(max(rank, 0.0) / best_rank), DECIMALS) if best_rank > 0 else 0.0


def limit_unverified(relevance: float, by_vector: float, *, first: float) -> float:
    """Words alone do not raise an unverified entry to ``first``, from which on it precedes verified items.

    Anyone can write the words of an expected query into an output; the cosine has to confirm the meaning.
    """
    if relevance < first or by_vector >= MIN_BY_COSINE:
        return relevance
    return max(by_vector, min(relevance, first - MARGIN))


def read_words_alone(share: float) -> float:
    """Relevance by words if there is no cosine: a small share then counts a little instead of nothing."""
    return _load_curves()[1](share)


def read_words(share: float) -> float:
    """Relevance by the share of the query's words."""
    return _load_curves()[0](share)


def _combine(by_vector: float, words: float) -> float:
    return by_vector + (1 - by_vector) * read_words(words) ** 2


def _read_toml(name: str) -> dict[str, Any]:
    return tomllib.loads(files("clearwell.flow.retrieval").joinpath(name).read_text(encoding="utf-8"))


@cache
def _load_curves() -> tuple[Curve, Curve]:
    first, *others = ((place, value) for place, value in _read_toml("relevance.toml")["words"])
    return Curve((first, *others)), Curve(((0.0, first[1]), *others))
