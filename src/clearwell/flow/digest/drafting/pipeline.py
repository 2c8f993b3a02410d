"""Draft insights from statements, in order: distinct texts, space, clusters, scores, selection."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from clearwell.flow.digest.drafting.clusters import NEAR, Cluster, find_clusters
from clearwell.flow.digest.drafting.drafts import (
    CONFLICTS_WITH_VERIFIED,
    CONTRADICTION,
    DUPLICATES_VERIFIED,
    NEAR_REJECTED,
    SINGLE_AUTHOR,
    Draft,
    DraftLimits,
    Drafts,
    DraftSide,
    KnownText,
    RejectedText,
    UndecidedInsight,
)
from clearwell.flow.digest.drafting.headlines import choose_best
from clearwell.flow.digest.drafting.links import Links
from clearwell.flow.digest.drafting.scores import Background, ClusterScorer, ScoredCluster, measure_chance
from clearwell.flow.digest.drafting.selection import FEW_TEXTS, WORTHY, ClusterSelection, choose
from clearwell.flow.digest.drafting.space import Space, build_space
from clearwell.flow.digest.drafting.support import count_support
from clearwell.flow.digest.drafting.texts import Text, collect_distinct, speaker
from clearwell.ports import StatementComparison
from clearwell.records import Contradiction, DigestCandidate, Json, Layer
from clearwell.vocabulary import Flag

EXAMINED: Final = 1200
"""Maximum number of clusters that are scored, those with the most speakers first."""
CONTRADICTIONS: Final = 20
"""Maximum number of contradictions of one insight."""
COPIES: Final = 3
"""Minimum number of rows per distinct statement of a sole author that count as a flood, if the group has others."""
TWO: Final = 2
ONE_SESSION: Final = 0.4
"""What a cluster with one session loses of its score among many texts, if all others have several.

``bench/results/digest.md`` has what councils give without it, and without the weights in ``scores``."""
MARKS_OF_ROWS: Final = frozenset({CONTRADICTION, Flag.CONFLICT})
"""Flags of rows that are not carried over to an insight: they were set at admission, against other texts."""
DEFAULTS: Final = DraftLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The minimum nearness of texts in a cluster, and the minimum score of an insight among many texts."""

    near: float = NEAR
    worthy: float = WORTHY


CHOSEN: Final = Thresholds()


def draft(
    candidates: Sequence[DigestCandidate],
    *,
    similarity: Callable[[float], float],
    comparison: StatementComparison,
    known: Sequence[KnownText] = (),
    undecided: Sequence[UndecidedInsight] = (),
    rejected: Sequence[RejectedText] = (),
    reliability: Mapping[str, float] | None = None,
    limits: DraftLimits = DEFAULTS,
    thresholds: Thresholds = CHOSEN,
) -> Drafts:
    """Return the drafts of one digest. The order of ``candidates`` makes no difference.

    The statements of undecided insights are compared with the candidates, but make no draft of their own: a draft has
    them only as a side that candidates contradict.
    """
    texts = collect_distinct(candidates, similarity)
    if not texts:
        return Drafts(drafts=(), report=_report(candidates, texts, [], [], ClusterSelection(), ()))
    shown = collect_distinct([each for one in undecided for each in one.statements], similarity)
    everything = [*texts, *shown]
    space = build_space(everything, similarity)
    links = Links(everything, space, comparison)
    scorer = ClusterScorer(
        everything,
        space,
        links,
        Background(
            known=known,
            pending=undecided,
            rejected=rejected,
            reliability=reliability or {},
            similarity=similarity,
            comparison=comparison,
            limits=limits,
        ),
    )
    hidden = set(range(len(texts), len(everything)))
    disputed = _find_disputed(undecided, everything, scorer, hidden)
    found = links.split(find_clusters(texts, space.head(len(texts)), near=thresholds.near), speakers=TWO)
    scored = _examine(found, texts, scorer, hidden)
    found_supported = [one for one in [*disputed, *scored] if is_supported(one)]
    left = [one for one in found_supported if not _repeats_shown(one, len(texts), space, links, thresholds.near)]
    chance = measure_chance(len(texts))
    supported = _weigh_sessions(left, chance)
    worthy = thresholds.worthy * (FEW_TEXTS + (1.0 - FEW_TEXTS) * chance)
    choice = choose(supported, limits.max_insights, similarity, limits, worthy=worthy)
    if not choice.taken and chance < 1.0:
        choice = choose(supported, limits.min_insights, similarity, limits, worthy=0.0)
    alone = not found_supported
    if alone:
        single = _find_single(texts, space.head(len(texts)), links, scorer, hidden)
        new = [one for one in single if not _repeats_shown(one, len(texts), space, links, thresholds.near)]
        choice = choose(new, limits.min_insights, similarity, limits, worthy=0.0)
    made = tuple(_make_draft(one) for one in choice.taken)
    report = _report(candidates, texts, found, scored, choice, made)
    repeated = len(found_supported) - len(supported)
    return Drafts(drafts=made, report={**report, "repeated": repeated, "fallback": alone and bool(made)})


def is_supported(one: ScoredCluster) -> bool:
    """Return whether two voices say it, or disagree about it.

    If one speaker repeats it many times, a second voice must say the same; a similar text does not suffice.
    """
    if one.is_series or not one.has_own_statements or (one.support.is_repetitive and not one.agreement.confirmed):
        return False
    return len(one.voices) >= TWO


def _weigh_sessions(supported: Sequence[ScoredCluster], chance: float) -> list[ScoredCluster]:
    """Lower the scores of clusters with one session: there, agents answer each other.

    Where all clusters have one session, as in a group with a session for each task, that says nothing.
    """
    several = [one.support.counts.sessions > 1 for one in supported]
    weight = 1.0 - ONE_SESSION * chance * sum(several) / max(1, len(several))
    return [
        one if more else replace(one, score=weight * one.score) for one, more in zip(supported, several, strict=True)
    ]


def _find_disputed(
    undecided: Sequence[UndecidedInsight], texts: Sequence[Text], scorer: ClusterScorer, hidden: set[int]
) -> list[ScoredCluster]:
    """Return the disputes between undecided insights and candidates, which are added to ``hidden``.

    An insight that already shows a dispute makes no other one, but whoever joins it is not shown as agreement.
    """
    places = {one.place: at for at, text in enumerate(texts) for one in text.said}
    disputed = []
    for insight in undecided:
        members = tuple(dict.fromkeys(places[one.place] for one in insight.statements if one.place in places))
        if not members:
            continue
        whole = scorer.add_opponents(Cluster(members=members), hidden)
        if len(whole.members) == len(members):
            continue
        one = scorer.score_cluster(whole, replaces=insight.id)
        if len(one.dispute.sides) < TWO and not insight.has_sides:
            continue
        hidden.update(whole.members)
        if not insight.has_sides:
            disputed.append(one)
    return disputed


def _repeats_shown(one: ScoredCluster, first: int, space: Space, links: Links, near: float) -> bool:
    """Return whether most texts say what undecided insights already say. Their texts are those from ``first`` on."""
    if one.dispute.sides:
        return False
    nearness = space.measure(space.joint[list(one.places)], space.joint[first:])
    said = (
        links.connect(place, [first + int(at) for at in np.flatnonzero(row >= near)])
        for place, row in zip(one.places, nearness, strict=True)
    )
    return 2 * sum(said) > len(one.places)


def _examine(
    found: Sequence[Cluster], texts: Sequence[Text], scorer: ClusterScorer, hidden: Collection[int]
) -> list[ScoredCluster]:
    """Score clusters with their opponents, those with the most speakers first. No text is in two clusters, and none in
    ``hidden`` is in any."""

    def order(cluster: Cluster) -> tuple[int, int, int]:
        speakers = frozenset[str]().union(*(texts[place].voices for place in cluster.members))
        return -len(speakers), -len(cluster.members), cluster.members[0]

    scored, taken = [], set(hidden)
    for cluster in sorted(found, key=order)[:EXAMINED]:
        left = Cluster(members=tuple(place for place in cluster.members if place not in taken))
        if left.members:
            whole = scorer.add_opponents(left, taken)
            taken.update(whole.members)
            scored.append(scorer.score_cluster(whole))
    return scored


def _find_single(
    texts: Sequence[Text], space: Space, links: Links, scorer: ClusterScorer, hidden: Collection[int]
) -> list[ScoredCluster]:
    """Return clusters of one author, without floods and series, for a group in which no statement is confirmed yet."""
    several = len({speaker(one) for text in texts for one in text.said}) > 1
    found = links.split(find_clusters(texts, space, speakers=1), speakers=1)
    scored = _examine(found, texts, scorer, hidden)
    return [one for one in scored if one.has_own_statements and not one.is_series and not (several and _floods(one))]


def _floods(one: ScoredCluster) -> bool:
    counts = one.support.counts
    return counts.agents == 1 and counts.rows >= COPIES * sum(one.support.voices.values())


def _make_draft(one: ScoredCluster) -> Draft:
    sources = tuple(statement for _, statement in one.sources)
    sides = tuple(_make_side(places, one) for places in one.dispute.sides)
    return Draft(
        best=sides[0].best if sides else choose_best(one, range(len(one.texts))),
        sources=sources,
        sides=sides,
        contradictions=_make_contradictions(one),
        flags=_find_flags(one, sources),
        support=one.support.counts,
        score=round(one.score, 4),
        nearest=one.nearest,
        near_rejected=one.near_rejected,
        embedding=one.centroid,
        replaces=one.replaces,
    )


def _make_side(places: Sequence[int], one: ScoredCluster) -> DraftSide:
    statements = tuple(statement for at, statement in one.sources if at in places)
    return DraftSide(best=choose_best(one, places), statements=statements, support=count_support(statements))


def _make_contradictions(one: ScoredCluster) -> tuple[Contradiction, ...]:
    """Return the contradictions of a cluster, those with verified memories first."""
    first = {at: statement.log_id for at, statement in reversed(one.sources)}
    verified = [
        Contradiction(
            of=first[found.of],
            against=found.nearest.id,
            layer=Layer.LONGTERM,
            reason=found.reason,
            params=dict(found.params),
        )
        for found in one.known_conflicts
    ]
    among = [
        Contradiction(
            of=first[found.of],
            against=first[found.against],
            layer=Layer.QUARANTINE,
            reason=found.reason,
            params=dict(found.params),
        )
        for found in one.dispute.opposed
    ]
    return tuple([*verified, *among][:CONTRADICTIONS])


def _find_flags(one: ScoredCluster, sources: Sequence[DigestCandidate]) -> tuple[str, ...]:
    own = {
        CONTRADICTION: bool(one.dispute.sides),
        CONFLICTS_WITH_VERIFIED: bool(one.known_conflicts),
        DUPLICATES_VERIFIED: one.repeats_known,
        SINGLE_AUTHOR: len({speaker(one) for one in sources if not one.repeats}) == 1,
        NEAR_REJECTED: one.near_rejected is not None,
    }
    carried = sorted({flag for source in sources for flag in source.flags} - MARKS_OF_ROWS)
    return tuple(dict.fromkeys([*(flag for flag, there in own.items() if there), *carried]))


def _report(
    candidates: Sequence[DigestCandidate],
    texts: Sequence[Text],
    found: Sequence[Cluster],
    scored: Sequence[ScoredCluster],
    choice: ClusterSelection,
    made: Sequence[Draft],
) -> dict[str, Json]:
    places = {one.place for one in candidates}
    shown = sum(source.place in places for one in made for source in one.sources)
    return {
        "rows": len({one.log_id for one in candidates}),
        "statements": len(candidates),
        "without_vector": len(candidates) - sum(len(text.said) for text in texts),
        "texts": len(texts),
        "clusters": len(found),
        "examined": len(scored),
        "supported": sum(map(is_supported, scored)),
        "series": sum(one.is_series for one in scored),
        "insights": len(made),
        "waiting": choice.waiting,
        "slight": choice.slight,
        "alike": choice.alike,
        "shown": shown,
        "leftovers": len(candidates) - shown,
        "capped": dict(sorted(choice.capped.items())),
    }
