"""The checks between quarantine and working memory. Each measures one thing and gives its verdict.

Checks that need only the text and its metadata come first; ``non_duplicate`` needs what the group already knows.
"""

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clearwell.records import Capture, Json, Layer, Outcome, Sighting, Verdict
from clearwell.settings import Settings

CONFIDENCE, LENGTH, NON_DUPLICATE, SELF_CONSISTENCY = "confidence", "length", "non_duplicate", "self_consistency"
NOT_CHECKED_FLAG = "self_consistency_not_checked"

LONGEST_SHOWN = 10**15

TextCheck = Callable[[Capture, Settings], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """What the group knows that is most like a capture, on the calibrated scale."""

    sighting: Sighting
    similarity: float


def check_confidence(capture: Capture, settings: Settings) -> Verdict:
    """The confidence that the agent itself stated."""
    stated = capture.metadata.get("confidence", capture.metadata.get("confidence_score"))
    threshold = settings.confidence_threshold

    def verdict(outcome: Outcome, reason: str, value: Json) -> Verdict:
        return Verdict(check=CONFIDENCE, outcome=outcome, reason=reason, value=value, threshold=threshold)

    if stated is None:
        outcome = Outcome.FAIL if settings.require_confidence else Outcome.PASS
        return verdict(outcome, "verdict_confidence_missing", None)
    if isinstance(stated, bool) or not isinstance(stated, int | float) or _not_finite(stated):
        return verdict(Outcome.FAIL, "verdict_confidence_no_number", _shown(stated))
    if not 0 <= stated <= 1:
        shown = stated if abs(stated) < LONGEST_SHOWN else _shown(stated)
        return verdict(Outcome.FAIL, "verdict_confidence_out_of_range", shown)
    if stated < threshold:
        return verdict(Outcome.FAIL, "verdict_confidence_low", stated)
    return verdict(Outcome.PASS, "verdict_confidence_ok", stated)


def _not_finite(number: int | float) -> bool:
    """An int is finite, and may be too large for a float."""
    return isinstance(number, float) and not math.isfinite(number)


def _shown(value: Json) -> Json:
    """A value of any kind, short enough for a verdict."""
    return value if isinstance(value, bool) else str(value)[:100]


def check_length(capture: Capture, settings: Settings) -> Verdict:
    """Short text is mostly noise. A wide character counts two, so 25 Chinese characters pass."""
    width = display_width(" ".join(capture.content.split()))
    outcome = Outcome.PASS if width >= settings.min_width else Outcome.FAIL
    reason = "verdict_length_ok" if outcome is Outcome.PASS else "verdict_length_short"
    return Verdict(check=LENGTH, outcome=outcome, reason=reason, value=width, threshold=settings.min_width)


def display_width(text: str) -> int:
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf", "Cc"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def check_non_duplicate(nearest: Neighbour | None, settings: Settings) -> Verdict:
    """Whether the group already knows this."""
    threshold = settings.duplicate_similarity
    if nearest is None or nearest.similarity < threshold:
        value = None if nearest is None else round(nearest.similarity, 4)
        return Verdict(
            check=NON_DUPLICATE, outcome=Outcome.PASS, reason="verdict_new", value=value, threshold=threshold
        )
    return Verdict(
        check=NON_DUPLICATE,
        outcome=Outcome.FAIL,
        reason="verdict_same_working" if nearest.sighting.layer is Layer.WORKING else "verdict_same_longterm",
        value=round(nearest.similarity, 4),
        threshold=threshold,
        params={"other": str(nearest.sighting.entry_id)},
    )


def check_self_consistency(settings: Settings) -> Verdict:
    """No judge is configured, and the verdict says so."""
    if settings.require_self_consistency:
        return Verdict(check=SELF_CONSISTENCY, outcome=Outcome.FAIL, reason="verdict_no_judge_required")
    return Verdict(check=SELF_CONSISTENCY, outcome=Outcome.NOT_CHECKED, reason="verdict_no_judge")


TEXT_CHECKS: Sequence[tuple[str, TextCheck]] = ((CONFIDENCE, check_confidence), (LENGTH, check_length))
ORDER: Sequence[str] = (CONFIDENCE, LENGTH, NON_DUPLICATE, SELF_CONSISTENCY)


def check_text(capture: Capture, settings: Settings) -> list[Verdict]:
    """The checks that need nothing but the capture, up to the first that fails."""
    verdicts: list[Verdict] = []
    for _, check in TEXT_CHECKS:
        verdicts.append(check(capture, settings))
        if verdicts[-1].outcome is Outcome.FAIL:
            break
    return verdicts


def failed(verdicts: Sequence[Verdict]) -> bool:
    return any(verdict.outcome is Outcome.FAIL for verdict in verdicts)


def completed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts with one for each check that was not reached."""
    given = {verdict.check for verdict in verdicts}
    last = verdicts[-1].check
    return [
        *verdicts,
        *(
            Verdict(check=check, outcome=Outcome.NOT_CHECKED, reason="verdict_after", params={"after": last})
            for check in ORDER
            if check not in given
        ),
    ]
