"""The memory manager of the protocol: the facade over the path, with its methods in the order of the path.

A memory manager is bound to its caller, whose rights every method checks, so that all adapters have the same
permissions. ``acting_as`` returns the memory manager of another caller. The group is a keyword in every method.
Methods raise ClearwellError: NotAllowed, InvalidInput, NotFound and Unavailable are the usual ones.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from datetime import datetime
from uuid import UUID

from clearwell.errors import ClearwellError
from clearwell.flow import limits
from clearwell.flow.access.gate import AccessGate, record_refusals
from clearwell.flow.access.permissions import (
    require_group_covered,
    require_in_group,
    require_reviewer,
    require_right,
    resolve_agent,
)
from clearwell.flow.archive.exporter import GroupExporter
from clearwell.flow.archive.importer import GroupImporter
from clearwell.flow.audit.trail import AuditTrail
from clearwell.flow.capture.assignment import OutputAssigner
from clearwell.flow.capture.intake import Intake
from clearwell.flow.capture.quarantine import QuarantineReader
from clearwell.flow.context.builder import ContextBuilder, ContextRequest
from clearwell.flow.context.retrieval_node import HistoryRetriever, MemoryRetrievalNode, NodeOptions
from clearwell.flow.digest import DigestRequests
from clearwell.flow.erasure.forgetter import Forgetter
from clearwell.flow.events.delivery import EventCallback, deliver_events
from clearwell.flow.events.feed import EventFeed
from clearwell.flow.factcheck.checker import FactChecker, FactCheckOptions
from clearwell.flow.factcheck.node import FactCheckNode, StateChecker
from clearwell.flow.groups import GroupProfiles
from clearwell.flow.idempotency import CallKey, identify_call, run_once
from clearwell.flow.ingress.override import RefusalOverride
from clearwell.flow.ingress.requeue import Requeuer
from clearwell.flow.node_events import OnEvent
from clearwell.flow.promotion.texts import TextPromoter
from clearwell.flow.retrieval.memories import MemoryReader
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.flow.review import ReviewService
from clearwell.flow.review.origins import OriginReader
from clearwell.flow.tombstones.registry import TombstoneRegistry
from clearwell.flow.working.maintenance import EntryRemover, WorkingMemoryRebuilder
from clearwell.messages import Language
from clearwell.ports import IdempotencyStore, QuarantineFilter, TokenCounter, WorkingStore
from clearwell.records import (
    NOTHING,
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
    IdempotencyKey,
    ImportBatch,
    ImportResult,
    IngressCount,
    Json,
    MemoryOrigin,
    Metadata,
    NewCapture,
    NewMemory,
    Principal,
    PromotionResult,
    QuarantinePage,
    QuarantineRow,
    Requeued,
    Retrieval,
    Right,
    Tombstone,
    VerifiedMemory,
    WorkingEntry,
)
from clearwell.settings import Settings
from clearwell.signatures import explain_wrong_calls


@explain_wrong_calls
@record_refusals
class MemoryManager:
    """Three-tier memory: capture, ingress, working memory, digests, review, promotion, retrieval and context."""

    def __init__(
        self,
        *,
        by: Principal,
        gate: AccessGate,
        trail: AuditTrail,
        forgetter: Forgetter,
        exporter: GroupExporter,
        importer: GroupImporter,
        assigner: OutputAssigner,
        intake: Intake,
        requeuer: Requeuer,
        override: RefusalOverride,
        quarantine: QuarantineReader,
        working: WorkingStore,
        remover: EntryRemover,
        rebuilder: WorkingMemoryRebuilder,
        tombstones: TombstoneRegistry,
        idempotency: IdempotencyStore,
        texts: TextPromoter,
        digests: DigestRequests,
        review: ReviewService,
        retriever: Retriever,
        memories: MemoryReader,
        origins: OriginReader,
        profiles: GroupProfiles,
        contexts: ContextBuilder,
        history: HistoryRetriever,
        feed: EventFeed,
        fact_checker: FactChecker,
        settings: Settings,
    ) -> None:
        self._by = by
        self._gate = gate
        self._trail = trail
        self._forgetter = forgetter
        self._exporter = exporter
        self._importer = importer
        self._assigner = assigner
        self._intake = intake
        self._requeuer = requeuer
        self._override = override
        self._quarantine = quarantine
        self._working = working
        self._remover = remover
        self._rebuilder = rebuilder
        self._tombstone_registry = tombstones
        self._idempotency = idempotency
        self._texts = texts
        self._digests = digests
        self._review = review
        self._retriever = retriever
        self._memories = memories
        self._origins = origins
        self._profiles = profiles
        self._contexts = contexts
        self._history = history
        self._feed = feed
        self._fact_checker = fact_checker
        self._settings = settings

    def acting_as(self, by: Principal) -> "MemoryManager":
        """Return the memory manager of another caller, on the same stores."""
        bound = copy(self)
        bound._by = by
        return bound

    def _identify(self, method: str, key: CallKey, *arguments: object) -> IdempotencyKey | None:
        return identify_call(key, by=self._by, method=method, arguments=arguments)

    @property
    def destination(self) -> str:
        """Names the caller, for captures that are delivered later: the same caller delivers them."""
        return f"library, as {self._by.name}"

    # tier 1

    async def capture(self, new: NewCapture, *, wait: bool = False, idempotency_key: CallKey = None) -> CaptureReceipt:
        """Store one output in quarantine and start its admission. The output is committed when this returns.

        With ``wait`` this returns when the admission has ended, or after ``wait_seconds`` with a pending receipt.
        """
        return await self._intake.capture(
            new, by=self._by, wait=wait, request=self._identify("capture", idempotency_key, new)
        )

    async def capture_many(
        self, news: Sequence[NewCapture], *, wait: bool = False, idempotency_key: CallKey = None
    ) -> list[CaptureReceipt | ClearwellError]:
        """Capture many outputs; a receipt or an error in the place of each. Raises if none could be stored."""
        return await self._intake.capture_many(
            news, by=self._by, wait=wait, request=self._identify("capture_many", idempotency_key, news)
        )

    async def log_quarantine(
        self,
        session_id: str | None,
        node_id: str | None,
        content: str,
        metadata: Metadata = NOTHING,
        *,
        group: str | None = None,
        node_type: str = "agent",
        agent_id: str | None = None,
        occurred_at: datetime | None = None,
    ) -> UUID:
        """Store an output in quarantine only. The sweep admits it unless ``update_working_memory`` does so first."""
        new = NewCapture(
            content=content,
            group_id=group,
            session_id=session_id,
            node_id=node_id,
            node_type=node_type,
            agent_id=agent_id,
            occurred_at=occurred_at,
            metadata=metadata,
        )
        return await self._intake.store(new, by=self._by)

    # between tier 1 and tier 2

    async def update_working_memory(
        self, content: str | None = None, metadata: Metadata = NOTHING, *, group: str, log_id: UUID | None = None
    ) -> CaptureReceipt:
        """Run the ingress pipeline on an output and, if it passes, put it into working memory.

        ``log_id`` names the row that ``log_quarantine`` made. Without it the content is stored in quarantine first:
        working memory holds nothing that quarantine does not.
        """
        if log_id is None:
            return await self.capture(NewCapture(content=content or "", group_id=group, metadata=metadata), wait=True)
        return await self._intake.wait_for_admission(group, log_id, by=self._by)

    async def check(self, new: NewCapture) -> DryRun:
        """Run the ingress pipeline on an output without storing anything."""
        return await self._intake.check(new, by=self._by)

    async def requeue(
        self, log_id: UUID, *, group: str, idempotency_key: CallKey = None, settle: bool = True
    ) -> Admission:
        """Run the ingress pipeline again on a refused row, or now on a pending one; returns its former state.

        Without ``settle`` the row is left to the process that sweeps.
        """
        return await self._requeuer.requeue(
            group,
            log_id,
            by=self._by,
            request=self._identify("requeue", idempotency_key, group, log_id),
            settle=settle,
        )

    async def requeue_refused(
        self, refused_by: str, *, group: str, idempotency_key: CallKey = None, settle: bool = True
    ) -> Requeued:
        """Requeue the rows that one check refused, or that were refused for one reason, a limited number at a time."""
        return await self._requeuer.requeue_refused(
            group,
            refused_by,
            by=self._by,
            request=self._identify("requeue_refused", idempotency_key, group, refused_by),
            settle=settle,
        )

    async def admit_refused(
        self, log_id: UUID, *, group: str, reason: str | None = None, idempotency_key: CallKey = None
    ) -> CaptureReceipt:
        """Put a refused output into working memory, as a person. Its verdicts stay, with one that names the person."""
        return await self._override.admit_refused(
            group,
            log_id,
            by=self._by,
            reason=reason,
            request=self._identify("admit_refused", idempotency_key, group, log_id, reason),
        )

    async def assign(self, log_id: UUID, *, group: str) -> CaptureReceipt:
        """Store an output that was captured without a group in this group, and start its admission there."""
        return await self._assigner.assign(log_id, group, by=self._by)

    async def ingress_counts(self, *, group: str) -> Sequence[IngressCount]:
        """How often each check had each outcome, by agent."""
        return await self._quarantine.counts(group, by=self._by)

    async def add_tombstone(
        self, value: str, *, group: str, reason: str, withdraw: bool = False, idempotency_key: CallKey = None
    ) -> DecisionResult:
        """Reject a value, so that it cannot come back. ``id`` of the result is its tombstone.

        Entries of working memory that say it are removed. ``still_said`` are the verified memories that say it; with
        ``withdraw`` they are withdrawn, and ``memories`` are those.
        """
        return await self._tombstone_registry.add(
            group,
            value,
            reason=reason,
            by=self._by,
            withdraw=withdraw,
            request=self._identify("add_tombstone", idempotency_key, group, value, reason, withdraw),
        )

    async def lift_tombstone(self, tombstone_id: UUID, *, group: str, idempotency_key: CallKey = None) -> None:
        """Lift the tombstone of a rejected value. A forgotten value stays forgotten."""
        await self._tombstone_registry.lift(
            group,
            tombstone_id,
            by=self._by,
            request=self._identify("lift_tombstone", idempotency_key, group, tombstone_id),
        )

    async def tombstones(self, *, group: str) -> Sequence[Tombstone]:
        """The tombstones of a group, newest first."""
        return await self._tombstone_registry.all(group, by=self._by)

    # tier 2

    async def working_memory(self, *, group: str) -> list[WorkingEntry]:
        """The entries that have not expired, newest first."""
        require_in_group(self._by, group, Right.READ)
        return await self._working.entries(group)

    async def remove_working_entry(self, entry_id: UUID, *, group: str, idempotency_key: CallKey = None) -> None:
        """Remove one entry from working memory. Its row stays in quarantine."""
        require_reviewer(self._by, group)

        async def act() -> Json:
            await self._remover.remove_entry(group, entry_id, by=self._by)
            return True

        await run_once(self._idempotency, self._identify("remove_working_entry", idempotency_key, group, entry_id), act)

    async def rebuild_working_memory(self, *, group: str | None = None) -> dict[str, int]:
        """Rebuild working memory from quarantine; returns the number of entries by group."""
        if group is not None:
            require_in_group(self._by, group, Right.ADMIN)
            return {group: await self._rebuilder.rebuild_group(group)}
        require_right(self._by, Right.ADMIN)
        if self._by.groups is None:
            return await self._rebuilder.rebuild_all()
        return {one: await self._rebuilder.rebuild_group(one) for one in sorted(self._by.groups)}

    async def cleanup_working_memory(self, *, group: str | None = None) -> int:
        """Remove expired entries, of one group or of all that the caller covers; returns how many there were."""
        require_right(self._by, Right.ADMIN)
        if group is not None:
            require_group_covered(self._by, group)
        if group is not None or self._by.groups is None:
            return await self._working.cleanup(group)
        return sum([await self._working.cleanup(one) for one in sorted(self._by.groups)])

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
        idempotency_key: CallKey = None,
    ) -> PromotionResult:
        """Promote a text to long-term memory. It can be retrieved when this returns, unless the result is ``waiting``.

        ``supersedes`` is the memory that it replaces, whose history is kept; entries of working memory that say its
        text are removed. A text that hides characters or speaks to its reader needs ``acknowledge=["hidden_text"]`` or
        ``["instruction_like"]``; invisible characters are removed, unless ``keep_invisible`` is set.
        """
        text = NewMemory(
            content=content,
            session_id=session_id,
            author=author,
            occurred_at=occurred_at,
            agent_id=agent_id,
            metadata=metadata,
            supersedes=supersedes,
            acknowledge=tuple(acknowledge),
            keep_invisible=keep_invisible,
        )
        request = self._identify("promote", idempotency_key, group, text)
        (result,) = await self.promote_many([text], group=group, idempotency_key=request)
        if isinstance(result, ClearwellError):
            raise result
        return result

    async def promote_many(
        self, texts: Sequence[NewMemory], *, group: str, idempotency_key: CallKey = None
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many texts in one transaction; a result or an error in the place of each."""
        return await self._texts.promote(
            group, texts, by=self._by, request=self._identify("promote_many", idempotency_key, group, texts)
        )

    async def retrieve(self, query: str, *, group: str, options: RetrieveOptions | None = None) -> Retrieval:
        """Search working and long-term memory together; each item has its source, score and label.

        With ``options.recent`` the query may be empty: the newest entries of working memory are then returned alone.
        The items count as given to an agent, unless a person asks with ``options.record=False``.
        """
        options = options or RetrieveOptions()
        require_in_group(self._by, group, Right.READ)
        if options.recent is None or query.strip():
            limits.require_text(query, "query", max_bytes=self._settings.max_query_bytes)
        agent_id = resolve_agent(self._by, limits.require_id(options.agent_id, "agent_id"))
        asked = options.for_agent(agent_id)
        return await self._retriever.retrieve(
            query, group, asked, record=options.record or self._by.is_agent, withdrawn=not self._by.is_agent
        )

    async def build_context(
        self, request: ContextRequest, *, group: str, counter: TokenCounter | None = None
    ) -> BuiltContext:
        """Build the prompt for the agent of ``request.options``: five sections within a token budget.

        ``counter`` is the caller's own token counter, for callers that know the model.
        """
        return await self._contexts.build(group, request, by=self._by, counter=counter)

    def retrieval_node(
        self,
        *,
        group: str,
        options: NodeOptions | None = None,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> MemoryRetrievalNode:
        """Make the memory-retrieval node of a workflow: ``state = await node(state)`` adds ``history_context``.

        Invalid options are refused here. Errors of retrieval never break the workflow.
        """
        options = options or NodeOptions()
        return self._history.make_node(group, options, by=self._by, language=language, on_event=on_event)

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
        options = self._fact_checker.resolve_options(group, options or FactCheckOptions(), by=self._by)
        return await self._fact_checker.check(claim, group, options, language=language)

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

        Invalid options are refused here. Errors never break the workflow.
        """
        options = self._fact_checker.resolve_options(group, options or FactCheckOptions(), by=self._by)
        return FactCheckNode(StateChecker(self._fact_checker), group, options, language=language, on_event=on_event)

    async def memory(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> VerifiedMemory:
        """One verified memory of the group, or of this agent, whole. Raises NotFound, also if it was withdrawn."""
        require_in_group(self._by, group, Right.READ)
        agent_id = resolve_agent(self._by, limits.require_id(agent_id, "agent_id"))
        return await self._memories.read(group, memory_id, agent_id=agent_id)

    async def memory_origin(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> MemoryOrigin:
        """Who promoted a verified memory, when, and whose outputs it is based on, without their texts.

        Raises NotFound, also if the memory was withdrawn. ``review.origin`` has the outputs, for reviewers.
        """
        require_in_group(self._by, group, Right.READ)
        agent_id = resolve_agent(self._by, limits.require_id(agent_id, "agent_id"))
        return await self._origins.read(group, memory_id, agent_id=agent_id)

    # events

    def events(self, *, group: str, after: str | None = None) -> AsyncGenerator[Event]:
        """Follow the events of a group: ``async for event in memory.events(group="grp-123")``.

        The first event is ``subscribed``; those after it happen from then on, in this or another process. ``after``
        is the id of the last event that was seen: the events since then come first. If they are no longer kept, the
        first event is ``reset``, and what was read before should be read again. While Redis or Valkey does not
        respond, there is one event ``degraded``, and ``recovered`` when it is back.
        """
        return self._feed.follow(group, by=self._by, after=after)

    def on_event(
        self, callback: EventCallback, *, group: str, after: str | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Call a function with each event of a group: ``async with memory.on_event(show, group="grp-123"): …``.

        It is called from the beginning of the block to its end, with the same events as ``events`` has.
        """
        return deliver_events(self.events(group=group, after=after), callback)

    # groups and agents

    async def group(self, group_id: str) -> Group:
        """A group's system prompt and digest schedule."""
        return await self._profiles.get_group(group_id, by=self._by)

    async def groups(self) -> Sequence[Group]:
        """The groups that the caller covers and that have a profile, outputs or memories."""
        return await self._profiles.list_groups(by=self._by)

    async def change_group(self, change: GroupChange, *, group: str, idempotency_key: CallKey = None) -> Group:
        """Change a group's profile. Fields that the change does not name stay."""
        return await self._profiles.change_group(
            group, change, by=self._by, request=self._identify("change_group", idempotency_key, group, change)
        )

    async def agent(self, agent_id: str, *, group: str) -> Agent:
        """An agent with its persona."""
        return await self._profiles.get_agent(group, agent_id, by=self._by)

    async def agents(self, *, group: str) -> Sequence[Agent]:
        """The agents of a group that the caller may read."""
        return await self._profiles.list_agents(group, by=self._by)

    async def put_agent(self, agent_id: str, *, group: str, persona: str, idempotency_key: CallKey = None) -> Agent:
        """Write an agent's persona."""
        return await self._profiles.put_agent(
            group,
            agent_id,
            persona,
            by=self._by,
            request=self._identify("put_agent", idempotency_key, group, agent_id, persona),
        )

    async def remove_agent(self, agent_id: str, *, group: str, idempotency_key: CallKey = None) -> None:
        """Remove an agent's persona. Its outputs and memories stay."""
        await self._profiles.remove_agent(
            group, agent_id, by=self._by, request=self._identify("remove_agent", idempotency_key, group, agent_id)
        )

    # review

    @property
    def review(self) -> ReviewService:
        """The review service: insights and their dossiers, decisions and undo, provenance and statistics."""
        return self._review.acting_as(self._by)

    async def quarantine_row(self, log_id: UUID, *, group: str) -> QuarantineRow:
        """One captured output with everything that happened to it."""
        return await self._quarantine.row(group, log_id, by=self._by)

    async def quarantine_rows(
        self, *, group: str, where: QuarantineFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[QuarantineRow]:
        """The newest outputs of a group's quarantine, or those before one of them."""
        return await self._quarantine.rows(group, by=self._by, where=where, before=before, limit=limit)

    async def quarantine_page(
        self, *, group: str, where: QuarantineFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> QuarantinePage:
        """A page of a group's quarantine, newest first, which takes as long however many outputs there are."""
        return await self._quarantine.page(group, by=self._by, where=where, before=before, limit=limit)

    async def request_digest(self, *, group: str, idempotency_key: CallKey = None) -> tuple[UUID, DigestStatus]:
        """Request a digest of the group's quarantine; returns the one that is already being made, if there is one."""
        return await self._digests.request(
            group, by=self._by, request=self._identify("request_digest", idempotency_key, group)
        )

    async def digest(self, digest_id: UUID, *, group: str | None = None) -> Digest:
        """One digest, with its insights when it is done."""
        return await self._digests.get(digest_id, by=self._by, group_id=group)

    async def digests(self, *, group: str, before: UUID | None = None, limit: int = 50) -> Sequence[Digest]:
        """A page of a group's digests, newest first, without their insights."""
        return await self._digests.page(group, by=self._by, before=before, limit=limit)

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
        return await self._trail.page(group, where or AuditFilter(), before=before, limit=limit, by=self._by)

    async def verify_audit(self, *, group: str | None = None, head: AuditHead | None = None) -> AuditReport:
        """Verify that no event was changed, removed or inserted; with an exported ``head``, also none at the end."""
        return await self._trail.verify(group, head, by=self._by)

    async def audit_head(self, *, group: str | None = None) -> AuditHead:
        """Return the last seal, to be kept outside of the database."""
        return await self._trail.head(group, by=self._by)

    # forgetting

    async def preview_forget(self, selector: ForgetSelector, *, group: str) -> ErasurePlan:
        """Return everything that ``forget`` would touch, by ids, with the token to do so."""
        return await self._forgetter.preview(group, selector, by=self._by)

    async def forget(self, selector: ForgetSelector, *, group: str, token: str) -> ForgetReceipt:
        """Erase what was previewed for good, or nothing if that has changed since; returns a signed receipt."""
        return await self._forgetter.forget(group, selector, token=token, by=self._by)

    # export and import

    def export_group(self, *, group: str) -> AsyncGenerator[str]:
        """Yield the lines of a file with everything of a group, as it is at this moment.

        The lines are in batches, and each batch is signed by this installation. Without its last line the file is not
        complete. Requires ``admin`` and ``review``.
        """
        return self._exporter.export(group, by=self._by)

    async def import_batch(self, batch: ImportBatch, *, group: str, trust: str | None = None) -> ImportResult:
        """Verify a batch of an export and store it. Batches are imported in order; a repeated one changes nothing.

        ``trust`` is the fingerprint of the key of another installation that has signed the export. Requires ``admin``
        and ``review``.
        """
        return await self._importer.add(group, batch, trust=trust, by=self._by)
