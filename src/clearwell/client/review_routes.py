"""A method for each route of digests and review. They return views."""

from typing import TypedDict, Unpack
from uuid import UUID

from clearwell.client.api import ApiConnection, rename, segment
from clearwell.views.decisions import DecisionPageView, DecisionResultView
from clearwell.views.digests import DigestPageView, DigestRequestView, DigestView
from clearwell.views.dossiers import DossierView
from clearwell.views.insights import InsightPageView
from clearwell.views.memories import PromotionResultView
from clearwell.views.provenance import ProvenanceView, RetractionPreviewView
from clearwell.vocabulary import Action, InsightState, Origin

DECISION_NAMES = {"others": "with"}
"""Names of the API that are words of Python."""


class DecisionFields(TypedDict, total=False):
    """What a decision says. Which fields count depends on the action."""

    version: int | None
    text: str | None
    agent_id: str | None
    supersedes: UUID | None
    side: int | None
    despite: list[str] | None
    reason: str | None
    others: list[UUID] | None
    until: str | None
    days: float | None


class OutputFields(TypedDict, total=False):
    """What differs from the output that is promoted."""

    text: str | None
    agent_id: str | None
    supersedes: UUID | None


class ReviewApiClient:
    """What reviewers read and decide."""

    def __init__(self, api: ApiConnection) -> None:
        self._api = api

    # digests

    async def request_digest(self, group_id: str) -> DigestRequestView:
        """Have a digest made."""
        return await self._api.post(DigestRequestView, "/digests", {"group_id": group_id})

    async def digest(self, digest_id: UUID, *, group_id: str | None = None) -> DigestView:
        return await self._api.get(DigestView, f"/digests/{digest_id}", group_id=group_id)

    async def digests(self, group_id: str, *, limit: int | None = None, before: UUID | None = None) -> DigestPageView:
        return await self._api.get(DigestPageView, "/digests", group_id=group_id, limit=limit, before=before)

    # review

    async def insights(
        self, group_id: str, *, state: InsightState | None = None, limit: int | None = None, before: UUID | None = None
    ) -> InsightPageView:
        return await self._api.get(
            InsightPageView, "/insights", group_id=group_id, state=state, limit=limit, before=before
        )

    async def insight(self, group_id: str, insight_id: UUID) -> DossierView:
        return await self._api.get(DossierView, f"/insights/{insight_id}", group_id=group_id)

    async def decide(
        self, group_id: str, action: Action, insight_id: UUID, **fields: Unpack[DecisionFields]
    ) -> DecisionResultView:
        """Decide on one insight."""
        body = rename({"group_id": group_id, **fields}, DECISION_NAMES)
        return await self._api.post(DecisionResultView, f"/insights/{insight_id}/{action}", body)

    async def promote_output(
        self, group_id: str, row_id: UUID, origin: Origin, **fields: Unpack[OutputFields]
    ) -> PromotionResultView:
        """Promote an output straight from quarantine or working memory."""
        if origin is Origin.WORKING:
            return await self._api.post(
                PromotionResultView, f"/working/{segment(group_id)}/{row_id}/promote", {**fields}
            )
        return await self._api.post(
            PromotionResultView, f"/quarantine/{row_id}/promote", {"group_id": group_id, **fields}
        )

    async def decisions(
        self, group_id: str, *, limit: int | None = None, before: UUID | None = None
    ) -> DecisionPageView:
        return await self._api.get(DecisionPageView, "/decisions", group_id=group_id, limit=limit, before=before)

    async def undo(
        self, group_id: str, decision_id: UUID, *, reason: str | None = None, only: Action | None = None
    ) -> DecisionResultView:
        """Take back any decision by its id; with ``only`` one of that kind."""
        body = {"group_id": group_id, "reason": reason, "only": only}
        return await self._api.post(DecisionResultView, f"/decisions/{decision_id}/undo", body)

    async def preview_retraction(
        self,
        group_id: str,
        *,
        source: UUID | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> RetractionPreviewView:
        """What rests on a source, session or agent, and the token to withdraw it."""
        body = {"group_id": group_id, "source": source, "session_id": session_id, "agent_id": agent_id}
        return await self._api.ask(RetractionPreviewView, "/memories/retract", body)

    async def origin(self, group_id: str, memory_id: UUID) -> ProvenanceView:
        """Read where a memory comes from, and what it contradicts."""
        return await self._api.get(ProvenanceView, f"/memories/{memory_id}/origin", group_id=group_id)

    async def retract(
        self,
        group_id: str,
        token: str,
        *,
        source: UUID | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        reason: str | None = None,
    ) -> DecisionResultView:
        """Withdraw what the preview with this token showed."""
        named = {"source": source, "session_id": session_id, "agent_id": agent_id}
        body = {"group_id": group_id, "token": token, "reason": reason, **named}
        return await self._api.post(DecisionResultView, "/memories/retract", body)
