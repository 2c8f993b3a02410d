"""What the ingress pipeline said of a text: verdicts and flags, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_ids
from clearwell.vocabulary import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.views.captures import VerdictView

OUTCOME_MARKS = {
    Outcome.PASS: "✓",
    Outcome.FAIL: "✗",
    Outcome.FLAG: "!",
    Outcome.PENDING: "…",
    Outcome.NOT_CHECKED: "–",
}


NOT_RUN = "verdict_after"
"""The reason of a check that was not run because an earlier one failed."""


def show_verdicts(verdicts: Sequence[VerdictView], terminal: Terminal, *, measured: bool = False) -> None:
    """A row each; with ``measured`` also the value and the threshold by themselves. What was not run is one line."""
    headings = ["cli_head_check", "cli_head_outcome", "cli_head_reason"]
    if measured:
        headings[2:2] = ["cli_head_measured", "cli_head_threshold"]
    rows = []
    for verdict in verdicts:
        if verdict.reason_code == NOT_RUN:
            continue
        numbers = [write_value(verdict.value), write_value(verdict.threshold)] if measured else []
        rows.append(
            [name_check(verdict.check, terminal), name_outcome(verdict, terminal), *numbers, write_reason(verdict)]
        )
    if rows:
        terminal.table(headings, rows)
    skipped = [verdict for verdict in verdicts if verdict.reason_code == NOT_RUN]
    if skipped:
        failed = name_check(str(skipped[0].params["after"]), terminal)
        names = terminal.join_names(name_check(verdict.check, terminal) for verdict in skipped)
        terminal.tell("cli_checks_not_run", failed=failed, names=names)


def show_refusal(code: str, verdicts: Sequence[VerdictView], terminal: Terminal, **params: object) -> None:
    """The sentence ``code`` with the reason of the check that failed."""
    failed = [verdict for verdict in verdicts if verdict.outcome is Outcome.FAIL]
    terminal.tell(code, reason=write_reason(failed[0]) if failed else "", style="yellow", **params)


def name_outcome(verdict: VerdictView, terminal: Terminal) -> str:
    return f"{OUTCOME_MARKS[verdict.outcome]} {terminal.words(f'outcome_{verdict.outcome}')}"


def name_check(check: str, terminal: Terminal) -> str:
    return terminal.name(f"check_{check}", check)


def write_reason(verdict: VerdictView) -> str:
    """The reason in words, with short ids. It may quote an agent, so hidden characters are written out."""
    return shorten_ids(escape_hidden(verdict.reason))


def write_value(value: object) -> str:
    """Format a measured value."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else escape_hidden(str(value))


def show_flags(flags: Sequence[str], terminal: Terminal) -> None:
    if flags:
        terminal.tell("cli_flags", style="bold")
        terminal.pairs([(name_flag(flag, terminal), explain_flag(flag, terminal)) for flag in flags])


def name_flag(flag: str, terminal: Terminal) -> str:
    return terminal.name(f"flag_{flag}_name", flag)


def name_flags(flags: Sequence[str], terminal: Terminal) -> str:
    return terminal.join_names(name_flag(flag, terminal) for flag in flags)


def explain_flag(flag: str, terminal: Terminal) -> str:
    return terminal.name(f"flag_{flag}", "–")
