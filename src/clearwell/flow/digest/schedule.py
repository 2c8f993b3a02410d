"""Which digests are due. A tick that was missed is made up for once, when somebody next looks."""

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from croniter import CroniterError, croniter

from clearwell.ports import Clock, DigestRuns, Due, Ids, Schedule
from clearwell.records import AuditEvent, Digest, DigestStatus
from clearwell.settings import Settings

log = structlog.get_logger(__name__)
ACTOR = "schedule"
EVERY_HOUR = ("*", "*/1")


def latest_tick(cron: str, zone: str, now: datetime) -> datetime | None:
    """The last time that this schedule named, in UTC. None where there is no schedule, or it is none.

    A time that a change of the clocks leaves out counts as the moment of the change; one that it repeats counts once,
    unless the schedule names every hour.
    """
    if not cron.strip():
        return None
    try:
        local = (now + timedelta(seconds=1)).astimezone(ZoneInfo(zone))
        ticks = croniter(cron, local)
        tick = ticks.get_prev(datetime)
        while _repeated(tick) and cron.split()[1] not in EVERY_HOUR:
            tick = ticks.get_prev(datetime)
    except (CroniterError, ZoneInfoNotFoundError, ValueError, KeyError):
        log.warning("a schedule of digests cannot be read", cron=cron, zone=zone)
        return None
    found: datetime = tick.astimezone(UTC)
    return found


def _repeated(tick: datetime) -> bool:
    """Whether the clocks, set back, show this time for the second time."""
    return tick.astimezone(UTC).astimezone(tick.tzinfo).fold == 1


class DigestScheduler:
    def __init__(self, runs: DigestRuns, clock: Clock, ids: Ids, settings: Settings) -> None:
        self._runs = runs
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._done: dict[str, datetime] = {}

    async def make_due(self) -> list[UUID]:
        """Add a digest for every group whose last tick has had none."""
        now = self._clock.now()
        made = [await self._one(one, now) for one in await self._runs.schedules()]
        return [one for one in made if one is not None]

    async def _one(self, schedule: Schedule, now: datetime) -> UUID | None:
        cron = self._settings.digest_cron if schedule.cron is None else schedule.cron
        tick = latest_tick(cron, schedule.zone or self._settings.digest_zone, now)
        if tick is None or tick < schedule.since or self._done.get(schedule.group_id) == tick:
            return None
        digest = Digest(
            id=self._ids.new(),
            group_id=schedule.group_id,
            status=DigestStatus.QUEUED,
            requested_by=ACTOR,
            created_at=now,
            due_at=tick,
        )
        added = await self._runs.add_due(digest, event=self._event(digest))
        if added is not Due.BUSY:
            self._done[schedule.group_id] = tick
        return digest.id if added is Due.ADDED else None

    def _event(self, digest: Digest) -> AuditEvent:
        return AuditEvent(
            id=self._ids.new(),
            group_id=digest.group_id,
            at=digest.created_at,
            actor=ACTOR,
            action="request digest",
            subject=f"digest {digest.id}",
        )
