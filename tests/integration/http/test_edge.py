"""What the edge refuses: half-sent requests, two keys, proxies in local mode, and what a key may not see or write."""

import asyncio
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn

from clearwell.adapters.cli.protocol import TimedProtocol
from clearwell.adapters.http import create_app
from clearwell.records import Right
from clearwell.settings import Settings
from tests.integration.http.serving import LONG, Api, new_group, require_problem, servers_of

CAPTURES, QUERY = "/api/v1/captures", "/api/v1/memory/query"


class Hurried(TimedProtocol):
    """Waits a short time for a head."""

    head_seconds = 0.5


@pytest.fixture(scope="module")
async def port(module_settings: Settings) -> AsyncIterator[int]:
    """A running uvicorn on a free port, which waits only a short time for requests."""
    settings = module_settings.model_copy(update={"body_seconds": 0.5})
    listening = socket.create_server(("127.0.0.1", 0))
    app = create_app(settings, servers_of(settings))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", http=Hurried))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    async with asyncio.timeout(30):
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
    yield int(listening.getsockname()[1])
    server.should_exit = True
    await task


async def send_half(port: int, request: bytes) -> bytes:
    """Send the beginning of a request, and read until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "request_", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: 1"]
)
async def test_a_head_that_does_not_arrive_ends_the_connection(port: int, request_: bytes) -> None:
    assert await send_half(port, request_) == b""


async def test_a_second_head_that_does_not_arrive_ends_the_connection(port: int) -> None:
    whole = f"GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()
    answer = await send_half(port, whole + b"GET /healthz HTTP/1.1\r\nHo")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b"HTTP/1.1") == 1


async def test_a_body_that_does_not_arrive_is_refused(port: int) -> None:
    head = f"POST {QUERY} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
    answer = await send_half(port, f'{head}Content-Length: 500\r\n\r\n{{"group_id": '.encode())
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"http_body_slow" in answer


async def test_a_form_that_does_not_arrive_is_refused(port: int) -> None:
    head = f"POST /sign-in HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 100\r\n"
    answer = await send_half(port, f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\nkey=".encode())
    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_two_keys_in_one_request_are_refused(api: Api) -> None:
    _, first = await api.key(Right.READ)
    _, second = await api.key(Right.READ)
    client = await api.client()
    headers = [("Authorization", f"Bearer {first}"), ("Authorization", f"Bearer {second}")]
    answer = await client.post(QUERY, json={"group_id": "g", "query": "?"}, headers=httpx.Headers(headers))
    require_problem(answer, 400, "http_authorization_twice")


@pytest.mark.parametrize(
    "header",
    [
        *("Via", "CF-Connecting-IP", "CF-Ray", "X-Real-IP", "True-Client-IP", "X-Forwarded", "X-Forwarded-For"),
        *("Forwarded", "X-Client-IP", "X-Envoy-External-Address", "CDN-Loop", "Fly-Client-IP", "X-Amzn-Trace-Id"),
        *("Do-Connecting-IP", "Cloudfront-Viewer-Address", "Ngrok-Trace-Id", "Tailscale-User-Login"),
        *("X-Scheme", "X-Original-URL", "X-Request-Start", "X_Forwarded_For", "X-ProxyUser-Ip", "WL-Proxy-Client-IP"),
        *("X-Cloud-Trace-Context", "X-Vercel-Forwarded-For", "X-NF-Client-Connection-IP", "Ali-CDN-Real-IP"),
        *("X-Appengine-Remote-Addr", "X-MS-Original-Host", "Incap-Client-IP", "True_Client_IP"),
    ],
)
async def test_local_mode_refuses_what_a_proxy_adds(http: httpx.AsyncClient, header: str) -> None:
    answer = await http.post(QUERY, json={"group_id": "g", "query": "?"}, headers={header: "203.0.113.7"})
    require_problem(answer, 403, "http_local_proxy")


async def test_a_key_of_a_group_stores_nothing_without_a_group(api: Api) -> None:
    group = new_group()
    bound, free = await api.caller(Right.CAPTURE, groups=[group]), await api.caller(Right.CAPTURE)
    problem = require_problem(await bound.post(CAPTURES, json={"content": LONG}), 403, "group_unnamed")
    assert group in problem["detail"]
    assert (await free.post(CAPTURES, json={"content": LONG})).status_code == 201
    assert (await api.stored())["quarantine_logs"] == 1


async def test_the_reason_of_a_tombstone_is_only_for_those_who_may_read_tombstones(api: Api) -> None:
    group, reason = new_group(), "Mr. Miller was convicted of it"
    reviewer = await api.caller(Right.REVIEW, Right.READ, Right.CAPTURE, groups=[group])
    agent = await api.caller(Right.CAPTURE, Right.READ, groups=[group])
    await reviewer.post("/api/v1/tombstones", json={"group_id": group, "value": LONG, "reason": reason})
    for caller, shown in ((agent, False), (reviewer, True)):
        for route in (f"{CAPTURES}?wait=true", "/api/v1/ingress/check"):
            answer = await caller.post(route, json={"group_id": group, "content": LONG})
            assert "tombstone" in answer.text
            assert (reason in answer.text) is shown, answer.text
