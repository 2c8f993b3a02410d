"""Copies of a value: what still says it when it is rejected, withdrawn or superseded.

Texts are compared as tombstones compare them, so a memory that says the value in one of its sentences is a copy.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from clearwell.errors import NotFound, WorkingMemoryUnavailable
from clearwell.flow.working.maintenance import EntryRemover
from clearwell.offload import offload
from clearwell.ports import ReviewStore, WorkingStore
from clearwell.records import MemoryState, Principal, SourceSelector
from clearwell.text.normalisation import find_values, normalise

log = structlog.get_logger(__name__)
PAGE: Final = 1_000
"""Memories that are read at once."""
WORKING_MEMORY: Final = "working_memory"
"""The component that an answer calls degraded when it did not respond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedEntries:
    """The entries that were removed from working memory, and the component that did not respond."""

    ids: tuple[UUID, ...] = ()
    degraded: tuple[str, ...] = ()


class CopyFinder:
    """Finds the valid memories and the entries of working memory that say a value, and removes the entries."""

    def __init__(self, review: ReviewStore, working: WorkingStore, remover: EntryRemover) -> None:
        self._review = review
        self._working = working
        self._remover = remover

    async def find_memories(self, group_id: str, texts: Sequence[str]) -> tuple[UUID, ...]:
        """The valid memories that say one of these texts, of the group and of every agent."""
        values = await _normalise_all(texts)
        found: list[UUID] = []
        after: UUID | None = None
        while page := await self._review.valid_texts(group_id, after=after, limit=PAGE):
            found += await offload(sum(len(text) for _, text in page), _select, page, values)
            after = page[-1][0]
        return tuple(found)

    async def find_entries(
        self, group_id: str, texts: Sequence[str], selector: SourceSelector | None = None
    ) -> tuple[UUID, ...]:
        """The entries that say one of these texts, or come from the output, session or agent of the selector."""
        values = await _normalise_all(texts)
        entries = await self._working.entries(group_id)
        said = [(entry.id, entry.content) for entry in entries]
        chosen = set(await offload(sum(len(text) for _, text in said), _select, said, values))
        if selector is not None:
            for entry in entries:
                named = ((selector.source, entry.id), (selector.session_id, entry.session_id))
                if any(wanted == own for wanted, own in (*named, (selector.agent_id, entry.agent_id)) if wanted):
                    chosen.add(entry.id)
        return tuple(entry.id for entry in entries if entry.id in chosen)

    async def remove_entries(self, group_id: str, ids: Sequence[UUID], *, by: Principal) -> tuple[UUID, ...]:
        """Remove entries from working memory; returns those that were there."""
        removed: list[UUID] = []
        for entry_id in ids:
            try:
                await self._remover.remove_entry(group_id, entry_id, by=by)
            except NotFound:
                continue
            removed.append(entry_id)
        return tuple(removed)

    async def remove_superseded(
        self, group_id: str, superseded: UUID, *, by_memory: UUID, by: Principal
    ) -> tuple[UUID, ...]:
        """Remove the entries that say what a memory says that another one supersedes, or waits to supersede.

        Nothing is removed if the new memory repeats that text, or the old one is valid again after an undo. Raises
        WorkingMemoryUnavailable; the call can be repeated.
        """
        found = await self._review.promotions(group_id, [superseded, by_memory])
        states = {one.promotion.memory_id: one for one in found}
        old, new = states.get(superseded), states.get(by_memory)
        if old is None or new is None:
            return ()
        if old.state is MemoryState.VERIFIED and new.state is not MemoryState.PROMOTING:
            return ()
        text, replacement = old.promotion.text.content, new.promotion.text.content
        values = await _normalise_all([text])
        if await offload(len(replacement), _select, [(by_memory, replacement)], values):
            return ()
        return await self.remove_entries(group_id, await self.find_entries(group_id, [text]), by=by)

    async def try_remove_superseded(
        self, group_id: str, superseded: UUID, *, by_memory: UUID, by: Principal
    ) -> RemovedEntries:
        """Remove them after the decision. It is in force all the same if working memory does not respond."""
        try:
            removed = await self.remove_superseded(group_id, superseded, by_memory=by_memory, by=by)
        except WorkingMemoryUnavailable as error:
            log.warning("superseded entries not removed", memory=str(superseded), reason=error.code)
            return RemovedEntries(degraded=(WORKING_MEMORY,))
        return RemovedEntries(ids=removed)


async def _normalise_all(texts: Sequence[str]) -> Set[str]:
    return {value for text in texts if (value := await offload(len(text), normalise, text))}


def _select(said: Sequence[tuple[UUID, str]], values: Set[str]) -> list[UUID]:
    return [one for one, text in said if not values.isdisjoint(find_values(text))]
