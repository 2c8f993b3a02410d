"""Audit events: what was done to what, by whom and when."""

from datetime import datetime

from clearwell.ports import Clock, Ids
from clearwell.records import AuditEvent, Json
from clearwell.vocabulary import AuditAction


class AuditEvents:
    """Makes audit events with the time and the ids of the program."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids

    def make(
        self, action: AuditAction, subject: str, group_id: str, *, by: str, at: datetime | None = None, **detail: Json
    ) -> AuditEvent:
        """Make an event, to be stored in the same transaction as the change it describes.

        ``detail`` holds ids and numbers, never the content of a memory.
        """
        return AuditEvent(
            id=self._ids.new(),
            group_id=group_id,
            at=at or self._clock.now(),
            actor=by,
            action=action.value,
            subject=subject,
            detail=detail,
        )
