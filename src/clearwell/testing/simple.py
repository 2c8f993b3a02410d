"""A clock, ids and a model that a test can foresee."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from clearwell.ports import FAR_AHEAD
from clearwell.records import Vector

DIMENSIONS = 64


class ManualClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def forward(self, by: timedelta) -> None:
        self._now += by


def has_come(time: datetime, now: datetime, *, farthest: timedelta = FAR_AHEAD) -> bool:
    """Whether a time has come, or is so far ahead that the clock must have been set back."""
    return time <= now or time > now + max(FAR_AHEAD, farthest)


class CountedIds:
    """Ids in order: 1, 2, 3 …"""

    def __init__(self) -> None:
        self._last = 0

    def new(self) -> UUID:
        self._last += 1
        return UUID(int=self._last)


class WordEmbedder:
    """Vectors from the words of a text: the same words, the same vector; no word in common, cosine 0."""

    model = "words"

    async def load(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def similarity(self, cosine: float) -> float:
        return min(1.0, max(0.0, cosine))

    relevance = similarity

    async def close(self) -> None:
        """Nothing to close."""

    def _vector(self, text: str) -> Vector:
        vector = np.zeros(DIMENSIONS, dtype=np.float32)
        for word in text.lower().split() or [""]:
            vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
        normalised: Vector = vector / np.linalg.norm(vector)
        return normalised
