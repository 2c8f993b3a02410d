"""Select the clusters that become insights: the best that differ, with a limit per agent."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from clearwell.flow.digest.drafting.drafts import DraftLimits
from clearwell.flow.digest.drafting.scores import ScoredCluster

ALIKE: Final = 0.75
"""Minimum similarity of two clusters of which only the better one is selected."""
WORTHY: Final = 3.0
"""Minimum score of a cluster that becomes an insight, among many texts. Below it there is mostly chatter.

Chosen with ``clusters.NEAR``; see there. Whole councils choose 3.4, but that hides more in the first days of a group:
see "The first days of the councils" in ``bench/results/digest.md``."""
FEW_TEXTS: Final = 0.8
"""The share of it that suffices among few texts: there, two texts are rarely alike by chance."""


@dataclass(slots=True)
class ClusterSelection:
    """The selected clusters, best first, how many more were good enough, how many of each agent were left out, how many
    say too little, and how many are like a selected one."""

    taken: list[ScoredCluster] = field(default_factory=list)
    waiting: int = 0
    capped: Counter[str] = field(default_factory=Counter)
    slight: int = 0
    alike: int = 0


def choose(
    scored: Sequence[ScoredCluster],
    most: int,
    similarity: Callable[[float], float],
    limits: DraftLimits,
    *,
    worthy: float,
) -> ClusterSelection:
    """Select the best clusters that differ from each other. Those similar to a rejected text come last."""
    choice = ClusterSelection()
    dominant = {one.support.dominant_agent for one in scored}
    # If a single agent has all clusters and none is confirmed, it cannot crowd out others.
    cap = max(1, int(limits.agent_share * most)) if len(dominant) > 1 or most == limits.max_insights else most
    of_agent: Counter[str] = Counter()
    for one in sorted(scored, key=lambda one: (one.near_rejected is not None, -one.score, one.sources[0][1].place)):
        if one.score < worthy:
            choice.slight += 1
            continue
        if any(_is_alike(one, other, similarity) for other in choice.taken):
            choice.alike += 1
            continue
        agent = one.support.dominant_agent
        if len(choice.taken) == most:
            choice.waiting += 1
        elif agent is not None and of_agent[agent] >= cap:
            choice.capped[agent] += 1
            choice.waiting += 1
        else:
            of_agent.update([agent] if agent is not None else [])
            choice.taken.append(one)
    return choice


def _is_alike(one: ScoredCluster, other: ScoredCluster, similarity: Callable[[float], float]) -> bool:
    return similarity(float(one.centroid @ other.centroid)) >= ALIKE
