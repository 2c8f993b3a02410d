"""Texts outside a cluster that give another value to what its members agree on: too freely worded to be gathered.

Near in meaning is not enough, since every fact of the same kind is near. An outsider has to name most of what the
members of its language name, and to state a value of the kind that they agree on.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from clearwell.comparison import Features
from clearwell.flow.digest.drafting.clusters import Cluster
from clearwell.flow.digest.drafting.consensus import departures
from clearwell.flow.digest.drafting.space import Space
from clearwell.flow.digest.drafting.subjects import common, strays, words
from clearwell.flow.digest.drafting.texts import Text

NEAR: Final = 0.2
"""Similarity to a member from which an outsider is read."""
MOST: Final = 20
CENTRAL: Final = 16
READ: Final = 100
"""Members that outsiders have to be near to, and those that they are read with."""
NAMED: Final = 0.6
"""Share of what all members name that an outsider has to name, and how many words at least."""
LEAST_NAMED: Final = 2


def with_outsiders(
    cluster: Cluster, taken: set[int], texts: Sequence[Text], space: Space, read: Callable[[int], Features]
) -> Cluster:
    """The cluster with the texts that depart from it and are not taken."""
    products = (space.joint @ space.joint[list(cluster.members[:CENTRAL])].T).max(axis=1)
    products[list(taken)] = -1.0
    order = np.argsort(-products, kind="stable")[:MOST]
    near = [int(at) for at in order if products[at] >= space.product(NEAR)]
    central = cluster.members[:READ] if near else ()
    inside, speakers = [read(place) for place in central], [texts[place].agents for place in central]
    found = [one for one in near if _departs(read(one), texts[one].agents, inside, speakers)]
    return replace(cluster, members=(*cluster.members, *found)) if found else cluster


def _departs(
    text: Features, agents: frozenset[str], inside: Sequence[Features], speakers: Sequence[frozenset[str]]
) -> bool:
    peers = [one for one in inside if one.han == text.han]
    shared = common(peers, everyone=True)
    named = shared & words(text)
    if len(named) < max(LEAST_NAMED, NAMED * len(shared)) or strays(text, peers):
        return False
    told = departures([*inside, text], [*speakers, agents])
    return any(one.of == len(inside) for one in told)
