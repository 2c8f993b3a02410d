"""The client: the memory manager of a server, with the methods, parameters and records of the library."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from functools import cached_property, partial
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from clearwell.client.api import ApiConnection
from clearwell.client.discovery import locate_server
from clearwell.client.fields import LONGEST_PAGE, read_fields, read_results, split_limit
from clearwell.client.retries import RetryPolicy
from clearwell.client.routes import ApiClient
from clearwell.records import NOTHING
from clearwell.settings import Settings
from clearwell.signatures import explain_wrong_calls
from clearwell.views.audit import AuditHeadView

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    import httpx

    from clearwell.client.review import AsyncReviewClient
    from clearwell.errors import ClearwellError
    from clearwell.flow.context.builder import ContextRequest
    from clearwell.flow.context.retrieval_node import MemoryRetrievalNode, NodeOptions
    from clearwell.flow.events.delivery import EventCallback
    from clearwell.flow.factcheck.checker import FactCheckOptions
    from clearwell.flow.factcheck.node import FactCheckNode
    from clearwell.flow.node_events import OnEvent
    from clearwell.flow.retrieval.options import RetrieveOptions
    from clearwell.messages import Language
    from clearwell.ports import QuarantineFilter
    from clearwell.records import (
        Admission,
        Agent,
        AuditEvent,
        AuditFilter,
        AuditHead,
        AuditReport,
        BuiltContext,
        CaptureReceipt,
        DecisionResult,
        Digest,
        DigestStatus,
        DryRun,
        ErasurePlan,
        Event,
        FactCheck,
        ForgetReceipt,
        ForgetSelector,
        Group,
        GroupChange,
        ImportBatch,
        ImportResult,
        IngressCount,
        MemoryOrigin,
        Metadata,
        NewCapture,
        NewMemory,
        PromotionResult,
        QuarantinePage,
        QuarantineRow,
        Requeued,
        Retrieval,
        Tombstone,
        VerifiedMemory,
        WorkingEntry,
    )

TIMEOUT_SECONDS = 30.0
RETRIES = 4
ORIGIN = ("origin", "origin_id", "flags")
"""Fields of a text to promote that the server sets."""


@explain_wrong_calls
class AsyncClient:
    """The memory manager of a server. Methods, parameters and records are those of ``MemoryManager``.

    Without ``url`` the server that runs on the data folder of the settings is used, else the address in the settings;
    without ``api_key``, the key of the settings. With ``agent``, which is the default, the client has no more rights
    than an agent, whatever its key is allowed: it captures and reads. A tool that a person uses passes ``agent=False``.
    ``language`` is that of error messages.

    A request that fails is sent again up to ``retries`` times, with growing pauses; ``timeout`` bounds the seconds of a
    call with all its attempts. Every write has an Idempotency-Key, so that no attempt is carried out twice. Methods
    raise the errors of the library, and Unavailable if the server does not answer.

    Use it as an asynchronous context manager, or call ``close``. ``transport`` replaces the network, for tests.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        agent: bool = True,
        language: Language = "en",
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        settings: Settings | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        settings = settings or Settings()
        if api_key is None and settings.api_key is not None:
            api_key = settings.api_key.get_secret_value()
        self._destination = _name_destination(url, api_key, agent=agent)
        self._routes = ApiClient(
            ApiConnection(
                url or locate_server(settings).url,
                secret=api_key,
                language=language,
                acts_for_agent=agent,
                policy=RetryPolicy(total_seconds=timeout, retries=retries),
                locate=partial(locate_server, settings) if url is None else None,
                transport=transport,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._routes.close()

    async def is_alive(self) -> bool:
        """Whether a Clearwell server responds there within a short time."""
        return await self._routes.is_alive()

    @property
    def destination(self) -> str:
        """Names the server and the caller, for captures that are delivered later: the same caller delivers them."""
        return self._destination

    # tier 1

    async def capture(
        self, new: NewCapture, *, wait: bool = False, idempotency_key: str | None = None
    ) -> CaptureReceipt:
        """Store one output in quarantine and start its admission. The output is committed when this returns.

        With ``wait`` this returns when the admission has ended, or after ``wait_seconds`` with a pending receipt.
        """
        body: dict[str, Any] = read_fields(new)
        group, content = body.pop("group_id", None), body.pop("content")
        return (await self._routes.capture(group, content, wait=wait, key=idempotency_key, **body)).to_record()

    async def capture_many(
        self, news: Sequence[NewCapture], *, wait: bool = False, idempotency_key: str | None = None
    ) -> list[CaptureReceipt | ClearwellError]:
        """Capture many outputs; a receipt or an error in the place of each. Raises if none could be stored."""
        bodies = [read_fields(new) for new in news]
        batch = await self._routes.capture_many(bodies, wait=wait, key=idempotency_key)
        return read_results(batch.results)

    # between tier 1 and tier 2

    async def check(self, new: NewCapture) -> DryRun:
        """Run the ingress pipeline on an output without storing anything."""
        body: dict[str, Any] = read_fields(new)
        group, content = body.pop("group_id", None), body.pop("content")
        return (await self._routes.check(group, content, **body)).to_record()

    async def requeue(self, log_id: UUID, *, group: str, idempotency_key: str | None = None) -> Admission:
        """Run the ingress pipeline again on a refused row, or now on a pending one; returns its former state."""
        return (await self._routes.requeue(group, log_id, key=idempotency_key)).was

    async def requeue_refused(self, refused_by: str, *, group: str, idempotency_key: str | None = None) -> Requeued:
        """Requeue the rows that one check refused, or that were refused for one reason, a limited number at a time."""
        return (await self._routes.requeue_refused(group, refused_by, key=idempotency_key)).to_record()

    async def admit_refused(
        self, log_id: UUID, *, group: str, reason: str | None = None, idempotency_key: str | None = None
    ) -> CaptureReceipt:
        """Put a refused output into working memory, as a person. Its verdicts stay, with one that names the person."""
        return (await self._routes.admit_refused(group, log_id, reason=reason, key=idempotency_key)).to_record()

    async def assign(self, log_id: UUID, *, group: str) -> CaptureReceipt:
        """Store an output that was captured without a group in this group, and start its admission there."""
        return (await self._routes.assign(group, log_id)).to_record()

    async def ingress_counts(self, *, group: str) -> Sequence[IngressCount]:
        """How often each check had each outcome, by agent."""
        return [count.to_record() for count in (await self._routes.ingress_counts(group)).counts]

    async def add_tombstone(
        self, value: str, *, group: str, reason: str, withdraw: bool = False, idempotency_key: str | None = None
    ) -> DecisionResult:
        """Reject a value, so that it cannot come back. ``id`` of the result is its tombstone.

        Entries of working memory that say it are removed. ``still_said`` are the verified memories that say it; with
        ``withdraw`` they are withdrawn, and ``memories`` are those.
        """
        key = idempotency_key
        view = await self._routes.add_tombstone(group, value, reason=reason, withdraw=withdraw, key=key)
        return view.to_record()

    async def lift_tombstone(self, tombstone_id: UUID, *, group: str, idempotency_key: str | None = None) -> None:
        """Lift the tombstone of a rejected value. A forgotten value stays forgotten."""
        await self._routes.lift_tombstone(group, tombstone_id, key=idempotency_key)

    async def tombstones(self, *, group: str) -> Sequence[Tombstone]:
        """The tombstones of a group, newest first."""
        return [tombstone.to_record() for tombstone in (await self._routes.tombstones(group)).tombstones]

    # tier 2

    async def working_memory(self, *, group: str) -> list[WorkingEntry]:
        """The entries that have not expired, newest first."""
        return [entry.to_record() for entry in (await self._routes.working_memory(group)).entries]

    async def remove_working_entry(self, entry_id: UUID, *, group: str, idempotency_key: str | None = None) -> None:
        """Remove one entry from working memory. Its row stays in quarantine."""
        await self._routes.remove_working_entry(group, entry_id, key=idempotency_key)

    # tier 3

    async def promote(
        self,
        content: str,
        *,
        group: str,
        session_id: str | None = None,
        author: str | None = None,
        occurred_at: datetime | None = None,
        agent_id: str | None = None,
        metadata: Metadata = NOTHING,
        supersedes: UUID | None = None,
        acknowledge: Sequence[str] = (),
        keep_invisible: bool = False,
        idempotency_key: str | None = None,
    ) -> PromotionResult:
        """Promote a text to long-term memory. It can be retrieved when this returns, unless the result is ``waiting``.

        ``supersedes`` is the memory that it replaces, whose history is kept; entries of working memory that say its
        text are removed. A text that hides characters or speaks to its reader needs ``acknowledge=["hidden_text"]`` or
        ``["instruction_like"]``; invisible characters are removed, unless ``keep_invisible`` is set.
        """
        view = await self._routes.ingest(
            group,
            content,
            key=idempotency_key,
            session_id=session_id,
            author=author,
            occurred_at=occurred_at,
            agent_id=agent_id,
            metadata=metadata or None,
            supersedes=supersedes,
            acknowledge=list(acknowledge) or None,
            keep_invisible=keep_invisible or None,
        )
        return view.to_record()

    async def promote_many(
        self, texts: Sequence[NewMemory], *, group: str, idempotency_key: str | None = None
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many texts in one transaction; a result or an error in the place of each."""
        items = [read_fields(text, without=ORIGIN) for text in texts]
        batch = await self._routes.ingest_many(group, items, key=idempotency_key)
        return read_results(batch.results)

    async def retrieve(self, query: str, *, group: str, options: RetrieveOptions | None = None) -> Retrieval:
        """Search working and long-term memory together; each item has its source, score and label.

        With ``options.recent`` the query may be empty: the newest entries of working memory are then returned alone.
        """
        wanted: dict[str, Any] = {} if options is None else read_fields(options)
        return (await self._routes.query(group, query, **wanted)).to_record()

    async def memory(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> VerifiedMemory:
        """One verified memory of the group, or of this agent, whole. Raises NotFound, also if it was withdrawn."""
        return (await self._routes.memory(group, memory_id, agent_id=agent_id)).to_record()

    async def memory_origin(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> MemoryOrigin:
        """Who promoted a verified memory, when, and whose outputs it is based on, without their texts.

        Raises NotFound, also if the memory was withdrawn. ``review.origin`` has the outputs, for reviewers.
        """
        return (await self._routes.memory_origin(group, memory_id, agent_id=agent_id)).to_record()

    async def build_context(self, request: ContextRequest, *, group: str) -> BuiltContext:
        """Build the prompt for the agent of ``request.options``: five sections within a token budget.

        Tokens are counted by the server.
        """
        wanted: dict[str, Any] = {**read_fields(request), **read_fields(request.options)}
        proposal, _ = wanted.pop("proposal"), wanted.pop("options")
        return (await self._routes.context(group, proposal, **wanted)).to_record()

    def retrieval_node(
        self,
        *,
        group: str,
        options: NodeOptions | None = None,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> MemoryRetrievalNode:
        """Make the memory-retrieval node of a workflow: ``state = await node(state)`` adds ``history_context``.

        Errors of retrieval, and invalid options, become events and never break the workflow.
        """
        from clearwell.client.nodes import RemoteNodeRunner
        from clearwell.flow.context.retrieval_node import MemoryRetrievalNode, NodeOptions

        runner = RemoteNodeRunner(self._routes)
        return MemoryRetrievalNode(runner, group, options or NodeOptions(), language=language, on_event=on_event)

    async def fact_check(
        self,
        claim: str | Sequence[str],
        *,
        group: str,
        options: FactCheckOptions | None = None,
        language: Language = "en",
    ) -> FactCheck:
        """Rate a claim, several claims, or each statement of a text by what memory says, with the memories cited.

        The judge's language model rates them, or the comparison rules if there is none. If it fails, the rating is
        unknown and the result has the reason.
        """
        wanted: dict[str, Any] = {} if options is None else read_fields(options)
        return (await self._routes.fact_check(group, claim, language=language, **wanted)).to_record()

    def fact_check_node(
        self,
        *,
        group: str,
        options: FactCheckOptions | None = None,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> FactCheckNode:
        """Make the fact-check node of a workflow: ``state = await node(state)`` adds ``fact_check``, a text, and
        ``fact_check_result``.

        Errors, and invalid options, become events and never break the workflow.
        """
        from clearwell.client.nodes import RemoteFactCheckRunner
        from clearwell.flow.factcheck.checker import FactCheckOptions
        from clearwell.flow.factcheck.node import FactCheckNode

        runner = RemoteFactCheckRunner(self._routes)
        return FactCheckNode(runner, group, options or FactCheckOptions(), language=language, on_event=on_event)

    # events

    def events(self, *, group: str, after: str | None = None) -> AsyncGenerator[Event]:
        """Follow the events of a group: ``async for event in client.events(group="grp-123")``.

        They are those of ``MemoryManager.events``. If the connection ends, it is restored, and the events continue
        after the last one. While the server does not answer there is one event ``degraded``, and ``recovered`` when it
        is back. A server that does not answer at first raises Unavailable.
        """
        return self._routes.events(group, after=after)

    def on_event(
        self, callback: EventCallback, *, group: str, after: str | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Call a function with each event of a group: ``async with client.on_event(show, group="grp-123"): …``.

        It is called from the beginning of the block to its end, with the same events as ``events`` has.
        """
        from clearwell.flow.events.delivery import deliver_events

        return deliver_events(self.events(group=group, after=after), callback)

    # groups and agents

    async def group(self, group_id: str) -> Group:
        """A group's system prompt and digest schedule."""
        return (await self._routes.group(group_id)).to_record()

    async def groups(self) -> Sequence[Group]:
        """The groups that the caller covers and that have a profile, outputs or memories."""
        return [group.to_record() for group in (await self._routes.groups()).groups]

    async def change_group(self, change: GroupChange, *, group: str, idempotency_key: str | None = None) -> Group:
        """Change a group's profile. Fields that the change does not name stay."""
        named = {name: getattr(change, name) for name in change.changed}
        return (await self._routes.change_group(group, named, key=idempotency_key)).to_record()

    async def agent(self, agent_id: str, *, group: str) -> Agent:
        """An agent with its persona."""
        return (await self._routes.agent(group, agent_id)).to_record()

    async def agents(self, *, group: str) -> Sequence[Agent]:
        """The agents of a group that the caller may read."""
        return [agent.to_record() for agent in (await self._routes.agents(group)).agents]

    async def put_agent(self, agent_id: str, *, group: str, persona: str, idempotency_key: str | None = None) -> Agent:
        """Write an agent's persona."""
        return (await self._routes.put_agent(group, agent_id, persona, key=idempotency_key)).to_record()

    async def remove_agent(self, agent_id: str, *, group: str, idempotency_key: str | None = None) -> None:
        """Remove an agent's persona. Its outputs and memories stay."""
        await self._routes.remove_agent(group, agent_id, key=idempotency_key)

    # review

    @cached_property
    def review(self) -> AsyncReviewClient:
        """The review service: insights and their dossiers, decisions and undo, provenance and statistics."""
        from clearwell.client.review import AsyncReviewClient

        return AsyncReviewClient(self._routes.review)

    async def quarantine_row(self, log_id: UUID, *, group: str) -> QuarantineRow:
        """One captured output with everything that happened to it."""
        return (await self._routes.quarantine_row(group, log_id)).to_record()

    async def quarantine_rows(
        self, *, group: str, where: QuarantineFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[QuarantineRow]:
        """The newest outputs of a group's quarantine, or those before one of them."""
        rows: list[QuarantineRow] = []
        while True:
            size = min(limit - len(rows), LONGEST_PAGE)
            page = await self.quarantine_page(group=group, where=where, before=before, limit=size)
            rows += page.rows
            before = page.next
            if before is None or len(rows) >= limit:
                return rows

    async def quarantine_page(
        self, *, group: str, where: QuarantineFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> QuarantinePage:
        """A page of a group's quarantine, newest first, which takes as long however many outputs there are."""
        filters: dict[str, Any] = {} if where is None else read_fields(where)
        return (await self._routes.quarantine_rows(group, before=before, limit=limit, **filters)).to_record()

    async def request_digest(self, *, group: str, idempotency_key: str | None = None) -> tuple[UUID, DigestStatus]:
        """Request a digest of the group's quarantine; returns the one that is already being made, if there is one."""
        requested = await self._routes.review.request_digest(group, key=idempotency_key)
        return requested.id, requested.status

    async def digest(self, digest_id: UUID, *, group: str | None = None) -> Digest:
        """One digest, with its insights when it is done."""
        return (await self._routes.review.digest(digest_id, group_id=group)).to_record()

    async def digests(self, *, group: str, before: UUID | None = None, limit: int = 50) -> Sequence[Digest]:
        """A page of a group's digests, newest first, without their insights."""
        digests: list[Digest] = []
        for size in split_limit(limit):
            page = await self._routes.review.digests(group, before=before, limit=size)
            digests += [digest.to_record() for digest in page.digests]
            before = page.next
            if before is None:
                break
        return digests

    # audit

    async def audit_events(
        self,
        *,
        group: str | None = None,
        where: AuditFilter | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[AuditEvent]:
        """A page of the audit, newest first: who did what, who was refused. Without a group: of the installation."""
        filters: dict[str, Any] = {} if where is None else read_fields(where)
        events: list[AuditEvent] = []
        for size in split_limit(limit):
            page = await self._routes.audit_events(group, before=before, limit=size, **filters)
            events += [event.to_record() for event in page.events]
            before = page.next
            if before is None:
                break
        return events

    async def verify_audit(self, *, group: str | None = None, head: AuditHead | None = None) -> AuditReport:
        """Verify that no event was changed, removed or inserted; with an exported ``head``, also none at the end."""
        exported = None if head is None else AuditHeadView.from_record(head).model_dump(mode="json")
        return (await self._routes.verify_audit(group, head=exported)).to_record()

    async def audit_head(self, *, group: str | None = None) -> AuditHead:
        """Return the last seal, to be kept outside of the database."""
        return (await self._routes.audit_head(group)).to_record()

    # export and import

    def export_group(self, *, group: str) -> AsyncGenerator[str]:
        """Yield the lines of a file with everything of a group, as it is at this moment.

        The lines are in batches, and each batch is signed by the installation of the server. Without its last line the
        file is not complete. Requires ``admin`` and ``review``.
        """
        return self._routes.export_group(group)

    async def import_batch(self, batch: ImportBatch, *, group: str, trust: str | None = None) -> ImportResult:
        """Verify a batch of an export and store it. Batches are imported in order; a repeated one changes nothing.

        ``trust`` is the fingerprint of the key of another installation that has signed the export. Requires ``admin``
        and ``review``.
        """
        answer = await self._routes.import_batch(
            group, header=batch.header, previous=batch.previous, lines=batch.lines, seal=batch.seal, trust=trust
        )
        return answer.to_record()

    # forgetting

    async def preview_forget(self, selector: ForgetSelector, *, group: str) -> ErasurePlan:
        """Return everything that ``forget`` would touch, by ids, with the token to do so."""
        return (await self._routes.preview_forget(group, **_selector_fields(selector))).to_record()

    async def forget(self, selector: ForgetSelector, *, group: str, token: str) -> ForgetReceipt:
        """Erase what was previewed for good, or nothing if that has changed since; returns a signed receipt."""
        return (await self._routes.forget(group, token=token, **_selector_fields(selector))).to_record()


def _selector_fields(selector: ForgetSelector) -> dict[str, Any]:
    return {name: value for name, value in read_fields(selector).items() if value is not False}


def _name_destination(url: str | None, api_key: str | None, *, agent: bool) -> str:
    """Name a server and a caller without revealing the key."""
    key = "without a key" if api_key is None else f"key {sha256(api_key.encode()).hexdigest()[:12]}"
    return f"{url or 'the server on the data folder'}, {key}, {'agent' if agent else 'person'}"
