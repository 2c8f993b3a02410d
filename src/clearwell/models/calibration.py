"""Calibration: curves that map a cosine to 0..1, so that one threshold means the same for every model.

Each model has two curves. ``similarity`` is for two texts (the duplicate threshold of 0.9 is on this scale),
``relevance`` for a query and a text (thresholds such as 0.7 and 0.85). They are data, one file for each model in
``curves/``; a model without a file uses ``curves/generic.toml``. Each file states the origin of its numbers; those of
the bundled model were fitted by ``bench/calibrate.py``.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from clearwell.records import Curve

GENERIC: Final = "generic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The two curves of one model."""

    similarity: Curve
    relevance: Curve


@cache
def load_calibration(model: str) -> Calibration:
    """Load the curves of a model: its own, else those of the name before ``@``, else the generic ones."""
    shipped = {
        file.name.removesuffix(".toml"): file
        for file in files(__package__).joinpath("curves").iterdir()
        if file.name.endswith(".toml")
    }
    name = next(name for name in (model, model.partition("@")[0], GENERIC) if name in shipped)
    curves = tomllib.loads(shipped[name].read_text(encoding="utf-8"))
    return Calibration(similarity=_curve(curves["similarity"]), relevance=_curve(curves["relevance"]))


def _curve(points: list[list[float]]) -> Curve:
    return Curve(tuple((x, y) for x, y in points))
