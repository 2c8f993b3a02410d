"""Merge insights about the same thing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import InvalidInput
from clearwell.flow import limits
from clearwell.flow.review.insights import build_next_version, count_support, load_insight, require_open
from clearwell.flow.review.recorder import DecisionRecorder
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import (
    Action,
    Decision,
    DecisionRequest,
    DecisionResult,
    Insight,
    InsightBeforeMerge,
    InsightState,
    InsightStatus,
    Principal,
    Writer,
)
from clearwell.settings import Settings
from clearwell.text.normalisation import normalise

MAX_MERGED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMerge:
    """A checked merge: the insights to merge into the first, and its text if a person wrote one."""

    group_id: str
    request: DecisionRequest
    others: tuple[UUID, ...]
    text: str | None


class InsightMerge:
    """Merges insights about the same thing into one, with the sources of all."""

    def __init__(self, recorder: DecisionRecorder, clock: Clock, ids: Ids, settings: Settings) -> None:
        self._recorder = recorder
        self._clock = clock
        self._ids = ids
        self._settings = settings

    def prepare(self, group_id: str, request: DecisionRequest) -> PreparedMerge:
        """Check the request. Everything else is done in the transaction."""
        others = tuple(dict.fromkeys(one for one in request.others if one != request.id))
        if not 1 <= len(others) <= MAX_MERGED:
            raise InvalidInput("merge_with_whom", field="with", limit=MAX_MERGED)
        text = request.text
        if text is not None:
            text = limits.require_readable(text, "text", max_bytes=self._settings.max_content_bytes)
        return PreparedMerge(group_id=group_id, request=request, others=others, text=text)

    async def apply(self, transaction: DecisionTransaction, prepared: PreparedMerge, by: Principal) -> DecisionResult:
        """Move the sources, mark the other insights as merged, and record the decision with the previous state."""
        request, group_id, now = prepared.request, prepared.group_id, self._clock.now()
        first = await load_insight(transaction, group_id, request.id, version=request.version, now=now)
        await require_open(transaction, first)
        others = [await self._load_open(transaction, group_id, one, now) for one in prepared.others]
        await transaction.merge_sources(first.id, prepared.others)
        for other in others:
            await transaction.update_insight(build_next_version(other, now, InsightState.MERGED, merged_into=first.id))
        with_sources = (await transaction.find_insights([first.id]))[first.id]
        merged = _build_merged(with_sources, first, others, text=prepared.text, now=now)
        await transaction.update_insight(merged)
        decision = Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.MERGE,
            by=by.name,
            at=now,
            insight_id=first.id,
            others=prepared.others,
            text_before=first.summary,
            text_after=merged.summary,
            writer_before=first.written_by,
            before=InsightBeforeMerge(
                flags=first.flags, contradictions=first.contradictions, support=first.support, sides=first.sides
            ),
        )
        await self._recorder.record(transaction, decision)
        return DecisionResult(status="merged", id=first.id, decision_id=decision.id, insight=InsightStatus.of(merged))

    async def _load_open(
        self, transaction: DecisionTransaction, group_id: str, insight_id: UUID, now: datetime
    ) -> Insight:
        insight = await load_insight(transaction, group_id, insight_id, version=None, now=now)
        await require_open(transaction, insight)
        return insight


def _build_merged(
    insight: Insight, first: Insight, others: Sequence[Insight], *, text: str | None, now: datetime
) -> Insight:
    """The first insight with the sources, sides, flags and contradictions of all. A new text has no vector yet."""
    everything = (first, *others)
    contradictions = {(one.of, one.against, one.layer): one for each in everything for one in each.contradictions}
    merged = replace(
        build_next_version(insight, now, InsightState.PENDING),
        summary=text or _join_summaries(everything),
        written_by=first.written_by if text is None else Writer.PERSON,
        support=count_support(insight),
        flags=tuple(dict.fromkeys(flag for one in everything for flag in one.flags)),
        contradictions=tuple(contradictions.values()),
        sides=tuple({normalise(side.statement): side for one in everything for side in one.sides}.values()),
    )
    return merged if merged.summary == first.summary else replace(merged, embedding=None, embedding_model=None)


def _join_summaries(insights: Sequence[Insight]) -> str:
    """Join the summaries that differ. Nothing is lost, and a person can shorten the text."""
    texts = {normalise(one.summary): one.summary for one in reversed(insights)}
    return "\n".join(reversed(texts.values()))
