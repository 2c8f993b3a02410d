"""A method for each route of memory, quarantine, groups and the ingress pipeline. They return views."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack
from uuid import UUID

from clearwell.client.api import ApiConnection, rename, segment
from clearwell.views.archive import ImportView
from clearwell.views.audit import AuditHeadView, AuditPageView, AuditReportView
from clearwell.views.captures import (
    CaptureBatchView,
    CaptureView,
    DryRunView,
    IngressCountsView,
    QuarantinePageView,
    QuarantineRowView,
    RequeuedRowView,
    RequeuedView,
)
from clearwell.views.context import ContextView, NodeRunView
from clearwell.views.decisions import DecisionResultView
from clearwell.views.erasure import ForgetPreviewView, ForgetReceiptView
from clearwell.views.factcheck import FactCheckView
from clearwell.views.groups import AgentNameView, AgentsView, AgentView, GroupsView, GroupView, IdView, TombstonesView
from clearwell.views.memories import (
    IngestedBatchView,
    IngestedView,
    RetrievalView,
    VerifiedMemoryView,
    WorkingMemoryView,
)
from clearwell.views.provenance import MemoryOriginView

if TYPE_CHECKING:
    from clearwell.client.review_routes import ReviewApiClient
    from clearwell.records import Event

RETRIEVAL_NAMES = {"since": "from", "until": "to"}
"""Names of the API that are words of Python."""


EXPORT_SECONDS = 60.0
"""Nothing comes for longer only if the server does not respond."""


class CaptureFields(TypedDict, total=False):
    """The fields of an output, except its text."""

    session_id: str | None
    node_id: str | None
    node_type: str | None
    agent_id: str | None
    occurred_at: str | datetime | None
    metadata: Mapping[str, Any] | None
    partial: bool | None


class QuarantineFields(TypedDict, total=False):
    """Which rows of quarantine to list."""

    session_id: str | None
    agent_id: str | None
    node_type: str | None
    admission: str | None
    flag: str | None
    words: str | None
    since: datetime | None
    until: datetime | None
    proposed: bool | None
    ids: Sequence[UUID] | None
    before: UUID | None
    limit: int | None


class AuditFields(TypedDict, total=False):
    """Which audit events to list."""

    actor: str | None
    action: str | None
    since: str | datetime | None
    until: str | datetime | None
    before: UUID | None
    limit: int | None


class ForgetFields(TypedDict, total=False):
    """What to forget: one of these."""

    log_id: UUID | None
    session_id: str | None
    agent_id: str | None
    memory_id: UUID | None
    subject: str | None
    everything: bool | None


class MemoryFields(TypedDict, total=False):
    """The fields of a text to promote."""

    session_id: str | None
    author: str | None
    occurred_at: str | datetime | None
    agent_id: str | None
    metadata: Mapping[str, Any] | None
    supersedes: UUID | None
    acknowledge: Sequence[str] | None
    keep_invisible: bool | None


class RetrievalFields(TypedDict, total=False):
    """The options of retrieval. Times are ISO 8601 with a zone."""

    max_results: int | None
    hot_limit: int | None
    cold_limit: int | None
    relevance_threshold: float | None
    hot_threshold: float | None
    recent: int | None
    agent_id: str | None
    session_id: str | None
    sources: Sequence[str] | None
    time_range_days: float | None
    since: str | datetime | None
    until: str | datetime | None
    as_of: str | datetime | None
    filters: object
    max_chars: int | None
    explain: bool | None
    scope: str | None
    record: bool | None


class FactCheckFields(TypedDict, total=False):
    """The options of a fact check."""

    max_results: int | None
    time_range_days: float | None
    agent_id: str | None
    session_id: str | None
    language: str | None


class ContextFields(RetrievalFields, total=False):
    """The options of a context."""

    query: str | None
    max_tokens: int | None
    language: str | None


class ApiClient:
    """Sends requests to one server and returns its answers as views.

    Use it as an asynchronous context manager, which closes the connection.

    Every method raises the errors of the library, and Unavailable if the server does not respond.
    """

    def __init__(self, api: ApiConnection) -> None:
        self._api = api

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._api.close()

    @cached_property
    def review(self) -> ReviewApiClient:
        """Digests and review. They are imported when they are first used."""
        from clearwell.client.review_routes import ReviewApiClient

        return ReviewApiClient(self._api)

    async def is_alive(self) -> bool:
        """Whether a Clearwell server responds there within a short time."""
        return await self._api.is_alive()

    # captures and the ingress pipeline

    async def capture(
        self,
        group_id: str | None,
        content: str,
        *,
        wait: bool = False,
        key: str | None = None,
        **fields: Unpack[CaptureFields],
    ) -> CaptureView:
        """Capture an output. With ``wait`` this returns when its admission has ended, or after some seconds."""
        body = {"group_id": group_id, "content": content, **fields}
        return await self._api.post(CaptureView, "/captures", body, key=key, wait=wait or None)

    async def capture_many(
        self, captures: Sequence[Mapping[str, object]], *, wait: bool = False, key: str | None = None
    ) -> CaptureBatchView:
        """Capture many outputs; a receipt or a problem in the place of each."""
        return await self._api.post(CaptureBatchView, "/captures", {"captures": captures}, key=key, wait=wait or None)

    async def check(self, group_id: str | None, content: str, **fields: Unpack[CaptureFields]) -> DryRunView:
        """Check a text with the ingress pipeline without storing it."""
        return await self._api.ask(DryRunView, "/ingress/check", {"group_id": group_id, "content": content, **fields})

    async def ingress_counts(self, group_id: str) -> IngressCountsView:
        return await self._api.get(IngressCountsView, "/ingress/counts", group_id=group_id)

    async def quarantine_row(self, group_id: str, row_id: UUID) -> QuarantineRowView:
        return await self._api.get(QuarantineRowView, f"/quarantine/{row_id}", group_id=group_id)

    async def quarantine_rows(self, group_id: str, **parameters: Unpack[QuarantineFields]) -> QuarantinePageView:
        return await self._api.get(QuarantinePageView, "/quarantine", group_id=group_id, **parameters)

    async def requeue(self, group_id: str, row_id: UUID, *, key: str | None = None) -> RequeuedRowView:
        """Queue a refused output for the ingress pipeline again."""
        return await self._api.post(RequeuedRowView, f"/quarantine/{row_id}/requeue", {"group_id": group_id}, key=key)

    async def assign(self, group_id: str, row_id: UUID) -> CaptureView:
        """Assign an output without a group to this group."""
        return await self._api.post(CaptureView, f"/quarantine/{row_id}/assign", {"group_id": group_id})

    async def admit_refused(
        self, group_id: str, row_id: UUID, *, reason: str | None = None, key: str | None = None
    ) -> CaptureView:
        """Admit a refused output to working memory, as a person."""
        body = {"group_id": group_id, "reason": reason}
        return await self._api.post(CaptureView, f"/quarantine/{row_id}/admit", body, key=key)

    async def requeue_refused(self, group_id: str, refused_by: str, *, key: str | None = None) -> RequeuedView:
        """Queue the outputs that one check refused again, a limited number at a time."""
        body = {"group_id": group_id, "refused_by": refused_by}
        return await self._api.post(RequeuedView, "/quarantine/requeue", body, key=key)

    # working memory

    async def working_memory(self, group_id: str) -> WorkingMemoryView:
        return await self._api.get(WorkingMemoryView, f"/working/{segment(group_id)}")

    async def remove_working_entry(self, group_id: str, entry_id: UUID, *, key: str | None = None) -> IdView:
        return await self._api.write(IdView, "DELETE", f"/working/{segment(group_id)}/{entry_id}", key=key)

    # knowledge

    async def ingest(
        self, group_id: str, content: str, *, key: str | None = None, **fields: Unpack[MemoryFields]
    ) -> IngestedView:
        """Promote a text to long-term memory, as a person."""
        body = {"group_id": group_id, "content": content, **fields}
        return await self._api.post(IngestedView, "/memory/ingest", body, key=key)

    async def ingest_many(
        self, group_id: str, items: Sequence[Mapping[str, object]], *, key: str | None = None
    ) -> IngestedBatchView:
        """Promote many texts; a result or a problem in the place of each."""
        return await self._api.post(
            IngestedBatchView, "/memory/ingest", {"group_id": group_id, "items": items}, key=key
        )

    async def query(self, group_id: str, query: str = "", **fields: Unpack[RetrievalFields]) -> RetrievalView:
        """Search working memory and long-term memory. With ``recent`` the query may be empty."""
        body = rename({"group_id": group_id, "query": query, **fields}, RETRIEVAL_NAMES)
        return await self._api.ask(RetrievalView, "/memory/query", body)

    async def memory(self, group_id: str, memory_id: UUID, *, agent_id: str | None = None) -> VerifiedMemoryView:
        """Read one verified memory."""
        path = f"/memories/{memory_id}"
        return await self._api.get(VerifiedMemoryView, path, group_id=group_id, agent_id=agent_id)

    async def memory_origin(self, group_id: str, memory_id: UUID, *, agent_id: str | None = None) -> MemoryOriginView:
        """Read who promoted a memory, and whose outputs it is based on."""
        path = f"/memories/{memory_id}/promotion"
        return await self._api.get(MemoryOriginView, path, group_id=group_id, agent_id=agent_id)

    async def context(self, group_id: str, proposal: str, **fields: Unpack[ContextFields]) -> ContextView:
        """Build the context of an agent."""
        body = rename({"group_id": group_id, "proposal": proposal, **fields}, RETRIEVAL_NAMES)
        return await self._api.ask(ContextView, "/context", body)

    async def run_retrieval_node(
        self, group_id: str, state: Mapping[str, object], options: Mapping[str, object], *, language: str
    ) -> NodeRunView:
        """Run the memory-retrieval node on a state of a workflow."""
        body = {"group_id": group_id, "input": state, "options": options, "language": language}
        return await self._api.ask(NodeRunView, "/nodes/memory_retrieval", body)

    async def fact_check(
        self, group_id: str, claim: str | Sequence[str], **fields: Unpack[FactCheckFields]
    ) -> FactCheckView:
        """Rate claims by what memory says."""
        claims = claim if isinstance(claim, str) else list(claim)
        return await self._api.ask(
            FactCheckView, "/memory/fact_check", {"group_id": group_id, "claim": claims, **fields}
        )

    async def run_fact_check_node(
        self, group_id: str, state: Mapping[str, object], options: Mapping[str, object], *, language: str
    ) -> NodeRunView:
        """Run the fact-check node on a state of a workflow."""
        body = {"group_id": group_id, "input": state, "options": options, "language": language}
        return await self._api.ask(NodeRunView, "/nodes/fact_check", body)

    # events

    def events(self, group_id: str, *, after: str | None = None) -> AsyncGenerator[Event]:
        """Follow the events of a group. The connection is restored and continues after the last event."""
        from clearwell.client.events import follow_events

        return follow_events(self._api, group_id, after=after)

    # export and import

    def export_group(self, group_id: str) -> AsyncGenerator[str]:
        """Export a group, line by line."""
        return self._api.stream("/export", headers={}, silence_seconds=EXPORT_SECONDS, group_id=group_id)

    async def import_batch(
        self, group_id: str, *, header: str, previous: str, lines: Sequence[str], seal: str, trust: str | None = None
    ) -> ImportView:
        """Import a batch of an export. It can be repeated."""
        fields = {"header": header, "previous": previous, "lines": list(lines), "seal": seal, "trust": trust}
        return await self._api.post(ImportView, "/import", {"group_id": group_id, **fields})

    # audit

    async def audit_events(self, group_id: str | None, **parameters: Unpack[AuditFields]) -> AuditPageView:
        """List audit events, newest first. Without a group: those of the installation."""
        return await self._api.get(AuditPageView, "/audit", group_id=group_id, **parameters)

    async def verify_audit(self, group_id: str | None, *, head: Mapping[str, object] | None = None) -> AuditReportView:
        """Verify the audit trail, also against a head that was exported before."""
        return await self._api.ask(AuditReportView, "/audit/verify", {"group_id": group_id, "head": head})

    async def audit_head(self, group_id: str | None) -> AuditHeadView:
        """Read the last seal of the audit trail."""
        return await self._api.get(AuditHeadView, "/audit/head", group_id=group_id)

    # forgetting

    async def preview_forget(self, group_id: str, **selector: Unpack[ForgetFields]) -> ForgetPreviewView:
        """Preview what forgetting would touch."""
        return await self._api.ask(ForgetPreviewView, "/forget/preview", {"group_id": group_id, **selector})

    async def forget(self, group_id: str, *, token: str, **selector: Unpack[ForgetFields]) -> ForgetReceiptView:
        """Forget what was previewed."""
        return await self._api.post(ForgetReceiptView, "/forget", {"group_id": group_id, "token": token, **selector})

    # groups, agents and tombstones

    async def groups(self) -> GroupsView:
        return await self._api.get(GroupsView, "/groups")

    async def group(self, group_id: str) -> GroupView:
        return await self._api.get(GroupView, f"/groups/{segment(group_id)}")

    async def change_group(
        self, group_id: str, change: Mapping[str, str | None], *, key: str | None = None
    ) -> GroupView:
        """Change the named fields; None removes a value."""
        return await self._api.write(GroupView, "PUT", f"/groups/{segment(group_id)}", change, key=key)

    async def agents(self, group_id: str) -> AgentsView:
        return await self._api.get(AgentsView, f"/groups/{segment(group_id)}/agents")

    async def agent(self, group_id: str, agent_id: str) -> AgentView:
        return await self._api.get(AgentView, f"/groups/{segment(group_id)}/agents/{segment(agent_id)}")

    async def put_agent(self, group_id: str, agent_id: str, persona: str, *, key: str | None = None) -> AgentView:
        path = f"/groups/{segment(group_id)}/agents/{segment(agent_id)}"
        return await self._api.write(AgentView, "PUT", path, {"persona": persona}, key=key)

    async def remove_agent(self, group_id: str, agent_id: str, *, key: str | None = None) -> AgentNameView:
        path = f"/groups/{segment(group_id)}/agents/{segment(agent_id)}"
        return await self._api.write(AgentNameView, "DELETE", path, key=key)

    async def tombstones(self, group_id: str) -> TombstonesView:
        return await self._api.get(TombstonesView, "/tombstones", group_id=group_id)

    async def add_tombstone(
        self, group_id: str, value: str, *, reason: str, withdraw: bool = False, key: str | None = None
    ) -> DecisionResultView:
        """Reject a value, and with ``withdraw`` withdraw the memories that say it."""
        body = {"group_id": group_id, "value": value, "reason": reason, "withdraw": withdraw}
        return await self._api.post(DecisionResultView, "/tombstones", body, key=key)

    async def lift_tombstone(self, group_id: str, tombstone_id: UUID, *, key: str | None = None) -> IdView:
        return await self._api.post(IdView, f"/tombstones/{tombstone_id}/lift", {"group_id": group_id}, key=key)
