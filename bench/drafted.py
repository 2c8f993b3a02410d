"""Draft insights with the bundled embedder, as the digest job does, and count what they show."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from clearwell.comparison import RuleComparison
from clearwell.flow.digest.drafting import Draft, UndecidedInsight, draft, find_stripped_texts
from clearwell.flow.digest.drafting.pipeline import Thresholds
from clearwell.models import OfflineEmbedder
from clearwell.records import DigestCandidate, Vector

HALVES: Final = 2
"""Number of digests of one group. The second one sees what the first did not show."""


class Vectors:
    """Vectors of texts, each embedded once."""

    def __init__(self, embedder: OfflineEmbedder) -> None:
        self.embedder = embedder
        self._known: dict[str, Vector] = {}

    async def add(self, candidates: Sequence[DigestCandidate]) -> list[DigestCandidate]:
        """As the job does it: of whole statements first, then of what they say without boilerplate."""
        whole = await self._add(candidates, {})
        return await self._add(whole, find_stripped_texts(whole, self.embedder.similarity))

    async def _add(
        self, candidates: Sequence[DigestCandidate], said: Mapping[tuple[UUID, int], str]
    ) -> list[DigestCandidate]:
        texts = [said.get(one.place, one.text) for one in candidates]
        missing = sorted(set(texts) - self._known.keys())
        if missing:
            self._known.update(zip(missing, await self.embedder.embed(missing), strict=True))
        return [replace(one, embedding=self._known[text]) for one, text in zip(candidates, texts, strict=True)]

    async def draft(
        self, candidates: Sequence[DigestCandidate], earlier: Sequence[Draft], thresholds: Thresholds
    ) -> Sequence[Draft]:
        """Draft insights. Nobody has decided on the earlier ones."""
        vectors = await self.add(candidates)
        made = draft(
            vectors,
            similarity=self.embedder.similarity,
            comparison=RuleComparison(),
            undecided=[_make_undecided(at, one) for at, one in enumerate(earlier)],
            thresholds=thresholds,
        )
        return made.drafts


def _make_undecided(number: int, one: Draft) -> UndecidedInsight:
    return UndecidedInsight(
        id=UUID(int=number),
        content=one.summary,
        embedding=one.embedding,
        statements=one.sources,
        has_sides=bool(one.sides),
    )


def without_shown(candidates: Iterable[DigestCandidate], made: Iterable[Draft]) -> list[DigestCandidate]:
    shown = {source.place for one in made for source in one.sources}
    return [one for one in candidates if one.place not in shown]


@dataclass(slots=True)
class Outcome:
    """What two digests showed."""

    found: set[str] = field(default_factory=set)
    flagged: set[str] = field(default_factory=set)
    flags: Counter[bool] = field(default_factory=Counter)
    flood: int = 0
    noise: int = 0
    insights: int = 0
    as_agreement: int = 0
    characters: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.flags[True] / max(1, self.flags.total())
