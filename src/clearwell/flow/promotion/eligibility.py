"""What may become knowledge: no refused value, one thing once, and nothing in the place of what is being replaced."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from clearwell.errors import Conflict, NotFound
from clearwell.offload import offload
from clearwell.ports import DecisionTransaction
from clearwell.records import NewMemory, Origin, PromotionState
from clearwell.text.normalisation import normalised


async def require_not_refused(transaction: DecisionTransaction, digests: Sequence[bytes]) -> None:
    """Raises where a value of the text was rejected or forgotten, and names the tombstone."""
    tombstone = await transaction.find_tombstone(digests)
    if tombstone is not None:
        raise Conflict(
            f"promotion_{tombstone.kind}",
            current={"tombstone_id": str(tombstone.id), "made_at": tombstone.made_at.isoformat()},
            reason=tombstone.reason,
            at=f"{tombstone.made_at:%Y-%m-%d}",
            tombstone=tombstone.id,
        )


async def known_as(transaction: DecisionTransaction, text: NewMemory, fingerprint: bytes) -> PromotionState | None:
    """The same thing, where it is knowledge. Raises where its output is knowledge otherwise, and is not replaced."""
    known = await transaction.find_duplicate(text, fingerprint)
    if known is None or await offload(len(text.content), says_the_same, known, text):
        return known
    if text.supersedes != known.promotion.memory_id:
        raise await _promoted_otherwise(transaction, known)
    return await transaction.find_duplicate(replace(text, origin=Origin.TYPED, origin_id=None), fingerprint)


def says_the_same(known: PromotionState, text: NewMemory) -> bool:
    """Whether what is knowledge has these words, for these readers."""
    kept = known.promotion.text
    if kept.agent_id != text.agent_id:
        return False
    return kept.content == text.content or normalised(kept.content) == normalised(text.content)


async def _promoted_otherwise(transaction: DecisionTransaction, known: PromotionState) -> Conflict:
    """It is one memory, so a person chooses."""
    memory_id = known.promotion.memory_id
    standing = [decision for decision, undone in await transaction.find_promoting_decisions(memory_id) if not undone]
    return Conflict(
        "promoted_otherwise",
        current={**as_it_is(known), "decision_id": str(standing[-1].id) if standing else None},
        id=memory_id,
    )


def as_it_is(known: PromotionState) -> dict[str, object]:
    """What is there, for who asked for something else."""
    text = known.promotion.text
    return {
        "memory_id": str(known.promotion.memory_id),
        "memory_state": known.state,
        "content": text.content,
        "agent_id": text.agent_id,
    }


async def require_replaceable(
    transaction: DecisionTransaction, group_id: str, memory_id: UUID, *, by: UUID | None
) -> None:
    """What is to be replaced must hold, and nothing else may wait to replace it. To say it again is no problem."""
    state = (await transaction.find_promotions([memory_id])).get(memory_id)
    if state is None:
        raise NotFound("memory_not_found", id=memory_id, group=group_id)
    later = await transaction.find_superseding_decision(memory_id)
    if later is not None and by is not None and later.memory_id == by:
        return
    if state.state == "withdrawn":
        raise Conflict("supersedes_withdrawn", current={"state": state.state}, id=memory_id)
    if later is not None and later.memory_id is not None and await _waits(transaction, later.memory_id):
        raise Conflict(
            "supersedes_waiting",
            current={"state": state.state, "decision_id": str(later.id), "memory_id": str(later.memory_id)},
            id=memory_id,
            by=later.memory_id,
            later=later.id,
        )


async def _waits(transaction: DecisionTransaction, memory_id: UUID) -> bool:
    state = (await transaction.find_promotions([memory_id])).get(memory_id)
    return state is not None and state.waiting
