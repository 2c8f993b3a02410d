"""The figures of runs: a summary, faults by kind with the time to recover, and writes by kind.

``python -m tests.faults.report LOG…`` puts the figures of several runs together, from what each has printed.
"""

import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from tests.faults.campaign import Outcome, Round

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
RULE = "|" + "---:|" * len(SUMMARY)
WRITES = ("sent", "acknowledged", "refused", "not answered")
_FAULT = re.compile(r"^ *\d+ (.+?) +recovered after +([\d.]+) s$", re.MULTILINE)
_WRITE = re.compile(r"^\| ([a-z][^|]*?) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
_MEASURED = re.compile(r"^Measured on .* by (.+), Python", re.MULTILINE)


@dataclass(slots=True)
class Figures:
    """What is counted and measured in one run, or in several."""

    rounds: list[Round] = field(default_factory=list)
    writes: dict[str, Counter[str]] = field(default_factory=dict)
    damage: Counter[str] = field(default_factory=Counter)
    measured_by: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, outcome: Outcome, *, measured_by: str) -> "Figures":
        figures = cls(rounds=list(outcome.rounds), measured_by=[measured_by])
        for write in outcome.ledger.writes:
            end = "acknowledged" if write.acknowledged else "refused" if write.refused else "not answered"
            figures.writes.setdefault(write.kind, Counter()).update(("sent", end))
        found = (outcome.damage.lost, outcome.damage.doubled, outcome.damage.half_done, outcome.unhealthy)
        figures.damage.update({name: len(one) for name, one in zip(SUMMARY[2:6], found, strict=True)})
        return figures

    @classmethod
    def read(cls, log: str) -> "Figures":
        """The figures of a run that has ended, from what it has printed."""
        figures = cls(rounds=[Round(name, float(seconds)) for name, seconds in _FAULT.findall(log)])
        for kind, *counts in _WRITE.findall(log):
            figures.writes[kind] = Counter(dict(zip(WRITES, map(int, counts), strict=True)))
        row = find_summary(log).strip("| ").split(" | ")
        figures.damage.update({name: int(row[SUMMARY.index(name)]) for name in SUMMARY[2:6]})
        figures.measured_by = _MEASURED.findall(log)
        return figures

    def add(self, other: "Figures") -> None:
        self.rounds += other.rounds
        self.damage.update(other.damage)
        self.measured_by += other.measured_by
        for kind, counts in other.writes.items():
            self.writes.setdefault(kind, Counter()).update(counts)

    def summarise(self) -> str:
        """The row of figures that the documentation has, too."""
        times = [one.recovered_after for one in self.rounds]
        acknowledged = sum(counts["acknowledged"] for counts in self.writes.values())
        shown = (
            f"{len(times):,}",
            f"{acknowledged:,}",
            *(str(self.damage[name]) for name in SUMMARY[2:6]),
            f"{median(times):.1f}",
            f"{max(times):.1f}",
        )
        return f"| {' | '.join(shown)} |"

    def make_page(self) -> str:
        machine = (
            f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
        )
        told = f"Measured on {datetime.now(UTC):%Y-%m-%d} by {' and by '.join(self.measured_by)}, {machine}."
        summary = [f"| {' | '.join(SUMMARY)} |", RULE, self.summarise()]
        return "\n".join([told, "", *summary, "", *self._tabulate_faults(), "", *self._tabulate_writes(), ""])

    def _tabulate_faults(self) -> list[str]:
        by_fault: dict[str, list[float]] = {}
        for one in self.rounds:
            by_fault.setdefault(one.fault, []).append(one.recovered_after)
        return [
            "| fault | times | seconds to recover, median | longest |",
            "|---|---:|---:|---:|",
            *(
                f"| {name} | {len(times)} | {median(times):.2f} | {max(times):.2f} |"
                for name, times in sorted(by_fault.items())
            ),
        ]

    def _tabulate_writes(self) -> list[str]:
        return [
            f"| write | {' | '.join(WRITES)} |",
            "|---|" + "---:|" * len(WRITES),
            *(
                f"| {kind} | {' | '.join(str(counts[name]) for name in WRITES)} |"
                for kind, counts in sorted(self.writes.items())
            ),
        ]

    def publish(self) -> None:
        """Write the page of results, and its summary into the documentation."""
        RESULT.write_text(self.make_page(), encoding="utf-8")
        for path in PAGES:
            before = path.read_text(encoding="utf-8")
            path.write_text(before.replace(find_summary(before), self.summarise()), encoding="utf-8")


def find_summary(text: str) -> str:
    """The row of figures in a page: the row under the rule of the summary."""
    lines = text.splitlines()
    return lines[lines.index(RULE) + 1]


def main(logs: Sequence[str]) -> None:
    together = Figures()
    for log in logs:
        together.add(Figures.read(Path(log).read_text(encoding="utf-8")))
    together.publish()


if __name__ == "__main__":
    main(sys.argv[1:])
