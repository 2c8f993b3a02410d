"""Insights about the same thing become one, with the sources of all."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import InvalidInput
from clearwell.flow import limits
from clearwell.flow.review.recording import Recording
from clearwell.flow.review.standing import changed, load_insight, require_open, support_of
from clearwell.flow.review.wanted import Step
from clearwell.ports import Clock, DecisionTransaction
from clearwell.records import (
    Action,
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
from clearwell.text.normalisation import normalised

MOST_MERGED = 50


class Merging:
    def __init__(self, recording: Recording, clock: Clock, settings: Settings) -> None:
        self._recording = recording
        self._clock = clock
        self._settings = settings

    async def prepared(self, group_id: str, wanted: DecisionRequest, by: Principal) -> Step:
        others = tuple(dict.fromkeys(one for one in wanted.others if one != wanted.id))
        if not 1 <= len(others) <= MOST_MERGED:
            raise InvalidInput("merge_with_whom", field="with", limit=MOST_MERGED)
        text = wanted.text
        if text is not None:
            text = limits.require_readable(text, "text", max_bytes=self._settings.max_content_bytes)

        async def step(transaction: DecisionTransaction) -> DecisionResult:
            now = self._clock.now()
            found = await load_insight(transaction, group_id, wanted.id, version=wanted.version, now=now)
            await require_open(transaction, found)
            gone = [await _open_other(transaction, group_id, one, now) for one in others]
            await transaction.merge_sources(found.id, others)
            for one in gone:
                await transaction.update_insight(changed(one, now, InsightState.MERGED, merged_into=found.id))
            united = (await transaction.find_insights([found.id]))[found.id]
            after = _united(united, found, gone, text=text, now=now)
            await transaction.update_insight(after)
            decision = await self._recording.on_insight(
                transaction,
                Action.MERGE,
                found,
                by,
                now,
                others=others,
                text_before=found.summary,
                text_after=after.summary,
                writer_before=found.written_by,
                before=InsightBeforeMerge(
                    flags=found.flags, contradictions=found.contradictions, support=found.support
                ),
            )
            return DecisionResult(
                status="merged", id=found.id, decision_id=decision.id, insight=InsightStatus.of(after)
            )

        return step


async def _open_other(transaction: DecisionTransaction, group_id: str, other: UUID, now: datetime) -> Insight:
    insight = await load_insight(transaction, group_id, other, version=None, now=now)
    await require_open(transaction, insight)
    return insight


def _united(united: Insight, first: Insight, others: Sequence[Insight], *, text: str | None, now: datetime) -> Insight:
    """The first with the sources, flags and contradictions of all. Other words have no vector yet."""
    summary = text or _texts(first, others)
    writer = first.written_by if text is None else Writer.PERSON
    flags = tuple(dict.fromkeys(flag for one in (first, *others) for flag in one.flags))
    after = changed(united, now, InsightState.PENDING, summary=summary, written_by=writer)
    contradictions = {(one.of, one.against, one.layer): one for each in (first, *others) for one in each.contradictions}
    after = replace(after, support=support_of(united), flags=flags, contradictions=tuple(contradictions.values()))
    return after if summary == first.summary else replace(after, embedding=None, embedding_model=None)


def _texts(first: Insight, others: Sequence[Insight]) -> str:
    """Every text that says something else, one after the other: nothing is lost, and a person may shorten it."""
    texts = {normalised(one.summary): one.summary for one in reversed((first, *others))}
    return "\n".join(reversed(texts.values()))
