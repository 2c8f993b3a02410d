"""Which clusters become insights: the best that differ from each other, and no agent fills a digest."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from clearwell.flow.digest.drafting.drafts import DraftLimits
from clearwell.flow.digest.drafting.scores import ScoredCluster

ALIKE: Final = 0.75
"""Similarity of two clusters from which the second says again what the first says."""
WORTHY: Final = 2.4
"""The score from which a cluster is shown: below it is mostly chatter."""


@dataclass(slots=True)
class Selection:
    """The clusters chosen, best first, how many were worth to be shown as well, and whose were left out."""

    taken: list[ScoredCluster] = field(default_factory=list)
    waiting: int = 0
    capped: Counter[str] = field(default_factory=Counter)


def choose(
    scored: Sequence[ScoredCluster],
    most: int,
    similarity: Callable[[float], float],
    limits: DraftLimits,
    *,
    worthy: float,
) -> Selection:
    """The best that are worth it and say nothing twice; what comes near a rejected value comes last."""
    choice = Selection()
    mains = {one.standing.main for one in scored}
    # Where nobody confirms anything and one agent alone speaks, there is nobody whom it could crowd out.
    cap = max(1, int(limits.agent_share * most)) if len(mains) > 1 or most == limits.max_insights else most
    of_agent: Counter[str] = Counter()
    for one in sorted(scored, key=lambda one: (one.near_rejected is not None, -one.score, one.sources[0][1].place)):
        if one.score < worthy or any(_is_alike(one, other, similarity) for other in choice.taken):
            continue
        main = one.standing.main
        if len(choice.taken) == most:
            choice.waiting += 1
        elif main is not None and of_agent[main] >= cap:
            choice.capped[main] += 1
            choice.waiting += 1
        else:
            of_agent.update([main] if main is not None else [])
            choice.taken.append(one)
    return choice


def _is_alike(one: ScoredCluster, other: ScoredCluster, similarity: Callable[[float], float]) -> bool:
    return similarity(float(one.middle @ other.middle)) >= ALIKE
