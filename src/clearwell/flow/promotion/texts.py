"""Promote texts: typed by a person, or read from quarantine by ``outputs``."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, NotFound
from clearwell.flow import limits
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.counters import Counters
from clearwell.flow.events.decisions import DecisionAnnouncer
from clearwell.flow.idempotency import StoredAnswer, claim_key
from clearwell.flow.promotion.copies import WORKING_MEMORY, CopyFinder
from clearwell.flow.promotion.planning import PromotionPlanner
from clearwell.flow.promotion.screening import screen_text
from clearwell.flow.promotion.writing import PromotionWriter
from clearwell.ports import Claim, DecisionStore, IdempotencyStore
from clearwell.records import Action, IdempotencyKey, Json, NewMemory, Principal, PromotionResult
from clearwell.settings import Settings


class TextPromoter:
    """Promotes texts for people. Checks first that the caller is a person."""

    def __init__(
        self,
        *,
        gate: AccessGate,
        planner: PromotionPlanner,
        writer: PromotionWriter,
        copies: CopyFinder,
        decisions: DecisionStore,
        idempotency: IdempotencyStore,
        counters: Counters,
        announcer: DecisionAnnouncer,
        settings: Settings,
    ) -> None:
        self._gate = gate
        self._planner = planner
        self._writer = writer
        self._copies = copies
        self._decisions = decisions
        self._idempotency = idempotency
        self._counters = counters
        self._announcer = announcer
        self._settings = settings

    async def promote(
        self, group_id: str, texts: Sequence[NewMemory], *, by: Principal, request: IdempotencyKey | None = None
    ) -> list[PromotionResult | ClearwellError]:
        """Promote texts in one transaction. Returns the memory or the error of each text, in order.

        Entries of working memory that say a superseded text are removed afterwards. If working memory does not
        respond, the result says so, and repeating the call removes them.
        """
        await self._gate.require_person(by, group_id, "promote")
        checked = [await self._check(text) for text in texts]
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                replayed = _replay_answer(claim.value, checked)
                unfinished = [isinstance(one, PromotionResult) and bool(one.degraded) for one in replayed]
                return await self._remove_superseded(group_id, checked, replayed, by) if any(unfinished) else replayed
            written = await self._promote(group_id, checked, by, claim)
            results = await self._remove_superseded(group_id, checked, written, by)
            if claim is not None and results != written:
                await self._idempotency.complete(claim, _store_answer(results))
        for text, result in zip(checked, results, strict=True):
            if isinstance(text, NewMemory) and isinstance(result, PromotionResult) and result.recorded:
                self._counters.count_decision(group_id, Action.PROMOTE)
                self._announcer.announce_promotion(group_id, text, result, by=by)
        return results

    async def _promote(
        self, group_id: str, texts: Sequence[NewMemory | ClearwellError], by: Principal, claim: Claim | None
    ) -> list[PromotionResult | ClearwellError]:
        valid = [text for text in texts if not isinstance(text, ClearwellError)]
        if not valid and claim is None:
            return [text for text in texts if isinstance(text, ClearwellError)]
        plans = await self._planner.plan(group_id, valid)
        async with self._decisions.transaction(group_id) as transaction:
            written = iter(await self._writer.write(transaction, group_id, plans, by=by))
            results = [text if isinstance(text, ClearwellError) else next(written) for text in texts]
            results = [_mark_unfinished(*pair) for pair in zip(texts, results, strict=True)]
            if claim is not None:
                await transaction.store_answer(claim, _store_answer(results))
        return results

    async def _remove_superseded(
        self,
        group_id: str,
        texts: Sequence[NewMemory | ClearwellError],
        results: Sequence[PromotionResult | ClearwellError],
        by: Principal,
    ) -> list[PromotionResult | ClearwellError]:
        """Remove what says the superseded texts from working memory, and name it in the results."""
        done: list[PromotionResult | ClearwellError] = []
        for text, result in zip(texts, results, strict=True):
            superseded = _find_superseded(text, result)
            if superseded is not None and isinstance(result, PromotionResult):
                removed = await self._copies.try_remove_superseded(group_id, superseded, by_memory=result.id, by=by)
                result = replace(result, removed=removed.ids, degraded=removed.degraded)
            done.append(result)
        return done

    async def _check(self, text: NewMemory) -> NewMemory | ClearwellError:
        try:
            valid = replace(
                text,
                content=limits.require_readable(text.content, "content", max_bytes=self._settings.max_content_bytes),
                session_id=limits.require_id(text.session_id, "session_id"),
                author=limits.require_id(text.author, "author"),
                agent_id=limits.require_id(text.agent_id, "agent_id"),
                occurred_at=limits.require_moment(text.occurred_at, "occurred_at"),
                metadata=limits.require_metadata(text.metadata, self._settings),
            )
            return await screen_text(valid)
        except ClearwellError as problem:
            return problem


def _find_superseded(text: NewMemory | ClearwellError, result: PromotionResult | ClearwellError) -> UUID | None:
    """The memory that a promotion has superseded. One that waits has not yet."""
    if isinstance(text, ClearwellError) or isinstance(result, ClearwellError) or result.waiting:
        return None
    return None if text.supersedes == result.id else text.supersedes


def _mark_unfinished(
    text: NewMemory | ClearwellError, result: PromotionResult | ClearwellError
) -> PromotionResult | ClearwellError:
    """The result as it is until the superseded text is removed, so that a repetition does what was interrupted."""
    if _find_superseded(text, result) is None or isinstance(result, ClearwellError):
        return result
    return replace(result, degraded=(WORKING_MEMORY,))


def _store_answer(results: Sequence[PromotionResult | ClearwellError]) -> Json:
    """The answer for a repeated request: ids, never content. Errors of a text are found again by checking."""
    return [_store_problem(one) if isinstance(one, ClearwellError) else one.to_json() for one in results]


def _store_problem(error: ClearwellError) -> Json:
    params: dict[str, Json] = {name: "…" if name == "reason" else str(value) for name, value in error.params.items()}
    return {"problem": error.code, "missing": isinstance(error, NotFound), "params": params}


def _replay_answer(
    answer: Json, checked: Sequence[NewMemory | ClearwellError]
) -> list[PromotionResult | ClearwellError]:
    stored = answer if isinstance(answer, list) else []
    return [
        text if isinstance(text, ClearwellError) else _replay_result(one)
        for one, text in zip(stored, checked, strict=True)
    ]


def _replay_result(stored: Json) -> PromotionResult | ClearwellError:
    if isinstance(stored, dict) and "problem" in stored:
        params = stored.get("params")
        named: dict[str, object] = dict(params) if isinstance(params, dict) else {}
        code = str(stored["problem"])
        return NotFound(code, **named) if stored.get("missing") else Conflict(code, current=None, **named)
    return PromotionResult.from_json(stored)
