"""The rows of quarantine that a digest looks at, a page at a time, each with its vector."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.digest.drafting import own_words
from clearwell.flow.digest.progress import Progress
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.ingress.policies import POLICIES, policy_of
from clearwell.ports import CandidateFilter, DigestMaterial, Embedder
from clearwell.records import DigestCandidate, Vector
from clearwell.settings import Settings

log = structlog.get_logger(__name__)
PAGE = 500
EMBED_BATCH = 64
MOST_AGAIN = 5000
"""Texts that are embedded once more without their refrains: as many as take half a minute."""
KEPT_CHARS = 4000
"""So much of a text takes part: insights are about what is said first, and memory is bounded."""
LOOKS, LOOK_SECONDS, PATIENCE = 150, 0.2, 25
"""How often and how long to look whether rows are settled, and after how many looks without a change to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRows:
    """The candidates, why some of them have no vector, and how many rows could not be waited for."""

    candidates: Sequence[DigestCandidate]
    unsettled: int = 0
    empty: bool = False
    """Nothing was ever captured in the group."""
    problem: EmbedderUnavailable | None = None

    @property
    def without_vector(self) -> int:
        return sum(one.embedding is None for one in self.candidates)


class MaterialReader:
    def __init__(self, material: DigestMaterial, knowledge: Knowledge, embedder: Embedder, settings: Settings) -> None:
        self._material = material
        self._knowledge = knowledge
        self._embedder = embedder
        self._settings = settings

    async def gather(self, group_id: str, progress: Progress, *, last_try: bool) -> DigestRows:
        """All candidates of a group. At the last try what cannot be embedded is left without a vector."""
        unsettled = await self._settled(group_id, progress)
        found = await self._pages(group_id, progress)
        if not found:
            empty = not await self._material.holds_rows(group_id)
            return DigestRows(candidates=(), unsettled=unsettled, empty=empty)
        try:
            return DigestRows(candidates=await self._embedded(group_id, found, progress), unsettled=unsettled)
        except EmbedderUnavailable as error:
            if not last_try or all(one.embedding is None for one in found):
                raise
            return DigestRows(candidates=found, unsettled=unsettled, problem=error)

    async def in_own_words(
        self, candidates: Sequence[DigestCandidate], progress: Progress
    ) -> Sequence[DigestCandidate]:
        """The candidates, with the vector of what they say where that is less than what they hold."""
        said = await asyncio.to_thread(own_words, candidates, self._embedder.similarity)
        texts = sorted(set(said.values()))[:MOST_AGAIN]
        vectors: dict[str, Vector] = {}
        try:
            for start in range(0, len(texts), EMBED_BATCH):
                await progress.report("digest_stage_embedding", start, len(texts))
                batch = texts[start : start + EMBED_BATCH]
                vectors |= zip(batch, await self._embedder.embed(batch), strict=True)
        except EmbedderUnavailable as error:
            # The vectors of the whole texts are there and nearly as good.
            log.warning("outputs are compared with their refrains", rows=len(said), reason=error.code)
            return candidates
        return [
            replace(one, embedding=vectors[said[one.log_id]]) if said.get(one.log_id) in vectors else one
            for one in candidates
        ]

    async def refused(self, group_id: str, texts: Sequence[str]) -> list[bool]:
        """Which of these texts say a value that has a standing tombstone, now."""
        standing = await self._material.refused_values(group_id)
        return [await self._says(group_id, text, standing) for text in texts]

    async def _settled(self, group_id: str, progress: Progress) -> int:
        """Wait for rows that were captured a moment ago, as long as their number falls; how many are left."""
        first = least = await self._material.unsettled(group_id)
        waited = 0
        for _ in range(LOOKS):
            if least == 0 or waited == PATIENCE:
                break
            await progress.report("digest_stage_settling", first - least, first, rows=least)
            await asyncio.sleep(LOOK_SECONDS)
            rows = await self._material.unsettled(group_id)
            least, waited = (rows, 0) if rows < least else (least, waited + 1)
        return least

    async def _pages(self, group_id: str, progress: Progress) -> list[DigestCandidate]:
        where = self._filter(group_id)
        count, after = await self._material.count(where), None
        standing = await self._material.refused_values(group_id)
        kept: list[DigestCandidate] = []
        while page := await self._material.candidates(where, after=after, limit=PAGE):
            await progress.report("digest_stage_reading", len(kept), max(count, len(kept)))
            allowed = [one for one in page if not await self._says(group_id, one.content, standing)]
            own = [await self._own_words(group_id, one) for one in allowed]
            kept += [one for one in own if one.content.strip()]
            after = page[-1].log_id
        return kept

    async def _own_words(self, group_id: str, one: DigestCandidate) -> DigestCandidate:
        """What the agent said itself, without the memories that it cited."""
        own = await self._knowledge.remove_fences(group_id, one.log_id, one.content, agent_id=one.agent_id)
        return replace(one, content=own.text[:KEPT_CHARS])

    async def _says(self, group_id: str, text: str, standing: frozenset[bytes]) -> bool:
        return bool(standing) and not standing.isdisjoint(await self._knowledge.hash_values(group_id, text))

    async def _embedded(
        self, group_id: str, found: Sequence[DigestCandidate], progress: Progress
    ) -> list[DigestCandidate]:
        """Embed what was refused before anybody had to, and keep the vectors for the next digest."""
        missing = [one for one in found if one.embedding is None]
        vectors: dict[UUID, Vector] = {}
        for start in range(0, len(missing), EMBED_BATCH):
            await progress.report("digest_stage_embedding", start, len(missing))
            batch = missing[start : start + EMBED_BATCH]
            new = dict(
                zip(
                    [one.log_id for one in batch],
                    await self._embedder.embed([one.content for one in batch]),
                    strict=True,
                )
            )
            await self._material.add_vectors(group_id, self._embedder.model, new)
            vectors |= new
            await progress.report("digest_stage_embedding", len(vectors), len(missing))
        return _with_vectors(found, vectors)

    def _filter(self, group_id: str) -> CandidateFilter:
        types = [*POLICIES, *self._settings.node_policies]
        return CandidateFilter(
            group_id=group_id,
            model=self._embedder.model,
            without_types=sorted({one for one in types if not policy_of(one, self._settings).digest}),
            most_considered=self._settings.digest_looks,
        )


def _with_vectors(found: Sequence[DigestCandidate], vectors: Mapping[UUID, Vector]) -> list[DigestCandidate]:
    return [replace(one, embedding=vectors[one.log_id]) if one.log_id in vectors else one for one in found]
