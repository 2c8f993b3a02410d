"""A tombstone is lifted, and everything that it held back or was flagged for its sake is free of it."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.ports import DecisionTransaction, Embedder
from clearwell.records import Insight
from clearwell.settings import Settings

NEAR_REJECTED = "near_rejected"


class TombstoneLifter:
    def __init__(self, embedder: Embedder, settings: Settings) -> None:
        self._embedder = embedder
        self._settings = settings

    async def lift(self, transaction: DecisionTransaction, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        """False where there is none that can be lifted: what was forgotten stays forgotten."""
        if not await transaction.lift_tombstone(tombstone_id, by=by, at=at):
            return False
        await transaction.retry_refused_promotions(at=at)
        for insight in await transaction.find_flagged_insights(NEAR_REJECTED):
            if not await self._is_near_rejected(transaction, insight):
                flags = tuple(flag for flag in insight.flags if flag != NEAR_REJECTED)
                await transaction.update_insight(replace(insight, flags=flags))
        return True

    async def _is_near_rejected(self, transaction: DecisionTransaction, insight: Insight) -> bool:
        """Whether it is like another value that is still rejected. What cannot be compared keeps its flag."""
        if insight.embedding is None or insight.embedding_model is None:
            return True
        near = await transaction.find_nearest_tombstone(insight.embedding, insight.embedding_model)
        return near is not None and self._embedder.similarity(near[1]) >= self._settings.near_rejected_similarity
