"""The dossier of an insight: what a reviewer needs to decide on it.

Its sources with their verdicts, the verified memories near it with their relation and a diff by words, a similar value
that was rejected, and the decisions so far.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from difflib import SequenceMatcher
from itertools import groupby
from uuid import UUID

import rjieba

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.review.insights import read_insight
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
    Contradiction,
    Decision,
    DiffPiece,
    Dossier,
    FoundChunk,
    Insight,
    InsightState,
    Layer,
    NearbyMemory,
    PromotionState,
    Rejection,
    Relation,
    Vector,
    Writer,
)
from clearwell.settings import Settings
from clearwell.text.flags import find_flags
from clearwell.text.sentences import split_sentences
from clearwell.vocabulary import FLAGS_OF_OUTPUTS, Flag, MemoryState

DUPLICATES, CONTRADICTS, SUPERSEDES, NEAR = "duplicates", "contradicts", "supersedes", "near"
MAX_NEARBY, MIN_SIMILARITY = 5, 0.2
"""At most so many memories are shown. One that says something else needs at least this calibrated similarity."""
MAX_SENTENCES = 8
_WEIGHT = {Relation.CONFLICT: 2, Relation.SAME: 1, Relation.DIFFERENT: 0}

EQUAL, INSERT, DELETE = "equal", "insert", "delete"
MAX_DIFF_WORDS = 3000
"""If a text has more words, the diff shows it as replaced as a whole, because no reader can follow so many changes."""
_RUN = re.compile(r"\s+|[^\W_]+|_+|[^\w\s]")


class DossierBuilder:
    """Reads everything that belongs to the dossier of one insight."""

    def __init__(
        self,
        review: ReviewStore,
        quarantine: QuarantineStore,
        longterm: LongTermSearch,
        tombstones: TombstoneStore,
        comparison: StatementComparison,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._review = review
        self._quarantine = quarantine
        self._longterm = longterm
        self._tombstones = tombstones
        self._comparison = comparison
        self._embedder = embedder
        self._clock = clock
        self._settings = settings

    async def build(self, group_id: str, insight_id: UUID) -> Dossier:
        """Build the dossier. Without the embedding model it has no nearby memories, and ``degraded`` says so."""
        insight = await read_insight(self._review, group_id, insight_id, now=self._clock.now())
        insight = await self._drop_settled_contradictions(insight)
        rows = await self._quarantine.find(group_id, [one.log_id for one in insight.sources])
        texts = _list_statements(insight.summary)
        vectors = await self._embed(texts)
        decisions = tuple(await self._review.decisions(group_id, insight_id=insight_id))
        is_rejected = insight.state is InsightState.REJECTED
        rejected = None if vectors is None or is_rejected else await self._find_rejection(group_id, vectors[0])
        near_rejected = Flag.NEAR_REJECTED in insight.flags if vectors is None else rejected is not None
        return Dossier(
            insight=insight,
            verdicts={log_id: row.verdicts for log_id, row in rows.items()},
            nearby=() if vectors is None else await self._find_nearby(insight, texts, vectors),
            rejected=rejected,
            decisions=decisions,
            flags=_collect_flags(insight, near_rejected=near_rejected),
            degraded=("embedder",) if vectors is None else (),
            promotion=await self._find_promotion(insight, decisions),
        )

    async def _drop_settled_contradictions(self, insight: Insight) -> Insight:
        """Leave out contradictions with memories that were withdrawn or superseded since the digest."""
        against = {one.against for one in insight.contradictions if one.layer is Layer.LONGTERM}
        if not against:
            return insight
        states = await self._review.promotions(insight.group_id, list(against))
        ended = {
            one.promotion.memory_id for one in states if one.state in (MemoryState.WITHDRAWN, MemoryState.FORGOTTEN)
        }
        kept = tuple(one for one in insight.contradictions if one.against not in ended)
        return replace(insight, contradictions=kept)

    async def _embed(self, texts: Sequence[str]) -> list[Vector] | None:
        try:
            return await self._embedder.embed(texts)
        except EmbedderUnavailable:
            return None

    async def _find_promotion(self, insight: Insight, decisions: Sequence[Decision]) -> PromotionState | None:
        """Return the promotion of a promoted insight, whose memory may be waiting or withdrawn."""
        if insight.state not in (InsightState.PROMOTED, InsightState.PROMOTING):
            return None
        undone = {one.undoes for one in decisions}
        memory_ids = [
            one.memory_id
            for one in decisions
            if one.action is Action.PROMOTE and one.memory_id is not None and one.id not in undone
        ]
        found = await self._review.promotions(insight.group_id, memory_ids[:1])
        return found[0] if found else None

    async def _find_nearby(
        self, insight: Insight, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> tuple[NearbyMemory, ...]:
        """The nearest memories, each once, by its strongest relation to any statement of the insight."""
        searches = [self._search(insight.group_id, *pair) for pair in zip(texts, vectors, strict=True)]
        found = await asyncio.gather(*searches)
        size = sum(len(one.memory.content) for memories in found for one in memories) + sum(map(len, texts))
        return await offload(size, self._relate, insight, texts, found)

    def _relate(
        self, insight: Insight, texts: Sequence[str], searched: Sequence[Sequence[FoundChunk]]
    ) -> tuple[NearbyMemory, ...]:
        best: dict[UUID, tuple[FoundChunk, Comparison]] = {}
        for text, memories in zip(texts, searched, strict=True):
            for found in memories:
                comparison = self._compare(text, found)
                if comparison.relation is Relation.DIFFERENT and comparison.similarity < MIN_SIMILARITY:
                    continue
                known = best.get(found.memory.id)
                if known is None or _rank(comparison) > _rank(known[1]):
                    best[found.memory.id] = (found, comparison)
        ranked = sorted(best.values(), key=lambda pair: _rank(pair[1]), reverse=True)[:MAX_NEARBY]
        return tuple(_build_nearby(insight, found, comparison) for found, comparison in ranked)

    async def _search(self, group_id: str, text: str, vector: Vector) -> Sequence[FoundChunk]:
        query = SearchQuery(
            group_id=group_id, embedding=vector, text=text, model=self._embedder.model, limit=MAX_NEARBY
        )
        return await self._longterm.search(query)

    def _compare(self, text: str, found: FoundChunk) -> Comparison:
        similarity = self._embedder.similarity(found.similarity or 0.0)
        return self._comparison.compare(text, found.memory.content, similarity)

    async def _find_rejection(self, group_id: str, vector: Vector) -> Rejection | None:
        """The rejected value that the insight is similar to, if any."""
        _, nearest = await self._tombstones.look_up(group_id, [], embeddings=[vector], model=self._embedder.model)
        if nearest is None:
            return None
        tombstone, cosine = nearest
        similarity = self._embedder.similarity(cosine)
        if similarity < self._settings.near_rejected_similarity:
            return None
        return Rejection(reason=tombstone.reason, by=tombstone.made_by, at=tombstone.made_at, similarity=similarity)


def _list_statements(summary: str) -> list[str]:
    """Return the whole text and, if it has several, its sentences: a memory may contradict only one of them."""
    sentences = [_strip_quotes(one) for one in split_sentences(summary)]
    return [summary, *(sentences[:MAX_SENTENCES] if len(sentences) > 1 else [])]


def _build_nearby(insight: Insight, found: FoundChunk, comparison: Comparison) -> NearbyMemory:
    memory = found.memory
    relation = _name_relation(comparison, insight, memory.occurred_at or memory.created_at)
    disputed = _find_contradiction(insight, memory.id) if relation == NEAR else None
    return NearbyMemory(
        memory=memory,
        similarity=comparison.similarity,
        relation=relation if disputed is None else CONTRADICTS,
        reason=comparison.reason if disputed is None else disputed.reason,
        params=dict(comparison.params if disputed is None else disputed.params),
        diff=diff_words(memory.content, _unquote(insight, memory.content)),
    )


def _find_contradiction(insight: Insight, memory_id: UUID) -> Contradiction | None:
    """What the digest found: a memory against a source is against the insight, even if its summary does not say so."""
    found = (one for one in insight.contradictions if one.layer is Layer.LONGTERM and one.against == memory_id)
    return next(found, None)


def _unquote(insight: Insight, known: str) -> str:
    """Remove the quotation marks of an extractive summary, which are not a difference."""
    if insight.written_by is not Writer.EXTRACTIVE or "“" in known:
        return insight.summary
    return "\n".join(map(_strip_quotes, insight.summary.splitlines()))


def _strip_quotes(sentence: str) -> str:
    return sentence.removeprefix("“").removesuffix("”")


def _rank(comparison: Comparison) -> tuple[int, float]:
    return _WEIGHT[comparison.relation], comparison.similarity


def _name_relation(comparison: Comparison, insight: Insight, known_since: datetime) -> str:
    """Name the relation. A contradiction that is newer than the memory would supersede it."""
    match comparison.relation:
        case Relation.SAME:
            return DUPLICATES
        case Relation.CONFLICT:
            newest = max((one.occurred_at for one in insight.sources), default=insight.created_at)
            return SUPERSEDES if newest > known_since else CONTRADICTS
        case Relation.DIFFERENT:
            return NEAR


def _collect_flags(insight: Insight, *, near_rejected: bool) -> tuple[str, ...]:
    """The flags of the insight, of its words and of its sources, and whether only one agent says so."""
    own = [flag for flag in insight.flags if flag != Flag.NEAR_REJECTED]
    if near_rejected:
        own.append(Flag.NEAR_REJECTED)
    own += find_flags(insight.summary, {})
    if len({one.agent_id for one in insight.sources}) == 1:
        own.append(Flag.SINGLE_AUTHOR)
    sources = [flag for one in insight.sources for flag in one.flags if flag not in FLAGS_OF_OUTPUTS]
    return tuple(dict.fromkeys([*own, *sources]))


def diff_words(old: str, new: str) -> tuple[DiffPiece, ...]:
    """Return the word diff from the old text to the new one. Chinese is segmented into words."""
    before, after = _split_words(old), _split_words(new)
    if len(before) > MAX_DIFF_WORDS or len(after) > MAX_DIFF_WORDS:
        whole = [(DELETE, old), (INSERT, new)] if old != new else [(EQUAL, old)]
        return tuple(DiffPiece(op=op, text=text) for op, text in whole if text)
    runs = groupby(_list_changes(before, after), key=lambda change: change[0])
    return tuple(DiffPiece(op=op, text="".join(text for _, text in run)) for op, run in runs)


def _split_words(text: str) -> list[str]:
    """Split a text into words, spaces and punctuation; joined, they are the text again."""
    return [word for run in _RUN.findall(text) for word in (rjieba.cut(run) if not run.isascii() else (run,))]


def _list_changes(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Compare words without regard to case; a word that differs only in case is a replacement."""
    matcher = SequenceMatcher(None, [word.casefold() for word in before], [word.casefold() for word in after], False)
    changes: list[tuple[str, str]] = []
    for op, i1, i2, j1, j2 in matcher.get_opcodes():
        if op == EQUAL:
            for old, new in zip(before[i1:i2], after[j1:j2], strict=True):
                changes += [(EQUAL, new)] if old == new else [(DELETE, old), (INSERT, new)]
            continue
        changes += [(DELETE, word) for word in before[i1:i2]]
        changes += [(INSERT, word) for word in after[j1:j2]]
    return changes
