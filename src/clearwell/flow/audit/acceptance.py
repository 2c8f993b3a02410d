"""Acceptance of a trail that does not continue its head: by an operator, after the database was restored."""

from collections.abc import Sequence
from dataclasses import dataclass

from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import AuditHeads, AuditStore, Clock, Ids
from clearwell.records import KnownHead
from clearwell.vocabulary import AuditAction


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedTrail:
    """A trail that is continued as it is stored. A number is 0 if there was no seal."""

    group_id: str
    known_seal: int
    stored_seal: int


class TrailAcceptance:
    """Takes the stored seals for the head of a trail, and records in the trail what was known before."""

    def __init__(self, audit: AuditStore, heads: AuditHeads, clock: Clock, ids: Ids) -> None:
        self._audit = audit
        self._heads = heads
        self._events = AuditEvents(clock, ids)

    async def accept_all(self, *, by: str) -> Sequence[AcceptedTrail]:
        """Accept every trail that is not sealed any more, or whose head was begun again."""
        state = await self._heads.state()
        return [await self.accept(group_id, by=by) for group_id in sorted({*state.refused, *state.begun})]

    async def accept(self, group_id: str, *, by: str) -> AcceptedTrail:
        """Continue a trail as it is stored. The event is stored before the head changes."""
        known, last = await self._heads.find(group_id), await self._audit.last_seal(group_id)
        known_seal, stored_seal = 0 if known is None else known.number, 0 if last is None else last.number
        event = self._events.make(
            AuditAction.ACCEPT_TRAIL,
            f"seal {stored_seal}",
            group_id,
            by=by,
            known_seal=known_seal,
            known_root="" if known is None else known.root.hex(),
            stored_root="" if last is None else last.root.hex(),
        )
        await self._audit.add(event)
        head = None if last is None else KnownHead(group_id=group_id, number=last.number, root=last.root)
        await self._heads.replace(group_id, head)
        return AcceptedTrail(group_id=group_id, known_seal=known_seal, stored_seal=stored_seal)
