"""What a group already knows that bears on a capture: its entries, its memories, its tombstones, what was recalled."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from clearwell.caches import MIB, TextCache
from clearwell.comparison import LOWEST_SIMILARITY
from clearwell.flow.factcheck.report import is_report, list_quoted_claims
from clearwell.flow.ingress.candidates import Candidate, ComparedText, Known, Neighbour
from clearwell.flow.ingress.echo import OwnText, find_fenced_ids, remove_fences
from clearwell.flow.ingress.neighbours import MemoryNeighbours
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.offload import offload
from clearwell.ports import (
    AdmissionStore,
    Embedder,
    LongTermSearch,
    RecallReader,
    TombstoneLookup,
    WorkingStore,
)
from clearwell.records import (
    Capture,
    FoundChunk,
    Layer,
    Sighting,
    Tombstone,
    TombstoneKind,
    Vector,
    WorkingEntry,
)
from clearwell.text.normalisation import (
    normalise,
    remove_disguise,
)
from clearwell.text.segments import bare_text, read_context, segment

MEMORIES_COMPARED = 5
SOME_COMPARED = 3
"""For each statement of an output of several."""
MAX_PAIRS = 40
MAX_COMPARED = 4
"""What a text repeats or contradicts is among the most similar; reading every entry word by word would cost more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionEvidence:
    """What can be read before a candidate is compared: it does not change while other rows are admitted."""

    memories: Sequence[Neighbour]
    value_hashes: Sequence[bytes]
    recalled: Mapping[UUID, str]


class KnownTextReader:
    """Reads everything that the group checks need, for one candidate at a time."""

    def __init__(
        self,
        working: WorkingStore,
        longterm: LongTermSearch,
        admissions: AdmissionStore,
        tombstones: TombstoneLookup,
        hasher: ValueHasher,
        recalls: RecallReader,
        embedder: Embedder,
    ) -> None:
        self._working = working
        self._neighbours = MemoryNeighbours(longterm, embedder)
        self._admissions = admissions
        self._tombstones = tombstones
        self._hasher = hasher
        self._recalls = recalls
        self._embedder = embedder

    async def read_entries(self, group_id: str) -> list[WorkingEntry]:
        return await self._working.entries(group_id)

    async def gather(self, candidate: Candidate, live: Sequence[WorkingEntry]) -> AdmissionEvidence:
        """Read from the database what bears on a candidate, except tombstones.

        This needs connections of its own, so it must not be awaited inside a transaction: in a small pool, or with
        many transactions at once, both would wait for a connection that neither gives back.
        """
        capture = candidate.capture
        return AdmissionEvidence(
            memories=await self._find_memories(candidate),
            value_hashes=await self._hasher.hash_values(capture.group_id, capture.content, candidate.own.text),
            recalled=await self._read_recalled_texts(candidate, live),
        )

    async def look_up(
        self,
        candidate: Candidate,
        gathered: AdmissionEvidence,
        live: Sequence[WorkingEntry],
        tombstones: TombstoneLookup | None = None,
    ) -> Known:
        """What the group knows now. ``tombstones`` reads them in the caller's transaction, where there is one."""
        neighbours = [*self._find_entries(candidate, live), *gathered.memories]
        standing, rejected = await (tombstones or self._tombstones).look_up(
            candidate.capture.group_id,
            gathered.value_hashes,
            embeddings=[one.vector for one in candidate.compared if one.vector is not None],
            model=self._embedder.model,
        )
        near = {one.sighting.entry_id for one in neighbours}
        texts = [entry.content for entry in live if entry.id in near] + [one.content for one in gathered.memories]
        return Known(
            neighbours=_select_nearest(neighbours, len(candidate.compared)),
            repeats_rest=await offload(sum(map(len, texts)), _repeats_rest, candidate, texts),
            tombstone=standing,
            near_rejected=None if rejected is None else (rejected[0], self._embedder.similarity(rejected[1])),
            recalled=gathered.recalled,
        )

    async def remove_fences(self, group_id: str, row_id: UUID, content: str, *, agent_id: str | None) -> OwnText:
        """What a row says itself: its text without the memories that stand between its fences."""
        ids = [one for one in await offload(len(content), find_fenced_ids, content) if one != row_id]
        if not ids:
            return OwnText(content)
        live = await self._working.entries(group_id)
        memories = await self._read_texts(group_id, ids, live, agent_id=agent_id)
        return await offload(len(content) + sum(map(len, memories.values())), remove_fences, content, memories)

    async def hash_capture(self, capture: Capture) -> list[bytes]:
        """The hashes of everything that a capture says: its text, with and without fences, and its metadata."""
        own = await self.remove_fences(capture.group_id, capture.id, capture.content, agent_id=capture.agent_id)
        said = await self._hasher.hash_values(capture.group_id, capture.content, own.text)
        return [*said, *await self._hasher.hash_metadata(capture.group_id, capture.metadata)]

    async def find_forgotten(
        self, group_id: str, hashes: Mapping[UUID, Sequence[bytes]], tombstones: TombstoneLookup | None = None
    ) -> dict[UUID, Tombstone]:
        """The rows that say a forgotten value, by the hashes of what each says, and its tombstone."""
        lookup = tombstones or self._tombstones
        if not await _find_forgotten(lookup, group_id, [one for each in hashes.values() for one in each]):
            return {}
        found = {row_id: await _find_forgotten(lookup, group_id, each) for row_id, each in hashes.items()}
        return {row_id: tombstone for row_id, tombstone in found.items() if tombstone is not None}

    def _find_entries(self, candidate: Candidate, live: Sequence[WorkingEntry]) -> list[Neighbour]:
        """The entries and statements of entries that are like what is compared of a candidate.

        A fact check quotes claims: it is like other fact checks of the same claims, and like what repeats it.
        """
        capture = candidate.capture
        claims = list_quoted_claims(capture.content)
        report = is_report(capture.node_type, capture.content)
        others = [
            entry
            for entry in live
            if entry.id != capture.id
            and entry.embedding_model == self._embedder.model
            and (
                not (report or is_report(entry.node_type, entry.content)) or list_quoted_claims(entry.content) == claims
            )
        ]
        return self._find_near(candidate.compared, [part for one in others for part in _read_parts(one)])

    def _find_near(self, texts: Sequence[ComparedText], parts: Sequence["_Part"]) -> list[Neighbour]:
        """The parts of entries that are most similar to each text."""
        placed = [(place, text.vector) for place, text in enumerate(texts) if text.vector is not None]
        if not placed or not parts:
            return []
        matrix = np.stack([part.vector for part in parts])
        # One product after the other: threads of the library for linear algebra cost more than these take.
        cosines = [matrix @ vector for _, vector in placed]
        nearest = [np.argsort(-row, kind="stable")[:MAX_COMPARED] for row in cosines]
        return [
            Neighbour(
                sighting=Sighting(entry_id=parts[number].entry_id, layer=Layer.WORKING),
                content=parts[number].text,
                similarity=similarity,
                of=place,
                context=parts[number].read_context() if texts[place].context else "",
            )
            for row, (place, _) in enumerate(placed)
            for number in nearest[row]
            if (similarity := self._embedder.similarity(float(cosines[row][number]))) >= LOWEST_SIMILARITY
        ]

    async def _find_memories(self, candidate: Candidate) -> list[Neighbour]:
        """The verified memories that are like what is compared of a candidate."""
        capture, texts = candidate.capture, candidate.compared
        if is_report(capture.node_type, capture.content):
            return []
        limit = MEMORIES_COMPARED if len(texts) == 1 else SOME_COMPARED
        # The vector of an output that only quotes is that of the whole output.
        asked = [text if text.text else replace(text, text=capture.content) for text in texts]
        found = await self._neighbours.search(capture.group_id, asked, [capture.agent_id for _ in texts], limit=limit)
        repeatable = _find_repeatable(candidate, [one for near in found for one in near])
        whole = await self._neighbours.read_whole_texts(capture.group_id, repeatable, agent_id=capture.agent_id)
        return await self._neighbours.relate(texts, found, whole)

    async def _read_recalled_texts(self, candidate: Candidate, live: Sequence[WorkingEntry]) -> dict[UUID, str]:
        """Return the texts that retrieval gave to this agent, or to a caller that named no agent."""
        capture = candidate.capture
        ids = await self._recalls.find_recalled(capture.group_id, agent_id=capture.agent_id) | set(candidate.own.cited)
        return await self._read_texts(capture.group_id, sorted(ids - {capture.id}), live, agent_id=capture.agent_id)

    async def _read_texts(
        self, group_id: str, ids: Sequence[UUID], live: Sequence[WorkingEntry], *, agent_id: str | None
    ) -> dict[UUID, str]:
        """What these memories say: entries, memories and rows of quarantine, whatever became of them.

        A memory that was withdrawn after an agent had read it is still not what the agent found out itself.
        """
        texts = {entry.id: entry.content for entry in live if entry.id in ids}
        if missing := [one for one in ids if one not in texts]:
            texts |= await self._neighbours.read_whole_texts(group_id, missing, agent_id=agent_id)
        if missing := [one for one in missing if one not in texts]:
            texts |= await self._admissions.read_texts(group_id, missing)
        return texts


@dataclass(frozen=True, slots=True)
class _Part:
    """An entry of working memory, or one of its statements."""

    entry_id: UUID
    text: str
    vector: Vector
    content: str
    """The whole text of the entry."""
    start: int = 0

    def read_context(self) -> str:
        """Return what the statement is about, if it does not say so itself."""
        here = next((one for one in _segments_of[self.content] if one.start == self.start and one.is_statement), None)
        return read_context(self.content, here) if here is not None else ""


_segments_of = TextCache(segment, max_bytes=4 * MIB, bytes_per_character=10)
"""The segments of entries. Many statements are compared with one entry."""


async def _find_forgotten(lookup: TombstoneLookup, group_id: str, hashes: Sequence[bytes]) -> Tombstone | None:
    if not hashes:
        return None
    standing, _ = await lookup.look_up(group_id, hashes)
    return standing if standing is not None and standing.kind is TombstoneKind.FORGOTTEN else None


def _read_parts(entry: WorkingEntry) -> list[_Part]:
    """What an entry is compared by: its statements or, if it has none, the whole."""
    content = entry.content
    parts = [
        _Part(entry.id, content[one.start : one.end], one.embedding, content, one.start)
        for one in entry.statements
        if one.end <= len(content)
    ]
    if parts or entry.embedding is None:
        return parts
    return [_Part(entry.id, content, entry.embedding, content)]


def _repeats_rest(candidate: Candidate, texts: Sequence[str]) -> bool:
    """Whether all statements without vectors stand word for word in these texts."""
    content = candidate.capture.content
    rest = [one.segment for one in candidate.statements or () if one.segment.is_statement and one.embedding is None]
    if not rest:
        return False
    known = {normalise(bare_text(text, one)) for text in map(remove_disguise, texts) for one in segment(text)}
    return all(normalise(remove_disguise(bare_text(content, one))) in known for one in rest)


def _select_nearest(neighbours: Sequence[Neighbour], compared: int) -> list[Neighbour]:
    """The most similar neighbours of each compared text, and so few of them that an output costs no more than
    ``MAX_PAIRS`` comparisons. All of them by similarity."""
    most = min(MAX_COMPARED, max(1, MAX_PAIRS // max(1, compared)))
    counted: Counter[int] = Counter()
    nearest: list[Neighbour] = []
    for one in sorted(neighbours, key=lambda each: -each.similarity):
        counted[one.of] += 1
        if counted[one.of] <= most:
            nearest.append(one)
    return nearest


def _find_repeatable(candidate: Candidate, found: Sequence[FoundChunk]) -> list[UUID]:
    """The memories of which one chunk was found while the candidate is longer than it, and may repeat all of them.

    An output of several statements that repeats a memory has statements like other chunks than the first one.
    """
    several = len(candidate.compared) > 1
    return sorted(
        {
            one.memory.id
            for one in found
            if len(candidate.own.text) > len(one.memory.content) and (not several or one.memory.chunk_no > 0)
        }
    )
