"""How far a digest is, told now and then."""

from datetime import datetime, timedelta

from clearwell.ports import Clock, DigestRuns, Run
from clearwell.records import Json

STAGES = {
    "digest_stage_settling": (0.0, 0.05),
    "digest_stage_reading": (0.05, 0.25),
    "digest_stage_embedding": (0.25, 0.6),
    "digest_stage_clustering": (0.6, 0.85),
    "digest_stage_writing": (0.85, 0.97),
    "digest_stage_saving": (0.97, 1.0),
}
"""The stages by the messages that name them, each with its share of the whole."""
PAUSE = timedelta(milliseconds=300)


class TakenOver(Exception):
    """A later try has this digest: what this one still does is for nothing."""


class Progress:
    """Tells every stage, and within a stage no more often than somebody could read."""

    def __init__(self, runs: DigestRuns, run: Run, clock: Clock) -> None:
        self._runs = runs
        self._run = run
        self._clock = clock
        self._told: tuple[str, datetime] | None = None

    async def tell(self, stage: str, done: int = 0, of: int = 0, **params: Json) -> None:
        """Raises TakenOver where a later try has the digest."""
        now = self._clock.now()
        if self._told is not None and self._told[0] == stage and now - self._told[1] < PAUSE and done < of:
            return
        start, end = STAGES[stage]
        share = min(1.0, done / of) if of else 0.0
        said: dict[str, Json] = {"done": done, "of": of, **params}
        self._told = stage, now
        if not await self._runs.tell(self._run, progress=start + (end - start) * share, note=stage, params=said):
            raise TakenOver
