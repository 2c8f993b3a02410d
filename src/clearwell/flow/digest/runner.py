"""The digest runner: makes one digest, from rows of quarantine to insights. A failed attempt is repeated later."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from clearwell.errors import ClearwellError, Unavailable, UnexpectedError
from clearwell.flow.digest.drafting import Draft, DraftLimits, Drafts, KnownText, RejectedText, draft
from clearwell.flow.digest.material import DigestRows, MaterialReader
from clearwell.flow.digest.outcome import DigestOutcomes
from clearwell.flow.digest.progress import DigestTakenOver, Progress
from clearwell.flow.digest.summaries import InsightComposer, Texts, problem_params
from clearwell.flow.events.publisher import EventPublisher
from clearwell.ports import (
    Clock,
    DigestAttempt,
    DigestMaterial,
    DigestRuns,
    Embedder,
    Ids,
    KnownVector,
    OpenDigest,
    StatementComparison,
)
from clearwell.records import AuditEvent, Digest, DigestCandidate, EventType, Json
from clearwell.settings import Settings
from clearwell.vocabulary import AuditAction

log = structlog.get_logger(__name__)
LONGEST_PAUSE = timedelta(minutes=15)
ACTOR = "worker"
RENEWALS_PER_LEASE = 4


class DigestRunner:
    """Runs the digests that are due, one at a time, each under a lease."""

    def __init__(
        self,
        runs: DigestRuns,
        material: DigestMaterial,
        reading: MaterialReader,
        writing: InsightComposer,
        comparison: StatementComparison,
        embedder: Embedder,
        events: EventPublisher,
        clock: Clock,
        ids: Ids,
        settings: Settings,
    ) -> None:
        self._runs = runs
        self._material = material
        self._reading = reading
        self._writing = writing
        self._comparison = comparison
        self._embedder = embedder
        self._events = events
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._endings = DigestOutcomes(settings)

    async def find_due(self) -> Sequence[OpenDigest]:
        """Return the digests that are due and not leased by another worker, oldest first."""
        return await self._runs.find_due(at=self._clock.now())

    async def run(self, group_id: str, digest_id: UUID) -> datetime | None:
        """Make one attempt. Returns when to try again, if it failed and attempts are left."""
        digest = await self._runs.claim(group_id, digest_id, at=self._clock.now(), until=self._lease_end())
        if digest is None:
            return None
        attempt = DigestAttempt(group_id=group_id, digest_id=digest_id, number=digest.attempts)
        renewal = asyncio.create_task(self._renew_lease(attempt), name="digest lease")
        try:
            return await self._attempt(attempt, digest)
        except asyncio.CancelledError:
            await asyncio.shield(self._release(attempt))
            raise
        finally:
            renewal.cancel()

    async def _attempt(self, attempt: DigestAttempt, digest: Digest) -> datetime | None:
        try:
            if attempt.number > self._settings.digest_attempts:
                await self._give_up(attempt, "digest_gave_up", {"attempts": self._settings.digest_attempts})
            else:
                await self._make(attempt, digest)
        except DigestTakenOver:
            log.info("digest taken over", digest_id=str(attempt.digest_id))
        except Unavailable as error:
            log.warning("digest failed", digest_id=str(attempt.digest_id), attempt=attempt.number, reason=error.code)
            return await self._record_failure(attempt, error)
        except Exception as error:
            # The worker's loop: an unexpected failure is recorded and retried like any other.
            log.exception("digest failed", digest_id=str(attempt.digest_id), attempt=attempt.number)
            return await self._record_failure(attempt, UnexpectedError("digest_error", reason=type(error).__name__))
        return None

    def _lease_end(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._settings.digest_stalled_seconds)

    async def _renew_lease(self, attempt: DigestAttempt) -> None:
        """Extend the lease while the attempt runs. If the extensions stop, another worker begins the next attempt."""
        while True:
            await asyncio.sleep(self._settings.digest_stalled_seconds / RENEWALS_PER_LEASE)
            try:
                await self._runs.renew(attempt, until=self._lease_end())
            except Unavailable as error:
                log.warning("digest lease not renewed", digest_id=str(attempt.digest_id), reason=error.code)
            except Exception:
                # As long as the attempt runs, so does its lease: otherwise two workers would make one digest.
                log.exception("digest lease not renewed", digest_id=str(attempt.digest_id))

    async def _release(self, attempt: DigestAttempt) -> None:
        try:
            await self._runs.release(attempt)
        except Unavailable as error:
            log.warning("digest lease not released", digest_id=str(attempt.digest_id), reason=error.code)

    async def _make(self, attempt: DigestAttempt, digest: Digest) -> None:
        progress = Progress(self._runs, attempt, self._clock)
        last_try = attempt.number >= self._settings.digest_attempts
        gathered = await self._reading.gather(attempt.group_id, progress, last_try=last_try)
        candidates = await self._reading.reembed_without_boilerplate(gathered.candidates, progress)
        await progress.report("digest_stage_clustering", statements=len(candidates))
        drafts = await self._make_drafts(attempt.group_id, candidates)
        allowed = await self._drop_refused(attempt.group_id, drafts.drafts)
        texts = await self._writing.write(attempt, allowed, progress, at=self._clock.now())
        await progress.report("digest_stage_saving")
        made = replace(
            self._endings.finish(digest, gathered, drafts, texts),
            report=self._make_report(drafts, gathered, texts),
            finished_at=self._clock.now(),
        )
        considered = gathered.complete
        replaced = {
            one.replaces: insight.id
            for one, insight in zip(allowed, texts.insights, strict=True)
            if one.replaces is not None
        }
        counts: dict[str, Json] = {
            "insights": len(texts.insights),
            "rows": len(considered),
            **({"replaced": len(replaced)} if replaced else {}),
        }
        event = self._make_event(attempt, AuditAction.MAKE_DIGEST, counts)
        if not await self._runs.finish(
            attempt, made, texts.insights, considered=considered, replaced=replaced, event=event
        ):
            raise DigestTakenOver
        self._events.publish(
            EventType.DIGEST_MADE,
            attempt.group_id,
            digest_id=str(attempt.digest_id),
            insights=len(texts.insights),
            rows=len(considered),
        )

    async def _make_drafts(self, group_id: str, candidates: Sequence[DigestCandidate]) -> Drafts:
        model, settings = self._embedder.model, self._settings
        known = [_make_known_text(one) for one in await self._material.list_verified(group_id, model)]
        undecided = await self._reading.read_undecided(group_id)
        rejected = [
            RejectedText(reason=one.reason, at=one.at, embedding=one.embedding)
            for one in await self._material.list_rejected(group_id, model)
        ]
        reliability = {
            agent: _compute_reliability(*ends)
            for agent, ends in (await self._material.count_decisions(group_id)).items()
        }
        limits = DraftLimits(
            min_insights=settings.digest_min_insights,
            max_insights=settings.digest_max_insights,
            near_rejected=settings.near_rejected_similarity,
            duplicate=settings.duplicate_similarity,
        )

        def make() -> Drafts:
            return draft(
                candidates,
                known=known,
                undecided=undecided,
                rejected=rejected,
                reliability=reliability,
                similarity=self._embedder.similarity,
                comparison=self._comparison,
                limits=limits,
            )

        # This can take minutes for a large group, and the event loop must stay free.
        return await asyncio.to_thread(make)

    async def _drop_refused(self, group_id: str, drafts: Sequence[Draft]) -> list[Draft]:
        """Drop drafts with a value that was refused in the meantime. Their rows stay candidates."""
        refused = [
            any(await self._reading.find_refused(group_id, [one.text for one in made.sources])) for made in drafts
        ]
        return [made for made, no in zip(drafts, refused, strict=True) if not no]

    def _make_report(self, drafts: Drafts, gathered: DigestRows, texts: Texts) -> dict[str, Json]:
        return {
            **drafts.report,
            "rows": gathered.rows,
            "without_vector": gathered.without_vector,
            "written_by_model": sum(one.written_by == "model" for one in texts.insights),
            "quoted_instead": texts.quoted,
            "uncited_sentences": texts.dropped,
        }

    async def _record_failure(self, attempt: DigestAttempt, error: ClearwellError) -> datetime | None:
        if attempt.number >= self._settings.digest_attempts:
            params: dict[str, Json] = {"attempts": attempt.number, **problem_params(error)}
            await self._give_up(attempt, "digest_failed", params)
            return None
        pause = timedelta(seconds=self._settings.digest_retry_seconds * 2 ** (attempt.number - 1))
        again = self._clock.now() + min(pause, LONGEST_PAUSE)
        params = {"attempt": attempt.number, "attempts": self._settings.digest_attempts, **problem_params(error)}
        await self._runs.postpone(attempt, again=again, note="digest_put_off", params=params)
        return again

    async def _give_up(self, attempt: DigestAttempt, note: str, params: dict[str, Json]) -> None:
        event = self._make_event(attempt, AuditAction.GIVE_UP_DIGEST, {"attempts": attempt.number})
        await self._runs.fail(attempt, at=self._clock.now(), note=note, params=params, event=event)
        self._events.publish(
            EventType.DIGEST_FAILED,
            attempt.group_id,
            digest_id=str(attempt.digest_id),
            reason=note,
            attempts=params.get("attempts"),
        )

    def _make_event(self, attempt: DigestAttempt, action: AuditAction, detail: dict[str, Json]) -> AuditEvent:
        return AuditEvent(
            id=self._ids.new(),
            group_id=attempt.group_id,
            at=self._clock.now(),
            actor=ACTOR,
            action=action.value,
            subject=f"digest {attempt.digest_id}",
            detail=detail,
        )


def _make_known_text(one: KnownVector) -> KnownText:
    return KnownText(id=one.id, content=one.content, embedding=one.embedding)


def _compute_reliability(promoted: int, rejected: int) -> float:
    """Return the weight of an agent's stated confidence: 1 at first, and less with each rejected insight."""
    return (promoted + 2) / (promoted + rejected + 2)
