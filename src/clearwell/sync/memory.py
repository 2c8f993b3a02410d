"""The memory manager and the review service for synchronous programs.

Written by scripts/sync.py: run `make sync` instead of editing it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearwell.records import NOTHING, Origin
from clearwell.signatures import explain_wrong_calls
from clearwell.sync.node import SyncNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from uuid import UUID

    from clearwell.errors import ClearwellError
    from clearwell.flow.context.builder import ContextRequest
    from clearwell.flow.context.retrieval_node import NodeOptions
    from clearwell.flow.events.delivery import EventCallback
    from clearwell.flow.factcheck.checker import FactCheckOptions
    from clearwell.flow.idempotency import CallKey
    from clearwell.flow.node_events import OnEvent
    from clearwell.flow.retrieval.options import RetrieveOptions
    from clearwell.flow.review.service import ReviewService
    from clearwell.messages import Language
    from clearwell.ports import MemoryFilter, QuarantineFilter, TokenCounter
    from clearwell.records import (
        Action,
        ActivityDay,
        Admission,
        Agent,
        AuditEvent,
        AuditFilter,
        AuditHead,
        AuditReport,
        BuiltContext,
        CalibrationRow,
        CaptureReceipt,
        Decision,
        DecisionRequest,
        DecisionResult,
        Digest,
        DigestStatus,
        Dossier,
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
        Insight,
        InsightState,
        ListedMemory,
        MemoryOrigin,
        Metadata,
        NewCapture,
        NewMemory,
        Principal,
        PromotionResult,
        Provenance,
        QuarantinePage,
        QuarantineRow,
        Requeued,
        RetractionPreview,
        Retrieval,
        ReviewCounts,
        ReviewStatistics,
        SourceSelector,
        Tombstone,
        VerifiedMemory,
        WorkingEntry,
    )
    from clearwell.service import MemoryManager
    from clearwell.sync.loop_thread import LoopThread
    from clearwell.vocabulary import IdKind


@explain_wrong_calls
class SyncMemoryManager:
    """The memory manager without ``await``. Methods, parameters and records are the same."""

    def __init__(self, inner: MemoryManager, loop: LoopThread) -> None:
        self._inner = inner
        self._loop = loop

    def acting_as(self, by: Principal) -> SyncMemoryManager:
        """Return the memory manager of another caller, on the same stores."""
        return SyncMemoryManager(self._inner.acting_as(by), self._loop)

    @property
    def destination(self) -> str:
        """Names the caller, for captures that are delivered later: the same caller delivers them."""
        return self._inner.destination

    def capture(self, new: NewCapture, *, wait: bool = False, idempotency_key: CallKey = None) -> CaptureReceipt:
        """Store one output in quarantine and start its admission. The output is committed when this returns.

        With ``wait`` this returns when the admission has ended, or after ``wait_seconds`` with a pending receipt.
        """
        return self._loop.run(self._inner.capture(new, wait=wait, idempotency_key=idempotency_key))

    def capture_many(
        self, news: Sequence[NewCapture], *, wait: bool = False, idempotency_key: CallKey = None
    ) -> list[CaptureReceipt | ClearwellError]:
        """Capture many outputs; a receipt or an error in the place of each. Raises if none could be stored."""
        return self._loop.run(self._inner.capture_many(news, wait=wait, idempotency_key=idempotency_key))

    def log_quarantine(
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
        return self._loop.run(
            self._inner.log_quarantine(
                session_id,
                node_id,
                content,
                metadata,
                group=group,
                node_type=node_type,
                agent_id=agent_id,
                occurred_at=occurred_at,
            )
        )

    def update_working_memory(
        self, content: str | None = None, metadata: Metadata = NOTHING, *, group: str, log_id: UUID | None = None
    ) -> CaptureReceipt:
        """Run the ingress pipeline on an output and, if it passes, put it into working memory.

        ``log_id`` names the row that ``log_quarantine`` made. Without it the content is stored in quarantine first:
        working memory holds nothing that quarantine does not.
        """
        return self._loop.run(self._inner.update_working_memory(content, metadata, group=group, log_id=log_id))

    def check(self, new: NewCapture) -> DryRun:
        """Run the ingress pipeline on an output without storing anything."""
        return self._loop.run(self._inner.check(new))

    def requeue(self, log_id: UUID, *, group: str, idempotency_key: CallKey = None, settle: bool = True) -> Admission:
        """Run the ingress pipeline again on a refused row, or now on a pending one; returns its former state.

        Without ``settle`` the row is left to the process that sweeps.
        """
        return self._loop.run(self._inner.requeue(log_id, group=group, idempotency_key=idempotency_key, settle=settle))

    def requeue_refused(
        self, refused_by: str, *, group: str, idempotency_key: CallKey = None, settle: bool = True
    ) -> Requeued:
        """Requeue the rows that one check refused, or that were refused for one reason, a limited number at a time."""
        return self._loop.run(
            self._inner.requeue_refused(refused_by, group=group, idempotency_key=idempotency_key, settle=settle)
        )

    def admit_refused(
        self, log_id: UUID, *, group: str, reason: str | None = None, idempotency_key: CallKey = None
    ) -> CaptureReceipt:
        """Put a refused output into working memory, as a person. Its verdicts stay, with one that names the person."""
        return self._loop.run(
            self._inner.admit_refused(log_id, group=group, reason=reason, idempotency_key=idempotency_key)
        )

    def assign(self, log_id: UUID, *, group: str) -> CaptureReceipt:
        """Store an output that was captured without a group in this group, and start its admission there."""
        return self._loop.run(self._inner.assign(log_id, group=group))

    def ingress_counts(self, *, group: str) -> Sequence[IngressCount]:
        """How often each check had each outcome, by agent."""
        return self._loop.run(self._inner.ingress_counts(group=group))

    def add_tombstone(
        self, value: str, *, group: str, reason: str, withdraw: bool = False, idempotency_key: CallKey = None
    ) -> DecisionResult:
        """Reject a value, so that it cannot come back. ``id`` of the result is its tombstone.

        Entries of working memory that say it are removed. ``still_said`` are the verified memories that say it; with
        ``withdraw`` they are withdrawn, and ``memories`` are those.
        """
        return self._loop.run(
            self._inner.add_tombstone(
                value, group=group, reason=reason, withdraw=withdraw, idempotency_key=idempotency_key
            )
        )

    def lift_tombstone(self, tombstone_id: UUID, *, group: str, idempotency_key: CallKey = None) -> None:
        """Lift the tombstone of a rejected value. A forgotten value stays forgotten."""
        self._loop.run(self._inner.lift_tombstone(tombstone_id, group=group, idempotency_key=idempotency_key))

    def tombstones(self, *, group: str) -> Sequence[Tombstone]:
        """The tombstones of a group, newest first."""
        return self._loop.run(self._inner.tombstones(group=group))

    def working_memory(self, *, group: str) -> list[WorkingEntry]:
        """The entries that have not expired, newest first."""
        return self._loop.run(self._inner.working_memory(group=group))

    def remove_working_entry(self, entry_id: UUID, *, group: str, idempotency_key: CallKey = None) -> None:
        """Remove one entry from working memory. Its row stays in quarantine."""
        self._loop.run(self._inner.remove_working_entry(entry_id, group=group, idempotency_key=idempotency_key))

    def rebuild_working_memory(self, *, group: str | None = None) -> dict[str, int]:
        """Rebuild working memory from quarantine; returns the number of entries by group."""
        return self._loop.run(self._inner.rebuild_working_memory(group=group))

    def cleanup_working_memory(self, *, group: str | None = None) -> int:
        """Remove expired entries, of one group or of all that the caller covers; returns how many there were."""
        return self._loop.run(self._inner.cleanup_working_memory(group=group))

    def promote(
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
        return self._loop.run(
            self._inner.promote(
                content,
                group=group,
                session_id=session_id,
                author=author,
                occurred_at=occurred_at,
                agent_id=agent_id,
                metadata=metadata,
                supersedes=supersedes,
                acknowledge=acknowledge,
                keep_invisible=keep_invisible,
                idempotency_key=idempotency_key,
            )
        )

    def promote_many(
        self, texts: Sequence[NewMemory], *, group: str, idempotency_key: CallKey = None
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many texts in one transaction; a result or an error in the place of each."""
        return self._loop.run(self._inner.promote_many(texts, group=group, idempotency_key=idempotency_key))

    def retrieve(self, query: str, *, group: str, options: RetrieveOptions | None = None) -> Retrieval:
        """Search working and long-term memory together; each item has its source, score and label.

        With ``options.recent`` the query may be empty: the newest entries of working memory are then returned alone.
        The items count as given to an agent, unless a person asks with ``options.record=False``.
        """
        return self._loop.run(self._inner.retrieve(query, group=group, options=options))

    def build_context(
        self, request: ContextRequest, *, group: str, counter: TokenCounter | None = None
    ) -> BuiltContext:
        """Build the prompt for the agent of ``request.options``: five sections within a token budget.

        ``counter`` is the caller's own token counter, for callers that know the model.
        """
        return self._loop.run(self._inner.build_context(request, group=group, counter=counter))

    def retrieval_node(
        self,
        *,
        group: str,
        options: NodeOptions | None = None,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> SyncNode:
        """Make the memory-retrieval node of a workflow: ``state = node(state)`` adds ``history_context``.

        Invalid options are refused here. Errors of retrieval never break the workflow.
        """
        return SyncNode(
            self._inner.retrieval_node(group=group, options=options, language=language, on_event=on_event), self._loop
        )

    def fact_check(
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
        return self._loop.run(self._inner.fact_check(claim, group=group, options=options, language=language))

    def fact_check_node(
        self,
        *,
        group: str,
        options: FactCheckOptions | None = None,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> SyncNode:
        """Make the fact-check node of a workflow: ``state = node(state)`` adds ``fact_check``, a text, and
        ``fact_check_result``.

        Invalid options are refused here. Errors never break the workflow.
        """
        return SyncNode(
            self._inner.fact_check_node(group=group, options=options, language=language, on_event=on_event), self._loop
        )

    def memory(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> VerifiedMemory:
        """One verified memory of the group, or of this agent, whole. Raises NotFound, also if it was withdrawn."""
        return self._loop.run(self._inner.memory(memory_id, group=group, agent_id=agent_id))

    def memory_origin(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> MemoryOrigin:
        """Who promoted a verified memory, when, and whose outputs it is based on, without their texts.

        Raises NotFound, also if the memory was withdrawn. ``review.origin`` has the outputs, for reviewers.
        """
        return self._loop.run(self._inner.memory_origin(memory_id, group=group, agent_id=agent_id))

    def events(self, *, group: str, after: str | None = None) -> Iterator[Event]:
        """Follow the events of a group: ``for event in memory.events(group="grp-123")``.

        The first event is ``subscribed``; those after it happen from then on, in this or another process. ``after``
        is the id of the last event that was seen: the events since then come first. If they are no longer kept, the
        first event is ``reset``, and what was read before should be read again. While Redis or Valkey does not
        respond, there is one event ``degraded``, and ``recovered`` when it is back.
        """
        return self._loop.iterate(self._inner.events(group=group, after=after))

    def on_event(
        self, callback: EventCallback, *, group: str, after: str | None = None
    ) -> AbstractContextManager[None]:
        """Call a function with each event of a group: ``with memory.on_event(show, group="grp-123"): …``.

        It is called from the beginning of the block to its end, with the same events as ``events`` has.
        """
        return self._loop.enter(self._inner.on_event(callback, group=group, after=after))

    def group(self, group_id: str) -> Group:
        """A group's system prompt and digest schedule."""
        return self._loop.run(self._inner.group(group_id))

    def groups(self) -> Sequence[Group]:
        """The groups that the caller covers and that have a profile, outputs or memories."""
        return self._loop.run(self._inner.groups())

    def change_group(self, change: GroupChange, *, group: str, idempotency_key: CallKey = None) -> Group:
        """Change a group's profile. Fields that the change does not name stay."""
        return self._loop.run(self._inner.change_group(change, group=group, idempotency_key=idempotency_key))

    def agent(self, agent_id: str, *, group: str) -> Agent:
        """An agent with its persona."""
        return self._loop.run(self._inner.agent(agent_id, group=group))

    def agents(self, *, group: str) -> Sequence[Agent]:
        """The agents of a group that the caller may read."""
        return self._loop.run(self._inner.agents(group=group))

    def put_agent(self, agent_id: str, *, group: str, persona: str, idempotency_key: CallKey = None) -> Agent:
        """Write an agent's persona."""
        return self._loop.run(
            self._inner.put_agent(agent_id, group=group, persona=persona, idempotency_key=idempotency_key)
        )

    def remove_agent(self, agent_id: str, *, group: str, idempotency_key: CallKey = None) -> None:
        """Remove an agent's persona. Its outputs and memories stay."""
        self._loop.run(self._inner.remove_agent(agent_id, group=group, idempotency_key=idempotency_key))

    @property
    def review(self) -> SyncReviewService:
        """The review service: insights and their dossiers, decisions and undo, provenance and statistics."""
        return SyncReviewService(self._inner.review, self._loop)

    def quarantine_row(self, log_id: UUID, *, group: str) -> QuarantineRow:
        """One captured output with everything that happened to it."""
        return self._loop.run(self._inner.quarantine_row(log_id, group=group))

    def quarantine_rows(
        self, *, group: str, where: QuarantineFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[QuarantineRow]:
        """The newest outputs of a group's quarantine, or those before one of them."""
        return self._loop.run(self._inner.quarantine_rows(group=group, where=where, before=before, limit=limit))

    def quarantine_page(
        self, *, group: str, where: QuarantineFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> QuarantinePage:
        """A page of a group's quarantine, newest first, which takes as long however many outputs there are."""
        return self._loop.run(self._inner.quarantine_page(group=group, where=where, before=before, limit=limit))

    def request_digest(self, *, group: str, idempotency_key: CallKey = None) -> tuple[UUID, DigestStatus]:
        """Request a digest of the group's quarantine; returns the one that is already being made, if there is one."""
        return self._loop.run(self._inner.request_digest(group=group, idempotency_key=idempotency_key))

    def digest(self, digest_id: UUID, *, group: str | None = None) -> Digest:
        """One digest, with its insights when it is done."""
        return self._loop.run(self._inner.digest(digest_id, group=group))

    def digests(self, *, group: str, before: UUID | None = None, limit: int = 50) -> Sequence[Digest]:
        """A page of a group's digests, newest first, without their insights."""
        return self._loop.run(self._inner.digests(group=group, before=before, limit=limit))

    def audit_events(
        self, *, group: str | None = None, where: AuditFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[AuditEvent]:
        """A page of the audit, newest first: who did what, who was refused. Without a group: of the installation."""
        return self._loop.run(self._inner.audit_events(group=group, where=where, before=before, limit=limit))

    def verify_audit(self, *, group: str | None = None, head: AuditHead | None = None) -> AuditReport:
        """Verify that no event was changed, removed or inserted; with an exported ``head``, also none at the end."""
        return self._loop.run(self._inner.verify_audit(group=group, head=head))

    def audit_head(self, *, group: str | None = None) -> AuditHead:
        """Return the last seal, to be kept outside of the database."""
        return self._loop.run(self._inner.audit_head(group=group))

    def preview_forget(self, selector: ForgetSelector, *, group: str) -> ErasurePlan:
        """Return everything that ``forget`` would touch, by ids, with the token to do so."""
        return self._loop.run(self._inner.preview_forget(selector, group=group))

    def forget(self, selector: ForgetSelector, *, group: str, token: str) -> ForgetReceipt:
        """Erase what was previewed for good, or nothing if that has changed since; returns a signed receipt."""
        return self._loop.run(self._inner.forget(selector, group=group, token=token))

    def export_group(self, *, group: str) -> Iterator[str]:
        """Yield the lines of a file with everything of a group, as it is at this moment.

        The lines are in batches, and each batch is signed by this installation. Without its last line the file is not
        complete. Requires ``admin`` and ``review``.
        """
        return self._loop.iterate(self._inner.export_group(group=group))

    def import_batch(self, batch: ImportBatch, *, group: str, trust: str | None = None) -> ImportResult:
        """Verify a batch of an export and store it. Batches are imported in order; a repeated one changes nothing.

        ``trust`` is the fingerprint of the key of another installation that has signed the export. Requires ``admin``
        and ``review``.
        """
        return self._loop.run(self._inner.import_batch(batch, group=group, trust=trust))


@explain_wrong_calls
class SyncReviewService:
    """The review service without ``await``: insights, decisions, provenance and statistics."""

    def __init__(self, inner: ReviewService, loop: LoopThread) -> None:
        self._inner = inner
        self._loop = loop

    def acting_as(self, by: Principal) -> SyncReviewService:
        """Return the review service of another caller."""
        return SyncReviewService(self._inner.acting_as(by), self._loop)

    def group_of(self, kind: str, one: UUID) -> str:
        """The group of something that is named by its id alone. A group that the caller does not cover is not found."""
        return self._loop.run(self._inner.group_of(kind, one))

    def find_ids(self, ending: str, *, group: str, kind: IdKind) -> Sequence[UUID]:
        """The ids of this kind in the group that end with these characters, such as a short id that was printed.

        More than one can have the same ending; at most ten are returned.
        """
        return self._loop.run(self._inner.find_ids(ending, group=group, kind=kind))

    def insights(
        self, *, group: str, state: InsightState | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Insight]:
        """Return insights, newest digest first and the best of each digest first."""
        return self._loop.run(self._inner.insights(group=group, state=state, before=before, limit=limit))

    def insight(self, insight_id: UUID, *, group: str) -> Dossier:
        """One insight with everything that a reviewer needs to decide on it."""
        return self._loop.run(self._inner.insight(insight_id, group=group))

    def decisions(self, *, group: str, before: UUID | None = None, limit: int = 50) -> Sequence[Decision]:
        """Return decisions, newest first."""
        return self._loop.run(self._inner.decisions(group=group, before=before, limit=limit))

    def find_undoable(self, *, group: str) -> Decision | None:
        """The last decision of the caller on an insight that can be undone, among the recent ones of the group."""
        return self._loop.run(self._inner.find_undoable(group=group))

    def promote(
        self,
        insight_id: UUID,
        *,
        group: str,
        text: str | None = None,
        agent_id: str | None = None,
        supersedes: UUID | None = None,
        side: int | None = None,
        despite: Sequence[str] = (),
        acknowledge: Sequence[str] = (),
        keep_invisible: bool = False,
        version: int | None = None,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Promote an insight: as it is or in other words, for the group or for one agent.

        An insight with sides is promoted by naming one of them (``side``, its place in ``sides``), by a ``text``, or
        with ``despite=["contradiction"]``: all sides are then one memory with the flag ``contradiction``. Without any
        of these it is refused.
        A text that hides characters or speaks to its reader is promoted only with ``acknowledge=["hidden_text"]`` or
        ``["instruction_like"]``. Invisible characters are removed, unless ``keep_invisible`` is set.
        With ``version`` a decision on an insight that has changed since is refused, here and in the other decisions.
        """
        return self._loop.run(
            self._inner.promote(
                insight_id,
                group=group,
                text=text,
                agent_id=agent_id,
                supersedes=supersedes,
                side=side,
                despite=despite,
                acknowledge=acknowledge,
                keep_invisible=keep_invisible,
                version=version,
                idempotency_key=idempotency_key,
            )
        )

    def reject(
        self,
        insight_id: UUID,
        *,
        group: str,
        reason: str,
        version: int | None = None,
        withdraw: bool = False,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Reject an insight. Its text cannot be promoted until that is undone.

        ``still_said`` and ``still_working`` of the result are the verified memories and the entries that say the same;
        with ``withdraw`` they are withdrawn and removed.
        """
        return self._loop.run(
            self._inner.reject(
                insight_id,
                group=group,
                reason=reason,
                version=version,
                withdraw=withdraw,
                idempotency_key=idempotency_key,
            )
        )

    def merge(
        self,
        insight_id: UUID,
        others: Sequence[UUID],
        *,
        group: str,
        text: str | None = None,
        version: int | None = None,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Merge other insights into this one."""
        return self._loop.run(
            self._inner.merge(
                insight_id, others, group=group, text=text, version=version, idempotency_key=idempotency_key
            )
        )

    def snooze(
        self,
        insight_id: UUID,
        *,
        group: str,
        until: datetime | None = None,
        days: float | None = None,
        version: int | None = None,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Snooze an insight, for a week by default."""
        return self._loop.run(
            self._inner.snooze(
                insight_id, group=group, until=until, days=days, version=version, idempotency_key=idempotency_key
            )
        )

    def undo_last(
        self,
        insight_id: UUID,
        *,
        group: str,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Undo the last decision on an insight. ``undo`` undoes any decision by its own id."""
        return self._loop.run(
            self._inner.undo_last(
                insight_id, group=group, reason=reason, version=version, idempotency_key=idempotency_key
            )
        )

    def decide(self, decision: DecisionRequest, *, group: str, idempotency_key: CallKey = None) -> DecisionResult:
        """Decide on one insight. A promoted memory can be retrieved when this returns, unless it is ``promoting``."""
        return self._loop.run(self._inner.decide(decision, group=group, idempotency_key=idempotency_key))

    def decide_many(
        self, decisions: Sequence[DecisionRequest], *, group: str, idempotency_key: CallKey = None
    ) -> list[DecisionResult | ClearwellError]:
        """Decide on many insights, independently and in order. Returns a result or an error for each."""
        return self._loop.run(self._inner.decide_many(decisions, group=group, idempotency_key=idempotency_key))

    def undo(
        self,
        decision_id: UUID,
        *,
        group: str,
        reason: str | None = None,
        only: Action | None = None,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Undo any decision by its id. With ``only`` a decision of another kind is refused."""
        return self._loop.run(
            self._inner.undo(decision_id, group=group, reason=reason, only=only, idempotency_key=idempotency_key)
        )

    def promote_row(
        self, log_id: UUID, text: NewMemory, *, group: str, idempotency_key: CallKey = None
    ) -> PromotionResult:
        """Promote an output from quarantine. ``text`` has the changes: content, agent, or the memory to supersede."""
        return self._loop.run(self._inner.promote_row(log_id, text, group=group, idempotency_key=idempotency_key))

    def promote_entry(
        self, entry_id: UUID, text: NewMemory, *, group: str, idempotency_key: CallKey = None
    ) -> PromotionResult:
        """Promote an entry of working memory that has not expired."""
        return self._loop.run(self._inner.promote_entry(entry_id, text, group=group, idempotency_key=idempotency_key))

    def promote_outputs(
        self,
        ids: Sequence[str],
        *,
        group: str,
        origin: Origin = Origin.QUARANTINE,
        acknowledge: Sequence[str] = (),
        keep_invisible: bool = False,
        idempotency_key: CallKey = None,
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many outputs as they are. Returns a result or an error for each, in order."""
        return self._loop.run(
            self._inner.promote_outputs(
                ids,
                group=group,
                origin=origin,
                acknowledge=acknowledge,
                keep_invisible=keep_invisible,
                idempotency_key=idempotency_key,
            )
        )

    def memories(
        self, *, group: str, where: MemoryFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[ListedMemory]:
        """Return promoted memories, newest first. ``before`` is the last promotion of the page before."""
        return self._loop.run(self._inner.memories(group=group, where=where, before=before, limit=limit))

    def origin(self, memory_id: UUID, *, group: str) -> Provenance:
        """Return the provenance of a memory, down to the outputs that it is based on."""
        return self._loop.run(self._inner.origin(memory_id, group=group))

    def influence(self, log_id: UUID, *, group: str) -> Provenance:
        """Return the provenance of an output, up to the memories that are based on it."""
        return self._loop.run(self._inner.influence(log_id, group=group))

    def preview_retraction(self, selector: SourceSelector, *, group: str) -> RetractionPreview:
        """Return what ``retract`` would withdraw, with the token to do so."""
        return self._loop.run(self._inner.preview_retraction(selector, group=group))

    def retract(
        self,
        selector: SourceSelector,
        *,
        group: str,
        token: str,
        reason: str | None = None,
        tombstones: bool = False,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Withdraw what was previewed, or nothing if that has changed since.

        Entries of working memory from the same source, or that say the same, are removed. With ``tombstones`` what the
        memories say does not come back.
        """
        return self._loop.run(
            self._inner.retract(
                selector,
                group=group,
                token=token,
                reason=reason,
                tombstones=tombstones,
                idempotency_key=idempotency_key,
            )
        )

    def withdraw(self, memory_id: UUID, *, group: str, reason: str, idempotency_key: CallKey = None) -> DecisionResult:
        """Withdraw one memory. History is kept, and ``undo`` of the decision restores it."""
        return self._loop.run(
            self._inner.withdraw(memory_id, group=group, reason=reason, idempotency_key=idempotency_key)
        )

    def calibration(self, *, group: str) -> Sequence[CalibrationRow]:
        """Compare the stated confidence of agents with the decisions on their outputs. Changes no threshold."""
        return self._loop.run(self._inner.calibration(group=group))

    def activity(self, *, group: str, days: int = 30) -> Sequence[ActivityDay]:
        """What happened on each of the last days, today included: admissions, refusals, decisions and review lag."""
        return self._loop.run(self._inner.activity(group=group, days=days))

    def counts(self, *, group: str) -> ReviewCounts:
        """What a group has now: insights that wait for a decision, valid memories, and unfinished promotions."""
        return self._loop.run(self._inner.counts(group=group))

    def statistics(self, *, group: str) -> ReviewStatistics:
        """Return the review statistics of a group."""
        return self._loop.run(self._inner.statistics(group=group))
