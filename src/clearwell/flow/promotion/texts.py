"""Promote texts: typed by a person, or read from quarantine by ``outputs``."""

from collections.abc import Sequence
from dataclasses import replace

from clearwell.errors import ClearwellError, Conflict, NotFound
from clearwell.flow import limits
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.counters import Counters
from clearwell.flow.events.decisions import DecisionAnnouncer
from clearwell.flow.idempotency import StoredAnswer, claim_key
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
        decisions: DecisionStore,
        idempotency: IdempotencyStore,
        counters: Counters,
        announcer: DecisionAnnouncer,
        settings: Settings,
    ) -> None:
        self._gate = gate
        self._planner = planner
        self._writer = writer
        self._decisions = decisions
        self._idempotency = idempotency
        self._counters = counters
        self._announcer = announcer
        self._settings = settings

    async def promote(
        self, group_id: str, texts: Sequence[NewMemory], *, by: Principal, request: IdempotencyKey | None = None
    ) -> list[PromotionResult | ClearwellError]:
        """Promote texts in one transaction. Returns the memory or the error of each text, in order."""
        await self._gate.require_person(by, group_id, "promote")
        checked = [await self._check(text) for text in texts]
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return _replay_answer(claim.value, checked)
            results = await self._promote(group_id, checked, by, claim)
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
            if claim is not None:
                await transaction.store_answer(claim, _store_answer(results))
        return results

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
