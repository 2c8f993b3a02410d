"""A person takes entries out of working memory. They stay in quarantine, and a rebuild leaves them out."""

from uuid import UUID

from clearwell.errors import NotFound
from clearwell.flow.audit.events import AuditEvents
from clearwell.offload import offload
from clearwell.ports import AdmissionStore, WorkingStore
from clearwell.records import Principal
from clearwell.text.normalisation import normalised, values_of


class EntryRemover:
    def __init__(self, working: WorkingStore, admissions: AdmissionStore, audit_events: AuditEvents) -> None:
        self._working = working
        self._admissions = admissions
        self._audit_events = audit_events

    async def entry(self, group_id: str, entry_id: UUID, *, by: Principal) -> None:
        if not await self._removed(group_id, entry_id, by):
            raise NotFound("entry_not_found", id=entry_id, group=group_id)

    async def saying(self, group_id: str, value: str, *, by: Principal) -> None:
        """Every entry that says this value."""
        said = await offload(len(value), normalised, value)
        for entry in await self._working.entries(group_id):
            if said in await offload(len(entry.content), values_of, entry.content):
                await self._removed(group_id, entry.id, by)

    async def _removed(self, group_id: str, entry_id: UUID, by: Principal) -> bool:
        # Working memory first: where it does not answer nothing is marked, and the call can be made again.
        await self._working.remove(group_id, entry_id)
        event = self._audit_events.make("remove working entry", f"quarantine {entry_id}", group_id, by=by.name)
        return await self._admissions.mark_removed(group_id, entry_id, event=event)
