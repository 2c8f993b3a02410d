"""Each check of the ingress filter, by what it measures and how it says so."""

import math
from datetime import UTC, datetime
from uuid import UUID

import pytest

from clearwell.flow import ingress
from clearwell.records import Capture, Json, Layer, Outcome, Sighting
from clearwell.settings import Settings

SETTINGS = Settings()


def capture(content: str = "x" * 60, **metadata: Json) -> Capture:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return Capture(id=UUID(int=1), group_id="g", session_id=None, content=content, created_at=moment, metadata=metadata)


@pytest.mark.parametrize(
    ("stated", "outcome", "words"),
    [
        (0.8, Outcome.PASS, "0.8 reaches 0.8"),
        (1, Outcome.PASS, "1 reaches 0.8"),
        (0.7999, Outcome.FAIL, "0.7999 is below 0.8"),
        (0, Outcome.FAIL, "0 is below 0.8"),
        (-0.1, Outcome.FAIL, "-0.1 is not between 0 and 1"),
        (1.01, Outcome.FAIL, "1.01 is not between 0 and 1"),
        (math.nan, Outcome.FAIL, "nan is not a finite number"),
        (math.inf, Outcome.FAIL, "inf is not a finite number"),
        (True, Outcome.FAIL, "True is not a finite number"),
        ("0.9", Outcome.FAIL, "0.9 is not a finite number"),
        ("很高", Outcome.FAIL, "很高 is not a finite number"),
        ([0.9], Outcome.FAIL, "not a finite number"),
        (10**400, Outcome.FAIL, "not between 0 and 1"),
    ],
)
def test_stated_confidence(stated: Json, outcome: Outcome, words: str) -> None:
    verdict = ingress.check_confidence(capture(confidence=stated), SETTINGS)
    assert verdict.outcome is outcome
    assert verdict.threshold == 0.8
    assert words in verdict.explanation("en")
    assert verdict.explanation("zh")


def test_confidence_may_be_stated_under_its_other_name() -> None:
    assert ingress.check_confidence(capture(confidence_score=0.5), SETTINGS).outcome is Outcome.FAIL
    both = capture(confidence=0.9, confidence_score=0.5)
    assert ingress.check_confidence(both, SETTINGS).outcome is Outcome.PASS


def test_confidence_that_is_not_stated_passes_unless_it_is_required() -> None:
    assert ingress.check_confidence(capture(), SETTINGS).outcome is Outcome.PASS
    required = Settings(require_confidence=True)
    assert ingress.check_confidence(capture(), required).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("content", "width"),
    [("a" * 50, 50), ("a" * 49, 49), ("中" * 25, 50), ("中" * 24 + "a", 49), ("  a \n\t b  ", 3), ("e\u0301\u200b", 1)],
)
def test_length_is_display_width(content: str, width: int) -> None:
    verdict = ingress.check_length(capture(content), SETTINGS)
    assert verdict.value == width
    assert verdict.outcome is (Outcome.PASS if width >= 50 else Outcome.FAIL)


def test_the_first_failure_ends_the_run_and_the_rest_say_so() -> None:
    verdicts = ingress.completed(ingress.check_text(capture("short", confidence=0.1), SETTINGS))
    assert [(one.check, one.outcome) for one in verdicts] == [
        ("confidence", Outcome.FAIL),
        ("length", Outcome.NOT_CHECKED),
        ("non_duplicate", Outcome.NOT_CHECKED),
        ("self_consistency", Outcome.NOT_CHECKED),
    ]
    assert verdicts[1].explanation("en") == "Not checked: after confidence."


def test_sameness_starts_at_the_threshold() -> None:
    sighting = Sighting(entry_id=UUID(int=7), layer=Layer.WORKING)
    below = ingress.check_non_duplicate(ingress.Neighbour(sighting=sighting, similarity=0.8999), SETTINGS)
    at = ingress.check_non_duplicate(ingress.Neighbour(sighting=sighting, similarity=0.9), SETTINGS)
    assert (below.outcome, at.outcome) == (Outcome.PASS, Outcome.FAIL)
    assert str(UUID(int=7)) in at.explanation("zh")
    assert ingress.check_non_duplicate(None, SETTINGS).outcome is Outcome.PASS


def test_without_a_judge_self_consistency_is_not_checked_or_holds_back() -> None:
    assert ingress.check_self_consistency(SETTINGS).outcome is Outcome.NOT_CHECKED
    held = ingress.check_self_consistency(Settings(require_self_consistency=True))
    assert held.outcome is Outcome.FAIL
