"""One digest, from its rows to its insights. A try that fails is put off; what a later try has taken is left to it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.digest.drafting import Draft, DraftLimits, Drafts, KnownText, RejectedText, draft
from clearwell.flow.digest.material import Gathered, MaterialReader
from clearwell.flow.digest.outcome import DigestOutcomes
from clearwell.flow.digest.progress import Progress, TakenOver
from clearwell.flow.digest.summaries import InsightComposer, Texts, problem_params
from clearwell.ports import Clock, DigestMaterial, DigestRuns, Embedder, Ids, KnownVector, Run, StatementComparison
from clearwell.records import AuditEvent, Digest, DigestCandidate, Json
from clearwell.settings import Settings

log = structlog.get_logger(__name__)
LONGEST_PAUSE = timedelta(minutes=15)
ACTOR = "worker"


class DigestRunner:
    def __init__(
        self,
        runs: DigestRuns,
        material: DigestMaterial,
        reading: MaterialReader,
        writing: InsightComposer,
        comparison: StatementComparison,
        embedder: Embedder,
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
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._endings = DigestOutcomes(settings)

    async def run(self, group_id: str, digest_id: UUID) -> datetime | None:
        """Do one try; when to try again, where it failed and there are tries left."""
        digest = await self._runs.take(group_id, digest_id, at=self._clock.now())
        if digest is None:
            return None
        run = Run(group_id=group_id, digest_id=digest_id, attempt=digest.attempts)
        try:
            if run.attempt > self._settings.digest_attempts:
                await self._give_up(run, "digest_gave_up", {"attempts": self._settings.digest_attempts})
            else:
                await self._make(run, digest)
        except TakenOver:
            log.info("a digest was taken over", digest_id=str(digest_id))
        except Unavailable as error:
            return await self._failed(run, error)
        return None

    async def _make(self, run: Run, digest: Digest) -> None:
        progress = Progress(self._runs, run, self._clock)
        last_try = run.attempt >= self._settings.digest_attempts
        gathered = await self._reading.gather(run.group_id, progress, last_try=last_try)
        candidates = await self._reading.in_own_words(gathered.candidates, progress)
        await progress.tell("digest_stage_clustering", rows=len(candidates))
        drafts = await self._drafts(run.group_id, candidates)
        allowed = await self._without_refused(run.group_id, drafts.drafts)
        texts = await self._writing.write(run, allowed, progress, at=self._clock.now())
        await progress.tell("digest_stage_saving")
        made = replace(
            self._endings.ended(digest, gathered, drafts, texts),
            report=self._report(drafts, gathered, texts),
            finished_at=self._clock.now(),
        )
        considered = [one.log_id for one in gathered.candidates if one.embedding is not None]
        event = self._event(run, "make digest", {"insights": len(texts.insights), "rows": len(considered)})
        if not await self._runs.finish(run, made, texts.insights, considered=considered, event=event):
            raise TakenOver

    async def _drafts(self, group_id: str, candidates: Sequence[DigestCandidate]) -> Drafts:
        model, settings = self._embedder.model, self._settings
        known = [_known(one) for one in await self._material.verified(group_id, model)]
        pending = [_known(one) for one in await self._material.undecided(group_id, model)]
        rejected = [
            RejectedText(reason=one.reason, at=one.at, embedding=one.embedding)
            for one in await self._material.rejected(group_id, model)
        ]
        reliability = {agent: _reliability(*ends) for agent, ends in (await self._material.decided(group_id)).items()}
        limits = DraftLimits(
            min_insights=settings.digest_min_insights,
            max_insights=settings.digest_max_insights,
            near_rejected=settings.near_rejected_similarity,
            duplicate=settings.duplicate_similarity,
        )

        def made() -> Drafts:
            return draft(
                candidates,
                known=known,
                pending=pending,
                rejected=rejected,
                reliability=reliability,
                similarity=self._embedder.similarity,
                comparison=self._comparison,
                limits=limits,
            )

        # Minutes of arithmetic for a large group: the loop must stay free for heartbeats and callers.
        return await asyncio.to_thread(made)

    async def _without_refused(self, group_id: str, drafts: Sequence[Draft]) -> list[Draft]:
        """A value may have been refused while the drafts were made. What they hold stays a candidate."""
        refused = [any(await self._reading.refused(group_id, [one.content for one in made.sources])) for made in drafts]
        return [made for made, no in zip(drafts, refused, strict=True) if not no]

    def _report(self, drafts: Drafts, gathered: Gathered, texts: Texts) -> dict[str, Json]:
        return {
            **drafts.report,
            "without_vector": gathered.without_vector,
            "written_by_model": sum(one.written_by == "model" for one in texts.insights),
            "quoted_instead": texts.quoted,
            "uncited_sentences": texts.dropped,
        }

    async def _failed(self, run: Run, error: Unavailable) -> datetime | None:
        log.warning("a digest failed", digest_id=str(run.digest_id), attempt=run.attempt, reason=error.code)
        if run.attempt >= self._settings.digest_attempts:
            params: dict[str, Json] = {"attempts": run.attempt, **problem_params(error)}
            await self._give_up(run, "digest_failed", params)
            return None
        pause = timedelta(seconds=self._settings.digest_retry_seconds * 2 ** (run.attempt - 1))
        again = self._clock.now() + min(pause, LONGEST_PAUSE)
        params = {"attempt": run.attempt, "attempts": self._settings.digest_attempts, **problem_params(error)}
        await self._runs.put_off(run, note="digest_put_off", params=params)
        return again

    async def _give_up(self, run: Run, note: str, params: dict[str, Json]) -> None:
        event = self._event(run, "give up digest", {"attempts": run.attempt})
        await self._runs.fail(run, at=self._clock.now(), note=note, params=params, event=event)

    def _event(self, run: Run, action: str, detail: dict[str, Json]) -> AuditEvent:
        return AuditEvent(
            id=self._ids.new(),
            group_id=run.group_id,
            at=self._clock.now(),
            actor=ACTOR,
            action=action,
            subject=f"digest {run.digest_id}",
            detail=detail,
        )


def _known(one: KnownVector) -> KnownText:
    return KnownText(id=one.id, content=one.content, embedding=one.embedding)


def _reliability(promoted: int, rejected: int) -> float:
    """How far an agent's stated confidence counts: fully at first, and less with each insight that was rejected."""
    return (promoted + 2) / (promoted + rejected + 2)
