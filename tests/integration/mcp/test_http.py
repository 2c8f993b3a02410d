"""``/mcp`` of ``clearwell serve``: the access rules of the API, and every caller is an agent."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError

from clearwell.flow.context.fencing import number_agent
from tests.integration.cli.program import SOURCE, Program
from tests.integration.http.serving import new_group, require_problem
from tests.integration.mcp.clients import CHINESE, FROZEN, KEPT, good, over_http, refusal, text_of
from tests.integration.mcp.conftest import Station

LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPTED = {"Accept": "application/json, text/event-stream"}


def post(url: str, body: object = LIST, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **ACCEPTED, **headers}
    return httpx.post(f"{url}/mcp", content=content, headers=sent, trust_env=False)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "evil.example"}, "http_local_host"),
        ({"Origin": "https://evil.example"}, "http_local_origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "http_local_origin"),
        ({"Forwarded": "for=1.2.3.4"}, "http_local_proxy"),
        ({"X-Forwarded-For": "1.2.3.4"}, "http_local_proxy"),
    ],
)
def test_a_web_page_or_a_proxy_cannot_pose_as_the_local_user(
    station: Station, headers: dict[str, str], code: str
) -> None:
    require_problem(post(station.url, **headers), 403, code)


def test_requests_that_are_no_message_are_refused(station: Station) -> None:
    assert post(station.url).json()["result"]["tools"]
    for method in ("GET", "DELETE"):
        refused = httpx.request(method, f"{station.url}/mcp", headers=ACCEPTED, trust_env=False)
        require_problem(refused, 405, "http_wrong_method")
        assert refused.headers["allow"] == "POST"
    assert post(station.url, b"{").status_code == 400
    assert post(station.url, **{"Content-Type": "text/plain"}).status_code == 400
    assert post(station.url, b" " * (17 * 1024 * 1024)).status_code == 413
    unknown = post(station.url, {**LIST, "method": "memories/promote"}).json()
    assert unknown["error"]["code"] == -32601


async def test_it_answers_in_the_language_of_the_request(station: Station) -> None:
    async with over_http(station.url, query="?language=zh") as client:
        assert "没有指定群组" in refusal(await client.call_tool("search_memory", {"query": CHINESE}))
    async with over_http(station.url, query=f"?group={new_group()}", **{"Accept-Language": "zh-CN"}) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "提请" not in str(tools["capture"].description)
        assert tools["propose_for_review"].title == "提请审核"
        assert "已存入群组" in text_of(await client.call_tool("capture", {"content": CHINESE}))
        assert "没有名为 promote 的工具" in refusal(await client.call_tool("promote", {}))


async def test_many_sessions_at_once_keep_their_groups_apart(station: Station) -> None:
    async def work(number: int) -> None:
        said = f"The report number {number} of the billing team is due on the {number + 1}th of March."
        mode = "legacy" if number % 2 else "auto"
        async with over_http(station.url, query=f"?group=many-{number}&agent=a{number}", mode=mode) as client:
            captured = good(await client.call_tool("capture", {"content": said}))
            (item,) = good(await client.call_tool("search_memory", {"query": said}))["items"]
            assert (item["id"], number_agent(f"a{number}") in item["label"]) == (captured["id"], True)

    await asyncio.gather(*(work(number) for number in range(8)))


async def test_any_of_several_processes_answers_any_request(program: Program) -> None:
    with program.serving("--workers", "2") as running:
        for mode in ("auto", "legacy"):
            group = new_group()
            async with over_http(running.url, query=f"?group={group}", mode=mode) as client:
                assert good(await client.call_tool("capture", {"content": FROZEN}))["admission"] == "admitted"
                for _ in range(10):
                    assert len(good(await client.call_tool("search_memory", {"query": FROZEN}))["items"]) == 1


async def test_a_key_opens_its_group_and_never_decides(program: Program) -> None:
    group, other = new_group(), new_group()
    with program.serving() as running:
        words = ("keys", "create", "--scope", "capture,read,review,admin", "--group", group, "--json")
        bearer = {"Authorization": f"Bearer {program.good(*words).json['key']}"}
        require_problem(post(running.url), 401)
        require_problem(post(running.url, Authorization="Bearer cw_wrong"), 401)
        async with over_http(running.url, query=f"?group={group}", **bearer) as client:
            proposed = good(await client.call_tool("propose_for_review", {"statement": KEPT}))
            assert proposed["admission"] == "admitted"
            for call in (
                client.call_tool("search_memory", {"query": KEPT, "group": other}),
                client.call_tool("capture", {"content": FROZEN, "group": other}),
                client.call_tool("propose_for_review", {"statement": FROZEN, "group": other}),
            ):
                assert other in refusal(await call)
            with pytest.raises(MCPError, match=other):
                await client.read_resource(f"clearwell://memories/{other}/{proposed['id']}")
            with pytest.raises(MCPError, match=other):
                await client.get_prompt("context", {"task": "x", "group": other})
        (row,) = program.good("quarantine", "-g", group, "--json").json["rows"]
        assert row["captured_by"].endswith("/agent")
        review_only = program.good("keys", "create", "--scope", "review", "--group", group, "--json").json["key"]
        async with over_http(running.url, query=f"?group={group}", Authorization=f"Bearer {review_only}") as client:
            assert "read" in refusal(await client.call_tool("search_memory", {"query": KEPT}))


async def test_without_working_memory_the_answer_says_that_it_is_incomplete(program: Program) -> None:
    group = new_group()
    program.good("ingest", "-g", group, KEPT)
    with program.but(REDIS_URL="redis://127.0.0.1:9/0").serving() as running:
        async with over_http(running.url, query=f"?group={group}") as client:
            found = good(await client.call_tool("search_memory", {"query": KEPT}))
            assert (len(found["items"]), found["degraded"]) == (1, ["working_memory"])
            assert "working_memory" in found["note"]
            captured = good(await client.call_tool("capture", {"content": FROZEN}))
            assert captured["admission"] == "pending"


def test_without_the_extra_it_says_what_to_install(program: Program, tmp_path: Path) -> None:
    (tmp_path / "without" / "mcp").mkdir(parents=True)
    (tmp_path / "without" / "mcp" / "__init__.py").write_text("raise ImportError('not installed')\n")
    without = Program(
        program.folder,
        {**program.environment, "PYTHONPATH": f"{tmp_path / 'without'}:{SOURCE}"},
        own_interpreter=True,
    )
    with without.serving() as running:
        problem = require_problem(post(running.url), 501, "mcp_not_installed")
        assert 'pip install "clearwell[mcp]"' in problem["detail"]
        assert httpx.get(f"{running.url}/readyz", trust_env=False).status_code == 200
