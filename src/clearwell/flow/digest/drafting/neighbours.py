"""Which texts lie near which, block by block: the whole matrix of 100,000 texts would fill 40 GB."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from clearwell.flow.digest.drafting.texts import Text
from clearwell.records import Vector

MOST: Final = 64
"""Neighbours kept of one text, the nearest."""
BLOCK: Final = 256
VOICES: Final = 64
"""Agents are counted in so many bins: more make no text more central."""

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Of each text: its nearest ones, and how many speakers there are among all that are near."""

    nearest: Sequence[Indices]
    speakers: Indices


def neighbours(texts: Sequence[Text], joint: Vector, limit: float) -> Neighbours:
    """All pairs whose product reaches ``limit``, the text itself included."""
    voices = _voices(texts)
    nearest: list[Indices] = []
    speakers = np.zeros(len(texts), dtype=np.int64)
    for start in range(0, len(texts), BLOCK):
        products = joint[start : start + BLOCK] @ joint.T
        near = products >= limit
        speakers[start : start + BLOCK] = ((near.astype(np.float32) @ voices) > 0).sum(axis=1)
        nearest.extend(_best(row, hits) for row, hits in zip(products, near, strict=True))
    return Neighbours(nearest=nearest, speakers=speakers)


def _voices(texts: Sequence[Text]) -> Vector:
    names = sorted({name for text in texts for name in text.agents})
    bins = {name: number % VOICES for number, name in enumerate(names)}
    voices = np.zeros((len(texts), min(VOICES, max(1, len(names)))), dtype=np.float32)
    for row, text in zip(voices, texts, strict=True):
        row[[bins[name] for name in text.agents]] = 1
    return voices


def _best(products: Vector, hits: npt.NDArray[np.bool_]) -> Indices:
    found = np.flatnonzero(hits)
    if len(found) > MOST:
        order = np.argsort(-products[found], kind="stable")[:MOST]
        found = np.sort(found[order])
    return found
