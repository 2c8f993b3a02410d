"""Read the statements that a digest considers from quarantine, page by page, each with its vector."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.digest.drafting import UndecidedInsight, find_stripped_texts
from clearwell.flow.digest.progress import Progress
from clearwell.flow.factcheck.report import QuotedClaim, find_quoted_claims
from clearwell.flow.ingress.policies import POLICIES, is_evidence, policy_of
from clearwell.flow.ingress.segmentation import MAX_VECTORS
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.ports import CandidateFilter, DigestMaterial, Embedder
from clearwell.records import ClaimRating, DigestCandidate, DigestRow, Statement, Vector
from clearwell.settings import Settings
from clearwell.text.normalisation import remove_disguise
from clearwell.text.segments import bare_text, self_contained

log = structlog.get_logger(__name__)
PAGE = 500
EMBED_BATCH = 64
MAX_STATEMENTS = 150_000
"""Maximum number of statements of one digest, to bound memory. The rest is left for the next digest."""
MAX_AGAIN = 5000
"""Maximum number of texts that are embedded again without boilerplate: as many as take half a minute."""
KEPT_CHARS = 600
"""Longer statements are truncated to this many characters."""
LOOKS, LOOK_SECONDS, PATIENCE = 150, 0.2, 25
"""How often, and at which interval, to check whether rows are settled, and after how many checks without a change to
stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRows:
    """The candidates of a digest, why some of them have no vector, and how many rows were not settled in time."""

    candidates: Sequence[DigestCandidate]
    considered: Mapping[UUID, int]
    """For each row that was read, the number of earlier digests that considered it."""
    unsettled: int = 0
    empty: bool = False
    """Whether nothing was ever captured in the group."""
    problem: EmbedderUnavailable | None = None

    @property
    def rows(self) -> int:
        return len(self.considered)

    @property
    def without_vector(self) -> int:
        """The number of rows with a statement that has no vector."""
        return len({one.log_id for one in self.candidates if one.embedding is None})

    @property
    def complete(self) -> list[UUID]:
        """The rows whose statements all have a vector."""
        missing = {one.log_id for one in self.candidates if one.embedding is None}
        return [log_id for log_id in self.considered if log_id not in missing]


class MaterialReader:
    """Reads the candidates of a digest and embeds those without a vector."""

    def __init__(self, material: DigestMaterial, hasher: ValueHasher, embedder: Embedder, settings: Settings) -> None:
        self._material = material
        self._hasher = hasher
        self._embedder = embedder
        self._settings = settings

    async def gather(self, group_id: str, progress: Progress, *, last_try: bool) -> DigestRows:
        """Return all candidates of a group.

        Raises EmbedderUnavailable, except on the last try if some candidates have a vector: the others stay without.
        """
        unsettled = await self._wait_until_settled(group_id, progress)
        considered, found = await self._read_pages(group_id, progress)
        if not considered:
            empty = not await self._material.has_rows(group_id)
            return DigestRows(candidates=(), considered={}, unsettled=unsettled, empty=empty)
        try:
            complete = await self._embed_missing(found, progress)
            return DigestRows(candidates=complete, considered=considered, unsettled=unsettled)
        except EmbedderUnavailable as error:
            if not last_try or all(one.embedding is None for one in found):
                raise
            return DigestRows(candidates=found, considered=considered, unsettled=unsettled, problem=error)

    async def reembed_without_boilerplate(
        self, candidates: Sequence[DigestCandidate], progress: Progress
    ) -> Sequence[DigestCandidate]:
        """Embed the candidates that have boilerplate again without it, and return all candidates.

        If the model does not respond, they are returned unchanged.
        """
        said = await asyncio.to_thread(find_stripped_texts, candidates, self._embedder.similarity)
        texts = sorted(set(said.values()))[:MAX_AGAIN]
        vectors: dict[str, Vector] = {}
        try:
            for start in range(0, len(texts), EMBED_BATCH):
                await progress.report("digest_stage_embedding", start, len(texts))
                batch = texts[start : start + EMBED_BATCH]
                vectors |= zip(batch, await self._embedder.embed(batch), strict=True)
        except EmbedderUnavailable as error:
            # The vectors of the whole texts are nearly as good.
            log.warning("statements compared with their boilerplate", statements=len(said), reason=error.code)
            return candidates
        return [
            replace(one, embedding=vectors[said[one.place]]) if said.get(one.place) in vectors else one
            for one in candidates
        ]

    async def read_undecided(self, group_id: str) -> list[UndecidedInsight]:
        """Return the insights without a decision, with the statements that they are based on."""
        return [
            UndecidedInsight(
                id=one.id,
                content=one.content,
                embedding=one.embedding,
                statements=tuple(
                    each
                    for row in one.rows
                    for each in make_candidates(row, evidence=is_evidence(row.node_type, self._settings))
                ),
                has_sides=one.has_sides,
            )
            for one in await self._material.list_undecided(group_id, self._embedder.model)
        ]

    async def find_refused(self, group_id: str, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it states a value that has a tombstone in force."""
        standing = await self._material.list_refused_values(group_id)
        return [await self._says(group_id, text, standing) for text in texts]

    async def read_contents(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """Return the contents of rows as they were captured."""
        return await self._material.read_contents(group_id, log_ids)

    async def _wait_until_settled(self, group_id: str, progress: Progress) -> int:
        """Wait for rows that were just captured, while their number falls. Returns how many are left."""
        first = least = await self._material.count_unsettled(group_id)
        waited = 0
        for _ in range(LOOKS):
            if least == 0 or waited == PATIENCE:
                break
            await progress.report("digest_stage_settling", first - least, first, rows=least)
            await asyncio.sleep(LOOK_SECONDS)
            rows = await self._material.count_unsettled(group_id)
            least, waited = (rows, 0) if rows < least else (least, waited + 1)
        return least

    async def _read_pages(self, group_id: str, progress: Progress) -> tuple[dict[UUID, int], list[DigestCandidate]]:
        """Return how often each row was considered, and the candidates of all rows that have no refused value."""
        where = self._filter(group_id)
        count, after = await self._material.count_rows(where), None
        standing = await self._material.list_refused_values(group_id)
        considered: dict[UUID, int] = {}
        kept: list[DigestCandidate] = []
        while len(kept) < MAX_STATEMENTS and (page := await self._material.list_rows(where, after=after, limit=PAGE)):
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
        return bool(standing) and not standing.isdisjoint(await self._hasher.hash_values(group_id, text))

    async def _embed_missing(self, found: Sequence[DigestCandidate], progress: Progress) -> list[DigestCandidate]:
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
    """Return the claims and decisions of a row, at most as many as get vectors."""
    whole = [one for one in row.statements if one.segment.is_statement and one.segment.end <= len(row.content)]
    found = [_make_candidate(row, each, evidence) for each in whole[:MAX_VECTORS]]
    claims = find_quoted_claims(row.content)
    return [one for one in (_quote_claims(found, claims, evidence=evidence) if claims else found) if one.text]


def _quote_claims(
    found: Sequence[DigestCandidate], claims: Sequence[QuotedClaim], *, evidence: bool
) -> list[DigestCandidate]:
    """Replace candidates that quote the claim of a fact check by the claim itself.

    The words around a claim are the same in every fact check, so the candidate gets the text of the claim and later its
    vector. Claims that could not be rated are dropped: they tell a reviewer nothing. Of a fact check (``evidence``),
    everything else is dropped too, because it is boilerplate; of an agent that quotes one, it is kept.
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
