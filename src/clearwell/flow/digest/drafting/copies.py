"""Near-copies of one author, found before anything is clustered: a flood must not decide what a cluster is about."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from clearwell.flow.digest.drafting.neighbours import Indices
from clearwell.flow.digest.drafting.texts import Text
from clearwell.records import Vector

CHUNK: Final = 4096


def originals(texts: Sequence[Text], meaning: Vector, limit: float) -> Indices:
    """For each text the place of the first text that it copies, its own where it copies none.

    Copies are texts of one sole author whose cosine reaches ``limit``.
    """
    first = np.arange(len(texts), dtype=np.int64)
    by_author: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if len(text.agents) == 1:
            by_author.setdefault(next(iter(text.agents)), []).append(place)
    for places in by_author.values():
        _follow(np.array(places, dtype=np.int64), meaning, limit, first)
    return first


def _follow(places: Indices, meaning: Vector, limit: float, first: Indices) -> None:
    leaders = np.zeros(0, dtype=np.int64)
    for start in range(0, len(places), CHUNK):
        part = places[start : start + CHUNK]
        if len(leaders):
            products = meaning[part] @ meaning[leaders].T
            best = products.argmax(axis=1)
            copied = products[np.arange(len(part)), best] >= limit
            first[part[copied]] = leaders[best[copied]]
            part = part[~copied]
        leaders = np.concatenate([leaders, _led(part, meaning, limit, first)])


def _led(part: Indices, meaning: Vector, limit: float, first: Indices) -> Indices:
    near = meaning[part] @ meaning[part].T >= limit
    free = np.ones(len(part), dtype=bool)
    leaders = []
    for at in range(len(part)):
        if free[at]:
            mine = near[at] & free
            mine[at] = True
            first[part[mine]] = part[at]
            free &= ~mine
            leaders.append(part[at])
    return np.array(leaders, dtype=np.int64)
