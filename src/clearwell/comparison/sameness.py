"""Decide whether two statements in which the rules find no change are the same, by a logistic model.

``sameness.toml`` has its coefficients and its threshold. ``python -m bench.same_model --write`` fits them on labelled
pairs and chooses the threshold by leaving one group of pairs out in turn.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from clearwell.comparison.coverage import adds_content, count_content, has_fact, measure_coverage
from clearwell.comparison.features import Features
from clearwell.comparison.pair import Sides
from clearwell.comparison.polarity import count_more_negations
from clearwell.text.languages import CHINESE

MEASURES: Final = (
    "similarity",
    "new_covered",
    "known_covered",
    "new_left",
    "known_left",
    "value_left_out",
    "negations_differ",
    "adds_content",
    "shared_bigrams",
    "chinese",
)
"""The input of the model, in the order of ``measure``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamenessModel:
    """The coefficients of the measures, and the minimum probability of statements that are the same."""

    version: int
    threshold: float
    bias: float
    weights: Sequence[float]

    def is_same(self, measures: Sequence[float]) -> bool:
        return self.probability(measures) >= self.threshold

    def probability(self, measures: Sequence[float]) -> float:
        """Return the probability that statements with these measures are the same."""
        total = self.bias + sum(weight * value for weight, value in zip(self.weights, measures, strict=True))
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


@cache
def load_sameness_model() -> SamenessModel:
    """Return the model that ships with Clearwell. It is read once."""
    listed = tomllib.loads(files(__package__).joinpath("sameness.toml").read_text(encoding="utf-8"))
    weights: Mapping[str, float] = listed["weights"]
    return SamenessModel(
        version=listed["version"],
        threshold=listed["threshold"],
        bias=listed["bias"],
        weights=tuple(weights[name] for name in MEASURES),
    )


def measure(sides: Sides, similarity: float) -> tuple[float, ...]:
    """Return the input of the model; see ``MEASURES``."""
    match = sides.match
    return (
        similarity,
        measure_coverage(match.new, match.new_left),
        measure_coverage(match.known, match.known_left),
        math.log1p(count_content(match.only_new)),
        math.log1p(count_content(match.only_known)),
        float(has_fact(match.only_known)),
        float(count_more_negations(sides) != 0),
        float(adds_content(match, near=sides.near)),
        _shared_bigrams(sides.new, sides.known),
        float(sides.known.language is CHINESE),
    )


def _shared_bigrams(new: Features, known: Features) -> float:
    """Return the share of pairs of adjacent characters that both texts have."""
    mine, theirs = _bigrams(new.text), _bigrams(known.text)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine or theirs else 0.0


def _bigrams(text: str) -> set[str]:
    lower = text.lower()
    return set(map(str.__add__, lower, lower[1:]))
