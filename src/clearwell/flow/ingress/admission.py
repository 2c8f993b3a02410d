"""Admission: run the pipeline, push what passed to working memory, settle the row.

A row is pushed before it is settled, and a push of the same id replaces the earlier one. So a crash between the
two leaves a pending row that is admitted again, and working memory holds it once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import numpy as np

from clearwell.errors import ClearwellError, Conflict, JudgeUnavailable, Unavailable
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.counters import Counters
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.ingress import checks
from clearwell.flow.ingress.candidates import Candidate
from clearwell.flow.ingress.echo import OwnText
from clearwell.flow.ingress.known_texts import KnownTextReader
from clearwell.flow.ingress.pipeline import IngressPipeline
from clearwell.flow.ingress.segmentation import (
    PROBE,
    average_vectors,
    awaits_model,
    make_statements,
    place_statements,
    segment_output,
)
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.offload import offload
from clearwell.ports import (
    AdmissionBatch,
    AdmissionResult,
    AdmissionStore,
    Clock,
    Embedder,
    Judge,
    Lease,
    SegmentedOutput,
    StatementComparison,
    WorkingStore,
)
from clearwell.records import (
    Admission,
    AuditEvent,
    Capture,
    DryRun,
    EventType,
    Json,
    Judgement,
    Outcome,
    QuarantineRow,
    Tombstone,
    TombstoneKind,
    Vector,
    Verdict,
    WorkingEntry,
)
from clearwell.settings import Settings
from clearwell.text.segments import SEGMENTER_VERSION
from clearwell.vocabulary import AuditAction, IngressCheck

JudgeAnswer: TypeAlias = Judgement | Verdict
"""What the judge found, or the verdict that it gave no answer at the last try."""

ACTOR = "worker"
SPENT = frozenset({"judge_budget_spent", "judge_day_spent"})
"""The errors of a judge that may not be asked now, whatever the text is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """Which rows this process had to admit, and which of them wait for the judge."""

    claimed: frozenset[UUID]
    to_judge: Sequence[Capture] = ()


class Admitter:
    """Admits rows of quarantine. In a group, one process at a time compares and settles."""

    def __init__(
        self,
        admissions: AdmissionStore,
        working: WorkingStore,
        known_texts: KnownTextReader,
        hasher: ValueHasher,
        comparison: StatementComparison,
        embedder: Embedder,
        judge: Judge | None,
        counters: Counters,
        events: EventPublisher,
        audit_events: AuditEvents,
        clock: Clock,
        settings: Settings,
        lease: Lease,
    ) -> None:
        self._lease = lease
        self._audit_events = audit_events
        self._admissions = admissions
        self._working = working
        self._known_texts = known_texts
        self._hasher = hasher
        self._pipeline = IngressPipeline(known_texts, comparison, embedder, settings, judged=judge is not None)
        self._embedder = embedder
        self._judge = judge
        self._judge_resumes_at: datetime | None = None
        self._counters = counters
        self._events = events
        self._clock = clock
        self._settings = settings

    async def admit_batch(
        self, group_id: str, log_ids: Sequence[UUID], answers: Mapping[UUID, JudgeAnswer] | None = None
    ) -> BatchResult:
        """Lease the pending rows among these and settle them, except those that a judge must see first.

        ``answers`` has what the judge said of rows that came before as ``to_judge``.
        """
        rows = await self._admissions.claim(group_id, log_ids, self._lease)
        hashes = {row.id: await self._known_texts.hash_capture(row) for row in rows}
        forgotten = await self._known_texts.find_forgotten(group_id, hashes)
        candidates = [await self._check(row, forgotten.get(row.id)) for row in rows]
        refused = [candidate for candidate in candidates if candidate.failed]
        passing = [candidate for candidate in candidates if not candidate.failed]
        if refused:
            await self._settle_refused(group_id, refused, hashes)
        to_judge: list[Capture] = []
        if passing:
            answered = [_add_answer(one, (answers or {}).get(one.capture.id)) for one in passing]
            to_judge = await self._compare_and_settle(group_id, await self._pipeline.embed(answered), hashes)
        return BatchResult(claimed=frozenset(row.id for row in rows), to_judge=to_judge)

    async def dry_run(self, capture: Capture) -> DryRun:
        """Run the checks on a text without storing it. The judge is not asked, because each question costs money."""
        hashes = {capture.id: await self._known_texts.hash_capture(capture)}
        forgotten = await self._known_texts.find_forgotten(capture.group_id, hashes)
        candidate = await self._check(capture, forgotten.get(capture.id))
        if not candidate.failed:
            (candidate,) = await self._pipeline.embed([candidate])
            live = await self._known_texts.read_entries(capture.group_id)
            candidate = await self._pipeline.compare(candidate, await self._known_texts.gather(candidate, live), live)
        unasked = {IngressCheck.SELF_CONSISTENCY} if self._pipeline.awaits_judge(candidate) else set()
        candidate = self._pipeline.conclude(candidate)
        verdicts = [_mark_not_asked(one) if one.check in unasked else one for one in candidate.verdicts]
        refused = any(one.outcome is Outcome.FAIL for one in verdicts)
        return DryRun(
            admission=Admission.REFUSED if refused else Admission.ADMITTED, verdicts=verdicts, flags=candidate.flags
        )

    async def admit_refused(self, row: QuarantineRow, verdict: Verdict, event: AuditEvent) -> bool:
        """Admit a refused row at a person's request, and record the event. Returns False if it is no longer refused.

        The row keeps its verdicts and flags. Raises Conflict if its text was rejected or forgotten.
        """
        capture = row.capture
        candidate = Candidate(
            capture=capture,
            own=OwnText(capture.content),
            segments=await offload(len(capture.content), segment_output, capture.content),
            verdicts=row.verdicts,
            flags=row.flags,
        )
        (candidate,) = await self._pipeline.embed([candidate])
        hashes = await self._hasher.hash_values(capture.group_id, capture.content, candidate.own.text)
        candidate = replace(candidate, verdicts=[*row.verdicts, verdict], flags=tuple(dict.fromkeys(candidate.flags)))
        settled = replace(self._make_settled(candidate), state=Admission.ADMITTED)
        async with self._admissions.open(capture.group_id, []) as batch:
            standing, _ = await batch.look_up(capture.group_id, hashes)
            if standing is not None:
                raise Conflict(
                    "row_forgotten" if standing.kind is TombstoneKind.FORGOTTEN else "row_rejected",
                    id=capture.id,
                    tombstone=standing.id,
                )
            admitted = await batch.admit_refused(settled, event=event)
            if admitted:
                await self._working.push(self._make_entry(candidate, settled))
        if admitted:
            self._counters.count_admission(capture.group_id, capture.agent_id, settled.state, [verdict])
            self._announce(capture, settled, by=event.actor)
        return admitted

    async def judge(self, capture: Capture) -> JudgeAnswer | None:
        """Ask the judge. None where it did not answer and the row stays pending.

        After the last try the answer is the verdict by which the row is refused, unless another check refuses it.
        """
        assert self._judge is not None  # noqa: S101 - nothing waits for a judge that is not there
        try:
            answer = await self._judge.judge(capture.content)
        except JudgeUnavailable as error:
            return await self._record_judge_failure(capture, error)
        self._judge_resumes_at = None
        return answer

    @property
    def judge_resumes_at(self) -> datetime | None:
        """When the judge may be asked again, if its budget is spent and outputs wait for that."""
        resumes_at = self._judge_resumes_at
        return resumes_at if resumes_at is not None and resumes_at > self._clock.now() else None

    async def record_failure(self, group_id: str, log_id: UUID, error: Exception) -> None:
        """Record that the admission of one row failed by itself, and refuse the row after the last attempt.

        An embedder that refuses every text says nothing about the row, which is only postponed.
        """
        if isinstance(error, Unavailable) and not await self._embedder_answers():
            await self._admissions.postpone(group_id, [log_id], self._lease)
            return
        failures = await self._admissions.fail(group_id, log_id, self._lease)
        if failures >= self._settings.admission_attempts:
            await self._give_up(group_id, log_id, failures, error)

    async def _embedder_answers(self) -> bool:
        try:
            await self._embedder.embed([PROBE])
        except Unavailable:
            return False
        return True

    async def _give_up(self, group_id: str, log_id: UUID, failures: int, error: Exception) -> None:
        verdict = Verdict(
            check=IngressCheck.ADMISSION,
            outcome=Outcome.FAIL,
            reason="verdict_admission_failed",
            value=failures,
            threshold=self._settings.admission_attempts,
            params={"problem": name_error(error)},
        )
        now = self._clock.now()
        verdicts = [replace(each, at=now) for each in checks.complete_verdicts([verdict], self._settings)]
        refused = AdmissionResult(log_id=log_id, state=Admission.REFUSED, at=now, verdicts=verdicts)
        async with self._admissions.open(group_id, [log_id]) as batch:
            settled = [refused] if log_id in batch.pending else []
            await self._record_results(batch, group_id, settled, {})
        for result in settled:
            self._counters.count_admission(group_id, None, result.state, result.verdicts)
            self._events.publish(
                EventType.REFUSED, group_id, log_id=str(log_id), check=verdict.check, reason=verdict.reason
            )

    async def _record_judge_failure(self, capture: Capture, error: JudgeUnavailable) -> Verdict | None:
        now = self._clock.now()
        # A spent budget says nothing about the text, so it does not count as a try.
        tries = await self._admissions.read_judge_tries(capture.group_id, capture.id) + (error.code not in SPENT)
        if error.code in SPENT and error.retry_after:
            self._judge_resumes_at = now + timedelta(seconds=error.retry_after)
        last = tries >= self._settings.judge_attempts
        verdict = Verdict(
            check=IngressCheck.SELF_CONSISTENCY,
            outcome=Outcome.FAIL if last else Outcome.PENDING,
            reason="verdict_judge_gave_up" if last else "verdict_judge_pending",
            value=tries,
            threshold=self._settings.judge_attempts,
            params={"problem_code": error.code, "problem_params": {name: str(of) for name, of in error.params.items()}},
            at=now,
        )
        if last:
            return verdict
        wait = timedelta(seconds=error.retry_after) if error.retry_after else None
        await self._admissions.hold(capture.group_id, capture.id, verdict, tries=tries, wait=wait, lease=self._lease)
        return None

    async def _check(self, capture: Capture, forgotten: Tombstone | None) -> Candidate:
        """Run the checks that need nothing but the capture, unless it says a forgotten value."""
        if forgotten is not None:
            return self._pipeline.refuse_forgotten(capture, forgotten)
        return await self._pipeline.check_text(capture)

    async def _settle_refused(
        self, group_id: str, candidates: Sequence[Candidate], hashes: Mapping[UUID, Sequence[bytes]]
    ) -> None:
        async with self._admissions.open(group_id, [one.capture.id for one in candidates]) as batch:
            still = await self._recheck(group_id, candidates, hashes, batch)
            settled = [self._make_settled(self._pipeline.conclude(one)) for one in still]
            await self._record_results(batch, group_id, settled, _list_captors(candidates))
        self._report(candidates, settled)

    async def _recheck(
        self,
        group_id: str,
        candidates: Sequence[Candidate],
        hashes: Mapping[UUID, Sequence[bytes]],
        batch: AdmissionBatch,
    ) -> list[Candidate]:
        """The candidates that are still pending. What was forgotten since they were checked is refused now."""
        still = {one.capture.id: one for one in candidates if one.capture.id in batch.pending}
        forgotten = await self._known_texts.find_forgotten(group_id, {one: hashes[one] for one in still}, batch)
        refused = {one: self._pipeline.refuse_forgotten(still[one].capture, forgotten[one]) for one in forgotten}
        return list((still | refused).values())

    async def _compare_and_settle(
        self, group_id: str, candidates: Sequence[Candidate], hashes: Mapping[UUID, Sequence[bytes]]
    ) -> list[Capture]:
        """Compare candidates with what the group knows and settle them. Returns those that the judge must see first.

        Nothing inside the transaction takes another connection to the database.
        """
        settled: list[AdmissionResult] = []
        to_judge: list[Capture] = []
        live = await self._known_texts.read_entries(group_id)
        gathered = {one.capture.id: await self._known_texts.gather(one, live) for one in candidates}
        async with self._admissions.open(group_id, [one.capture.id for one in candidates]) as batch:
            live = await self._known_texts.read_entries(group_id)
            for candidate in await self._recheck(group_id, candidates, hashes, batch):
                compared = candidate
                if not candidate.failed:
                    known_before = gathered[candidate.capture.id]
                    compared = await self._pipeline.compare(candidate, known_before, live, batch)
                if self._pipeline.awaits_judge(compared):
                    to_judge.append(compared.capture)
                    continue
                settled.append(self._make_settled(self._pipeline.conclude(compared)))
                if settled[-1].state is Admission.ADMITTED:
                    entry = self._make_entry(compared, settled[-1])
                    await self._working.push(entry)
                    live.insert(0, entry)
            await self._record_results(batch, group_id, settled, _list_captors(candidates))
        self._report(candidates, settled)
        return to_judge

    async def _record_results(
        self,
        batch: AdmissionBatch,
        group_id: str,
        settled: Sequence[AdmissionResult],
        captors: Mapping[UUID, str],
    ) -> None:
        """Settle rows, with one audit event for all of them: who captured each, and what became of it."""
        if not settled:
            return
        outputs: dict[Admission, dict[str, Json]] = {Admission.ADMITTED: {}, Admission.REFUSED: {}}
        for result in settled:
            outputs[result.state][str(result.log_id)] = captors.get(result.log_id)
        event = self._audit_events.make(
            AuditAction.SETTLE_CAPTURES,
            f"{len(settled)} output{'' if len(settled) == 1 else 's'}",
            group_id,
            by=ACTOR,
            at=settled[-1].at,
            captured_by={state.value: ids for state, ids in outputs.items() if ids},
        )
        await batch.settle(settled, event=event)

    def _report(self, candidates: Sequence[Candidate], settled: Sequence[AdmissionResult]) -> None:
        """Count the rows that are settled, and announce them."""
        captures = {candidate.capture.id: candidate.capture for candidate in candidates}
        for result in settled:
            capture = captures[result.log_id]
            self._counters.count_admission(capture.group_id, result.agent_id, result.state, result.verdicts)
            self._announce(capture, result)

    def _announce(self, capture: Capture, result: AdmissionResult, *, by: str | None = None) -> None:
        if result.state is Admission.ADMITTED:
            expires_at = result.at + timedelta(seconds=self._settings.working_ttl_seconds)
            self._events.publish_output(
                EventType.ADMITTED, capture, flags=list(result.flags), expires_at=expires_at.isoformat(), by=by
            )
            return
        refusal = next(verdict for verdict in result.verdicts if verdict.outcome is Outcome.FAIL)
        self._events.publish_output(EventType.REFUSED, capture, check=refusal.check, reason=refusal.reason)

    def _make_settled(self, candidate: Candidate) -> AdmissionResult:
        now = self._clock.now()
        vector = self._select_stored(candidate)
        return AdmissionResult(
            log_id=candidate.capture.id,
            agent_id=candidate.capture.agent_id,
            state=Admission.REFUSED if candidate.failed else Admission.ADMITTED,
            at=now,
            verdicts=[replace(verdict, at=now) for verdict in candidate.verdicts],
            flags=candidate.flags,
            embedding=vector,
            embedding_model=None if vector is None else self._embedder.model,
            sightings=candidate.sightings,
            segmented=self._make_segmented(candidate, now),
        )

    def _select_stored(self, candidate: Candidate) -> Vector | None:
        """The vector of the whole text, where it is not the mean of the vectors of the statements."""
        mean = average_vectors(candidate.statements or ())
        derived = mean is not None and candidate.vector is not None and np.allclose(mean, candidate.vector, atol=1e-4)
        return None if derived else candidate.vector

    def _make_segmented(self, candidate: Candidate, now: datetime) -> SegmentedOutput:
        """The statements of a candidate by the rules. A model may find those of admitted outputs later.

        A candidate that was refused before it was embedded gets its vectors later.
        """
        log_id, statements, model = candidate.capture.id, candidate.statements, self._embedder.model
        if statements is None:
            statements = make_statements(log_id, candidate.segments, {}, model)
            model = "" if any(one.segment.is_statement for one in statements) else model
        awaits = not candidate.failed and awaits_model(candidate.capture.node_type, self._settings)
        return SegmentedOutput(
            log_id=log_id,
            version=SEGMENTER_VERSION,
            model=model,
            statements=statements,
            due_at=now if awaits else None,
        )

    def _make_entry(self, candidate: Candidate, settled: AdmissionResult) -> WorkingEntry:
        capture = candidate.capture
        shown = candidate.own.shown or capture.content
        return WorkingEntry(
            id=capture.id,
            group_id=capture.group_id,
            session_id=capture.session_id,
            agent_id=capture.agent_id,
            node_type=capture.node_type,
            content=shown,
            metadata=capture.metadata,
            occurred_at=capture.occurred_at,
            created_at=capture.created_at,
            expires_at=settled.at + timedelta(seconds=self._settings.working_ttl_seconds),
            embedding=candidate.vector,
            embedding_model=None if candidate.vector is None else self._embedder.model,
            flags=tuple(settled.flags),
            statements=place_statements(capture.content, shown, candidate.statements or ()),
        )


def _add_answer(candidate: Candidate, answer: JudgeAnswer | None) -> Candidate:
    if isinstance(answer, Verdict):
        return replace(candidate, given_up=answer)
    return replace(candidate, judgement=answer)


def name_error(error: Exception) -> str:
    """Return the code of an error, or its type. Its text is left out, because it may quote the output."""
    return error.code if isinstance(error, ClearwellError) else type(error).__name__


def _mark_not_asked(verdict: Verdict) -> Verdict:
    return replace(verdict, outcome=Outcome.NOT_CHECKED, reason="verdict_judge_not_asked", value=None)


def _list_captors(candidates: Sequence[Candidate]) -> dict[UUID, str]:
    """Who captured each row."""
    return {candidate.capture.id: candidate.capture.captured_by for candidate in candidates}
