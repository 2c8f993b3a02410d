"""What ``doctor`` finds: one line each, with what to do."""

from dataclasses import dataclass, field
from enum import StrEnum

from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import ClearwellError
from clearwell.messages import catalogue
from clearwell.records import Json


class Mark(StrEnum):
    GOOD = "ok"
    MIND = "warning"
    BAD = "problem"


SIGNS = {Mark.GOOD: ("✓", "green"), Mark.MIND: ("!", "yellow"), Mark.BAD: ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    mark: Mark
    text: str
    advice: str | None = None


@dataclass(slots=True)
class Findings:
    """Collects findings in the terminal's language. Advice for ``code`` is the message ``<code>_do``."""

    terminal: Terminal
    found: list[Finding] = field(default_factory=list)

    def good(self, check: str, code: str, **params: object) -> None:
        self._add(check, Mark.GOOD, code, params)

    def mind(self, check: str, code: str, **params: object) -> None:
        self._add(check, Mark.MIND, code, params)

    def bad(self, check: str, code: str, **params: object) -> None:
        self._add(check, Mark.BAD, code, params)

    def error(self, check: str, error: ClearwellError) -> None:
        """An error says itself what to do."""
        self.found.append(Finding(check, Mark.BAD, error.text(self.terminal.language)))

    @property
    def healthy(self) -> bool:
        return all(finding.mark is not Mark.BAD for finding in self.found)

    @property
    def summary(self) -> str:
        """The code of the last sentence. Outputs that the judge left unanswered are mentioned, but are no failure."""
        if not self.healthy:
            return "doctor_not_well"
        return "doctor_rows_wait" if any(one.check == "judge_gave_up" for one in self.found) else "doctor_all_well"

    def show(self) -> None:
        for finding in self.found:
            sign, color = SIGNS[finding.mark]
            self.terminal.line(f"{sign} {finding.text}", color if finding.mark is not Mark.GOOD else "")
            if finding.advice is not None:
                self.terminal.line(f"  → {finding.advice}")

    def to_json(self) -> Json:
        return {
            "ok": self.healthy,
            "checks": [
                {"check": one.check, "status": one.mark.value, "text": one.text, "advice": one.advice}
                for one in self.found
            ],
        }

    def _add(self, check: str, mark: Mark, code: str, params: dict[str, object]) -> None:
        advice = self.terminal.words(f"{code}_do", **params) if f"{code}_do" in catalogue() else None
        self.found.append(Finding(check, mark, self.terminal.words(code, **params), advice))
