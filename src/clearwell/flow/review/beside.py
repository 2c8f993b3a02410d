"""What a reviewer sees beside an insight: the verified memories near it, how they relate, and who says what."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.promotion.lifting import NEAR_REJECTED
from clearwell.flow.review.diff import diff
from clearwell.flow.review.standing import read
from clearwell.offload import offload
from clearwell.ports import (
    Clock,
    Embedder,
    LongTermSearch,
    QuarantineStore,
    ReviewStore,
    SearchQuery,
    StatementComparison,
    TombstoneStore,
)
from clearwell.records import (
    Action,
    Comparison,
    Decision,
    Dossier,
    Found,
    Insight,
    InsightState,
    NearbyMemory,
    PromotionState,
    Rejection,
    Relation,
    Vector,
    Writer,
)
from clearwell.settings import Settings
from clearwell.text.hidden_text import flags_of
from clearwell.text.sentences import split_sentences

DUPLICATES, CONTRADICTS, SUPERSEDES, NEAR = "duplicates", "contradicts", "supersedes", "near"
SINGLE_AUTHOR, NOT_JUDGED = "single_author", "self_consistency_not_checked"
NEAREST, NEAR_FROM = 5, 0.2
"""How many memories are shown, and from which calibrated similarity what says something else is near at all."""
MOST_SENTENCES = 8
_WEIGHT = {Relation.CONFLICT: 2, Relation.SAME: 1, Relation.DIFFERENT: 0}


class Showing:
    def __init__(
        self,
        reviewed: ReviewStore,
        quarantine: QuarantineStore,
        longterm: LongTermSearch,
        tombstones: TombstoneStore,
        comparison: StatementComparison,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._reviewed = reviewed
        self._quarantine = quarantine
        self._longterm = longterm
        self._tombstones = tombstones
        self._comparison = comparison
        self._embedder = embedder
        self._clock = clock
        self._settings = settings

    async def dossier(self, group_id: str, insight_id: UUID) -> Dossier:
        insight = await read(self._reviewed, group_id, insight_id, now=self._clock.now())
        rows = await asyncio.gather(*(self._quarantine.get(group_id, one.log_id) for one in insight.sources))
        texts = _statements(insight.summary)
        vectors = await self._vectors(texts)
        decisions = tuple(await self._reviewed.decisions(group_id, insight_id=insight_id))
        rejected = None if vectors is None else await self._rejected(group_id, vectors[0])
        return Dossier(
            insight=insight,
            verdicts={row.capture.id: row.verdicts for row in rows if row is not None},
            nearby=() if vectors is None else await self._beside(insight, texts, vectors),
            rejected=rejected,
            decisions=decisions,
            flags=_flags(insight, near_rejected=NEAR_REJECTED in insight.flags if vectors is None else bool(rejected)),
            degraded=("embedder",) if vectors is None else (),
            promotion=await self._promotion(insight, decisions),
        )

    async def _promotion(self, insight: Insight, decisions: Sequence[Decision]) -> PromotionState | None:
        """What its promotion has led to so far: the memory may still wait for the model, or be withdrawn."""
        if insight.state not in (InsightState.PROMOTED, InsightState.PROMOTING):
            return None
        undone = {one.undoes for one in decisions}
        made = [
            one.memory_id
            for one in decisions
            if one.action is Action.PROMOTE and one.memory_id is not None and one.id not in undone
        ]
        found = await self._reviewed.promotions(insight.group_id, made[:1])
        return found[0] if found else None

    async def _vectors(self, texts: Sequence[str]) -> list[Vector] | None:
        try:
            return await self._embedder.embed(texts)
        except EmbedderUnavailable:
            return None

    async def _beside(
        self, insight: Insight, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> tuple[NearbyMemory, ...]:
        """Each memory once, by what any statement of the insight is to it."""
        found = await asyncio.gather(
            *(self._nearest(insight.group_id, *pair) for pair in zip(texts, vectors, strict=True))
        )
        size = sum(len(one.memory.content) for memories in found for one in memories) + sum(map(len, texts))
        return await offload(size, self._related, insight, texts, found)

    def _related(
        self, insight: Insight, texts: Sequence[str], found: Sequence[Sequence[Found]]
    ) -> tuple[NearbyMemory, ...]:
        best: dict[UUID, tuple[Found, Comparison]] = {}
        for text, memories in zip(texts, found, strict=True):
            for one in memories:
                compared = self._compared(text, one)
                if compared.relation is Relation.DIFFERENT and compared.similarity < NEAR_FROM:
                    continue
                known = best.get(one.memory.id)
                if known is None or _rank(compared) > _rank(known[1]):
                    best[one.memory.id] = (one, compared)
        ranked = sorted(best.values(), key=lambda pair: _rank(pair[1]), reverse=True)[:NEAREST]
        return tuple(self._shown(insight, one, compared) for one, compared in ranked)

    async def _nearest(self, group_id: str, text: str, vector: Vector) -> Sequence[Found]:
        query = SearchQuery(group_id=group_id, embedding=vector, text=text, model=self._embedder.model, limit=NEAREST)
        return await self._longterm.search(query)

    def _compared(self, text: str, one: Found) -> Comparison:
        similarity = self._embedder.similarity(one.similarity or 0.0)
        return self._comparison.compare(text, one.memory.content, similarity)

    def _shown(self, insight: Insight, one: Found, compared: Comparison) -> NearbyMemory:
        memory = one.memory
        return NearbyMemory(
            memory=memory,
            similarity=compared.similarity,
            relation=_relation(compared, insight, memory.occurred_at or memory.created_at),
            reason=compared.reason,
            params=dict(compared.params),
            diff=diff(memory.content, _words(insight, memory.content)),
        )

    async def _rejected(self, group_id: str, vector: Vector) -> Rejection | None:
        _, near = await self._tombstones.look(group_id, [], embedding=vector, model=self._embedder.model)
        if near is None:
            return None
        tombstone, cosine = near
        similarity = self._embedder.similarity(cosine)
        if similarity < self._settings.near_rejected_similarity:
            return None
        return Rejection(reason=tombstone.reason, by=tombstone.made_by, at=tombstone.made_at, similarity=similarity)


def _statements(summary: str) -> list[str]:
    """The whole text, and its sentences where it has several: a memory may stand against one of them only."""
    sentences = split_sentences(summary)
    return [summary, *(sentences[:MOST_SENTENCES] if len(sentences) > 1 else [])]


def _words(insight: Insight, known: str) -> str:
    """The insight's words for a diff: that its sentences are quoted is no difference."""
    if insight.written_by is not Writer.EXTRACTIVE or "“" in known:
        return insight.summary
    return "\n".join(line.removeprefix("“").removesuffix("”") for line in insight.summary.splitlines())


def _rank(compared: Comparison) -> tuple[int, float]:
    return _WEIGHT[compared.relation], compared.similarity


def _relation(compared: Comparison, insight: Insight, known_since: datetime) -> str:
    """A contradiction that was said later than the memory would supersede it."""
    match compared.relation:
        case Relation.SAME:
            return DUPLICATES
        case Relation.CONFLICT:
            newest = max((one.occurred_at for one in insight.sources), default=insight.created_at)
            return SUPERSEDES if newest > known_since else CONTRADICTS
        case Relation.DIFFERENT:
            return NEAR


def _flags(insight: Insight, *, near_rejected: bool) -> tuple[str, ...]:
    """Its own, those of its sources and of its words, whether only one agent says so, and whether such was rejected.

    That nobody judged a source is said of that source: it is so of every one where there is no judge.
    """
    kept = [flag for flag in insight.flags if flag != NEAR_REJECTED]
    own = [*kept, *([NEAR_REJECTED] if near_rejected else []), *flags_of(insight.summary, {})]
    sources = [flag for one in insight.sources for flag in one.flags if flag != NOT_JUDGED]
    alone = [SINGLE_AUTHOR] if len({one.agent_id for one in insight.sources}) == 1 else []
    return tuple(dict.fromkeys([*own, *alone, *sources]))
