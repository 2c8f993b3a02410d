"""The fact checker: retrieves evidence for each claim from both tiers, has it assessed, and rates the claim."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_in_group, resolve_agent
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.factcheck.claims import select_claims
from clearwell.flow.factcheck.ratings import drop_repetitions, rate, rate_failed
from clearwell.flow.factcheck.report import NODE_TYPE, format_fact_check
from clearwell.flow.retrieval.options import MAX_RESULTS, RetrieveOptions, plan_retrieval
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.messages import Language
from clearwell.ports import Clock, EvidenceAssessor
from clearwell.records import (
    AssessedEvidence,
    Assessment,
    Citation,
    ClaimCheck,
    ContextItem,
    EventType,
    Evidence,
    FactCheck,
    Json,
    Principal,
    Right,
)
from clearwell.settings import Settings
from clearwell.text.sentences import cut_around, find_all_sentences

log = structlog.get_logger(__name__)

MAX_EVIDENCE: Final = 10
"""Pieces of evidence for one claim, by default."""
PASSAGE_CHARS: Final = 2_000
"""Characters of a memory that are held against a claim, around the place that is most like it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCheckOptions:
    """The properties of a fact check. None means the default.

    ``session_id`` is the session that the claim comes from: what that session itself said before is no support for it
    until a person has verified it. ``agent_id`` also searches the memory of this agent.
    """

    max_results: int | None = None
    time_range_days: float | None = None
    agent_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A memory and the passage of it that is held against a claim: from ``start`` on in its content."""

    item: ContextItem
    start: int
    evidence: Evidence


class FactChecker:
    """Checks claims against the memory of a group."""

    def __init__(
        self,
        retriever: Retriever,
        assessor: EvidenceAssessor,
        events: EventPublisher,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._retriever = retriever
        self._assessor = assessor
        self._events = events
        self.clock: Final = clock
        self._settings = settings

    def resolve_options(self, group_id: str, options: FactCheckOptions, *, by: Principal) -> FactCheckOptions:
        """Return the options for this caller. Raises NotAllowed, or InvalidInput if they are not valid."""
        require_in_group(by, group_id, Right.READ)
        limits.require_id(options.session_id, "session_id")
        options = replace(options, agent_id=resolve_agent(by, limits.require_id(options.agent_id, "agent_id")))
        plan_retrieval(_make_query(options), self._settings, self.clock.now())
        return options

    async def check(
        self, claim: str | Sequence[str], group_id: str, options: FactCheckOptions, *, language: Language
    ) -> FactCheck:
        """Check a claim, or each statement of a text. Raises InvalidInput.

        If a model fails, the claim is unknown, with the reason, and the claims after it are not asked about.
        """
        selected = select_claims(claim)
        runs: list[_ClaimRun] = []
        for text in selected.texts:
            failed = next((run.failure for run in runs if run.failure is not None), None)
            runs.append(await self._check_claim(text, group_id, options, failed))
        degraded = tuple(sorted({part for run in runs for part in run.degraded}))
        items = {piece.item.id: piece.item for run in runs for piece in run.pieces}
        checks = tuple(run.check for run in runs)
        method, model = self._assessor.method, self._assessor.model
        fact_check = FactCheck(
            group_id=group_id,
            claims=checks,
            method=method,
            model=model,
            text=format_fact_check(checks, items, method=method, model=model, language=language),
            degraded=degraded,
            left_out=selected.left_out,
        )
        self._announce(fact_check, items, options)
        return fact_check

    def announce_failure(self, group_id: str, options: FactCheckOptions, reason: str) -> None:
        """Publish that claims could not be checked."""
        self._events.publish(
            EventType.FACT_CHECK_ERROR,
            group_id,
            agent_id=options.agent_id,
            session_id=options.session_id,
            reason=reason,
        )

    def _announce(self, fact_check: FactCheck, items: Mapping[UUID, ContextItem], options: FactCheckOptions) -> None:
        """Record the cited memories as recalled, and publish the rating."""
        cited = dict.fromkeys(one.memory_id for claim in fact_check.claims for one in claim.citations)
        group_id, ids = fact_check.group_id, [str(one) for one in cited]
        self._retriever.record_recall(
            group_id,
            [items[one] for one in cited],
            options.agent_id,
            degraded=fact_check.degraded,
            session_id=options.session_id,
        )
        if fact_check.problem is not None:
            self.announce_failure(group_id, options, str(fact_check.problem.params["problem_code"]))
        self._events.publish(
            EventType.FACT_CHECKED,
            group_id,
            agent_id=options.agent_id,
            session_id=options.session_id,
            rating=fact_check.rating.value,
            method=fact_check.method.value,
            claims=len(fact_check.claims),
            ids=list[Json](ids),
        )

    async def _check_claim(
        self, claim: str, group_id: str, options: FactCheckOptions, failed: Unavailable | None
    ) -> "_ClaimRun":
        retrieval = await self._retriever.retrieve(claim, group_id, _make_query(options), record=False)
        pieces = _select_pieces(retrieval.items, options.max_results or MAX_EVIDENCE)
        assessment, failure = Assessment(), failed if pieces else None
        if pieces and failed is None:
            try:
                assessment = await self._assessor.assess(claim, [piece.evidence for piece in pieces])
            except Unavailable as error:
                log.warning("claim not rated", group_id=group_id, reason=error.code)
                failure = error
        check = _make_check(claim, pieces, assessment, options, failure)
        return _ClaimRun(check, pieces, retrieval.degraded, failure)


@dataclass(frozen=True, slots=True)
class _ClaimRun:
    check: ClaimCheck
    pieces: Sequence[_Piece]
    degraded: tuple[str, ...]
    failure: Unavailable | None


def _make_query(options: FactCheckOptions) -> RetrieveOptions:
    """Whole items of both tiers, and more than are used: verified ones are taken first."""
    most = options.max_results
    limit = MAX_EVIDENCE if most is None else most
    return RetrieveOptions(
        max_results=most if most is not None and most < 1 else min(MAX_RESULTS, 2 * limit),
        hot_limit=limit,
        cold_limit=limit,
        time_range_days=options.time_range_days,
        agent_id=options.agent_id,
        max_chars=0,
    )


def _select_pieces(items: Sequence[ContextItem], most: int) -> list[_Piece]:
    """The evidence, verified first. Each tier has half of the places if both can fill them.

    What another fact check said is no evidence.
    """
    usable = [item for item in items if item.node_type != NODE_TYPE]
    verified, unverified = ([item for item in usable if item.verified is tier] for tier in (True, False))
    reserved = min(len(unverified), most // 2)
    chosen = verified[: most - reserved]
    chosen += unverified[: most - len(chosen)]
    return [_make_piece(number, item) for number, item in enumerate(chosen, start=1)]


def _make_piece(number: int, item: ContextItem) -> _Piece:
    start, end = cut_around(item.content, *(item.match or (0, 0)), PASSAGE_CHARS)
    said_at = item.occurred_at or item.promoted_at or item.created_at
    content = item.content[start:end]
    return _Piece(item, start, Evidence(number=number, content=content, verified=item.verified, said_at=said_at))


def _make_check(
    claim: str,
    pieces: Sequence[_Piece],
    assessment: Assessment,
    options: FactCheckOptions,
    failure: Unavailable | None,
) -> ClaimCheck:
    by_number = {piece.evidence.number: piece for piece in pieces}
    assessed = sorted(assessment.evidence, key=lambda one: one.number)
    said = [_make_citation(one, by_number[one.number]) for one in assessed]
    citations = drop_repetitions(said, options.session_id)
    if failure is None:
        rated = rate(
            citations, retrieved=len(pieces), repeated=len(citations) < len(said), undecided=assessment.undecided
        )
    else:
        rated = rate_failed(failure)
    return ClaimCheck(
        claim=claim,
        rating=rated.rating,
        reason=rated.reason,
        params=rated.params,
        citations=tuple(citations),
        explanation=assessment.explanation,
    )


def _make_citation(assessed: AssessedEvidence, piece: _Piece) -> Citation:
    item = piece.item
    place = _find_sentence(piece.evidence.content, assessed.quote)
    span = None if place is None else (piece.start + place[0], piece.start + place[1])
    return Citation(
        memory_id=item.id,
        stance=assessed.stance,
        label=item.label,
        verified=item.verified,
        sentence=None if span is None else item.content[slice(*span)],
        span=span,
        chunk_no=item.chunk_no,
        relevance=item.relevance,
        agent_id=item.agent_id,
        session_id=item.session_id,
        said_at=piece.evidence.said_at,
        reason=assessed.reason,
        params=assessed.params,
        conflicts_with=item.conflicts_with,
    )


def _find_sentence(content: str, quote: str) -> tuple[int, int] | None:
    """The place of the sentences that hold a quotation; None if it does not stand in the content.

    A language model may change the case and the spaces of what it quotes.
    """
    words = quote.split()
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), content, re.IGNORECASE)
    if found is None:
        return None
    holding = [place for place in find_all_sentences(content) if place[0] < found.end() and found.start() < place[1]]
    return (holding[0][0], holding[-1][1]) if holding else found.span()
