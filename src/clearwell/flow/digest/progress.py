"""Progress of a digest attempt, as readers of the digest see it."""

from datetime import datetime, timedelta

from clearwell.ports import Clock, DigestAttempt, DigestRuns
from clearwell.records import Json

STAGES = {
    "digest_stage_settling": (0.0, 0.05),
    "digest_stage_reading": (0.05, 0.25),
    "digest_stage_embedding": (0.25, 0.6),
    "digest_stage_clustering": (0.6, 0.85),
    "digest_stage_writing": (0.85, 0.97),
    "digest_stage_saving": (0.97, 1.0),
}
"""The stages by their message codes, each with its share of the progress."""
PAUSE = timedelta(milliseconds=300)


class DigestTakenOver(Exception):
    """A later attempt has taken over this digest, so this one must stop."""


class Progress:
    """Reports every stage, and within a stage at most every 300 ms."""

    def __init__(self, runs: DigestRuns, attempt: DigestAttempt, clock: Clock) -> None:
        self._runs = runs
        self._attempt = attempt
        self._clock = clock
        self._reported: tuple[str, datetime] | None = None

    async def report(self, stage: str, done: int = 0, of: int = 0, **params: Json) -> None:
        """Report a stage and how far it is. Raises DigestTakenOver if a later attempt has the digest."""
        now = self._clock.now()
        if self._reported is not None and self._reported[0] == stage and now - self._reported[1] < PAUSE and done < of:
            return
        start, end = STAGES[stage]
        share = min(1.0, done / of) if of else 0.0
        said: dict[str, Json] = {"done": done, "of": of, **params}
        self._reported = stage, now
        if not await self._runs.report(self._attempt, progress=start + (end - start) * share, note=stage, params=said):
            raise DigestTakenOver
