"""Makes lost and changed chunks of long-term memory again from the promotions, page by page.

The program can be in use meanwhile. A rebuild can be interrupted at any time and run again:
the rows themselves show what is done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.promotion.planning import Chunker, Embeddings, build_chunks
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.ports import (
    Clock,
    GroupStore,
    Ids,
    LexicalIndex,
    LostMemory,
    LostMemoryStore,
    RebuildCounts,
    RebuiltMemory,
)
from clearwell.records import Principal
from clearwell.vocabulary import AuditAction

PAGE: Final = 32
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildResult:
    """What was written in this run, and the groups whose terms were made again."""

    counts: RebuildCounts
    reindexed: Sequence[str]


class MemoryRebuilder:
    """Finds memories without their chunks, writes these and brings the lexical index in step with them."""

    def __init__(
        self,
        lost: LostMemoryStore,
        groups: GroupStore,
        lexical_index: LexicalIndex,
        hasher: ValueHasher,
        chunker: Chunker,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._lost = lost
        self._groups = groups
        self._lexical_index = lexical_index
        self._hasher = hasher
        self._chunker = chunker
        self._audit_events = AuditEvents(clock, ids)

    async def run(self, progress: Progress, *, by: Principal) -> RebuildResult:
        """Rebuild every group. ``progress`` is called with the memories that are done and their total.

        Raises EmbedderUnavailable if the embedding model does not respond; what was written until then stays.
        """
        group_ids = [group.group_id for group in await self._groups.all(None)]
        lost = {group_id: await self._lost.count_lost(group_id) for group_id in group_ids}
        total, done, counts = sum(lost.values()), 0, RebuildCounts()
        reindexed = []
        for group_id in group_ids:
            after: UUID | None = None
            while page := await self._lost.list_lost(group_id, after=after, limit=PAGE):
                progress(done, max(done, total))
                counts += await self._write(group_id, page, by=by)
                done, after = done + len(page), page[-1].promotion.id
                progress(done, max(done, total))
            if await self._lost.has_outdated_terms(group_id):
                await self._lexical_index.rebuild_group(group_id)
                reindexed.append(group_id)
            await self._lost.note_lost_statements(group_id)
        return RebuildResult(counts=counts, reindexed=reindexed)

    async def _write(self, group_id: str, page: Sequence[LostMemory], *, by: Principal) -> RebuildCounts:
        texts = [await self._chunker.split(one.promotion.text.content) for one in page]
        embeddings = await self._chunker.embed([chunk for chunks in texts for chunk in chunks])
        vectors = iter(embeddings.vectors)
        rebuilt = []
        for one, chunks in zip(page, texts, strict=True):
            own = Embeddings(embeddings.model, tuple(next(vectors) for _ in chunks))
            hashes = await self._hasher.hash_promotable_values(group_id, one.promotion.text.content)
            memories = build_chunks(one.promotion, chunks, own, at=one.promoted_at)
            rebuilt.append(RebuiltMemory(promotion=one.promotion, chunks=memories, value_hashes=hashes))
        event = self._audit_events.make(AuditAction.REBUILD_MEMORIES, f"group {group_id}", group_id, by=by.name)
        return await self._lost.write_chunks(group_id, rebuilt, event=event)
