"""The scales of embedding models: a cosine of one model, translated to the cosine of another that means the same."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from clearwell.ports import Embedder, Fusion

NARROWEST_SPAN = 0.05
GRID = np.linspace(-1.0, 1.0, 401)
Measure = Literal["relevance", "similarity"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The relevance and similarity that a model gives to each cosine of ``GRID``.

    Relevance rises from 0 to its maximum between the cosines ``low`` and ``high``.
    """

    low: float
    high: float
    curves: dict[Measure, npt.NDArray[np.float64]]

    def place(self, cosine: float) -> float:
        """The place of a cosine in the span: 0 at ``low``, 1 at ``high``."""
        return (cosine - self.low) / (self.high - self.low)

    def map_linearly(self, cosine: float, other: "Scale") -> float:
        """The cosine that has the same place in this span as the given one has in the other's."""
        return self.low + (cosine - other.low) * (self.high - self.low) / (other.high - other.low)

    def find_cosine(self, value: float, measure: Measure, *, otherwise: float) -> float:
        """The cosine at which the measure has this value.

        At the ends, where the curve is flat and many cosines have it, the one nearest to ``otherwise``.
        """
        curve = self.curves[measure]
        if value <= curve[0]:
            return float(max(-1.0, min(otherwise, GRID[np.searchsorted(curve, curve[0], side="right") - 1])))
        if value >= curve[-1]:
            return float(min(1.0, max(otherwise, GRID[np.searchsorted(curve, curve[-1])])))
        after = int(np.searchsorted(curve, value))
        return float(np.interp(value, curve[after - 1 : after + 1], GRID[after - 1 : after + 1]))


def measure_scale(embedder: Embedder) -> Scale:
    """Sample the calibration of a model."""
    relevance = np.array([embedder.relevance(float(cosine)) for cosine in GRID])
    similarity = np.array([embedder.similarity(float(cosine)) for cosine in GRID])
    zero = np.flatnonzero(relevance <= 0)
    low = float(GRID[zero[-1]]) if zero.size else 0.0
    high = float(GRID[np.flatnonzero(relevance >= relevance.max())[0]])
    return Scale(low, max(high, low + NARROWEST_SPAN), {"relevance": relevance, "similarity": similarity})


def rescale_fusion(fusion: Fusion, own: Scale, other: Scale) -> tuple[Fusion, float]:
    """The fusion weights for cosines of the other model, and what to add to its ranks so that both start at zero."""
    dense = fusion.dense * (own.high - own.low) / (other.high - other.low)
    return replace(fusion, dense=dense), fusion.dense * own.low - dense * other.low


def translate_cosine(cosine: float, other: Scale, own: Scale, measure: Measure) -> float:
    """The cosine of the own model that has the same measure as this cosine of the other model."""
    value = float(np.interp(cosine, GRID, other.curves[measure]))
    return own.find_cosine(value, measure, otherwise=own.map_linearly(cosine, other))
