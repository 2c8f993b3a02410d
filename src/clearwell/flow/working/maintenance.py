"""Maintenance of working memory: entries that a person removes, and the rebuild from quarantine.

A removed entry stays in quarantine, and a rebuild leaves it out. Because of the rebuild, a loss of the Redis data
loses no knowledge.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from clearwell.errors import NotFound
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.ingress.known_texts import KnownTextReader
from clearwell.flow.ingress.segmentation import average_vectors, place_statements
from clearwell.flow.working.capacity import read_capacity
from clearwell.ports import AdmissionStore, Clock, StatementStore, WorkingStore
from clearwell.records import EventType, Principal, Statement, WorkingEntry
from clearwell.settings import Settings
from clearwell.vocabulary import AuditAction


class EntryRemover:
    """Removes entries at a person's request."""

    def __init__(
        self, working: WorkingStore, admissions: AdmissionStore, audit_events: AuditEvents, events: EventPublisher
    ) -> None:
        self._working = working
        self._admissions = admissions
        self._audit_events = audit_events
        self._events = events

    async def remove_entry(self, group_id: str, entry_id: UUID, *, by: Principal) -> None:
        """Remove one entry. Raises NotFound if nothing was ever admitted under this id."""
        if not await self._remove(group_id, entry_id, by):
            raise NotFound("entry_not_found", id=entry_id, group=group_id)

    async def _remove(self, group_id: str, entry_id: UUID, by: Principal) -> bool:
        # Working memory first: if it does not answer, nothing is marked and the call can be repeated.
        await self._working.remove(group_id, entry_id)
        event = self._audit_events.make(
            AuditAction.REMOVE_WORKING_ENTRY, f"quarantine {entry_id}", group_id, by=by.name
        )
        removed = await self._admissions.mark_removed(group_id, entry_id, event=event)
        if removed:
            self._events.publish(EventType.ENTRY_REMOVED, group_id, log_id=str(entry_id), by=by.name)
        return removed


class WorkingMemoryRebuilder:
    """Restores working memory from what quarantine says was admitted."""

    def __init__(
        self,
        admissions: AdmissionStore,
        statements: StatementStore,
        working: WorkingStore,
        known_texts: KnownTextReader,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._admissions = admissions
        self._statements = statements
        self._known_texts = known_texts
        self._working = working
        self._clock = clock
        self._settings = settings

    async def rebuild_group(self, group_id: str) -> int:
        """Restore the entries that are not expired and not removed; returns how many there are."""
        since = self._clock.now() - timedelta(seconds=self._settings.working_ttl_seconds)
        # The group is locked, so that nothing is admitted between the read and the write.
        async with self._admissions.open(group_id, []):
            capacity = read_capacity(self._settings)
            entries = await self._admissions.read_admitted(group_id, since=since, capacity=capacity)
            statements = await self._statements.read(group_id, [entry.id for entry in entries])
            await self._working.replace(
                group_id, [await self._complete(entry, statements.get(entry.id, ())) for entry in entries]
            )
        return len(entries)

    async def rebuild_all(self) -> dict[str, int]:
        """Rebuild every group that may have entries; returns the number of entries by group."""
        since = self._clock.now() - timedelta(seconds=self._settings.working_ttl_seconds)
        groups = await self._admissions.find_working_groups(since=since)
        return {group_id: await self.rebuild_group(group_id) for group_id in groups}

    async def rebuild_after_loss(self) -> dict[str, int]:
        """Rebuild every group if the server may have lost entries; otherwise do nothing."""
        run = await self._working.find_loss()
        if run is None:
            return {}
        rebuilt = await self.rebuild_all()
        # Only now: a rebuild that fails, or whose process ends, is repeated.
        await self._working.note_rebuilt(run)
        return rebuilt

    async def _complete(self, entry: WorkingEntry, statements: Sequence[Statement]) -> WorkingEntry:
        """Put a mark in the place of each memory that the entry cites, and add its statements, as admission does."""
        own = await self._known_texts.remove_fences(entry.group_id, entry.id, entry.content, agent_id=entry.agent_id)
        shown = own.shown or entry.content
        embedded = [one for one in statements if one.embedding is not None]
        if embedded and embedded[0].embedding_model != entry.embedding_model:
            model = embedded[0].embedding_model
            entry = replace(entry, embedding=average_vectors(embedded), embedding_model=model)
        return replace(entry, content=shown, statements=place_statements(entry.content, shown, embedded))
