"""Working memory made anew from quarantine: losing Redis loses no knowledge."""

from dataclasses import replace
from datetime import timedelta

from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.ports import AdmissionStore, Clock, WorkingStore
from clearwell.records import WorkingEntry
from clearwell.settings import Settings


class WorkingMemoryRebuilder:
    def __init__(
        self,
        admissions: AdmissionStore,
        working: WorkingStore,
        knowledge: Knowledge,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._admissions = admissions
        self._knowledge = knowledge
        self._working = working
        self._clock = clock
        self._settings = settings

    async def group(self, group_id: str) -> int:
        """Hold again what was admitted in the last day and not removed; how many entries that is."""
        since = self._clock.now() - timedelta(seconds=self._settings.working_ttl_seconds)
        # Alone in the group, so that nothing is admitted between the reading and the writing.
        async with self._admissions.open(group_id, []):
            entries = await self._admissions.admitted(group_id, since=since, limit=self._settings.working_size)
            await self._working.replace(group_id, [await self._as_admitted(entry) for entry in entries])
        return len(entries)

    async def _as_admitted(self, entry: WorkingEntry) -> WorkingEntry:
        """With a mark in the place of each memory that it cited."""
        own = await self._knowledge.unfenced(entry.group_id, entry.id, entry.content, agent_id=entry.agent_id)
        return replace(entry, content=own.shown or entry.content)

    async def all(self) -> dict[str, int]:
        """Every group that had entries in the last day."""
        since = self._clock.now() - timedelta(seconds=self._settings.working_ttl_seconds)
        return {group_id: await self.group(group_id) for group_id in await self._admissions.working_groups(since=since)}

    async def after_a_loss(self) -> dict[str, int]:
        """Rebuild where the server has lost its data, and only there."""
        return await self.all() if await self._working.is_new() else {}
