"""What ``doctor`` says last."""

from clearwell.adapters.cli.findings import Findings
from clearwell.adapters.cli.terminal import Terminal


def test_rows_that_a_silent_judge_left_refused_are_not_called_all_well() -> None:
    findings = Findings(Terminal("en"))
    assert findings.summary == "doctor_all_well"
    findings.warn("judge_gave_up", "doctor_judge_gave_up", rows=2, id="1", group="g", program="clearwell")
    assert (findings.summary, findings.warnings) == ("doctor_rows_wait", 1)
    findings.bad("judge", "doctor_judge_missing")
    assert findings.summary == "doctor_not_well"


def test_warnings_are_counted_where_there_is_no_problem() -> None:
    findings = Findings(Terminal("en"))
    findings.warn("port", "doctor_port_foreign", url="http://127.0.0.1:8080")
    findings.warn("counts", "doctor_counts_hidden")
    told = Terminal("en").words(findings.summary, warnings=findings.warnings)
    assert told == "No problems found. 2 warnings: see the lines marked ! above."
