"""Curves that map a measured value to 0..1, so that one threshold has the same meaning for every model."""

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Curve:
    """A monotone piecewise-linear curve through ``points`` (place, value), flat beyond both ends."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        steps = list(pairwise(self.points))
        if not steps or any(left[0] >= right[0] or left[1] > right[1] for left, right in steps):
            raise ValueError(f"points must rise from left to right: {self.points}")
        if self.points[0][1] < 0 or self.points[-1][1] > 1:
            raise ValueError(f"values must lie in 0..1: {self.points}")

    def __call__(self, place: float) -> float:
        """Return the value at ``place``; the lowest value if it is not a number."""
        before, low = self.points[0]
        if not place > before:
            return low
        for after, high in self.points:
            if place < after:
                return low + (high - low) / (after - before) * (place - before)
            before, low = after, high
        return low
