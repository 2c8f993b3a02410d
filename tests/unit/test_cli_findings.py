"""What ``doctor`` says last."""

from clearwell.adapters.cli.findings import Findings
from clearwell.adapters.cli.terminal import Terminal


def test_rows_that_a_silent_judge_left_refused_are_not_called_all_well() -> None:
    findings = Findings(Terminal("en"))
    assert findings.summary == "doctor_all_well"
    findings.warn("judge_gave_up", "doctor_judge_gave_up", rows=2, id="1", group="g", program="clearwell")
    assert findings.summary == "doctor_rows_wait"
    findings.bad("judge", "doctor_judge_missing")
    assert findings.summary == "doctor_not_well"
