"""``capture``, ``query`` and ``ingest`` in both languages, for people and for programs."""

import re

import psycopg

from tests.integration.cli.program import Program
from tests.path import LONG

SAID = "The tram line to the airport is closed on Sundays in June because the rails are replaced."
KNOWN = "Invoices above ten thousand euros are signed by two members of the board."


def test_a_capture_is_admitted_refused_and_found_again(served: Program) -> None:
    admitted = served.good("capture", "-g", "city", "--confidence", "0.9", "--agent", "scout", SAID)
    assert admitted.out.startswith("⚡️ Admitted")
    assert "non-duplicate" in admitted.out
    refused = served.chinese().good("capture", "-g", "city", "--confidence", "0.5", "-", stdin=SAID)
    assert refused.out.startswith("未准入：产出保留在隔离区")
    found = served.good("query", "-g", "city", "--json", "--max-results", "1", "When is the tram closed?").json
    (item,) = found["results"]
    assert item["content"] == SAID
    assert item["label_text"] == "⚡️ Unverified"
    assert item["agent_id"] == "scout"
    assert found["degraded"] == []


def test_a_capture_answers_programs_with_its_verdicts(program: Program) -> None:
    answer = program.good("capture", "-g", "city", "--metadata", '{"confidence": "high"}', "--json", SAID).json
    assert answer["admission"] == "refused"
    assert [verdict["outcome"] for verdict in answer["verdicts"]] == ["fail", *["not_checked"] * 7]


def test_a_person_promotes_a_file_and_it_is_found_as_verified(program: Program, database_url: str) -> None:
    (program.folder / "rule.txt").write_text(f"{KNOWN} \x1b[2J[bold]red[/bold] \u202eabc")
    seen = ("--acknowledge", "hidden_text", "--keep-invisible")
    promoted = program.chinese().good("ingest", "-g", "board", "--file", "rule.txt", "--author", "secretary", *seen)
    assert promoted.out.startswith("✅ 已晋升")
    found = program.chinese().good("query", "-g", "board", "Who signs large invoices?")
    assert re.match(r" 1\. ✅ 已验证  [0-9a-f]{8} · 得分 ", found.out)
    assert f"    {KNOWN} " in found.out
    assert "⟦U+001B⟧[2J[bold]red[/bold] ⟦U+202E⟧abc" in found.out, "an agent's text cannot steer the terminal"
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT decided_by FROM promotions").fetchone()
    assert row is not None
    assert row[0].startswith("local:")


def test_a_reader_that_goes_away_is_no_error(program: Program) -> None:
    ran = program.shell(f'"{program.command()[0]}" -m clearwell settings | head -n 1')
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert ran.err == ""


def test_a_query_takes_every_option_and_explains(served: Program) -> None:
    served.good("ingest", "-g", "board", "--metadata", '{"source": "minutes"}', "--session", "s1", KNOWN)
    options = [
        "--days",
        "2",
        "--source",
        "cold",
        "--session",
        "s1",
        "--filters",
        '{"source": "minutes"}',
        "--max-chars",
        "40",
    ]
    found = served.good("query", "-g", "board", *options, "--explain", "Who signs invoices?")
    assert "rank 0." in found.out or "rank 1." in found.out
    assert "--max-chars 0 shows the full text" in found.out
    answer = served.good("query", "-g", "board", *options, "--explain", "--json", "Who signs invoices?").json
    (item,) = answer["results"]
    assert (item["cut"], answer["sources"]) == (True, ["cold"])
    assert sum(item["explanation"]["parts"].values()) > 0
    then = served.good("query", "-g", "board", "--as-of", "2020-01-01T00:00:00Z", "Who signs invoices?")
    assert "Showing what was verified at that time, without working memory." in then.out
    wrong = served.run("query", "-g", "board", "--filters", "{", "x")
    assert (wrong.code, "--filters is not valid JSON" in wrong.err) == (2, True)


def test_a_text_that_contradicts_a_memory_names_it_and_the_way_out(served: Program) -> None:
    one = served.good("ingest", "-g", "conflicts", LONG, "--json").json["id"]
    other = served.good("ingest", "-g", "conflicts", LONG.replace("Monday", "Tuesday"))
    assert f"It contradicts the verified memory {one[-8:]}: {LONG[:40]}" in other.err
    assert f"--supersedes {one[-8:]}" in other.err
    shown = served.good("query", "-g", "conflicts", LONG).out
    assert f"! contradicts other verified memories: {one[-8:]}" in shown
    served.good("ingest", "-g", "conflicts", LONG.replace("Monday", "Tuesday"), "--supersedes", one)
    assert "contradicts" not in served.good("query", "-g", "conflicts", LONG).out
    assert "与已验证记忆" in served.chinese().good("ingest", "-g", "conflicts", LONG.replace("Monday", "Friday")).err
