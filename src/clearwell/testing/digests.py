"""Digests in dicts, over the rows of the quarantine twin."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.ports import (
    AddDueResult,
    CandidateFilter,
    DigestAttempt,
    KnownVector,
    OpenDigest,
    RejectedVector,
    Schedule,
    UndecidedVector,
)
from clearwell.records import (
    UNASSIGNED,
    Admission,
    AuditEvent,
    Digest,
    DigestRow,
    DigestStatus,
    Insight,
    InsightSource,
    InsightState,
    Metadata,
    Origin,
    Outcome,
    Statement,
    stated_confidence,
)
from clearwell.testing.groups import MemoryGroups
from clearwell.testing.ledger import MemoryLedger
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones
from clearwell.testing.quarantine import MemoryQuarantine, Row
from clearwell.testing.simple import has_come
from clearwell.vocabulary import IngressCheck

OPEN = (DigestStatus.QUEUED, DigestStatus.RUNNING)
DECIDED = (InsightState.PROMOTED, InsightState.REJECTED)
UNDECIDED = (InsightState.PENDING, InsightState.SNOOZED)


class MemoryDigests:
    """The digest's ports over the twins of quarantine, long-term memory and tombstones."""

    def __init__(
        self,
        quarantine: MemoryQuarantine,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        ledger: MemoryLedger,
        groups: MemoryGroups,
    ) -> None:
        self._groups = groups
        self._ledger = ledger
        self._quarantine = quarantine
        self._longterm = longterm
        self._tombstones = tombstones
        self._digests: dict[UUID, Digest] = {}
        self._next_tries: dict[UUID, datetime] = {}
        self._leases: dict[UUID, datetime] = {}
        self.events: list[AuditEvent] = []

    # the reader's side

    async def request(self, digest: Digest, *, event: AuditEvent) -> Digest:
        standing = self._open_in(digest.group_id)
        if standing is not None:
            return standing
        self._add(digest, event)
        return digest

    async def get(self, group_id: str, digest_id: UUID) -> Digest | None:
        found = self._digests.get(digest_id)
        if found is None or found.group_id != group_id:
            return None
        return replace(found, insights=self._ledger.of_digest(digest_id))

    async def page(self, group_id: str, *, before: UUID | None = None, limit: int = 50) -> Sequence[Digest]:
        mine = [one for one in self._digests.values() if one.group_id == group_id]
        newest = sorted(mine, key=lambda one: one.id, reverse=True)
        return [one for one in newest if before is None or one.id < before][:limit]

    def list_ids(self, group_id: str) -> list[UUID]:
        return [one.id for one in self._digests.values() if one.group_id == group_id]

    async def find_group(self, digest_id: UUID) -> str | None:
        found = self._digests.get(digest_id)
        return None if found is None else found.group_id

    # the worker's side

    async def list_schedules(self) -> Sequence[Schedule]:
        settled = {group: self._settled_in(group) for group in sorted(self._quarantine.rows)}
        return [
            self._groups.schedule(group, min(row.settled_at for row in rows if row.settled_at is not None))
            for group, rows in settled.items()
            if rows and group != UNASSIGNED
        ]

    async def add_due(self, digest: Digest, *, event: AuditEvent) -> AddDueResult:
        mine = [one for one in self._digests.values() if one.group_id == digest.group_id]
        if any(one.due_at == digest.due_at for one in mine):
            return AddDueResult.ALREADY_ADDED
        if self._open_in(digest.group_id) is not None:
            return AddDueResult.BUSY
        self._add(digest, event)
        return AddDueResult.ADDED

    async def find_due(self, *, at: datetime) -> Sequence[OpenDigest]:
        standing = [one for one in self._digests.values() if self._is_due(one, at)]
        standing.sort(key=lambda one: (one.created_at, one.id))
        return [OpenDigest(group_id=one.group_id, digest_id=one.id) for one in standing]

    def _is_due(self, digest: Digest, at: datetime) -> bool:
        times = (self._next_tries.get(digest.id), self._leases.get(digest.id))
        return digest.status in OPEN and all(time is None or has_come(time, at) for time in times)

    async def claim(self, group_id: str, digest_id: UUID, *, at: datetime, until: datetime) -> Digest | None:
        found = await self.get(group_id, digest_id)
        if found is None or not self._is_due(found, at):
            return None
        self._leases[digest_id] = until
        taken = replace(
            found,
            status=DigestStatus.RUNNING,
            attempts=found.attempts + 1,
            started_at=found.started_at or at,
            progress=0.0,
        )
        self._digests[digest_id] = taken
        return taken

    async def renew(self, attempt: DigestAttempt, *, until: datetime) -> bool:
        if not self._change(attempt):
            return False
        self._leases[attempt.digest_id] = until
        return True

    async def release(self, attempt: DigestAttempt) -> bool:
        return self._change(attempt) and self._leases.pop(attempt.digest_id, None) is not None

    async def report(self, attempt: DigestAttempt, *, progress: float, note: str, params: Metadata) -> bool:
        return self._change(attempt, progress=progress, note=note, note_params=dict(params))

    async def postpone(self, attempt: DigestAttempt, *, again: datetime, note: str, params: Metadata) -> bool:
        if not self._change(attempt, status=DigestStatus.QUEUED, progress=0.0, note=note, note_params=dict(params)):
            return False
        self._next_tries[attempt.digest_id] = again
        self._leases.pop(attempt.digest_id, None)
        return True

    async def fail(
        self, attempt: DigestAttempt, *, at: datetime, note: str, params: Metadata, event: AuditEvent
    ) -> bool:
        failed = {"status": DigestStatus.FAILED, "progress": 0.0, "finished_at": at, "note": note}
        return self._change(attempt, event, **failed, note_params=dict(params))

    async def finish(
        self,
        attempt: DigestAttempt,
        digest: Digest,
        insights: Sequence[Insight],
        *,
        considered: Sequence[UUID],
        replaced: Mapping[UUID, UUID],
        event: AuditEvent,
    ) -> bool:
        done = {
            "status": DigestStatus.DONE,
            "progress": 1.0,
            "finished_at": digest.finished_at,
            "note": digest.note,
            "note_params": dict(digest.note_params),
            "report": dict(digest.report),
        }
        if not self._change(attempt, event, **done):
            return False
        for log_id in considered:
            self._ledger.mark_considered(attempt.group_id, log_id)
        rows = self._rows(attempt.group_id)
        for rank, insight in enumerate(insights):
            sources = [replace(one, content=rows[one.log_id].capture.content) for one in insight.sources]
            self._ledger.put(replace(insight, sources=tuple(sources)), rank=rank)
        for one in self._ledger.list_insights(attempt.group_id):
            if one.id in replaced and one.state in UNDECIDED:
                self._ledger.merge(one.id, replaced[one.id], at=digest.finished_at or one.changed_at)
        return True

    # what it is made of

    async def count_unsettled(self, group_id: str) -> int:
        rows = self._rows(group_id).values()
        waiting = sum(row.state is Admission.PENDING and row.judge_tries == 0 for row in rows)
        return waiting + sum(row.state is not Admission.PENDING and row.segmented is None for row in rows)

    async def has_rows(self, group_id: str) -> bool:
        return bool(self._quarantine.rows.get(group_id))

    async def count_rows(self, where: CandidateFilter) -> int:
        return len(self._candidates(where))

    async def list_rows(self, where: CandidateFilter, *, after: UUID | None, limit: int) -> Sequence[DigestRow]:
        rows = [row for row in self._candidates(where) if after is None or row.capture.id > after]
        return [self._digest_row(row, where.model) for row in rows[:limit]]

    async def read_contents(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        rows = self._rows(group_id)
        return {log_id: rows[log_id].capture.content for log_id in log_ids if log_id in rows}

    async def list_verified(self, group_id: str, model: str) -> Sequence[KnownVector]:
        return [
            KnownVector(id=one.id, content=one.content, embedding=one.embedding)
            for one in self._longterm.chunks
            if one.group_id == group_id
            and one.valid_to is None
            and one.embedding_model == model
            and one.agent_id is None
            and one.embedding is not None
        ]

    async def list_undecided(self, group_id: str, model: str) -> Sequence[UndecidedVector]:
        return [
            UndecidedVector(
                id=one.id,
                content=one.summary,
                embedding=one.embedding,
                has_sides=bool(one.sides),
                rows=tuple(self._source_row(group_id, source, model) for source in one.sources),
            )
            for one in sorted(self._ledger.list_insights(group_id), key=lambda one: one.id)
            if one.state in UNDECIDED and one.embedding_model == model and one.embedding is not None
        ]

    async def list_rejected(self, group_id: str, model: str) -> Sequence[RejectedVector]:
        return [
            RejectedVector(reason=one.reason, at=one.made_at, embedding=vector)
            for one, _, vector, made_with in self._tombstones.list_in_force(group_id)
            if vector is not None and made_with == model
        ]

    async def count_decisions(self, group_id: str) -> Mapping[str, tuple[int, int]]:
        rows, counts = self._rows(group_id), dict[str, tuple[int, int]]()
        for promoted, log_ids in self._list_judged(group_id):
            for agent_id in {agent_id for one in log_ids if (agent_id := rows[one].capture.agent_id) is not None}:
                before = counts.get(agent_id, (0, 0))
                counts[agent_id] = (before[0] + promoted, before[1] + (not promoted))
        return counts

    def _list_judged(self, group_id: str) -> list[tuple[bool, set[UUID]]]:
        """Insights that were promoted or rejected and outputs that were promoted, each with the rows behind it."""
        insights = [one for one in self._ledger.list_insights(group_id) if one.state in DECIDED]
        in_force = {one.promotion_id for one in self._ledger.list_in_force(group_id) if one.insight_id is None}
        outputs = {
            one.text.origin_id
            for one in self._longterm.promotions
            if one.id in in_force and one.text.origin in (Origin.WORKING, Origin.QUARANTINE)
        }
        return [
            *((one.state is InsightState.PROMOTED, {each.log_id for each in one.sources}) for one in insights),
            *((True, {log_id}) for log_id in outputs if log_id is not None),
        ]

    async def list_refused_values(self, group_id: str) -> frozenset[bytes]:
        return frozenset(value_hash for _, value_hash, *_ in self._tombstones.list_in_force(group_id))

    # inside

    def _open_in(self, group_id: str) -> Digest | None:
        mine = [one for one in self._digests.values() if one.group_id == group_id and one.status in OPEN]
        return mine[0] if mine else None

    def _add(self, digest: Digest, event: AuditEvent) -> None:
        self._digests[digest.id] = digest
        self.events.append(event)

    def _change(self, attempt: DigestAttempt, event: AuditEvent | None = None, **changes: object) -> bool:
        found = self._digests.get(attempt.digest_id)
        if found is None or found.status is not DigestStatus.RUNNING or found.attempts != attempt.number:
            return False
        self._digests[attempt.digest_id] = replace(found, **changes)  # type: ignore[arg-type]
        if event is not None:
            self.events.append(event)
        return True

    def _rows(self, group_id: str) -> Mapping[UUID, Row]:
        return self._quarantine.rows.get(group_id, {})

    def _settled_in(self, group_id: str) -> list[Row]:
        rows = self._rows(group_id).values()
        return [row for row in rows if row.state is not Admission.PENDING]

    def _candidates(self, where: CandidateFilter) -> list[Row]:
        found = [row for row in self._settled_in(where.group_id) if self._is_candidate(row, where)]
        return sorted(found, key=lambda row: row.capture.id)

    def _is_candidate(self, row: Row, where: CandidateFilter) -> bool:
        mark = self._ledger.mark(where.group_id, row.capture.id)
        left_out = row.state is Admission.REFUSED and any(
            one.check in (IngressCheck.ECHO, IngressCheck.INSTRUCTION) and one.outcome is Outcome.FAIL
            for one in row.verdicts
        )
        numbers = self._numbers_shown(where.group_id, row.capture.id)
        judged_whole = mark.judged_by is not None and numbers.get(mark.judged_by) is None
        return (
            row.capture.node_type not in where.without_types
            and row.segmented is not None
            and not left_out
            and None not in numbers.values()
            and not judged_whole
            and mark.considered < where.most_considered
        )

    def _numbers_shown(self, group_id: str, log_id: UUID) -> dict[UUID, int | None]:
        """The insights that are based on a row, and the statement of it that each is based on."""
        return {
            insight.id: source.number
            for insight in self._ledger.list_insights(group_id)
            for source in insight.sources
            if source.log_id == log_id
        }

    def _spans_shown(self, group_id: str, log_id: UUID) -> list[tuple[int, int]]:
        """The places in a row that insights are based on."""
        return [
            source.span
            for insight in self._ledger.list_insights(group_id)
            for source in insight.sources
            if source.log_id == log_id and source.span is not None
        ]

    def _source_row(self, group_id: str, source: InsightSource, model: str) -> DigestRow:
        """Return the row of a source with the statements that the source overlaps."""
        row = self._rows(group_id)[source.log_id]
        start, end = source.span or (0, 0)
        found = row.segmented.statements if row.segmented is not None else ()
        mine = [one for one in found if one.segment.start < end and one.segment.end > start]
        return replace(self._digest_row(row, model), considered=0, statements=_of_model(mine, model))

    def _digest_row(self, row: Row, model: str) -> DigestRow:
        capture = row.capture
        shown = self._spans_shown(capture.group_id, capture.id)
        found = row.segmented.statements if row.segmented is not None else ()
        return DigestRow(
            log_id=capture.id,
            content=capture.content,
            agent_id=capture.agent_id,
            session_id=capture.session_id,
            node_id=capture.node_id,
            node_type=capture.node_type,
            occurred_at=capture.occurred_at or capture.created_at,
            confidence=stated_confidence(capture.metadata),
            admission=row.state,
            flags=row.flags,
            considered=self._ledger.mark(capture.group_id, capture.id).considered,
            captured_by=capture.captured_by,
            statements=_of_model(
                [
                    one
                    for one in found
                    if not any(start < one.segment.end and end > one.segment.start for start, end in shown)
                ],
                model,
            ),
        )


def _of_model(statements: Sequence[Statement], model: str) -> tuple[Statement, ...]:
    """Return the claims and decisions, with their vectors if they are of this model."""
    return tuple(
        one if one.embedding_model == model else replace(one, embedding=None, embedding_model=None)
        for one in statements
        if one.segment.is_statement
    )
