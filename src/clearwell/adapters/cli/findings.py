"""What ``doctor`` finds: one line each, with what to do."""

from dataclasses import dataclass, field

from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import ClearwellError
from clearwell.messages import catalogue
from clearwell.views.status import CheckView, DoctorView
from clearwell.vocabulary import CheckStatus

SIGNS = {CheckStatus.OK: ("✓", "green"), CheckStatus.WARNING: ("!", "yellow"), CheckStatus.PROBLEM: ("✗", "red")}


@dataclass(slots=True)
class Findings:
    """Collects findings in the terminal's language. Advice for ``code`` is the message ``<code>_do``."""

    terminal: Terminal
    found: list[CheckView] = field(default_factory=list)

    def good(self, check: str, code: str, **params: object) -> None:
        self._add(check, CheckStatus.OK, code, params)

    def warn(self, check: str, code: str, **params: object) -> None:
        self._add(check, CheckStatus.WARNING, code, params)

    def bad(self, check: str, code: str, **params: object) -> None:
        self._add(check, CheckStatus.PROBLEM, code, params)

    def error(self, check: str, error: ClearwellError) -> None:
        """An error says itself what to do."""
        text = error.text(self.terminal.language)
        self.found.append(CheckView(check=check, status=CheckStatus.PROBLEM, text=text, advice=None))

    @property
    def healthy(self) -> bool:
        return all(finding.status is not CheckStatus.PROBLEM for finding in self.found)

    @property
    def summary(self) -> str:
        """The code of the last sentence. Outputs that the judge left unanswered are mentioned, but are no failure."""
        if not self.healthy:
            return "doctor_not_well"
        if any(one.check == "judge_gave_up" for one in self.found):
            return "doctor_rows_wait"
        return "doctor_warnings" if self.warnings else "doctor_all_well"

    @property
    def warnings(self) -> int:
        return sum(one.status is CheckStatus.WARNING for one in self.found)

    def show(self) -> None:
        for finding in self.found:
            sign, color = SIGNS[finding.status]
            self.terminal.line(f"{sign} {finding.text}", color if finding.status is not CheckStatus.OK else "")
            if finding.advice is not None:
                self.terminal.line(f"  → {finding.advice}")

    @property
    def view(self) -> DoctorView:
        return DoctorView(ok=self.healthy, checks=tuple(self.found))

    def _add(self, check: str, status: CheckStatus, code: str, params: dict[str, object]) -> None:
        advice = self.terminal.words(f"{code}_do", **params) if f"{code}_do" in catalogue() else None
        text = self.terminal.words(code, **params)
        self.found.append(CheckView(check=check, status=status, text=text, advice=advice))
