"""How the console writes the details of audit events."""

from clearwell.adapters.http.console.audit import write_detail


def test_nested_details_are_written_in_one_line() -> None:
    told = write_detail({"why": None, "waiting": False, "captured_by": {"admitted": {"a": "key:1"}}, "rights": []})
    assert told == "waiting: false · captured_by: admitted (a (key:1)) · rights: –"
