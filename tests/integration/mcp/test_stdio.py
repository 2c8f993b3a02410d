"""``clearwell mcp``: on a running server, on stores of its own, and without either."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.cli.program import SOURCE, Program
from tests.integration.http.serving import new_group
from tests.integration.mcp.clients import CHINESE, FROZEN, good, over_stdio, refusal, text_of
from tests.integration.mcp.conftest import Station

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


async def test_without_a_server_it_opens_the_stores_and_two_can_run_at_once(program: Program) -> None:
    group = new_group()
    async with over_stdio(program, "-g", group) as one, over_stdio(program, "-g", group) as other:
        captured, nothing = await asyncio.gather(
            one.call_tool("capture", {"content": FROZEN}), other.call_tool("search_memory", {"query": CHINESE})
        )
        assert good(captured)["admission"] == "admitted"
        assert good(nothing)["degraded"] == []
        (item,) = good(await other.call_tool("search_memory", {"query": FROZEN}))["items"]
        assert item["id"] == good(captured)["id"]
        proposed = good(await one.call_tool("propose_for_review", {"statement": CHINESE}))
        assert (proposed["admission"], proposed["review_url"]) == ("admitted", None)
    assert [row["id"] for row in program.good("quarantine", "-g", group, "--proposed", "--json").json["rows"]] == [
        proposed["id"]
    ]


async def test_the_handshake_of_older_clients_is_answered(station: Station) -> None:
    async with over_stdio(station.program, "-g", new_group(), mode="legacy") as client:
        assert client.server_info is not None
        assert client.server_info.name == "clearwell"
        assert "Only a person" in str(client.instructions)
        assert good(await client.call_tool("capture", {"content": FROZEN}))["admission"] == "admitted"


async def test_it_speaks_the_language_of_the_settings(station: Station) -> None:
    async with over_stdio(station.program.chinese(), "-g", new_group()) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "检索群组已有的知识" in str(tools["search_memory"].description)
        assert "已存入群组" in text_of(await client.call_tool("capture", {"content": CHINESE}))
        found = text_of(await client.call_tool("search_memory", {"query": "支付网关超时"}))
        assert "⚡️ 临时上下文" in found
        assert f">{CHINESE}</memory>" in found
        assert "缺少" in refusal(await client.call_tool("capture", {}))


async def test_without_a_group_a_call_says_how_to_name_one(station: Station) -> None:
    async with over_stdio(station.program) as client:
        for tool, field in (("search_memory", "query"), ("capture", "content"), ("propose_for_review", "statement")):
            answer = refusal(await client.call_tool(tool, {field: FROZEN}))
            assert "Pass group, or configure one: `clearwell mcp --group NAME`" in answer
        assert good(await client.call_tool("capture", {"content": FROZEN, "group": new_group()}))["id"]


async def test_a_server_that_stops_is_named_and_used_again(program: Program) -> None:
    group = new_group()
    with program.serving() as running:
        async with over_stdio(program, "-g", group) as client:
            assert good(await client.call_tool("capture", {"content": FROZEN}))["admission"] == "admitted"
            running.stop(signal.SIGTERM)
            answer = refusal(await client.call_tool("search_memory", {"query": FROZEN}))
            assert "did not answer" in answer
            assert "Start it with clearwell serve" in answer
            with program.serving():
                assert len(good(await client.call_tool("search_memory", {"query": FROZEN}))["items"]) == 1


async def test_a_key_for_a_server_elsewhere_keeps_its_group(program: Program) -> None:
    group = new_group()
    with program.serving() as running:
        created = program.good("keys", "create", "--scope", "capture,read,review", "--group", group, "--json").json
        elsewhere = program.but(CLEARWELL_DATA_DIR=str(program.folder / "other"), CLEARWELL_API_KEY=created["key"])
        async with over_stdio(elsewhere, "--url", running.url) as client:
            assert good(await client.call_tool("capture", {"content": FROZEN, "group": group}))["id"]
            answer = refusal(await client.call_tool("search_memory", {"query": FROZEN, "group": "grp-other"}))
            assert "grp-other" in answer
        wrong = elsewhere.but(CLEARWELL_API_KEY="cw_wrong")
        async with over_stdio(wrong, "--url", running.url, "-g", group) as client:
            assert "key" in refusal(await client.call_tool("search_memory", {"query": FROZEN}))


async def test_stores_that_cannot_be_opened_are_named_in_every_call(program: Program) -> None:
    broken = program.but(DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
    async with over_stdio(broken, "-g", "g") as client:
        assert len((await client.list_tools()).tools) == 3
        for _ in range(2):
            answer = refusal(await client.call_tool("search_memory", {"query": FROZEN}))
            assert answer.startswith("Memory could not be opened.")


@contextmanager
def started(program: Program) -> Iterator["subprocess.Popen[bytes]"]:
    """The command with open pipes, which is killed if it does not end by itself."""
    with (
        (program.folder / "mcp.log").open("wb") as log,
        subprocess.Popen(
            program.command("mcp", "-g", "g"),
            env=program.variables,
            cwd=program.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def test_only_the_protocol_is_written_to_stdout(program: Program) -> None:
    with started(program) as process:
        out, _ = process.communicate(f"{json.dumps(HELLO)}\nno json\n".encode(), timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 0
    assert [line["jsonrpc"] for line in lines] == ["2.0"] * len(lines)
    assert lines[0]["result"]["serverInfo"]["name"] == "clearwell"
    assert "Traceback" not in (program.folder / "mcp.log").read_text()


def test_a_signal_ends_it_while_its_input_is_open(program: Program) -> None:
    with started(program) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(HELLO)}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
    log = (program.folder / "mcp.log").read_text()
    assert ("Interrupted" in log, "Traceback" in log) == (True, False)


def test_without_the_extra_it_says_what_to_install(program: Program, tmp_path: Path) -> None:
    (tmp_path / "without" / "mcp").mkdir(parents=True)
    (tmp_path / "without" / "mcp" / "__init__.py").write_text("raise ImportError('not installed')\n")
    without = program.but(PYTHONPATH=f"{tmp_path / 'without'}:{SOURCE}")
    ran = subprocess.run(
        program.command("mcp"), env=without.variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert 'pip install "clearwell[mcp]"' in ran.stderr
