"""The fate of a captured output, put together from quarantine and working memory."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from clearwell.errors import WorkingMemoryUnavailable
from clearwell.records import Admission, Layer, Outcome, Principal, QuarantineRow, SeenAgain, WorkingEntry
from clearwell.service import MemoryManager


class Place(StrEnum):
    """Where an output stands with working memory now."""

    WAITING = "waiting"
    REFUSED = "refused"
    LIVE = "live"
    REMOVED = "removed"
    EXPIRED = "expired"
    DISPLACED = "displaced"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """One row of quarantine and where it is now. ``entry`` is there while it is live."""

    row: QuarantineRow
    place: Place
    entry: WorkingEntry | None = None

    @property
    def repeated_layer(self) -> Layer | None:
        """The tier of what it only said again."""
        for verdict in self.row.verdicts:
            if verdict.outcome is Outcome.FAIL and verdict.params.get("other") == str(self.row.sighting_of):
                return Layer(str(verdict.params["layer"]))
        return None

    def is_corroborated_by(self, one: SeenAgain) -> bool:
        """Another agent said the same."""
        return one.agent_id is not None and one.agent_id != self.row.capture.agent_id


async def fate_of(
    memory: MemoryManager, group_id: str, log_id: UUID, *, by: Principal, ttl: timedelta, now: datetime
) -> Fate:
    """``ttl`` is the life of an entry: what is gone before its end did not expire."""
    row = await memory.quarantine_row(group_id, log_id, by=by)
    if row.admission is not Admission.ADMITTED:
        return Fate(row=row, place=Place.WAITING if row.admission is Admission.PENDING else Place.REFUSED)
    try:
        live = await memory.working_memory(group_id, by=by)
    except WorkingMemoryUnavailable:
        return Fate(row=row, place=Place.UNKNOWN)
    entry = next((one for one in live if one.id == log_id), None)
    return Fate(row=row, place=_place(row, entry, over=now - ttl), entry=entry)


def _place(row: QuarantineRow, entry: WorkingEntry | None, *, over: datetime) -> Place:
    if entry is not None:
        return Place.LIVE
    if row.removed_at is not None:
        return Place.REMOVED
    return Place.EXPIRED if row.settled_at is not None and row.settled_at <= over else Place.DISPLACED
