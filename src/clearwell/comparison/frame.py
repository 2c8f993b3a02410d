"""How much of one text stands in the other, word by word and in the same order."""

from collections.abc import Sequence
from typing import Final

_SHORT: Final = 4


def shared_in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, by the bit-parallel method of Hyyrö: one step a word."""
    places: dict[str, int] = {}
    for at, key in enumerate(one):
        places[key] = places.get(key, 0) | 1 << at
    everywhere = (1 << len(one)) - 1
    row = everywhere
    for key in other:
        hits = row & places.get(key, 0)
        row = ((row + hits) | (row - hits)) & everywhere
    return len(one) - row.bit_count()


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """1 for the same words in the same order, 0 for no word in common. One changed word counts little in short text."""
    shared = shared_in_order(one, other)
    total = max(len(one) + len(other), 2 * _SHORT)
    return 2 * (shared + max(0, _SHORT - max(len(one), len(other)))) / total if shared else 0.0


def shared_start(one: str, other: str) -> int:
    """How many characters two texts begin with in common, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
