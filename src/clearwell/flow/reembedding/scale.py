"""The scales of two embedders: a cosine of one, read as the other would say it."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from clearwell.ports import Embedder, Fusion

NARROWEST = 0.05
GRID = np.linspace(-1.0, 1.0, 401)
Measure = Literal["relevance", "similarity"]


@dataclass(frozen=True, slots=True)
class Scale:
    """What an embedder reads at each cosine, and between which cosines its relevance rises."""

    low: float
    high: float
    curves: dict[Measure, npt.NDArray[np.float64]]

    def along(self, cosine: float, other: "Scale") -> float:
        """The place in this span that the cosine has in the other's."""
        return self.low + (cosine - other.low) * (self.high - self.low) / (other.high - other.low)

    def at(self, value: float, measure: Measure, *, otherwise: float) -> float:
        """Where this value is read; beyond the ends, where the curve is flat, rather ``otherwise``."""
        curve = self.curves[measure]
        if value <= curve[0]:
            return float(max(-1.0, min(otherwise, GRID[np.searchsorted(curve, curve[0], side="right") - 1])))
        if value >= curve[-1]:
            return float(min(1.0, max(otherwise, GRID[np.searchsorted(curve, curve[-1])])))
        after = int(np.searchsorted(curve, value))
        return float(np.interp(value, curve[after - 1 : after + 1], GRID[after - 1 : after + 1]))


def scale_of(embedder: Embedder) -> Scale:
    relevance = np.array([embedder.relevance(float(cosine)) for cosine in GRID])
    similarity = np.array([embedder.similarity(float(cosine)) for cosine in GRID])
    zero = np.flatnonzero(relevance <= 0)
    low = float(GRID[zero[-1]]) if zero.size else 0.0
    high = float(GRID[np.flatnonzero(relevance >= relevance.max())[0]])
    return Scale(low, max(high, low + NARROWEST), {"relevance": relevance, "similarity": similarity})


def on_scale(fusion: Fusion, asker: Scale, other: Scale) -> tuple[Fusion, float]:
    """The asker's weights for the other's cosines, and what is added to a rank so that both count from one zero."""
    dense = fusion.dense * (asker.high - asker.low) / (other.high - other.low)
    return replace(fusion, dense=dense), fusion.dense * asker.low - dense * other.low


def equivalent(cosine: float, other: Scale, asker: Scale, measure: Measure) -> float:
    """The cosine at which the asker reads what the other reads at this one."""
    value = float(np.interp(cosine, GRID, other.curves[measure]))
    return asker.at(value, measure, otherwise=asker.along(cosine, other))
