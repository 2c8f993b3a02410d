"""What a caller may be told of a verdict: one that may not read memory learns of a conflict, and not its words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from clearwell.records import Principal, Right, Verdict

OTHERS_WORDS: Final = frozenset({"why", "differs_code", "differs_params", "known"})
BRIEF: Final = {
    "verdict_tombstone_rejected": "verdict_tombstone_rejected_brief",
    "verdict_overridden_why": "verdict_overridden",
    "verdict_near_rejected": "verdict_near_rejected_brief",
    "verdict_conflict_working": "verdict_conflict_working_brief",
    "verdict_conflict_longterm": "verdict_conflict_longterm_brief",
}


def redact_verdicts(verdicts: Sequence[Verdict], by: Principal) -> tuple[Verdict, ...]:
    """The verdicts as they are for readers, and without the words of other entries and of reviewers for others."""
    if Right.READ in by.rights:
        return tuple(verdicts)
    return tuple(_shorten(one) for one in verdicts)


def _shorten(verdict: Verdict) -> Verdict:
    params = {name: value for name, value in verdict.params.items() if name not in OTHERS_WORDS}
    return replace(verdict, reason=BRIEF.get(verdict.reason, verdict.reason), params=params)
