"""The checks between quarantine and working memory. Each measures one thing and gives its verdict.

Cheapest first: what needs only the text, then what needs to know the group, then what needs a language model. The
first ``fail`` ends the run.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from clearwell.comparison import features_of
from clearwell.flow.ingress import echo
from clearwell.flow.ingress.candidates import Candidate, ComparedText, Known, Neighbour
from clearwell.flow.ingress.policies import policy_of
from clearwell.ports import StatementComparison
from clearwell.records import (
    STATEMENT_KINDS,
    Capture,
    Comparison,
    Json,
    Judgement,
    Layer,
    Outcome,
    Relation,
    Tombstone,
    TombstoneKind,
    Verdict,
)
from clearwell.settings import Settings
from clearwell.text.characters import measure_width
from clearwell.text.injection import detect_injection, find_injected_line
from clearwell.text.segments import find_unread
from clearwell.text.sentences import cut_at_sentence
from clearwell.vocabulary import Flag, IngressCheck

LONGEST_SHOWN = 10**15
LONGEST_QUOTED = 300

STANDING_REASONS = {
    TombstoneKind.REJECTED: "verdict_tombstone_rejected",
    TombstoneKind.FORGOTTEN: "verdict_tombstone_forgotten",
}
FORMER_REASONS = ("verdict_instruction", "verdict_instruction_flagged")
"""Reasons of stored verdicts, from before the line of the instruction was quoted."""
RELATED_REASONS = {
    (Relation.SAME, Layer.WORKING): "verdict_same_working",
    (Relation.SAME, Layer.LONGTERM): "verdict_same_longterm",
    (Relation.CONFLICT, Layer.WORKING): "verdict_conflict_working",
    (Relation.CONFLICT, Layer.LONGTERM): "verdict_conflict_longterm",
}

TextCheck = Callable[[Candidate, Settings], Verdict]
GroupCheck = Callable[[Candidate, Known, StatementComparison, Settings], Verdict]


def check_node_type(capture: Capture, settings: Settings) -> Verdict | None:
    """Return a verdict if outputs of this type of node never enter working memory."""
    if policy_of(capture.node_type, settings).admit:
        return None
    params = {"node_type": capture.node_type}
    return Verdict(check=IngressCheck.NODE_TYPE, outcome=Outcome.FAIL, reason="verdict_node_type", params=params)


def check_emptied(capture: Capture, settings: Settings) -> Verdict | None:
    """Return a verdict if the output has no text, as after a forget. No setting turns this check off."""
    if capture.content.strip():
        return None
    threshold = max(settings.min_width, 1)
    return Verdict(
        check=IngressCheck.LENGTH, outcome=Outcome.FAIL, reason="verdict_length_short", value=0, threshold=threshold
    )


def check_confidence(candidate: Candidate, settings: Settings) -> Verdict:
    """The confidence that the agent itself stated."""
    metadata, threshold = candidate.capture.metadata, settings.confidence_threshold
    stated = metadata.get("confidence", metadata.get("confidence_score"))

    def verdict(outcome: Outcome, reason: str, value: Json) -> Verdict:
        return Verdict(check=IngressCheck.CONFIDENCE, outcome=outcome, reason=reason, value=value, threshold=threshold)

    if stated is None:
        outcome = Outcome.FAIL if settings.require_confidence else Outcome.PASS
        return verdict(outcome, "verdict_confidence_missing", None)
    if isinstance(stated, bool) or not isinstance(stated, int | float) or _not_finite(stated):
        return verdict(Outcome.FAIL, "verdict_confidence_no_number", _make_storable(stated))
    if not 0 <= stated <= 1:
        shown = stated if abs(stated) < LONGEST_SHOWN else _make_storable(stated)
        return verdict(Outcome.FAIL, "verdict_confidence_out_of_range", shown)
    if stated < threshold:
        return verdict(Outcome.FAIL, "verdict_confidence_low", stated)
    return verdict(Outcome.PASS, "verdict_confidence_ok", stated)


def _not_finite(number: int | float) -> bool:
    """An int is finite, and may be too large for a float."""
    return isinstance(number, float) and not math.isfinite(number)


def _make_storable(value: Json) -> Json:
    """A value of any kind, short enough for a verdict."""
    return value if isinstance(value, bool) else str(value)[:100]


def check_length(candidate: Candidate, settings: Settings) -> Verdict:
    """Short text is mostly noise. A wide character counts two, so 25 Chinese characters pass."""
    width = measure_width(" ".join(candidate.capture.content.split()))
    outcome = Outcome.PASS if width >= settings.min_width else Outcome.FAIL
    reason = "verdict_length_ok" if outcome is Outcome.PASS else "verdict_length_short"
    return Verdict(check=IngressCheck.LENGTH, outcome=outcome, reason=reason, value=width, threshold=settings.min_width)


def check_instruction(candidate: Candidate, settings: Settings) -> Verdict:
    """Text that speaks to the machine that reads it, instead of about the matter."""
    flagged = Flag.INSTRUCTION_LIKE in candidate.flags
    address = detect_injection(echo.blank_fences(candidate.capture.content)) if flagged else None
    if address is None:
        return Verdict(check=IngressCheck.INSTRUCTION, outcome=Outcome.PASS, reason="verdict_no_instruction")
    refused = settings.refuse_instructions
    return Verdict(
        check=IngressCheck.INSTRUCTION,
        outcome=Outcome.FAIL if refused else Outcome.FLAG,
        reason="verdict_instruction_quoted" if refused else "verdict_instruction_quoted_flagged",
        value=address.value,
        params={"how_code": f"address_{address}", "quoted": _shorten(find_injected_line(candidate.capture.content))},
    )


def check_substance(candidate: Candidate, settings: Settings) -> Verdict:
    """Check that the output has a claim or a decision. Without one it contains nothing to remember."""
    kinds = Counter(one.kind for one in candidate.segments)
    statements = sum(kinds[kind] for kind in STATEMENT_KINDS)
    if statements:
        return Verdict(check=IngressCheck.SUBSTANCE, outcome=Outcome.PASS, reason="verdict_substance", value=statements)
    unread = find_unread(candidate.capture.content, candidate.segments)
    if unread is not None:
        return Verdict(
            check=IngressCheck.SUBSTANCE, outcome=Outcome.PASS, reason="verdict_substance_unread", value=unread
        )
    return Verdict(
        check=IngressCheck.SUBSTANCE,
        outcome=Outcome.FAIL if settings.require_substance else Outcome.PASS,
        reason="verdict_no_substance",
        value=0,
        params={"kinds": {kind.value: count for kind, count in kinds.most_common()}},
    )


def check_tombstone(_: Candidate, known: Known, __: StatementComparison, settings: Settings) -> Verdict:
    """A value that a person rejected or forgot is refused; one that is only like a rejected one is flagged."""
    if known.tombstone is not None:
        return make_standing_verdict(known.tombstone)
    threshold = settings.near_rejected_similarity
    if known.near_rejected is not None and known.near_rejected[1] >= threshold:
        near, similarity = known.near_rejected
        return Verdict(
            check=IngressCheck.TOMBSTONE,
            outcome=Outcome.FLAG,
            reason="verdict_near_rejected",
            value=round(similarity, 4),
            threshold=threshold,
            params={"tombstone": str(near.id), "why": near.reason},
        )
    return Verdict(check=IngressCheck.TOMBSTONE, outcome=Outcome.PASS, reason="verdict_no_tombstone")


def make_standing_verdict(tombstone: Tombstone) -> Verdict:
    """The verdict of an output that says the value of this tombstone."""
    params = {"tombstone": str(tombstone.id), "why": tombstone.reason}
    return Verdict(
        check=IngressCheck.TOMBSTONE, outcome=Outcome.FAIL, reason=STANDING_REASONS[tombstone.kind], params=params
    )


def check_echo(candidate: Candidate, known: Known, comparison: StatementComparison, settings: Settings) -> Verdict:
    """A memory that was recalled and is repeated is neither admitted again nor counted as corroboration."""
    threshold, own = settings.echo_coverage, candidate.own
    if own.cited and echo.is_small_talk(own.text, settings.min_width):
        return _make_echo_verdict(1.0, threshold, own.cited)
    found = echo.measure_repeat(own.text, known.recalled, comparison, threshold=threshold, talk=settings.min_width)
    if found.whole:
        return _make_echo_verdict(round(found.share, 4), threshold, found.of)
    recalled = [one for one in known.neighbours if one.sighting.entry_id in known.recalled]
    related = _relate(candidate, recalled, comparison) if recalled else []
    if related and all(one.known for one in related):
        of = dict.fromkeys(one.neighbour.sighting.entry_id for each in related for one in each.known)
        return _make_echo_verdict(None, None, list(of))
    value = round(found.share, 4) if known.recalled else None
    return Verdict(
        check=IngressCheck.ECHO, outcome=Outcome.PASS, reason="verdict_no_echo", value=value, threshold=threshold
    )


def _make_echo_verdict(value: float | None, threshold: float | None, of: Sequence[UUID]) -> Verdict:
    params: dict[str, Json] = {"of": echo.name_first(of), "memories": [str(one) for one in of]}
    reason = "verdict_echo_reworded" if value is None else "verdict_echo"
    return Verdict(
        check=IngressCheck.ECHO, outcome=Outcome.FAIL, reason=reason, value=value, threshold=threshold, params=params
    )


@dataclass(frozen=True, slots=True)
class Related:
    """A compared text, a neighbour of it, and how they relate."""

    text: str
    neighbour: Neighbour
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Relations:
    """Which neighbours say the same as a compared text, and which contradict it, the most similar first."""

    known: Sequence[Related]
    conflicts: Sequence[Related]


def check_non_duplicate(
    candidate: Candidate, known: Known, comparison: StatementComparison, settings: Settings
) -> Verdict:
    """An output whose statements are all known is dropped; one that changes a fact of something known is a conflict."""
    related = _relate(candidate, known.neighbours, comparison)
    repeated = [one.known[0] for one in related if one.known]
    if len(repeated) == len(related) and (known.repeats_rest or _is_compared_whole(candidate)):
        return _make_same_verdict(repeated, settings)
    conflict = next((each.conflicts[0] for each in related if each.conflicts), None)
    if conflict is not None:
        return _make_relation_verdict(conflict, settings)
    return _make_new_verdict(known, len(repeated), len(related), settings)


def _is_compared_whole(candidate: Candidate) -> bool:
    """Whether all statements were compared: of a very long output, only the first ones have vectors."""
    return all(one.embedding is not None for one in candidate.statements or () if one.segment.is_statement)


def _relate(candidate: Candidate, neighbours: Sequence[Neighbour], comparison: StatementComparison) -> list[Relations]:
    compared = candidate.compared or [ComparedText(candidate.own.text)]
    return [
        _relate_text(each, [one for one in neighbours if one.of == place], comparison)
        for place, each in enumerate(compared)
    ]


def _relate_text(mine: ComparedText, neighbours: Sequence[Neighbour], comparison: StatementComparison) -> Relations:
    """Compare a text with its neighbours. One about something else, as the heading above it says, does not count.

    If a neighbour says the same, only verified memories still count as conflicts: what an unverified entry says may
    be refuted already. If a verified memory says the same, nothing is a conflict.
    """
    same: Related | None = None
    conflicts: list[Related] = []
    for one in neighbours:
        is_verified = one.sighting.layer is Layer.LONGTERM
        if (same is not None and not is_verified) or not _share_context(mine, one):
            continue
        outcome = Related(mine.text, one, comparison.compare(mine.text, one.content, one.similarity))
        if outcome.comparison.relation is Relation.SAME:
            if is_verified:
                return Relations([outcome], [])
            same = outcome
        elif outcome.comparison.relation is Relation.CONFLICT:
            conflicts.append(outcome)
    if same is None:
        return Relations([], conflicts)
    return Relations([same], [one for one in conflicts if one.neighbour.sighting.layer is Layer.LONGTERM])


def _share_context(mine: ComparedText, known: Neighbour) -> bool:
    """Return whether two texts can be about one thing: one of them says all that the context of the other says."""
    own, other = (features_of[context].content_words for context in (mine.context, known.context))
    if own <= other | features_of[known.content].content_words:
        return True
    return other <= own | features_of[mine.text].content_words


def _make_new_verdict(known: Known, repeated: int, compared: int, settings: Settings) -> Verdict:
    threshold = settings.duplicate_similarity
    if not known.neighbours:
        return Verdict(
            check=IngressCheck.NON_DUPLICATE, outcome=Outcome.PASS, reason="verdict_new_empty", threshold=threshold
        )
    nearest = round(known.neighbours[0].similarity, 4)
    reason = "verdict_new" if nearest < threshold else "verdict_new_in_fact"
    params: dict[str, Json] = {}
    if repeated:
        reason = "verdict_new_partly" if repeated < compared else "verdict_new_uncompared"
        params = {"repeated": repeated, "count": compared}
    return Verdict(
        check=IngressCheck.NON_DUPLICATE,
        outcome=Outcome.PASS,
        reason=reason,
        value=nearest,
        threshold=threshold,
        params=params,
    )


def _make_same_verdict(repeated: Sequence[Related], settings: Settings) -> Verdict:
    """The verdict of an output whose statements are all known; ``others`` has each entry and memory that has one."""
    if len(repeated) == 1:
        return _make_relation_verdict(repeated[0], settings)
    others = dict.fromkeys(one.neighbour.sighting for one in repeated)
    first = repeated[0].neighbour.sighting
    return Verdict(
        check=IngressCheck.NON_DUPLICATE,
        outcome=Outcome.FAIL,
        reason="verdict_same_statements",
        value=round(min(one.neighbour.similarity for one in repeated), 4),
        threshold=settings.duplicate_similarity,
        params={
            "other": str(first.entry_id),
            "layer": first.layer,
            "count": len(repeated),
            "of": echo.name_first([one.entry_id for one in others]),
            "others": [{"other": str(one.entry_id), "layer": one.layer} for one in others],
        },
    )


def _make_relation_verdict(related: Related, settings: Settings) -> Verdict:
    comparison, neighbour = related.comparison, related.neighbour
    same = comparison.relation is Relation.SAME
    params: dict[str, Json] = {
        "other": str(neighbour.sighting.entry_id),
        "layer": neighbour.sighting.layer,
        "differs_code": comparison.reason,
        "differs_params": dict(comparison.params),
    }
    if not same:
        params |= {"new": _shorten(related.text), "known": _shorten(neighbour.content)}
    return Verdict(
        check=IngressCheck.NON_DUPLICATE,
        outcome=Outcome.FAIL if same else Outcome.FLAG,
        reason=RELATED_REASONS[comparison.relation, neighbour.sighting.layer],
        value=round(neighbour.similarity, 4),
        threshold=settings.duplicate_similarity if same else settings.conflict_similarity,
        params=params,
    )


def _shorten(text: str) -> str:
    """A statement for a verdict, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTED else f"{cut_at_sentence(line, LONGEST_QUOTED - 1)}…"


def check_self_consistency(judgement: Judgement | None, settings: Settings) -> Verdict:
    """Return the verdict of the judge; without a judge, one that says that the text was not checked."""
    if judgement is None:
        if settings.require_self_consistency:
            return Verdict(
                check=IngressCheck.SELF_CONSISTENCY, outcome=Outcome.FAIL, reason="verdict_no_judge_required"
            )
        return Verdict(check=IngressCheck.SELF_CONSISTENCY, outcome=Outcome.NOT_CHECKED, reason="verdict_no_judge")
    if judgement.consistent:
        return Verdict(
            check=IngressCheck.SELF_CONSISTENCY, outcome=Outcome.PASS, reason="verdict_consistent", value=True
        )
    found = judgement.contradiction or judgement.hallucination or judgement.reason
    invented = judgement.hallucination and not judgement.contradiction
    reason = "verdict_hallucination" if invented else "verdict_contradiction"
    params = {"found": found[:300]}
    return Verdict(check=IngressCheck.SELF_CONSISTENCY, outcome=Outcome.FAIL, reason=reason, value=False, params=params)


TEXT_CHECKS: Mapping[str, TextCheck] = {
    IngressCheck.CONFIDENCE: check_confidence,
    IngressCheck.LENGTH: check_length,
    IngressCheck.INSTRUCTION: check_instruction,
    IngressCheck.SUBSTANCE: check_substance,
}
GROUP_CHECKS: Mapping[str, GroupCheck] = {
    IngressCheck.TOMBSTONE: check_tombstone,
    IngressCheck.ECHO: check_echo,
    IngressCheck.NON_DUPLICATE: check_non_duplicate,
}


def complete_verdicts(verdicts: Sequence[Verdict], settings: Settings) -> list[Verdict]:
    """The verdicts with one for each check that was not reached."""
    given = {verdict.check for verdict in verdicts}
    last = verdicts[-1].check if verdicts else ""
    return [
        *verdicts,
        *(
            Verdict(check=check, outcome=Outcome.NOT_CHECKED, reason="verdict_after", params={"after": last})
            for check in settings.ingress_checks
            if check not in given
        ),
    ]
