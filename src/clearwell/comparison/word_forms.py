"""Whether two English stems are forms of one word, or deny each other."""

from functools import cache
from typing import Final

from clearwell.text.words import words

DENYING: Final = ("un", "in", "im", "ir", "il", "dis", "non")
SHORTEST_STEM: Final = 4
"""Letters that two words must share to be forms of one."""


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(words("en")[name].split())


def derived(one: str, other: str) -> bool:
    """Whether two stems are forms of one word: recommend and recommendation, Asia and Asian."""
    shorter = min(len(one), len(other))
    shared = 0
    while shared < shorter and one[shared] == other[shared]:
        shared += 1
    if shared < SHORTEST_STEM or shared < 0.6 * shorter:
        return False
    return all(not rest or rest in _listed("endings") for rest in (one[shared:], other[shared:]))


def denied(one: str, other: str) -> bool:
    """Whether one is the other with a prefix that denies it: reachable and unreachable."""
    prefix = one.removesuffix(other)
    return len(other) >= SHORTEST_STEM and prefix in DENYING and one not in _listed("no_denial")
