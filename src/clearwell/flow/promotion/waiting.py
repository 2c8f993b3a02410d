"""What a person decided while the model was down is carried out when it is back. Nothing is decided here."""

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.promotion.chunks import Chunker
from clearwell.ports import TOMBSTONED, Clock, DecisionStore, Ids, TombstoneStore, WaitingPromotion

log = structlog.get_logger(__name__)


class WaitingPromotions:
    def __init__(
        self,
        decisions: DecisionStore,
        tombstones: TombstoneStore,
        knowledge: Knowledge,
        chunking: Chunker,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._decisions = decisions
        self._tombstones = tombstones
        self._knowledge = knowledge
        self._chunking = chunking
        self._audit_events = AuditEvents(clock, ids)

    async def due(self, *, limit: int = 100) -> int:
        """Carry out what is due; how many memories were made."""
        made = 0
        for one in await self._decisions.waiting(limit=limit):
            try:
                made += await self._one(one)
            except Unavailable as error:
                log.warning("promotion put off", promotion=str(one.promotion_id), reason=error.code)
                await self._decisions.postpone(one, problem=error.code)
        return made

    async def _one(self, one: WaitingPromotion) -> bool:
        promotion = await self._decisions.load(one)
        if promotion is None:
            return False
        digests = await self._knowledge.promotable_digests(one.group_id, promotion.text.content)
        standing, _ = await self._tombstones.look(one.group_id, digests)
        if standing is not None:
            # Rejected in the meantime. It stays a decision that waits, for people to see and undo, or to lift.
            await self._decisions.postpone(one, problem=TOMBSTONED)
            return False
        chunks = await self._chunking.split(promotion.text.content)
        embedded = await self._chunking.embed(chunks)
        event = self._audit_events.make(
            "carry out promotion",
            f"memory {promotion.memory_id}",
            promotion.group_id,
            by="worker",
            promotion=str(promotion.id),
            chunks=len(chunks),
            decided_by=promotion.decided_by,
        )
        memories = self._chunking.memories(promotion, chunks, embedded, at=event.at)
        return await self._decisions.carry_out(one, memories, digests=digests, event=event)
