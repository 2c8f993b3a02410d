"""A method for each route of digests and review. They return views."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypedDict, Unpack
from uuid import UUID

from clearwell.client.api import ApiConnection, rename, segment
from clearwell.views.decisions import DecisionBatchView, DecisionPageView, DecisionResultView
from clearwell.views.digests import DigestPageView, DigestRequestView, DigestView
from clearwell.views.dossiers import DossierView
from clearwell.views.ids import IdsView
from clearwell.views.insights import InsightPageView
from clearwell.views.memories import PromotionBatchView, PromotionResultView
from clearwell.views.provenance import MemoryPageView, ProvenanceView, RetractionPreviewView
from clearwell.views.statistics import ActivityView, CalibrationView, ReviewCountsView, ReviewStatisticsView
from clearwell.vocabulary import Action, IdKind, InsightState, MemoryState, Origin

DECISION_NAMES = {"others": "with"}
"""Names of the API that are words of Python."""


class DecisionFields(TypedDict, total=False):
    """What a decision says. Which fields count depends on the action."""

    version: int | None
    text: str | None
    agent_id: str | None
    supersedes: UUID | None
    side: int | None
    despite: Sequence[str] | None
    acknowledge: Sequence[str] | None
    keep_invisible: bool | None
    reason: str | None
    others: Sequence[UUID] | None
    until: str | datetime | None
    days: float | None
    withdraw: bool | None


class MemoryListFields(TypedDict, total=False):
    """Which memories to list, and the page."""

    state: MemoryState | None
    origin: Origin | None
    agent_id: str | None
    session_id: str | None
    promoted_by: str | None
    since: datetime | None
    until: datetime | None
    words: str | None
    disputed: bool
    unused: bool
    ids: Sequence[UUID] | None
    limit: int | None
    before: UUID | None


class OutputFields(TypedDict, total=False):
    """What differs from the output that is promoted."""

    text: str | None
    agent_id: str | None
    supersedes: UUID | None
    acknowledge: Sequence[str] | None
    keep_invisible: bool | None


class ReviewApiClient:
    """What reviewers read and decide."""

    def __init__(self, api: ApiConnection) -> None:
        self._api = api

    # digests

    async def request_digest(self, group_id: str, *, key: str | None = None) -> DigestRequestView:
        """Have a digest made."""
        return await self._api.post(DigestRequestView, "/digests", {"group_id": group_id}, key=key)

    async def digest(self, digest_id: UUID, *, group_id: str | None = None) -> DigestView:
        return await self._api.get(DigestView, f"/digests/{digest_id}", group_id=group_id)

    async def digests(self, group_id: str, *, limit: int | None = None, before: UUID | None = None) -> DigestPageView:
        return await self._api.get(DigestPageView, "/digests", group_id=group_id, limit=limit, before=before)

    # review

    async def find_ids(self, group_id: str, kind: IdKind, ending: str) -> IdsView:
        """Find the ids of this kind that end with these characters."""
        return await self._api.get(IdsView, "/ids", group_id=group_id, kind=kind, ending=ending)

    async def insights(
        self, group_id: str, *, state: InsightState | None = None, limit: int | None = None, before: UUID | None = None
    ) -> InsightPageView:
        return await self._api.get(
            InsightPageView, "/insights", group_id=group_id, state=state, limit=limit, before=before
        )

    async def insight(self, group_id: str, insight_id: UUID) -> DossierView:
        return await self._api.get(DossierView, f"/insights/{insight_id}", group_id=group_id)

    async def decide(
        self,
        group_id: str,
        action: Action,
        insight_id: UUID,
        *,
        key: str | None = None,
        **fields: Unpack[DecisionFields],
    ) -> DecisionResultView:
        """Decide on one insight."""
        body = rename({"group_id": group_id, **fields}, DECISION_NAMES)
        return await self._api.post(DecisionResultView, f"/insights/{insight_id}/{action}", body, key=key)

    async def decide_many(
        self, group_id: str, decisions: Sequence[Mapping[str, object]], *, key: str | None = None
    ) -> DecisionBatchView:
        """Decide on many insights; a result or a problem in the place of each."""
        body = {"group_id": group_id, "decisions": [rename(decision, DECISION_NAMES) for decision in decisions]}
        return await self._api.post(DecisionBatchView, "/insights/decide", body, key=key)

    async def promote_output(
        self, group_id: str, row_id: UUID, origin: Origin, *, key: str | None = None, **fields: Unpack[OutputFields]
    ) -> PromotionResultView:
        """Promote an output straight from quarantine or working memory."""
        if origin is Origin.WORKING:
            path = f"/working/{segment(group_id)}/{row_id}/promote"
            return await self._api.post(PromotionResultView, path, {**fields}, key=key)
        body = {"group_id": group_id, **fields}
        return await self._api.post(PromotionResultView, f"/quarantine/{row_id}/promote", body, key=key)

    async def promote_outputs(
        self,
        group_id: str,
        ids: Sequence[str],
        origin: Origin,
        *,
        acknowledge: Sequence[str] | None = None,
        keep_invisible: bool | None = None,
        key: str | None = None,
    ) -> PromotionBatchView:
        """Promote many outputs as they are; a result or a problem in the place of each."""
        seen = {"acknowledge": acknowledge, "keep_invisible": keep_invisible}
        body = {"group_id": group_id, "ids": list(ids), "origin": origin, **seen}
        return await self._api.post(PromotionBatchView, "/quarantine/promote", body, key=key)

    async def decisions(
        self, group_id: str, *, limit: int | None = None, before: UUID | None = None
    ) -> DecisionPageView:
        return await self._api.get(DecisionPageView, "/decisions", group_id=group_id, limit=limit, before=before)

    async def undo(
        self,
        group_id: str,
        decision_id: UUID,
        *,
        reason: str | None = None,
        only: Action | None = None,
        key: str | None = None,
    ) -> DecisionResultView:
        """Take back any decision by its id; with ``only`` one of that kind."""
        body = {"group_id": group_id, "reason": reason, "only": only}
        return await self._api.post(DecisionResultView, f"/decisions/{decision_id}/undo", body, key=key)

    async def memories(self, group_id: str, **parameters: Unpack[MemoryListFields]) -> MemoryPageView:
        """List the promoted memories of a group."""
        return await self._api.get(MemoryPageView, "/memories", group_id=group_id, **parameters)

    async def withdraw(
        self, group_id: str, memory_id: UUID, *, reason: str, key: str | None = None
    ) -> DecisionResultView:
        """Withdraw one memory."""
        body = {"group_id": group_id, "reason": reason}
        return await self._api.post(DecisionResultView, f"/memories/{memory_id}/withdraw", body, key=key)

    async def preview_retraction(
        self,
        group_id: str,
        *,
        source: UUID | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        memory_id: UUID | None = None,
    ) -> RetractionPreviewView:
        """What rests on a source, session or agent, and the token to withdraw it."""
        named = {"source": source, "session_id": session_id, "agent_id": agent_id, "memory_id": memory_id}
        body = {"group_id": group_id, **named}
        return await self._api.ask(RetractionPreviewView, "/memories/retract", body)

    async def origin(self, group_id: str, memory_id: UUID) -> ProvenanceView:
        """Read where a memory comes from, and what it contradicts."""
        return await self._api.get(ProvenanceView, f"/memories/{memory_id}/origin", group_id=group_id)

    async def influence(self, group_id: str, row_id: UUID) -> ProvenanceView:
        """Read which memories are based on an output."""
        return await self._api.get(ProvenanceView, f"/quarantine/{row_id}/influence", group_id=group_id)

    async def retract(
        self,
        group_id: str,
        token: str,
        *,
        source: UUID | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        memory_id: UUID | None = None,
        reason: str | None = None,
        tombstones: bool = False,
        key: str | None = None,
    ) -> DecisionResultView:
        """Withdraw what the preview with this token showed."""
        named = {"source": source, "session_id": session_id, "agent_id": agent_id, "memory_id": memory_id}
        body = {"group_id": group_id, "token": token, "reason": reason, "tombstones": tombstones, **named}
        return await self._api.post(DecisionResultView, "/memories/retract", body, key=key)

    # statistics

    async def calibration(self, group_id: str) -> CalibrationView:
        return await self._api.get(CalibrationView, "/review/calibration", group_id=group_id)

    async def activity(self, group_id: str, *, days: int = 30) -> ActivityView:
        return await self._api.get(ActivityView, "/review/activity", group_id=group_id, days=days)

    async def counts(self, group_id: str) -> ReviewCountsView:
        return await self._api.get(ReviewCountsView, "/review/counts", group_id=group_id)

    async def statistics(self, group_id: str) -> ReviewStatisticsView:
        return await self._api.get(ReviewStatisticsView, "/review/numbers", group_id=group_id)
