"""The application behind a real server: ports, raw requests, and the protocol's examples as printed."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn

from clearwell.adapters.http import create_app
from clearwell.settings import Settings
from tests.integration.http.serving import LONG, require_problem, servers_of

PRINTED = (
    '{\n    "group_id": "grp-123",\n    "content": "项目最终决定采用微服务架构，以提高可扩展性和部署灵活性。"\n  }'
)
ASKED = '{\n    "group_id": "grp-123",\n    "query": "项目的架构决策是什么？"\n  }'


@pytest.fixture(scope="module")
async def port(module_settings: Settings) -> AsyncIterator[int]:
    """A running uvicorn on a free port."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = create_app(module_settings, servers_of(module_settings))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    async with asyncio.timeout(30):
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
    yield int(listening.getsockname()[1])
    server.should_exit = True
    await task


async def raw(port: int, request: bytes) -> tuple[int, bytes]:
    """Send bytes as they are; the status and all that came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    answer = head + await reader.readexactly(length)
    writer.close()
    await writer.wait_closed()
    return int(head.split(b" ", 2)[1]), answer


async def test_the_protocols_examples_work_as_printed(port: int) -> None:
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=f"http://localhost:{port}", headers=headers) as client:
        ingested = await client.post("/api/v1/memory/ingest", content=PRINTED.encode())
        assert (ingested.status_code, ingested.json()["status"]) == (200, "ingested")
        found = await client.post("/api/v1/memory/query", content=ASKED.encode())
        (result,) = found.json()["results"]
        assert result["content"] == json.loads(PRINTED)["content"]
        assert (result["source"], list(result)[:3]) == ("cold", ["content", "source", "score"])
        assert "架构".encode() in found.content


async def test_the_port_is_the_servers_own_and_not_the_settings(port: int, module_settings: Settings) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        assert (await client.get("/api/v1/working/g")).status_code == 200
        foreign = await client.get("/api/v1/working/g", headers={"Host": f"localhost:{module_settings.port}"})
        require_problem(foreign, 403, "http_local_host")


async def test_a_request_without_a_host_is_refused(port: int) -> None:
    status, answer = await raw(port, b"GET /api/v1/working/g HTTP/1.0\r\n\r\n")
    assert status == 403
    assert b"http_local_host" in answer


async def test_a_body_in_chunks_is_limited(port: int, module_settings: Settings) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(module_settings.max_body_bytes // 65536 + 1):
            yield b" " * 65536

    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=f"http://localhost:{port}", headers=headers) as client:
        require_problem(await client.post("/api/v1/captures", content=endless()), 413, "http_body_large")


async def test_an_announced_length_above_the_limit_is_refused_before_the_body_comes(port: int) -> None:
    request = (
        f"POST /api/v1/captures HTTP/1.1\r\nHost: localhost:{port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"
    )
    status, answer = await raw(port, request.encode())
    assert status == 413
    assert b"http_body_large" in answer


async def test_captures_of_many_callers_at_once_are_all_kept(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://localhost:{port}", timeout=30) as client:
        bodies = [{"group_id": f"g-{number % 5}", "content": f"{LONG} {number}"} for number in range(50)]
        answers = await asyncio.gather(*(client.post("/api/v1/captures?wait=true", json=body) for body in bodies))
        assert [answer.status_code for answer in answers] == [201] * 50
        for group in range(5):
            rows = await client.get("/api/v1/quarantine", params={"group_id": f"g-{group}", "limit": 200})
            assert len(rows.json()["rows"]) == 10
