"""One person at a time decides in a group: a step at its desk is one transaction, done once and counted."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from clearwell.errors import Conflict
from clearwell.flow.counters import Counters
from clearwell.flow.idempotency import run_with_claim
from clearwell.flow.review.answers import decided_of
from clearwell.flow.review.wanted import Moved, Step
from clearwell.ports import Claim, DecisionStore, IdempotencyStore
from clearwell.records import Action, DecisionResult, IdempotencyKey, Json

TRIES = 3


class AtDesk:
    def __init__(self, decisions: DecisionStore, idempotency: IdempotencyStore, counters: Counters) -> None:
        self._decisions = decisions
        self._idempotency = idempotency
        self._counters = counters

    async def take(
        self, group_id: str, action: Action, step: Step, *, request: IdempotencyKey | None
    ) -> DecisionResult:
        """A step that needs no preparing."""

        async def prepared() -> Step:
            return step

        return await self.prepare_and_take(group_id, action, prepared, request=request)

    async def prepare_and_take(
        self,
        group_id: str,
        action: Action,
        prepare: Callable[[], Awaitable[Step]],
        *,
        request: IdempotencyKey | None,
    ) -> DecisionResult:
        """Prepare before anybody has to wait, and once more where the text has changed since."""

        async def act(claim: Claim | None) -> DecisionResult:
            for _ in range(TRIES):
                step = await prepare()
                try:
                    return await self._taken(group_id, step, claim)
                except Moved as moved:
                    problem = Conflict("insight_moving", id=moved.insight_id)
            raise problem

        done = await run_with_claim(self._idempotency, request, act, replay=_replayed)
        if not done.already and not done.replayed:
            self._counters.count_decision(group_id, action)
        return done

    async def _taken(self, group_id: str, step: Step, claim: Claim | None) -> DecisionResult:
        """The answer to a repeated request is kept in the same transaction."""
        async with self._decisions.transaction(group_id) as transaction:
            done = await step(transaction)
            if claim is not None:
                await transaction.store_answer(claim, done.to_json())
            return done


def _replayed(kept: Json) -> DecisionResult:
    return replace(decided_of(kept), replayed=True)
