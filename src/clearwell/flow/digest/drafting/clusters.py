"""Texts that say the same, by average linkage around the texts with the most speakers near them.

A leader gathers what is near it; then every text goes to the cluster whose members it is nearest to on the average, and
clusters that are near on the average become one, which is how two languages meet. An average cannot chain: a text
that is near one member and far from the others stays outside. Texts near which only one speaker is found join clusters
and lead none.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from clearwell.flow.digest.drafting.space import Indices, Space
from clearwell.flow.digest.drafting.texts import Text
from clearwell.records import Vector

NEAR: Final = 0.8
"""Nearness to a leader, between the members of two clusters that are one, and to those of the own cluster.

Chosen with ``selection.WORTHY`` by ``python -m bench.digest choose``: each group of outputs is measured with the
settings that are best for all others."""
ROUNDS: Final = 2
MOST: Final = 64
"""Neighbours kept of one text, the nearest."""
ROWS: Final = 256
BLOCK: Final = 2048
DIGITS: Final = 4
"""Of the nearness to the middle. Two texts are equally near to their mean but for rounding, which varies with load."""
VOICES: Final = 64
"""Agents are counted in so many bins: more make no text more central."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Places of texts, nearest to the middle first."""

    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Of each text: its nearest ones, and how many speakers there are among all that are near."""

    nearest: Sequence[Indices]
    speakers: Indices


def find_clusters(texts: Sequence[Text], space: Space, *, speakers: int = 2, near: float = NEAR) -> list[Cluster]:
    """Clusters around texts with so many speakers near them. No text is in two."""
    first = np.flatnonzero(space.originals == np.arange(len(texts)))
    joint = space.joint[first] if len(first) < len(texts) else space.joint
    found = find_neighbours([texts[int(place)] for place in first], joint, space, near)
    owner = _led(found, speakers)
    for _ in range(ROUNDS):
        owner = _merged(owner, joint, space, near)
        owner = _assigned(owner, joint, space, near)
    owner = _merged(owner, joint, space, near)
    copying = owner[np.searchsorted(first, space.originals)]
    made = [make_cluster(members, first, space) for members in _groups(copying)]
    return [one for one in made if len(_speakers(one, texts)) >= speakers]


def find_neighbours(texts: Sequence[Text], joint: Vector, space: Space, limit: float) -> Neighbours:
    """All pairs that are as near as ``limit``, the text itself included."""
    voices = _voices(texts)
    nearest: list[Indices] = []
    speakers = np.zeros(len(texts), dtype=np.int64)
    for start in range(0, len(texts), ROWS):
        products = space.measure(joint[start : start + ROWS], joint)
        near = products >= limit
        near[np.arange(len(near)), np.arange(start, start + len(near))] = True
        speakers[start : start + ROWS] = ((near.astype(np.float32) @ voices) > 0).sum(axis=1)
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


def _speakers(cluster: Cluster, texts: Sequence[Text]) -> frozenset[str]:
    return frozenset[str]().union(*(texts[place].agents for place in cluster.members))


def _led(found: Neighbours, speakers: int) -> Indices:
    """Whom each text follows: -1 is nobody."""
    owner = np.full(len(found.speakers), -1, dtype=np.int64)
    order = sorted(range(len(owner)), key=lambda one: (-found.speakers[one], -len(found.nearest[one]), one))
    number = 0
    for leader in order:
        if found.speakers[leader] < speakers:
            break
        if owner[leader] < 0:
            near = found.nearest[leader]
            owner[near[owner[near] < 0]] = number
            owner[leader] = number
            number += 1
    return owner


def _groups(owner: Indices) -> list[Indices]:
    order = np.argsort(owner, kind="stable")
    taken = order[owner[order] >= 0]
    return np.split(taken, np.flatnonzero(np.diff(owner[taken])) + 1) if len(taken) else []


def _middles(groups: Sequence[Indices], joint: Vector) -> Vector:
    return np.stack([joint[members].mean(axis=0) for members in groups])


def _assigned(owner: Indices, joint: Vector, space: Space, limit: float) -> Indices:
    """Each text with the cluster it is nearest to on the average, its own weight in it left out, or with none."""
    groups = _groups(owner)
    if not groups:
        return owner
    middles = _middles(groups, joint)
    sizes = np.array([len(members) for members in groups], dtype=np.float32)
    own = np.full(len(owner), -1, dtype=np.int64)
    for number, members in enumerate(groups):
        own[members] = number
    result = np.full(len(owner), -1, dtype=np.int64)
    for start in range(0, len(owner), BLOCK):
        rows = joint[start : start + BLOCK]
        mine = own[start : start + BLOCK]
        products = space.measure(rows, middles)
        inside = np.flatnonzero(mine >= 0)
        own_products = np.einsum("ij,ij->i", rows[inside], rows[inside]) - 2 * rows[inside, -1] ** 2
        _leave_out_self(products, own_products, mine, inside, sizes, alone=limit)
        best = products.argmax(axis=1)
        enough = products[np.arange(len(rows)), best] >= limit
        result[start : start + BLOCK] = np.where(enough, best, -1)
    return result


def _leave_out_self(
    products: Vector, own_products: Vector, mine: Indices, inside: Indices, sizes: Vector, *, alone: float
) -> None:
    """A text that is alone in its cluster stays there unless another one is nearer than ``alone``."""
    size = sizes[mine[inside]]
    summed = products[inside, mine[inside]] * size - own_products
    products[inside, mine[inside]] = np.where(size > 1, summed / np.maximum(size - 1, 1), alone)


def _merged(owner: Indices, joint: Vector, space: Space, limit: float) -> Indices:
    """Join the two nearest clusters as long as their members are near on the average."""
    groups = _groups(owner)
    if len(groups) < 2:
        return owner
    members = dict(enumerate(groups))
    middles = dict(enumerate(_middles(groups, joint)))
    near: dict[int, set[int]] = {number: set() for number in members}
    heap: list[tuple[float, int, int]] = []
    stacked = np.stack(list(middles.values()))
    for start in range(0, len(stacked), BLOCK):
        products = space.measure(stacked[start : start + BLOCK], stacked)
        for one, other in zip(*np.nonzero(products >= limit), strict=True):
            first, second = int(one) + start, int(other)
            if first < second:
                heap.append((-float(products[one, other]), first, second))
                near[first].add(second)
                near[second].add(first)
    heapq.heapify(heap)
    number = len(groups)
    while heap:
        _, first, second = heapq.heappop(heap)
        if first not in members or second not in members:
            continue
        one, other = members.pop(first), members.pop(second)
        middle = (middles.pop(first) * len(one) + middles.pop(second) * len(other)) / (len(one) + len(other))
        around = {place for place in near.pop(first) | near.pop(second) if place in members}
        members[number], middles[number], near[number] = np.sort(np.concatenate([one, other])), middle, around
        for place in sorted(around):
            product = float(space.measure(middle, middles[place]))
            near[place].add(number)
            if product >= limit:
                heapq.heappush(heap, (-product, place, number))
        number += 1
    result = np.full(len(owner), -1, dtype=np.int64)
    for place, group in enumerate(sorted(members.values(), key=lambda some: int(some[0]))):
        result[group] = place
    return result


def make_cluster(members: Indices, first: Indices, space: Space) -> Cluster:
    """The middle is that of the members that copy none. Members that are equally near to it come in their own order."""
    middle = space.joint[members[np.isin(members, first)]].mean(axis=0)
    nearness = np.round(space.measure(space.joint[members], middle), DIGITS)
    order = np.argsort(-nearness, kind="stable")
    return Cluster(members=tuple(int(place) for place in members[order]))
