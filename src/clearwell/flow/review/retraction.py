"""Retraction: withdraw every memory that is based on a source, session or agent, as previewed, or one by its id.

Entries of working memory that say the same, or come from the same source, are removed with them.
"""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from clearwell.errors import Conflict, InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.promotion.copies import CopyFinder
from clearwell.flow.promotion.withdrawal import Withdrawal
from clearwell.flow.tombstones.rejection import PreparedTombstone, RejectedValue, ValueRejection
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, ProvenanceStore
from clearwell.records import (
    DecisionResult,
    MemoryState,
    Principal,
    RetractionPreview,
    SourceSelector,
)
from clearwell.text.normalisation import normalise
from clearwell.vocabulary import ENDED


class Retraction:
    """Previews a retraction, and carries it out if the preview is still correct."""

    def __init__(
        self,
        provenance: ProvenanceStore,
        copies: CopyFinder,
        withdrawal: Withdrawal,
        rejection: ValueRejection,
        clock: Clock,
    ) -> None:
        self._provenance = provenance
        self._copies = copies
        self._withdrawal = withdrawal
        self._rejection = rejection
        self._clock = clock

    async def preview(self, group_id: str, selector: SourceSelector) -> RetractionPreview:
        """Return the memories that are based on the source, session or agent, or the one that is named.

        Raises NotFound or Conflict if a memory that is named does not exist or was withdrawn.
        """
        named = (selector.source, selector.session_id, selector.agent_id, selector.memory_id)
        if sum(one is not None for one in named) != 1:
            raise InvalidInput("retract_what", field="source", limit="source, session_id, agent_id, memory_id")
        limits.require_id(selector.session_id, "session_id")
        limits.require_id(selector.agent_id, "agent_id")
        memories = tuple(await self._provenance.find_dependents(group_id, selector))
        if selector.memory_id is not None and not memories:
            origin = await self._provenance.origin(group_id, selector.memory_id)
            if origin is None:
                raise NotFound("memory_not_found", id=selector.memory_id, group=group_id)
            is_forgotten = any(one.state is MemoryState.FORGOTTEN for one in origin.promotions)
            raise Conflict(
                "memory_forgotten" if is_forgotten else "memory_withdrawn", id=selector.memory_id, group=group_id
            )
        texts = [one.state.promotion.text.content for one in memories]
        entries = await self._copies.find_entries(group_id, texts, selector)
        token = hash_memory_ids([one.memory_id for one in memories])
        return RetractionPreview(memories=memories, token=token, entries=entries)

    async def remove_entries(self, group_id: str, preview: RetractionPreview, *, by: Principal) -> tuple[UUID, ...]:
        """Remove the previewed entries from working memory; returns those that were there."""
        return await self._copies.remove_entries(group_id, preview.entries, by=by)

    async def prepare_tombstones(self, group_id: str, preview: RetractionPreview) -> list[PreparedTombstone]:
        """Prepare the rejection of what the previewed memories say."""
        texts = dict.fromkeys(one.state.promotion.text.content for one in preview.memories)
        values = [RejectedValue(value=await offload(len(text), normalise, text), text=text) for text in texts]
        return await self._rejection.prepare(group_id, values)

    async def apply(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        preview: RetractionPreview,
        *,
        reason: str | None,
        by: Principal,
        tombstones: Sequence[PreparedTombstone] = (),
    ) -> DecisionResult:
        """Withdraw the previewed memories, with ``tombstones`` so that what they say does not come back.

        Raises Conflict if they have changed since.
        """
        ids = tuple(sorted(one.memory_id for one in preview.memories))
        states = await transaction.find_promotions(ids)
        if any(states[one].state in ENDED for one in ids):
            raise self.report_change(preview)
        now = self._clock.now()
        for tombstone in tombstones:
            await self._rejection.apply(transaction, group_id, tombstone, reason=reason or "", by=by, at=now)
        decision = await self._withdrawal.apply(transaction, group_id, ids, reason=reason, by=by)
        return DecisionResult(status="retracted", id=decision.id, decision_id=decision.id, memories=ids)

    def report_change(self, preview: RetractionPreview) -> Conflict:
        """The error of a retraction whose memories are no longer those of its token."""
        return Conflict("retract_changed", current={"token": preview.token, "memories": len(preview.memories)})


def hash_memory_ids(ids: Sequence[UUID]) -> str:
    return sha256("\n".join(sorted(map(str, ids))).encode()).hexdigest()[:32]
