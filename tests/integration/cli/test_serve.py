"""``clearwell serve`` as a person meets it: one command, what it prints, and how it ends."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from clearwell.embedded import EmbeddedPostgres, EmbeddedValkey
from tests.integration.cli.program import Program, Serving, answers_of, free_port


def servers_run(data_dir: Path) -> bool:
    return EmbeddedPostgres(data_dir).is_running() or EmbeddedValkey(data_dir).is_running()


@pytest.fixture(scope="module")
def serving(bundled: Program) -> Iterator[Serving]:
    """One that most tests look at: in English, on bundled servers."""
    with bundled.serving() as running:
        yield running


def test_it_says_what_it_started_and_where_the_data_is(serving: Serving, own_folder: Path) -> None:
    assert "PostgreSQL 18." in serving.text
    assert "Valkey 9." in serving.text
    assert serving.text.count("started (process ") == 2
    assert str(own_folder / "data" / "postgres") in serving.text
    assert str(own_folder / "data" / "logs" / "valkey.log") in serving.text
    assert f"{serving.url}/docs" in serving.text


def test_it_says_what_local_mode_means(serving: Serving) -> None:
    assert "Local mode is on" in serving.text
    assert "every program on this machine can read, capture and promote" in serving.text
    assert "Turn it off with: " in serving.text


def test_the_printed_addresses_answer(serving: Serving) -> None:
    for path in ("/readyz", "/docs", "/openapi.json"):
        assert httpx.get(serving.url + path, trust_env=False).status_code == 200


def test_the_three_printed_commands_show_the_protocol(bundled: Program, serving: Serving) -> None:
    first, second, third = serving.commands
    (admitted,) = answers_of(bundled, first)
    assert admitted["admission"] == "admitted"
    (refused,) = answers_of(bundled, second)
    assert refused["admission"] == "refused"
    assert refused["verdicts"][0]["reason"] == "The confidence 0.35 is below 0.8."
    ingested, found = answers_of(bundled, third)
    assert ingested["status"] == "ingested"
    assert found["results"][0]["label_text"] == "✅ Verified"
    assert "on-call engineer" in found["results"][0]["content"]
    assert "⚡️ Unverified" in {result["label_text"] for result in found["results"]}


def test_a_second_one_attaches_and_leaves_the_servers_to_the_first(bundled: Program, serving: Serving) -> None:
    with bundled.serving() as second:
        assert second.text.count("already running, connected") == 2
        assert second.stop(signal.SIGTERM) == 0
    assert httpx.get(f"{serving.url}/readyz", trust_env=False).json()["status"] == "ready"


def test_a_server_on_this_data_folder_is_named_where_its_port_is_taken(bundled: Program, serving: Serving) -> None:
    port = serving.url.rpartition(":")[2]
    refused = bundled.run("serve", "--port", port)
    assert refused.code == 1
    assert f"Clearwell already runs on this data folder at {serving.url} (process " in refused.err
    assert "--port" not in refused.err


def test_a_server_on_another_data_folder_is_not_taken_for_ours(
    bundled: Program, serving: Serving, tmp_path: Path
) -> None:
    port = serving.url.rpartition(":")[2]
    other = bundled.but(CLEARWELL_PORT=port, CLEARWELL_DATA_DIR=str(tmp_path / "other"))
    told = f"A Clearwell server answers at {serving.url}, but it serves another data folder."
    assert told in other.run("doctor").out
    assert "it serves another data folder" in " ".join(other.good("status").out.split())
    api = other.good("status", "--json").json["api"]
    assert api == {"url": serving.url, "answers": False, "serves_other_folder": True}


def test_other_commands_use_the_servers_that_run(bundled: Program, serving: Serving) -> None:
    elsewhere = bundled.but(CLEARWELL_PORT="1")
    memories = elsewhere.good("status", "--json").json["counts"]["memories"]
    elsewhere.good("ingest", "-g", "board", "The harbour office in Lindau opens at seven in the morning.")
    seen = elsewhere.good("status", "--json").json
    ours = {"url": serving.url, "answers": True, "serves_other_folder": False}
    assert seen["api"] == ours, "a server is found on whatever port it was started"
    assert f"The API responds at {serving.url}" in elsewhere.run("doctor").out
    assert seen["database"]["running"]
    assert seen["working_memory"]["running"]
    assert seen["counts"]["quarantine"]["pending"] == 0
    assert seen["counts"]["memories"] == memories + 1
    told = bundled.good("data")
    assert "stop `clearwell serve` first" in told.out
    assert f"rm -r -- '{bundled.folder / 'data'}'" in told.out


def test_a_taken_port_is_said_with_its_holder_before_anything_starts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        ran = Program(tmp_path, {"CLEARWELL_DATA_DIR": str(data)}).run("serve", "--port", str(port))
    assert ran.code == 1
    assert f"Port {port} is in use by" in ran.err
    assert f"(process {os.getpid()})" in ran.err
    assert "CLEARWELL_PORT=" in ran.err
    assert "--port" in ran.err
    assert not data.exists()


@pytest.fixture
def fresh(own_folder: Path) -> Program:
    folder = own_folder / f"fresh-{free_port()}"
    folder.mkdir()
    return Program(folder, {"CLEARWELL_DATA_DIR": str(folder / "d")}, own_interpreter=True)


def test_a_stopped_one_leaves_nothing_running_and_the_next_finds_the_data(fresh: Program) -> None:
    """The first is stopped by SIGTERM; the second starts with SIGINT ignored, in Chinese, and is stopped by it."""
    with fresh.serving() as first:
        body = {"group_id": "kept", "content": "The archive of the harbour office is moved to Ningbo in May."}
        assert httpx.post(f"{first.url}/api/v1/memory/ingest", json=body, trust_env=False).is_success
        assert first.stop(signal.SIGTERM) == 0
        assert "has stopped" in first.text
    assert not servers_run(fresh.folder / "d")
    with fresh.chinese().serving(ignoring_sigint=True) as second:
        asked = {"group_id": "kept", "query": "Where is the archive moved to?"}
        found = httpx.post(f"{second.url}/api/v1/memory/query", json=asked, trust_env=False).json()
        assert "Ningbo" in found["results"][0]["content"]
        assert "本地模式已开启" in second.text
        check_chinese_commands(fresh, second)
        assert second.stop(signal.SIGINT) == 0
        assert "已停止" in second.text
    assert not servers_run(fresh.folder / "d")


def check_chinese_commands(program: Program, serving: Serving) -> None:
    first, second, third = serving.commands
    assert answers_of(program, first)[0]["admission"] == "admitted"
    (refused,) = answers_of(program, second)
    assert refused["verdicts"][0]["reason"] == "置信度 0.35 低于阈值 0.8。"
    _, found = answers_of(program, third)
    assert found["results"][0]["label_text"] == "✅ 已验证"
    assert "值班工程师" in found["results"][0]["content"]


def test_asked_to_stop_while_it_starts_it_leaves_no_server_behind(fresh: Program) -> None:
    data = fresh.folder / "d"
    with fresh.starting() as starting:
        starting.wait_until(lambda: (data / "logs" / "postgres.log").exists())
        assert starting.stop(signal.SIGTERM) == 0
        assert "has stopped" in starting.text
        assert "is ready" not in starting.text
    assert not servers_run(data)


def test_with_keys_it_says_so_and_the_printed_commands_work_with_one(program: Program) -> None:
    key = program.good("keys", "create", "--scope", "capture,read,review", "--all-groups", "--json").json["key"]
    with program.serving() as serving:
        assert "Every request needs a key" in serving.text
        assert "Local mode" not in serving.text
        first, _, third = serving.commands
        (admitted,) = answers_of(program, first, CLEARWELL_KEY=key)
        assert admitted["admission"] == "admitted"
        _, found = answers_of(program, third, CLEARWELL_KEY=key)
        assert found["results"][0]["verified"]
        assert "postgresql://" in serving.text
        assert serving.stop(signal.SIGINT) == 0


def test_it_refuses_to_listen_beyond_this_machine_without_a_key(program: Program) -> None:
    ran = program.run("serve", "--host", "0.0.0.0", "--port", str(free_port()))  # noqa: S104
    assert ran.code == 1
    assert "no key has ever been created" in ran.err
    ran = program.but(CLEARWELL_HOST="no.such.host.invalid").run("serve")
    assert ran.code == 1
    assert "no.such.host.invalid" in ran.err
