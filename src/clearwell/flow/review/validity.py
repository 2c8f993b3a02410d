"""Which memories are valid after an undo: those that a decision in force promoted and none has withdrawn.

The same content is one memory, whatever the order of undos.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.ports import DecisionTransaction, PromotionKey
from clearwell.records import MemoryState, Promotion, PromotionState, Tombstone


class MemoryValidity:
    """Withdraws and restores memories according to the decisions in force."""

    def __init__(self, hasher: ValueHasher) -> None:
        self._hasher = hasher

    async def withdraw(self, transaction: DecisionTransaction, memory_id: UUID, *, now: datetime) -> bool:
        """Withdraw a memory unless a promotion of it is in force. Returns whether it was withdrawn."""
        if await _is_held(transaction, memory_id):
            return False
        await transaction.withdraw_memories([memory_id], at=now)
        return True

    async def restore(
        self, transaction: DecisionTransaction, memory_ids: Sequence[UUID], *, now: datetime
    ) -> list[UUID]:
        """Restore those of these memories that should be valid, and return them.

        Raises Conflict if the value of one was rejected in the meantime.
        """
        restored = []
        for memory_id, state in (await transaction.find_promotions(memory_ids)).items():
            if not await _is_missing(transaction, state):
                continue
            tombstone = await self._find_tombstone(transaction, state)
            if tombstone is not None:
                raise Conflict("undo_tombstoned", id=memory_id, reason=tombstone.reason, tombstone=tombstone.id)
            await transaction.restore_memories([memory_id], at=now)
            restored.append(memory_id)
        return restored

    async def restore_duplicate(
        self, transaction: DecisionTransaction, memory_id: UUID, *, now: datetime
    ) -> list[UUID]:
        """Restore a memory that said the same as a withdrawn one and was left out only because of it."""
        withdrawn = (await transaction.find_promotions([memory_id]))[memory_id].promotion
        for state in await transaction.list_duplicates(_key_of(withdrawn)):
            other = state.promotion.memory_id
            if other == memory_id or not await _is_missing(transaction, state):
                continue
            if await self._find_tombstone(transaction, state) is None:
                await transaction.restore_memories([other], at=now)
                return [other]
        return []

    async def _find_tombstone(self, transaction: DecisionTransaction, state: PromotionState) -> Tombstone | None:
        promotion = state.promotion
        hashes = await self._hasher.hash_promotable_values(promotion.group_id, promotion.text.content)
        return next(iter((await transaction.find_tombstones(hashes)).values()), None)


def _key_of(promotion: Promotion) -> PromotionKey:
    return PromotionKey(promotion.fingerprint or b"", promotion.text.origin_id)


async def _is_missing(transaction: DecisionTransaction, state: PromotionState) -> bool:
    """Whether a withdrawn memory should be valid: a promotion is in force, and nothing has superseded it."""
    memory_id = state.promotion.memory_id
    if state.state is not MemoryState.WITHDRAWN or not await _is_held(transaction, memory_id):
        return False
    if await transaction.find_retracting_decision(memory_id) is not None:
        return False
    if await _is_replaced(transaction, memory_id):
        return False
    return not await transaction.find_duplicates([_key_of(state.promotion)])


async def _is_held(transaction: DecisionTransaction, memory_id: UUID) -> bool:
    """Whether a promotion of this memory is in force. One from before decisions were recorded counts, too."""
    found = (await transaction.find_promoting_decisions([memory_id])).get(memory_id, ())
    return all(one.decision.already for one in found) or any(not one.undone for one in found)


async def _is_replaced(transaction: DecisionTransaction, memory_id: UUID) -> bool:
    """Whether another memory has superseded it. One that waits for its chunks has not yet."""
    later = (await transaction.find_superseding_decisions([memory_id])).get(memory_id)
    if later is None or later.memory_id is None:
        return False
    state = (await transaction.find_promotions([later.memory_id])).get(later.memory_id)
    return state is None or not state.waiting
