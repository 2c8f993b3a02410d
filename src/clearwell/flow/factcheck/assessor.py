"""The assessor that needs no language model: a claim is compared with each statement of the evidence by rules.

A piece of evidence that says the same supports the claim, and one that is in conflict with it contradicts it. All else
says nothing: the rules do not reason, so they find neither what follows from several memories nor what a paraphrase
with other words means.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.comparison import LOWEST_SIMILARITY
from clearwell.offload import offload
from clearwell.ports import Embedder, StatementComparison
from clearwell.records import AssessedEvidence, Assessment, Evidence, FactCheckMethod, Relation, Stance
from clearwell.text.segments import bare_text, segment

MAX_STATEMENTS: Final = 12
"""Statements of one piece of evidence that are compared."""
MAX_COMPARED: Final = 63
"""Statements of all evidence that are compared: with the claim, as many as one request to an embedding API takes."""
_STANCES: Final = {Relation.SAME: Stance.SUPPORTS, Relation.CONFLICT: Stance.CONTRADICTS}


@dataclass(frozen=True, slots=True)
class _Statement:
    number: int
    verbatim: str
    text: str


class RuleAssessor:
    """Compares a claim with evidence by the comparison rules."""

    method: Final = FactCheckMethod.RULES
    model: Final = None

    def __init__(self, comparison: StatementComparison, embedder: Embedder) -> None:
        self._comparison = comparison
        self._embedder = embedder

    async def assess(self, claim: str, evidence: Sequence[Evidence]) -> Assessment:
        size = sum(len(piece.content) for piece in evidence)
        statements = (await offload(size, _read_statements, evidence))[:MAX_COMPARED]
        if not statements:
            return Assessment()
        vector, *others = await self._embedder.embed([claim, *(one.text for one in statements)])
        similarities = [self._embedder.similarity(float(vector @ other)) for other in others]
        found = await offload(size, self._compare, claim, statements, similarities)
        return Assessment(evidence=tuple(found))

    def _compare(
        self, claim: str, statements: Sequence[_Statement], similarities: Sequence[float]
    ) -> list[AssessedEvidence]:
        """Of each piece of evidence one statement: one that says the same, else the most similar one in conflict."""
        found: dict[int, AssessedEvidence] = {}
        most_similar_first = sorted(zip(similarities, statements, strict=True), key=lambda pair: -pair[0])
        for similarity, statement in most_similar_first:
            if similarity < LOWEST_SIMILARITY:
                break
            known = found.get(statement.number)
            if known is not None and known.stance is Stance.SUPPORTS:
                continue
            compared = self._comparison.compare(claim, statement.text, similarity)
            stance = _STANCES.get(compared.relation)
            if stance is not None and (known is None or stance is Stance.SUPPORTS):
                found[statement.number] = AssessedEvidence(
                    number=statement.number,
                    stance=stance,
                    quote=statement.verbatim,
                    reason=compared.reason,
                    params=dict(compared.params),
                )
        return [found[number] for number in sorted(found)]


def _read_statements(evidence: Sequence[Evidence]) -> list[_Statement]:
    return [statement for piece in evidence for statement in _split(piece)]


def _split(piece: Evidence) -> list[_Statement]:
    """The statements of a piece of evidence, or the whole if it has none."""
    content = piece.content
    segments = [one for one in segment(content) if one.is_statement]
    if not segments:
        return [_Statement(piece.number, content.strip(), " ".join(content.split()))]
    return [
        _Statement(piece.number, content[one.start : one.end], bare_text(content, one))
        for one in segments[:MAX_STATEMENTS]
    ]
