"""Texts that mean the same, by average linkage around the texts with the most speakers near them.

A leader gathers what is near it; then every text goes to the cluster whose members it is nearest to on the average, and
clusters that are near on the average become one, which is how two languages meet. An average cannot chain: a text
that is near one member and far from the others stays outside, and ``REACH`` caps how far a member may be from the
middle. Texts near which only one speaker is found join clusters and lead none.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from clearwell.flow.digest.drafting.space import Indices, Neighbours, Space, find_neighbours
from clearwell.flow.digest.drafting.texts import Text
from clearwell.records import Vector

NEAR: Final = 0.5
"""Similarity to a leader, words counted."""
JOIN: Final = 0.42
"""Average similarity to the members of a cluster that a text needs to be one of them."""
MERGE: Final = 0.42
"""Average similarity between the members of two clusters that are one."""
REACH: Final = 0.35
"""Least average similarity of a member to all others: the cap on diameter."""
ROUNDS: Final = 2
BLOCK: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Places of texts, nearest to the middle first, and the middle."""

    members: tuple[int, ...]
    middle: Vector
    """The mean of its members in the joint space."""
    cohesion: float = 1.0
    """Average product of two of its members."""


def find_clusters(texts: Sequence[Text], space: Space, *, speakers: int = 2) -> list[Cluster]:
    """Clusters around texts with so many speakers near them. No text is in two."""
    first = np.flatnonzero(space.originals == np.arange(len(texts)))
    joint = space.joint[first] if len(first) < len(texts) else space.joint
    found = find_neighbours([texts[int(place)] for place in first], joint, space.product(NEAR))
    owner = _led(found, speakers)
    for _ in range(ROUNDS):
        owner = _merged(owner, joint, space.product(MERGE))
        owner = _assigned(owner, joint, space.product(JOIN))
    owner = _merged(owner, joint, space.product(MERGE))
    owner = _assigned(owner, joint, space.product(REACH), move=False)
    copying = owner[np.searchsorted(first, space.originals)]
    made = [_cluster(members, first, space) for members in _groups(copying)]
    return [one for one in made if len(_speakers(one, texts)) >= speakers]


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


def _assigned(owner: Indices, joint: Vector, limit: float, *, move: bool = True) -> Indices:
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
        products = rows @ middles.T
        inside = np.flatnonzero(mine >= 0)
        _leave_out_self(products, rows, mine, inside, sizes, alone=limit)
        best = products.argmax(axis=1) if move else np.maximum(mine, 0)
        enough = (products[np.arange(len(rows)), best] >= limit) & (move | (mine >= 0))
        result[start : start + BLOCK] = np.where(enough, best, -1)
    return result


def _leave_out_self(
    products: Vector, rows: Vector, mine: Indices, inside: Indices, sizes: Vector, *, alone: float
) -> None:
    """A text that is alone in its cluster stays there unless another one is nearer than ``alone``."""
    size = sizes[mine[inside]]
    summed = products[inside, mine[inside]] * size - np.einsum("ij,ij->i", rows[inside], rows[inside])
    products[inside, mine[inside]] = np.where(size > 1, summed / np.maximum(size - 1, 1), alone)


def _merged(owner: Indices, joint: Vector, limit: float) -> Indices:
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
        products = stacked[start : start + BLOCK] @ stacked.T
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
            product = float(middle @ middles[place])
            near[place].add(number)
            if product >= limit:
                heapq.heappush(heap, (-product, place, number))
        number += 1
    result = np.full(len(owner), -1, dtype=np.int64)
    for place, group in enumerate(sorted(members.values(), key=lambda some: int(some[0]))):
        result[group] = place
    return result


def _cluster(members: Indices, first: Indices, space: Space) -> Cluster:
    """The middle and the cohesion are those of the members that copy none."""
    rows = space.joint[members[np.isin(members, first)]]
    middle = rows.mean(axis=0)
    order = np.argsort(-(space.joint[members] @ middle), kind="stable")
    count, own = len(rows), float(np.square(rows).sum())
    cohesion = (count**2 * float(middle @ middle) - own) / (count * (count - 1)) if count > 1 else 1.0
    return Cluster(members=tuple(int(place) for place in members[order]), middle=middle, cohesion=cohesion)
