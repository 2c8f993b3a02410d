"""Schedule digests. If several ticks were missed, only the last one gets a digest."""

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from croniter import CroniterError, croniter

from clearwell.flow.events.publisher import EventPublisher
from clearwell.ports import AddDueResult, Clock, DigestRuns, Ids, Schedule
from clearwell.records import AuditEvent, Digest, DigestStatus, EventType
from clearwell.settings import Settings
from clearwell.vocabulary import AuditAction

log = structlog.get_logger(__name__)
ACTOR = "schedule"
EVERY_HOUR = ("*", "*/1")


def resolve_schedule(cron: str | None, zone: str | None, settings: Settings) -> tuple[str, str]:
    """Return the schedule and the time zone in force: those of a group, or of the settings where it has none."""
    return settings.digest_cron if cron is None else cron, zone or settings.digest_zone


def find_latest_tick(cron: str, zone: str, now: datetime) -> datetime | None:
    """Return the last time that this schedule names, in UTC. None if the schedule is empty or invalid.

    A local time that a clock change skips counts as the moment of the change. One that it repeats counts once, unless
    the schedule names every hour.
    """
    if not cron.strip():
        return None
    try:
        local = (now + timedelta(seconds=1)).astimezone(ZoneInfo(zone))
        ticks = croniter(cron, local)
        tick = ticks.get_prev(datetime)
        while _is_repeated(tick) and cron.split()[1] not in EVERY_HOUR:
            tick = ticks.get_prev(datetime)
    except (CroniterError, ZoneInfoNotFoundError, ValueError, KeyError):
        log.warning("digest schedule invalid", cron=cron, zone=zone)
        return None
    found: datetime = tick.astimezone(UTC)
    return found


def find_next_tick(cron: str, zone: str, now: datetime) -> datetime | None:
    """Return the next time that this schedule names, in UTC. None if the schedule is empty or invalid."""
    if not cron.strip():
        return None
    try:
        tick: datetime = croniter(cron, now.astimezone(ZoneInfo(zone))).get_next(datetime)
    except (CroniterError, ZoneInfoNotFoundError, ValueError, KeyError):
        return None
    return tick.astimezone(UTC)


def _is_repeated(tick: datetime) -> bool:
    """Whether a clock change repeats this local time, and this is the second time."""
    return tick.astimezone(UTC).astimezone(tick.tzinfo).fold == 1


class DigestScheduler:
    """Adds the digests that are due by the schedule of each group, in its time zone."""

    def __init__(self, runs: DigestRuns, events: EventPublisher, clock: Clock, ids: Ids, settings: Settings) -> None:
        self._runs = runs
        self._events = events
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._done: dict[str, datetime] = {}

    async def add_due_digests(self) -> list[UUID]:
        """Add a digest for every group without one for its last tick, and return their ids."""
        now = self._clock.now()
        added = [await self._add_due(schedule, now) for schedule in await self._runs.list_schedules()]
        return [digest_id for digest_id in added if digest_id is not None]

    async def _add_due(self, schedule: Schedule, now: datetime) -> UUID | None:
        cron, zone = resolve_schedule(schedule.cron, schedule.zone, self._settings)
        tick = find_latest_tick(cron, zone, now)
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
        added = await self._runs.add_due(digest, event=self._make_event(digest))
        if added is not AddDueResult.BUSY:
            self._done[schedule.group_id] = tick
        if added is not AddDueResult.ADDED:
            return None
        self._events.publish(EventType.DIGEST_REQUESTED, digest.group_id, digest_id=str(digest.id), by=ACTOR)
        return digest.id

    def _make_event(self, digest: Digest) -> AuditEvent:
        return AuditEvent(
            id=self._ids.new(),
            group_id=digest.group_id,
            at=digest.created_at,
            actor=ACTOR,
            action=AuditAction.REQUEST_DIGEST.value,
            subject=f"digest {digest.id}",
        )
