"""What the ingress pipeline said of a text, for people and for programs."""

from collections.abc import Sequence

from clearwell.adapters.cli.printing import Terminal
from clearwell.records import Json, Outcome, Verdict
from clearwell.text.hidden_text import escaped

OUTCOME_MARKS = {
    Outcome.PASS: "✓",
    Outcome.FAIL: "✗",
    Outcome.FLAG: "!",
    Outcome.PENDING: "…",
    Outcome.NOT_CHECKED: "–",
}


def show_verdicts(verdicts: Sequence[Verdict], terminal: Terminal, *, measured: bool = False) -> None:
    """A row each; with ``measured`` also the value and the threshold by themselves."""
    headings = ["cli_head_check", "cli_head_outcome", "cli_head_reason"]
    if measured:
        headings[2:2] = ["cli_head_measured", "cli_head_threshold"]
    rows = []
    for verdict in verdicts:
        numbers = [shown(verdict.value), shown(verdict.threshold)] if measured else []
        rows.append(
            [check_name(verdict.check, terminal), outcome(verdict, terminal), *numbers, reason(verdict, terminal)]
        )
    if rows:
        terminal.table(headings, rows)


def outcome(verdict: Verdict, terminal: Terminal) -> str:
    return f"{OUTCOME_MARKS[verdict.outcome]} {terminal.words(f'outcome_{verdict.outcome}')}"


def check_name(check: str, terminal: Terminal) -> str:
    return terminal.name(f"check_{check}", check)


def reason(verdict: Verdict, terminal: Terminal) -> str:
    """The reason in words. It may quote an agent, so hidden characters are written out."""
    return escaped(verdict.explanation(terminal.language))


def shown(value: Json) -> str:
    """What was measured, as people write it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else escaped(str(value))


def refusal(verdicts: Sequence[Verdict], terminal: Terminal) -> str:
    failed = [verdict for verdict in verdicts if verdict.outcome is Outcome.FAIL]
    return reason(failed[0], terminal) if failed else ""


def verdict_json(verdict: Verdict, terminal: Terminal) -> Json:
    return {
        "check": verdict.check,
        "outcome": verdict.outcome.value,
        "value": verdict.value,
        "threshold": verdict.threshold,
        "reason": verdict.explanation(terminal.language),
        "params": dict(verdict.params),
    }


def show_flags(flags: Sequence[str], terminal: Terminal) -> None:
    if flags:
        terminal.tell("cli_flags", style="bold")
        terminal.pairs([(flag_name(flag, terminal), flag_sentence(flag, terminal)) for flag in flags])


def flag_name(flag: str, terminal: Terminal) -> str:
    return terminal.name(f"flag_{flag}_name", flag)


def flag_names(flags: Sequence[str], terminal: Terminal) -> str:
    return terminal.listed(flag_name(flag, terminal) for flag in flags)


def flag_sentence(flag: str, terminal: Terminal) -> str:
    return terminal.name(f"flag_{flag}", "–")


def flags_json(flags: Sequence[str], terminal: Terminal) -> Json:
    return [{"flag": flag, "text": terminal.name(f"flag_{flag}", flag)} for flag in flags]
