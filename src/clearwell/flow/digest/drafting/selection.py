"""Which clusters become insights: the best that differ from each other, and no agent fills a digest."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from clearwell.flow.digest.drafting.drafts import DraftLimits
from clearwell.flow.digest.drafting.scores import ScoredCluster

ALIKE: Final = 0.5
"""Similarity of two clusters from which the second tells less that is new."""
_LEAST_LEFT: Final = 0.2
WORTHY: Final = 1.0
"""What an insight is worth that is shown though there are enough already: below it is mostly chatter."""


@dataclass(slots=True)
class Selection:
    """The clusters chosen, best first, and whose were left out."""

    taken: list[ScoredCluster] = field(default_factory=list)
    capped: Counter[str] = field(default_factory=Counter)


def choose(
    scored: Sequence[ScoredCluster], most: int, similarity: Callable[[float], float], limits: DraftLimits
) -> Selection:
    """Greedily the best of what is left; what comes near a rejected value comes last."""
    choice = Selection()
    mains = {one.standing.main for one in scored}
    # Where nobody confirms anything and one agent alone speaks, there is nobody whom it could crowd out.
    cap = max(1, int(limits.agent_share * most)) if len(mains) > 1 or most == limits.max_insights else most
    left = sorted(scored, key=lambda one: (-one.score, one.cluster.members[0]))
    of_agent: Counter[str] = Counter()
    while left and len(choice.taken) < most:
        best = max(left, key=lambda one: (one.near_rejected is None, _worth(one, choice.taken, similarity)))
        if len(choice.taken) >= limits.min_insights and best.score < WORTHY:
            break
        left.remove(best)
        main = best.standing.main
        if main is not None and of_agent[main] >= cap:
            choice.capped[main] += 1
            continue
        of_agent.update([main] if main is not None else [])
        choice.taken.append(best)
    return choice


def _worth(one: ScoredCluster, taken: Sequence[ScoredCluster], similarity: Callable[[float], float]) -> float:
    nearest = max((similarity(float(one.middle @ other.middle)) for other in taken), default=0.0)
    return one.score * (1 - min(1 - _LEAST_LEFT, max(0.0, (nearest - ALIKE) / (1 - ALIKE))))
