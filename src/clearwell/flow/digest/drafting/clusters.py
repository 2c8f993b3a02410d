"""Cluster texts that say the same, by average linkage around the texts with the most speakers near them.

Each leader takes the texts near it. Then every text moves to the cluster whose members it is nearest to on average, and
clusters that are near on average are merged, which joins texts in two languages. Average linkage does not chain: a text
that is near one member and far from the others stays outside. Texts with only one speaker near them can join clusters,
but not lead one.
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

NEAR: Final = 0.72
"""Minimum nearness to the leader, to the members of the cluster, and between the members of two merged clusters.

Chosen with ``selection.WORTHY`` by ``python -m bench.digest choose``: each group of outputs is measured with the
settings that are best for all others. See "Settings chosen without a group" in ``bench/results/digest.md``."""
ROUNDS: Final = 2
MOST: Final = 64
"""Maximum number of neighbours kept for one text, the nearest ones."""
ROWS: Final = 256
BLOCK: Final = 2048
DIGITS: Final = 4
"""Decimals of the nearness to a centroid. Two texts are equally near to their mean, except for rounding errors, which
vary with the load of the machine."""
VOICES: Final = 64
"""Number of bins in which agents are counted. More speakers than that do not make a text more central."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The texts of a cluster, by index, nearest to the centroid first."""

    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """For each text, its nearest texts and the number of speakers of all near texts."""

    nearest: Sequence[Indices]
    speakers: Indices


def find_clusters(texts: Sequence[Text], space: Space, *, speakers: int = 2, near: float = NEAR) -> list[Cluster]:
    """Return clusters with at least this many speakers. No text is in two clusters."""
    first = np.flatnonzero(space.originals == np.arange(len(texts)))
    joint = space.joint[first] if len(first) < len(texts) else space.joint
    found = find_neighbours([texts[int(place)] for place in first], joint, space, near)
    owner = _assign_to_leaders(found, speakers)
    for _ in range(ROUNDS):
        owner = _merge_clusters(owner, joint, space, near)
        owner = _reassign(owner, joint, space, near)
    owner = _merge_clusters(owner, joint, space, near)
    copying = owner[np.searchsorted(first, space.originals)]
    made = [make_cluster(members, first, space) for members in _group_members(copying)]
    return [one for one in made if len(_list_speakers(one, texts)) >= speakers]


def find_neighbours(texts: Sequence[Text], joint: Vector, space: Space, limit: float) -> Neighbours:
    """Return for each text those with a nearness of at least ``limit``, including itself."""
    voices = _mark_speakers(texts)
    nearest: list[Indices] = []
    speakers = np.zeros(len(texts), dtype=np.int64)
    for start in range(0, len(texts), ROWS):
        products = space.measure(joint[start : start + ROWS], joint)
        near = products >= limit
        near[np.arange(len(near)), np.arange(start, start + len(near))] = True
        speakers[start : start + ROWS] = ((near.astype(np.float32) @ voices) > 0).sum(axis=1)
        nearest.extend(_select_nearest(row, hits) for row, hits in zip(products, near, strict=True))
    return Neighbours(nearest=nearest, speakers=speakers)


def _mark_speakers(texts: Sequence[Text]) -> Vector:
    """Return a row per text that has 1 in the bins of its speakers."""
    names = sorted({name for text in texts for name in text.agents})
    bins = {name: number % VOICES for number, name in enumerate(names)}
    voices = np.zeros((len(texts), min(VOICES, max(1, len(names)))), dtype=np.float32)
    for row, text in zip(voices, texts, strict=True):
        row[[bins[name] for name in text.agents]] = 1
    return voices


def _select_nearest(products: Vector, hits: npt.NDArray[np.bool_]) -> Indices:
    found = np.flatnonzero(hits)
    if len(found) > MOST:
        order = np.argsort(-products[found], kind="stable")[:MOST]
        found = np.sort(found[order])
    return found


def _list_speakers(cluster: Cluster, texts: Sequence[Text]) -> frozenset[str]:
    return frozenset[str]().union(*(texts[place].agents for place in cluster.members))


def _assign_to_leaders(found: Neighbours, speakers: int) -> Indices:
    """Assign each text to the cluster of the first leader near it, or to none (-1)."""
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


def _group_members(owner: Indices) -> list[Indices]:
    """Return the members of each cluster."""
    order = np.argsort(owner, kind="stable")
    taken = order[owner[order] >= 0]
    return np.split(taken, np.flatnonzero(np.diff(owner[taken])) + 1) if len(taken) else []


def _compute_centroids(groups: Sequence[Indices], joint: Vector) -> Vector:
    return np.stack([joint[members].mean(axis=0) for members in groups])


def _reassign(owner: Indices, joint: Vector, space: Space, limit: float) -> Indices:
    """Assign each text to the cluster whose other members it is nearest to on average, or to none (-1)."""
    groups = _group_members(owner)
    if not groups:
        return owner
    centroids = _compute_centroids(groups, joint)
    sizes = np.array([len(members) for members in groups], dtype=np.float32)
    own = np.full(len(owner), -1, dtype=np.int64)
    for number, members in enumerate(groups):
        own[members] = number
    result = np.full(len(owner), -1, dtype=np.int64)
    for start in range(0, len(owner), BLOCK):
        rows = joint[start : start + BLOCK]
        mine = own[start : start + BLOCK]
        products = space.measure(rows, centroids)
        inside = np.flatnonzero(mine >= 0)
        own_products = np.einsum("ij,ij->i", rows[inside], rows[inside]) - 2 * rows[inside, -1] ** 2
        _exclude_own_weight(products, own_products, mine, inside, sizes, alone=limit)
        best = products.argmax(axis=1)
        enough = products[np.arange(len(rows)), best] >= limit
        result[start : start + BLOCK] = np.where(enough, best, -1)
    return result


def _exclude_own_weight(
    products: Vector, own_products: Vector, mine: Indices, inside: Indices, sizes: Vector, *, alone: float
) -> None:
    """Remove from each product of a text with its own centroid the share of the text itself, in place.

    A text that is alone in its cluster gets ``alone``, so it stays there unless another cluster is nearer.
    """
    size = sizes[mine[inside]]
    summed = products[inside, mine[inside]] * size - own_products
    products[inside, mine[inside]] = np.where(size > 1, summed / np.maximum(size - 1, 1), alone)


def _merge_clusters(owner: Indices, joint: Vector, space: Space, limit: float) -> Indices:
    """Merge the two nearest clusters, as long as their members are near on average."""
    groups = _group_members(owner)
    if len(groups) < 2:
        return owner
    members = dict(enumerate(groups))
    centroids = dict(enumerate(_compute_centroids(groups, joint)))
    near: dict[int, set[int]] = {number: set() for number in members}
    heap: list[tuple[float, int, int]] = []
    stacked = np.stack(list(centroids.values()))
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
        centroid = (centroids.pop(first) * len(one) + centroids.pop(second) * len(other)) / (len(one) + len(other))
        around = {place for place in near.pop(first) | near.pop(second) if place in members}
        members[number], centroids[number], near[number] = np.sort(np.concatenate([one, other])), centroid, around
        for place in sorted(around):
            product = float(space.measure(centroid, centroids[place]))
            near[place].add(number)
            if product >= limit:
                heapq.heappush(heap, (-product, place, number))
        number += 1
    result = np.full(len(owner), -1, dtype=np.int64)
    for place, group in enumerate(sorted(members.values(), key=lambda some: int(some[0]))):
        result[group] = place
    return result


def make_cluster(members: Indices, first: Indices, space: Space) -> Cluster:
    """Order the members of a cluster by their nearness to the centroid of those members that are not copies.

    Members that are equally near keep their order.
    """
    centroid = space.joint[members[np.isin(members, first)]].mean(axis=0)
    nearness = np.round(space.measure(space.joint[members], centroid), DIGITS)
    order = np.argsort(-nearness, kind="stable")
    return Cluster(members=tuple(int(place) for place in members[order]))
