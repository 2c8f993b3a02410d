"""A person's decision becomes verified chunks with vectors, in one transaction."""

from collections.abc import Sequence
from dataclasses import replace

from clearwell.errors import ClearwellError, Conflict, NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import DecisionGate
from clearwell.flow.counters import Counters
from clearwell.flow.idempotency import run_with_claim
from clearwell.flow.promotion.promoter import Promoter
from clearwell.ports import Claim, DecisionStore, IdempotencyStore
from clearwell.records import Action, IdempotencyKey, Json, NewMemory, Principal, PromotionResult
from clearwell.settings import Settings


class TextPromoter:
    """People promote, agents never: whether a person asks is asked before anything else."""

    def __init__(
        self,
        gate: DecisionGate,
        promoter: Promoter,
        decisions: DecisionStore,
        idempotency: IdempotencyStore,
        counters: Counters,
        settings: Settings,
    ) -> None:
        self._gate = gate
        self._promoter = promoter
        self._decisions = decisions
        self._idempotency = idempotency
        self._counters = counters
        self._settings = settings

    async def promote(
        self, group_id: str, texts: Sequence[NewMemory], *, by: Principal, request: IdempotencyKey | None = None
    ) -> list[PromotionResult | ClearwellError]:
        """One result a text: the memory it became, or what is wrong with it. What can be stored is, or nothing is."""
        await self._gate.require_person(by, group_id, "promote")
        checked = [self.checked(text) for text in texts]

        async def act(claim: Claim | None) -> list[PromotionResult | ClearwellError]:
            return await self._carry_out(group_id, checked, by, claim)

        return await run_with_claim(self._idempotency, request, act, replay=lambda kept: _replayed(kept, checked))

    def checked(self, text: NewMemory) -> NewMemory | ClearwellError:
        try:
            return replace(
                text,
                content=limits.require_readable(text.content, "content", max_bytes=self._settings.max_content_bytes),
                session_id=limits.require_id(text.session_id, "session_id"),
                author=limits.require_id(text.author, "author"),
                agent_id=limits.require_id(text.agent_id, "agent_id"),
                occurred_at=limits.require_moment(text.occurred_at, "occurred_at"),
                metadata=limits.require_metadata(text.metadata, self._settings),
            )
        except ClearwellError as problem:
            return problem

    async def _carry_out(
        self, group_id: str, texts: Sequence[NewMemory | ClearwellError], by: Principal, claim: Claim | None
    ) -> list[PromotionResult | ClearwellError]:
        good = [text for text in texts if not isinstance(text, ClearwellError)]
        if not good and claim is None:
            return [text for text in texts if isinstance(text, ClearwellError)]
        plans = await self._promoter.planned(group_id, good)
        async with self._decisions.transaction(group_id) as transaction:
            written = iter(await self._promoter.write(transaction, group_id, plans, by=by))
            results = [text if isinstance(text, ClearwellError) else next(written) for text in texts]
            if claim is not None:
                await transaction.store_answer(claim, _answer(results))
        for one in results:
            if isinstance(one, PromotionResult) and one.recorded:
                self._counters.count_decision(group_id, Action.PROMOTE)
        return results


def _answer(results: Sequence[PromotionResult | ClearwellError]) -> Json:
    """What is kept for a repeated request: ids, never content. A problem with a text is found again by checking."""
    return [_problem(one) if isinstance(one, ClearwellError) else one.to_json() for one in results]


def _problem(error: ClearwellError) -> Json:
    said: dict[str, Json] = {name: "…" if name == "reason" else str(value) for name, value in error.params.items()}
    return {"problem": error.code, "missing": isinstance(error, NotFound), "params": said}


def _replayed(answer: Json, checked: Sequence[NewMemory | ClearwellError]) -> list[PromotionResult | ClearwellError]:
    stored = answer if isinstance(answer, list) else []
    return [
        problem if isinstance(problem, ClearwellError) else _as_answered(one)
        for one, problem in zip(stored, checked, strict=True)
    ]


def _as_answered(stored: Json) -> PromotionResult | ClearwellError:
    if isinstance(stored, dict) and "problem" in stored:
        params = stored.get("params")
        said: dict[str, object] = dict(params) if isinstance(params, dict) else {}
        code = str(stored["problem"])
        return NotFound(code, **said) if stored.get("missing") else Conflict(code, current=None, **said)
    return PromotionResult.from_json(stored)
