"""Completes the promotions that were decided while the embedding model was down."""

from typing import Final

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.events.decisions import DecisionAnnouncer
from clearwell.flow.promotion.conflicts import ConflictFinder, PlannedText
from clearwell.flow.promotion.copies import CopyFinder
from clearwell.flow.promotion.planning import Chunker, build_chunks, find_single_vector
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.ports import TOMBSTONED, Clock, DecisionStore, Ids, TombstoneStore, WaitingPromotion
from clearwell.records import Principal
from clearwell.vocabulary import AuditAction

log = structlog.get_logger(__name__)
UNDECIDED: Final = "promotion_undecided"
"""Why a queued promotion is not completed that no decision in force asks for."""


class PromotionCompleter:
    """Creates the chunks of waiting promotions, and removes what says a text that they supersede."""

    def __init__(
        self,
        decisions: DecisionStore,
        tombstones: TombstoneStore,
        hasher: ValueHasher,
        chunker: Chunker,
        conflicts: ConflictFinder,
        copies: CopyFinder,
        announcer: DecisionAnnouncer,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._decisions = decisions
        self._tombstones = tombstones
        self._hasher = hasher
        self._chunker = chunker
        self._conflicts = conflicts
        self._copies = copies
        self._announcer = announcer
        self._audit_events = AuditEvents(clock, ids)

    async def complete_due(self, *, limit: int = 100) -> int:
        """Complete the promotions that are due, and return how many were completed."""
        completed = 0
        for waiting in await self._decisions.list_waiting(limit=limit):
            try:
                completed += await self._complete(waiting)
            except Unavailable as error:
                log.warning("promotion postponed", promotion=str(waiting.promotion_id), reason=error.code)
                await self._decisions.postpone_waiting(waiting, problem=error.code)
        return completed

    async def _complete(self, waiting: WaitingPromotion) -> bool:
        promotion = await self._decisions.read_waiting(waiting)
        if promotion is None:
            # No decision on it is in force, or it is already complete. Nothing is written, whoever queued it.
            await self._decisions.postpone_waiting(waiting, problem=UNDECIDED)
            return False
        content = promotion.text.content
        value_hashes = await self._hasher.hash_promotable_values(waiting.group_id, content)
        refusing, _ = await self._tombstones.look_up(waiting.group_id, value_hashes)
        if refusing is not None:
            # The text was rejected in the meantime. The promotion keeps waiting, so that people can see it, and undo
            # the decision or lift the tombstone.
            await self._decisions.postpone_waiting(waiting, problem=TOMBSTONED)
            return False
        chunks = await self._chunker.split(content)
        embeddings = await self._chunker.embed(chunks)
        event = self._audit_events.make(
            AuditAction.CARRY_OUT_PROMOTION,
            f"memory {promotion.memory_id}",
            promotion.group_id,
            by="worker",
            promotion=str(promotion.id),
            chunks=len(chunks),
            decided_by=promotion.decided_by,
        )
        memories = build_chunks(promotion, chunks, embeddings, at=event.at)
        vector = find_single_vector(embeddings, self._conflicts.model)
        (conflicting,) = await self._conflicts.find(waiting.group_id, [PlannedText(promotion.text, vector)])
        if promotion.supersedes is not None:
            # Before the memory is written: if working memory does not answer, the promotion goes on waiting.
            await self._copies.remove_superseded(
                promotion.group_id, promotion.supersedes, by_memory=promotion.memory_id, by=Principal.local("worker")
            )
        completed = await self._decisions.complete_waiting(
            waiting,
            memories,
            value_hashes=value_hashes,
            conflicts_with=[one for one in conflicting if one != promotion.supersedes],
            event=event,
        )
        if completed:
            self._announcer.announce_completed(
                promotion.group_id,
                promotion.memory_id,
                chunks=len(chunks),
                supersedes=promotion.supersedes,
                agent_id=promotion.text.agent_id,
            )
        return completed
