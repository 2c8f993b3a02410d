"""``index``: what an operator whose login owns the tables can do by hand."""

from tests.integration.cli.program import Program


def test_a_group_that_is_large_is_indexed_once(program: Program) -> None:
    program = program.but(CLEARWELL_EXACT_SCAN_ROWS="2")
    assert "There is nothing to do" in program.good("index").out
    for number in range(3):
        program.good("ingest", "-g", "board", f"Invoices above {number} thousand are signed by two people.")
    assert program.good("index", "--json").json == {"built": ["board"], "dropped": [], "failed": [], "not_owner": False}
    assert "无需操作" in program.chinese().good("index").out
    found = program.good("query", "-g", "board", "--json", "Who signs invoices above 2 thousand?").json
    assert "2 thousand" in found["results"][0]["content"]
    assert len(found["results"]) == 3
