"""What a caller may be told of a verdict.

One that may not read memory learns of a conflict, and not its words. What a reviewer wrote as the reason of a tombstone
or an admission is only for those who may read tombstones.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from clearwell.records import Principal, Right, Verdict

REVIEWERS_WORDS: Final = frozenset({"why"})
OTHERS_WORDS: Final = frozenset({"differs_code", "differs_params", "known"})
BRIEF: Final = {
    "verdict_tombstone_rejected": "verdict_tombstone_rejected_brief",
    "verdict_overridden_why": "verdict_overridden",
    "verdict_near_rejected": "verdict_near_rejected_brief",
    "verdict_conflict_working": "verdict_conflict_working_brief",
    "verdict_conflict_longterm": "verdict_conflict_longterm_brief",
}


def redact_verdicts(verdicts: Sequence[Verdict], by: Principal) -> tuple[Verdict, ...]:
    """The verdicts as they are for reviewers, and without the words that are not for this caller."""
    hidden: frozenset[str] = frozenset()
    if not by.rights & {Right.REVIEW, Right.ADMIN}:
        hidden |= REVIEWERS_WORDS
    if Right.READ not in by.rights:
        hidden |= OTHERS_WORDS
    return tuple(_shorten(one, hidden) for one in verdicts) if hidden else tuple(verdicts)


def _shorten(verdict: Verdict, hidden: frozenset[str]) -> Verdict:
    if hidden.isdisjoint(verdict.params):
        return verdict
    params = {name: value for name, value in verdict.params.items() if name not in hidden}
    return replace(verdict, reason=BRIEF.get(verdict.reason, verdict.reason), params=params)
