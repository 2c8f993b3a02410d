"""The statements that a digest looks at, read from quarantine a page of rows at a time, each with its vector."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.digest.drafting import find_own_words
from clearwell.flow.digest.progress import Progress
from clearwell.flow.factcheck.report import QuotedClaim, find_quoted_claims
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.ingress.policies import POLICIES, is_evidence, policy_of
from clearwell.flow.ingress.segmentation import MOST_VECTORS
from clearwell.ports import CandidateFilter, DigestMaterial, Embedder
from clearwell.records import ClaimRating, DigestCandidate, DigestRow, Statement, Vector
from clearwell.settings import Settings
from clearwell.text.normalisation import remove_disguise
from clearwell.text.segments import bare_text, self_contained

log = structlog.get_logger(__name__)
PAGE = 500
EMBED_BATCH = 64
MOST_STATEMENTS = 150_000
"""Statements of one digest: memory is bounded. The rest waits for the next one."""
MOST_AGAIN = 5000
"""Texts that are embedded once more without their refrains: as many as take half a minute."""
KEPT_CHARS = 600
"""So much of a statement takes part."""
LOOKS, LOOK_SECONDS, PATIENCE = 150, 0.2, 25
"""How often and how long to look whether rows are settled, and after how many looks without a change to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRows:
    """The candidates, why some of them have no vector, and how many rows could not be waited for."""

    candidates: Sequence[DigestCandidate]
    considered: Mapping[UUID, int]
    """Of each row that was read, in how many digests it was considered before."""
    unsettled: int = 0
    empty: bool = False
    """Nothing was ever captured in the group."""
    problem: EmbedderUnavailable | None = None

    @property
    def rows(self) -> int:
        return len(self.considered)

    @property
    def without_vector(self) -> int:
        """The rows with a statement that has no vector."""
        return len({one.log_id for one in self.candidates if one.embedding is None})

    @property
    def complete(self) -> list[UUID]:
        """The rows whose statements all take part."""
        missing = {one.log_id for one in self.candidates if one.embedding is None}
        return [log_id for log_id in self.considered if log_id not in missing]


class MaterialReader:
    def __init__(self, material: DigestMaterial, knowledge: Knowledge, embedder: Embedder, settings: Settings) -> None:
        self._material = material
        self._knowledge = knowledge
        self._embedder = embedder
        self._settings = settings

    async def gather(self, group_id: str, progress: Progress, *, last_try: bool) -> DigestRows:
        """All candidates of a group. At the last try what cannot be embedded is left without a vector."""
        unsettled = await self._settled(group_id, progress)
        considered, found = await self._pages(group_id, progress)
        if not considered:
            empty = not await self._material.holds_rows(group_id)
            return DigestRows(candidates=(), considered={}, unsettled=unsettled, empty=empty)
        try:
            complete = await self._embedded(found, progress)
            return DigestRows(candidates=complete, considered=considered, unsettled=unsettled)
        except EmbedderUnavailable as error:
            if not last_try or all(one.embedding is None for one in found):
                raise
            return DigestRows(candidates=found, considered=considered, unsettled=unsettled, problem=error)

    async def in_own_words(
        self, candidates: Sequence[DigestCandidate], progress: Progress
    ) -> Sequence[DigestCandidate]:
        """The candidates, with the vector of what they say where that is less than what they hold."""
        said = await asyncio.to_thread(find_own_words, candidates, self._embedder.similarity)
        texts = sorted(set(said.values()))[:MOST_AGAIN]
        vectors: dict[str, Vector] = {}
        try:
            for start in range(0, len(texts), EMBED_BATCH):
                await progress.report("digest_stage_embedding", start, len(texts))
                batch = texts[start : start + EMBED_BATCH]
                vectors |= zip(batch, await self._embedder.embed(batch), strict=True)
        except EmbedderUnavailable as error:
            # The vectors of the whole texts are there and nearly as good.
            log.warning("statements are compared with their refrains", statements=len(said), reason=error.code)
            return candidates
        return [
            replace(one, embedding=vectors[said[one.place]]) if said.get(one.place) in vectors else one
            for one in candidates
        ]

    async def refused(self, group_id: str, texts: Sequence[str]) -> list[bool]:
        """Which of these texts say a value that has a standing tombstone, now."""
        standing = await self._material.refused_values(group_id)
        return [await self._says(group_id, text, standing) for text in texts]

    async def read_contents(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """The rows of sources as they were captured."""
        return await self._material.contents(group_id, log_ids)

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

    async def _pages(self, group_id: str, progress: Progress) -> tuple[dict[UUID, int], list[DigestCandidate]]:
        """Rows with statements, and their statements, without those that say a refused value."""
        where = self._filter(group_id)
        count, after = await self._material.count(where), None
        standing = await self._material.refused_values(group_id)
        considered: dict[UUID, int] = {}
        kept: list[DigestCandidate] = []
        while len(kept) < MOST_STATEMENTS and (page := await self._material.rows(where, after=after, limit=PAGE)):
            await progress.report("digest_stage_reading", len(considered), max(count, len(considered)))
            for row in page:
                allowed = [
                    one
                    for one in make_candidates(row, evidence=is_evidence(row.node_type, self._settings))
                    if not await self._says(group_id, one.text, standing)
                ]
                if allowed:
                    considered[row.log_id] = row.considered
                    kept += allowed
            after = page[-1].log_id
        return considered, kept

    async def _says(self, group_id: str, text: str, standing: frozenset[bytes]) -> bool:
        return bool(standing) and not standing.isdisjoint(await self._knowledge.hash_values(group_id, text))

    async def _embedded(self, found: Sequence[DigestCandidate], progress: Progress) -> list[DigestCandidate]:
        """Embed what has no vector yet, such as the statements of rows that were refused before they were embedded."""
        missing = [one for one in found if one.embedding is None]
        vectors: dict[tuple[UUID, int], Vector] = {}
        for start in range(0, len(missing), EMBED_BATCH):
            await progress.report("digest_stage_embedding", start, len(missing))
            batch = missing[start : start + EMBED_BATCH]
            new = await self._embedder.embed([one.text for one in batch])
            vectors |= zip([one.place for one in batch], new, strict=True)
        return [replace(one, embedding=vectors[one.place]) if one.place in vectors else one for one in found]

    def _filter(self, group_id: str) -> CandidateFilter:
        types = [*POLICIES, *self._settings.node_policies]
        excluded = {
            one for one in types if not policy_of(one, self._settings).digest and not is_evidence(one, self._settings)
        }
        return CandidateFilter(
            group_id=group_id,
            model=self._embedder.model,
            without_types=sorted(excluded),
            most_considered=self._settings.digest_looks,
        )


def make_candidates(row: DigestRow, *, evidence: bool = False) -> list[DigestCandidate]:
    """The claims and decisions of a row, as many as get vectors."""
    whole = [one for one in row.statements if one.segment.is_statement and one.segment.end <= len(row.content)]
    found = [_make_candidate(row, each, evidence) for each in whole[:MOST_VECTORS]]
    claims = find_quoted_claims(row.content)
    return [one for one in (_quote_claims(found, claims, evidence=evidence) if claims else found) if one.text]


def _quote_claims(
    found: Sequence[DigestCandidate], claims: Sequence[QuotedClaim], *, evidence: bool
) -> list[DigestCandidate]:
    """The candidates of a fact check, or of an agent that repeats one: what is said of a claim is about the claim.

    They have the text of the claim, and get its vector: the words around it are the same in every fact check. What is
    said of a claim that could not be rated tells a reviewer nothing. All else that a fact check says is of its form.
    """
    quoting: dict[int, tuple[DigestCandidate, QuotedClaim]] = {}
    for claim in claims:
        one = next((one for one in found if one.span[0] < claim.end and claim.start < one.span[1]), None)
        if one is not None:
            quoting.setdefault(one.number, (one, claim))
    rated = [
        replace(one, text=claim.text[:KEPT_CHARS], evidence=True, repeats=True, embedding=None)
        for one, claim in quoting.values()
        if claim.rating is not ClaimRating.UNKNOWN
    ]
    return [*rated, *([] if evidence else [one for one in found if one.number not in quoting])]


def _make_candidate(row: DigestRow, statement: Statement, evidence: bool) -> DigestCandidate:
    segment = statement.segment
    verbatim = row.content[segment.start : segment.end]
    text = remove_disguise(bare_text(row.content, segment))[:KEPT_CHARS].strip()
    return DigestCandidate(
        log_id=row.log_id,
        number=statement.number,
        span=(segment.start, segment.end),
        kind=segment.kind,
        statement=text if text == verbatim else verbatim,
        text=text,
        headline=self_contained(row.content, segment),
        agent_id=row.agent_id,
        session_id=row.session_id,
        node_id=row.node_id,
        node_type=row.node_type,
        occurred_at=row.occurred_at,
        confidence=row.confidence,
        admission=row.admission,
        flags=row.flags,
        evidence=evidence,
        captured_by=row.captured_by,
        embedding=statement.embedding,
    )
