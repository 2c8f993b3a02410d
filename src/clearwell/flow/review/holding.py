"""Which memories hold: what a decision says is knowledge, unless another took it away or put something in its place.

The same thing is one memory, whatever is undone in whatever order.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict
from clearwell.flow.promotion.promoter import Promoter
from clearwell.ports import DecisionTransaction
from clearwell.records import PromotionState, Tombstone


class Holding:
    def __init__(self, promoter: Promoter) -> None:
        self._promoter = promoter

    async def let_go(self, transaction: DecisionTransaction, memory_id: UUID, *, now: datetime) -> bool:
        """Withdraw a memory that no decision holds any more; whether that was so."""
        if await _held(transaction, memory_id):
            return False
        await transaction.withdraw_memories([memory_id], at=now)
        return True

    async def bring_back(
        self, transaction: DecisionTransaction, memory_ids: Sequence[UUID], *, now: datetime
    ) -> list[UUID]:
        """Those of these that are to hold again. A value that was refused in the meantime does not come back."""
        back = []
        for memory_id, state in (await transaction.find_promotions(memory_ids)).items():
            if not await _is_missing(transaction, state):
                continue
            tombstone = await self._tombstone(transaction, state)
            if tombstone is not None:
                raise Conflict("undo_tombstoned", id=memory_id, reason=tombstone.reason, tombstone=tombstone.id)
            await transaction.restore_memories([memory_id], at=now)
            back.append(memory_id)
        return back

    async def bring_back_alike(self, transaction: DecisionTransaction, memory_id: UUID, *, now: datetime) -> list[UUID]:
        """What said the same as a memory that went, and was left out only for its sake."""
        gone = (await transaction.find_promotions([memory_id]))[memory_id].promotion
        for state in await transaction.list_duplicates(gone.text, gone.fingerprint or b""):
            other = state.promotion.memory_id
            if (
                other == memory_id
                or not await _is_missing(transaction, state)
                or await self._tombstone(transaction, state)
            ):
                continue
            await transaction.restore_memories([other], at=now)
            return [other]
        return []

    async def _tombstone(self, transaction: DecisionTransaction, state: PromotionState) -> Tombstone | None:
        promotion = state.promotion
        return await transaction.find_tombstone(
            await self._promoter.digests(promotion.group_id, promotion.text.content)
        )


async def _is_missing(transaction: DecisionTransaction, state: PromotionState) -> bool:
    """Whether a withdrawn memory is to hold: it is held, stands in nobody's way, and nothing stands in its place."""
    promotion = state.promotion
    if state.state != "withdrawn" or not await _held(transaction, promotion.memory_id):
        return False
    if await transaction.find_retracting_decision(promotion.memory_id) is not None or await _is_replaced(
        transaction, promotion.memory_id
    ):
        return False
    return await transaction.find_duplicate(promotion.text, promotion.fingerprint or b"") is None


async def _held(transaction: DecisionTransaction, memory_id: UUID) -> bool:
    """Whether a decision stands that this is knowledge. One from before decisions were recorded stands too."""
    found = await transaction.find_promoting_decisions(memory_id)
    return all(decision.already for decision, _ in found) or any(not undone for _, undone in found)


async def _is_replaced(transaction: DecisionTransaction, memory_id: UUID) -> bool:
    """What still waits for the model has replaced nothing yet."""
    later = await transaction.find_superseding_decision(memory_id)
    if later is None or later.memory_id is None:
        return False
    state = (await transaction.find_promotions([later.memory_id])).get(later.memory_id)
    return state is None or not state.waiting
