"""Copies of a value: what still says it when it is rejected or withdrawn.

Texts are compared as tombstones compare them, so a memory that says the value in one of its sentences is a copy.
"""

from collections.abc import Sequence, Set
from typing import Final
from uuid import UUID

from clearwell.errors import NotFound
from clearwell.flow.working.maintenance import EntryRemover
from clearwell.offload import offload
from clearwell.ports import ReviewStore, WorkingStore
from clearwell.records import Principal, SourceSelector
from clearwell.text.normalisation import find_values, normalise

PAGE: Final = 1_000
"""Memories that are read at once."""


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


async def _normalise_all(texts: Sequence[str]) -> Set[str]:
    return {value for text in texts if (value := await offload(len(text), normalise, text))}


def _select(said: Sequence[tuple[UUID, str]], values: Set[str]) -> list[UUID]:
    return [one for one, text in said if not values.isdisjoint(find_values(text))]
