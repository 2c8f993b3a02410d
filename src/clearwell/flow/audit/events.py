"""What happened to what, by whom: the event that is kept with each change."""

from datetime import datetime

from clearwell.ports import Clock, Ids
from clearwell.records import AuditEvent, Json


class AuditEvents:
    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids

    def event(
        self, action: str, subject: str, group_id: str, *, by: str, at: datetime | None = None, **detail: Json
    ) -> AuditEvent:
        """To be stored in the transaction of what it tells. Never with content."""
        return AuditEvent(
            id=self._ids.new(),
            group_id=group_id,
            at=at or self._clock.now(),
            actor=by,
            action=action,
            subject=subject,
            detail=detail,
        )
