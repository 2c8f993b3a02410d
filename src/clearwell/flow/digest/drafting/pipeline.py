"""From rows to drafts, in order: distinct texts, their space, clusters, what each is worth, the choice, the words."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import UUID

from clearwell.flow.digest.drafting.clusters import Cluster, find_clusters
from clearwell.flow.digest.drafting.drafts import (
    CONFLICTS_WITH_VERIFIED,
    CONTRADICTION,
    DUPLICATES_VERIFIED,
    NEAR_REJECTED,
    SINGLE_AUTHOR,
    Draft,
    DraftLimits,
    Drafts,
    KnownText,
    RejectedText,
)
from clearwell.flow.digest.drafting.quotes import choose_quotes
from clearwell.flow.digest.drafting.scores import Background, ClusterScorer, ScoredCluster
from clearwell.flow.digest.drafting.selection import Selection, choose
from clearwell.flow.digest.drafting.space import Space, build_space
from clearwell.flow.digest.drafting.texts import Text, collect_distinct, speaker
from clearwell.ports import StatementComparison
from clearwell.records import Contradiction, DigestCandidate, Json, Layer

EXAMINED: Final = 400
ENOUGH: Final = 80
"""Clusters that are read word by word at most, the most promising first, and how many that are supported suffice."""
CONTRADICTIONS: Final = 20
"""Contradictions told of one insight."""
COPIES: Final = 3
"""Rows of one voice from which a sole author floods, where others speak as well."""
DEFAULTS: Final = DraftLimits()


def draft(
    candidates: Sequence[DigestCandidate],
    *,
    similarity: Callable[[float], float],
    comparison: StatementComparison,
    known: Sequence[KnownText] = (),
    pending: Sequence[KnownText] = (),
    rejected: Sequence[RejectedText] = (),
    reliability: Mapping[str, float] | None = None,
    limits: DraftLimits = DEFAULTS,
) -> Drafts:
    """The insights of one digest. The order of ``candidates`` makes no difference."""
    texts = collect_distinct(candidates, similarity)
    if not texts:
        return Drafts(drafts=(), report=_report(candidates, texts, [], [], Selection(), ()))
    space = build_space(texts, similarity)
    scorer = ClusterScorer(
        texts,
        space,
        Background(
            known=known,
            pending=pending,
            rejected=rejected,
            reliability=reliability,
            similarity=similarity,
            comparison=comparison,
            limits=limits,
        ),
    )
    found = find_clusters(texts, space)
    scored = _examined(found, texts, scorer)
    choice = choose([one for one in scored if supported(one)], limits.max_insights, similarity, limits)
    alone = not choice.taken
    if alone:
        choice = choose(_single(texts, space, scorer), limits.min_insights, similarity, limits)
    made = tuple(_draft(one, limits) for one in choice.taken)
    report = _report(candidates, texts, found, scored, choice, made)
    return Drafts(drafts=made, report={**report, "fallback": alone and bool(made)})


def supported(one: ScoredCluster) -> bool:
    """Whether two speakers agree, or two disagree about something that is no mere series.

    Beside a flood it is not enough to be near: what somebody repeats again and again, another one has to say as well.
    """
    if one.agreement.series or (one.standing.flooded and not one.agreement.confirmed):
        return False
    return one.agents > 1 or bool(one.agreement.opposed)


def _examined(found: Sequence[Cluster], texts: Sequence[Text], scorer: ClusterScorer) -> list[ScoredCluster]:
    """Weigh one after the other: among much noise many are series, and what is said by few comes late."""

    def promise(cluster: Cluster) -> tuple[float, int, int]:
        speakers = frozenset().union(*(texts[place].agents for place in cluster.members))
        return -math.log2(1 + len(speakers)) * scorer.near(cluster), -len(cluster.members), cluster.members[0]

    scored: list[ScoredCluster] = []
    enough = 0
    for cluster in sorted(found, key=promise)[:EXAMINED]:
        scored.append(scorer.score_cluster(cluster))
        enough += supported(scored[-1])
        if enough == ENOUGH:
            break
    return scored


def _single(texts: Sequence[Text], space: Space, scorer: ClusterScorer) -> list[ScoredCluster]:
    """What one author alone said, for a group in which nobody confirms anything yet; floods and series left out."""
    several = len({speaker(row) for text in texts for row in text.rows}) > 1
    scored = _examined(find_clusters(texts, space, speakers=1), texts, scorer)
    return [one for one in scored if not one.agreement.series and not (several and _floods(one))]


def _floods(one: ScoredCluster) -> bool:
    support = one.standing.support
    return support.agents == 1 and support.rows >= COPIES * sum(one.standing.speakers.values())


def _draft(one: ScoredCluster, limits: DraftLimits) -> Draft:
    dissent = one.agreement.dissent
    sides = [
        [row for at, text in enumerate(one.texts) if (at in dissent) is other for row in text.rows]
        for other in (False, True)
    ]
    contradictions = _contradictions(one)
    return Draft(
        sources=tuple(sides[0] + sides[1]),
        quotes=choose_quotes(
            [_disputed_first(side, one) for side in sides],
            {log_id: words for text in one.texts for log_id, words in text.said.items()},
            chars=limits.summary_chars,
            disputed=_words(one),
        ),
        contradictions=contradictions,
        flags=_flags(one, sides[0] + sides[1]),
        support=one.standing.support,
        score=round(one.score, 4),
        nearest=one.nearest,
        near_rejected=one.near_rejected,
        embedding=one.middle,
    )


def _contradictions(one: ScoredCluster) -> tuple[Contradiction, ...]:
    """Those with verified memories first."""
    verified = [
        Contradiction(
            of=one.texts[found.of].rows[0].log_id,
            against=found.nearest.id,
            layer=Layer.LONGTERM,
            reason=found.reason,
            params=dict(found.params),
        )
        for found in one.known_conflicts
    ]
    among = [
        Contradiction(
            of=one.texts[found.of].rows[0].log_id,
            against=one.texts[found.against].rows[0].log_id,
            layer=Layer.QUARANTINE,
            reason=found.reason,
            params=dict(found.params),
        )
        for found in one.agreement.opposed
    ]
    return tuple([*verified, *among][:CONTRADICTIONS])


def _words(one: ScoredCluster) -> dict[UUID, str]:
    """The words in dispute, by row."""
    words: dict[UUID, str] = {}
    for found in one.agreement.opposed:
        words.setdefault(one.texts[found.of].rows[0].log_id, found.params.get("new", ""))
        words.setdefault(one.texts[found.against].rows[0].log_id, found.params.get("known", ""))
    return words


def _disputed_first(rows: Sequence[DigestCandidate], one: ScoredCluster) -> list[DigestCandidate]:
    words = _words(one)
    return sorted(rows, key=lambda row: row.log_id not in words)


def _flags(one: ScoredCluster, rows: Sequence[DigestCandidate]) -> tuple[str, ...]:
    own = {
        CONTRADICTION: bool(one.agreement.opposed),
        CONFLICTS_WITH_VERIFIED: bool(one.known_conflicts),
        DUPLICATES_VERIFIED: one.repeats_known,
        SINGLE_AUTHOR: len(set(map(speaker, rows))) == 1,
        NEAR_REJECTED: one.near_rejected is not None,
    }
    carried = sorted({flag for row in rows for flag in row.flags})
    return tuple(dict.fromkeys([*(flag for flag, there in own.items() if there), *carried]))


def _report(
    candidates: Sequence[DigestCandidate],
    texts: Sequence[Text],
    found: Sequence[Cluster],
    scored: Sequence[ScoredCluster],
    choice: Selection,
    made: Sequence[Draft],
) -> dict[str, Json]:
    shown = sum(len(one.sources) for one in made)
    return {
        "rows": len(candidates),
        "without_vector": len(candidates) - sum(len(text.rows) for text in texts),
        "texts": len(texts),
        "clusters": len(found),
        "examined": len(scored),
        "supported": sum(map(supported, scored)),
        "series": sum(one.agreement.series for one in scored),
        "insights": len(made),
        "shown": shown,
        "coverage": round(shown / len(candidates), 4) if candidates else 0.0,
        "leftovers": len(candidates) - shown,
        "capped": dict(sorted(choice.capped.items())),
    }
