"""The report of a run: a summary, faults by kind with the time to recover, and writes by kind."""

import os
import platform
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from tests.faults.campaign import Outcome

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "bench" / "results" / "faults.md"
PAGES = (ROOT / "docs" / "explanation" / "faults.md", ROOT / "docs" / "explanation" / "faults.zh.md")
SUMMARY = (
    "faults",
    "acknowledged writes",
    "lost",
    "doubled",
    "half-done",
    "`clearwell doctor` not green",
    "seconds to recover, median",
    "longest",
)


def summarise(outcome: Outcome) -> str:
    """The row of figures that the documentation has, too."""
    times = [one.recovered_after for one in outcome.rounds]
    damage = outcome.damage
    figures = (
        f"{len(times):,}",
        f"{sum(write.acknowledged for write in outcome.ledger.writes):,}",
        *(str(len(found)) for found in (damage.lost, damage.doubled, damage.half_done, outcome.unhealthy)),
        f"{median(times):.1f}",
        f"{max(times):.1f}",
    )
    return f"| {' | '.join(figures)} |"


def tabulate(outcome: Outcome) -> list[str]:
    return [
        f"| {' | '.join(SUMMARY)} |",
        "|" + "---:|" * len(SUMMARY),
        summarise(outcome),
        "",
        *_tabulate_faults(outcome),
        "",
        *_tabulate_writes(outcome),
    ]


def _tabulate_faults(outcome: Outcome) -> list[str]:
    by_fault: dict[str, list[float]] = {}
    for one in outcome.rounds:
        by_fault.setdefault(one.fault, []).append(one.recovered_after)
    return [
        "| fault | times | seconds to recover, median | longest |",
        "|---|---:|---:|---:|",
        *(
            f"| {name} | {len(times)} | {median(times):.2f} | {max(times):.2f} |"
            for name, times in sorted(by_fault.items())
        ),
    ]


def _tabulate_writes(outcome: Outcome) -> list[str]:
    writes = outcome.ledger.writes
    sent, answered = Counter(one.kind for one in writes), Counter(one.kind for one in writes if one.acknowledged)
    refused = Counter(one.kind for one in writes if one.refused)
    lines = ["| write | sent | acknowledged | refused | not answered |", "|---|---:|---:|---:|---:|"]
    for kind in sorted(sent):
        silent = sent[kind] - answered[kind] - refused[kind]
        lines.append(f"| {kind} | {sent[kind]} | {answered[kind]} | {refused[kind]} | {silent} |")
    return lines


def make_page(outcome: Outcome, *, command: str, seed: int, minutes: float) -> str:
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    told = f"Measured on {datetime.now(UTC):%Y-%m-%d} by `{command}`, seed {seed}, in {minutes:.0f} minutes, {machine}."
    return "\n".join([told, "", *tabulate(outcome), ""])


def publish(outcome: Outcome, page: str) -> None:
    """Write the page of results, and its summary into the documentation."""
    RESULT.write_text(page, encoding="utf-8")
    for path in PAGES:
        before = path.read_text(encoding="utf-8")
        path.write_text(before.replace(find_summary(before), summarise(outcome)), encoding="utf-8")


def find_summary(text: str) -> str:
    """The row of figures in a page: the first row under a table with as many columns as the summary has."""
    lines = text.splitlines()
    return lines[lines.index("|" + "---:|" * len(SUMMARY)) + 1]
