"""Local mode: without any key, only the person at the machine is answered, and no web page can pose as that person."""

from uuid import uuid4

import httpx
import pytest

from clearwell.errors import ConfigurationError
from clearwell.records import Principal, Right
from clearwell.settings import Settings
from tests.integration.http.serving import LONG, Api, client_of, new_group, require_problem, served

CAPTURES, INGEST, QUERY = "/api/v1/captures", "/api/v1/memory/ingest", "/api/v1/memory/query"
READS = ["/api/v1/quarantine?group_id=g", f"/api/v1/quarantine/{uuid4()}?group_id=g", "/api/v1/working/g"]
WRITES = [
    (CAPTURES, {"content": LONG}),
    (INGEST, {"group_id": "g", "content": LONG}),
    (QUERY, {"group_id": "g", "query": "?"}),
]


async def everything(client: httpx.AsyncClient, **headers: str) -> list[httpx.Response]:
    posts = [await client.post(route, json=body, headers=headers) for route, body in WRITES]
    return posts + [await client.get(route, headers=headers) for route in READS]


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:8080"])
async def test_the_machines_own_names_are_answered(module_api: Api, host: str) -> None:
    client = await module_api.client(Host=host)
    assert all(response.status_code in {200, 201, 404} for response in await everything(client))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8080",
        "localhost.evil.example:8080",
        "localhost",
        "localhost:80",
        "localhost:8081",
        "localhost:8080.",
        "localhost.:8080",
        "127.0.0.2:8080",
        "127.1:8080",
        "0.0.0.0:8080",
        "2130706433:8080",
        "user@localhost:8080",
        "",
    ],
)
async def test_a_foreign_host_is_refused_as_dns_rebinding_would_need_it(module_api: Api, host: str) -> None:
    client = await module_api.client(Host=host)
    before = await module_api.stored()
    for response in await everything(client):
        assert "clearwell keys create" in require_problem(response, 403, "http_local_host")["detail"]
    assert await module_api.stored() == before


async def test_two_hosts_are_refused(module_api: Api) -> None:
    client = await module_api.client()
    request = client.build_request("GET", READS[2])
    request.headers = httpx.Headers([("Host", "localhost:8080"), ("Host", "localhost:8080")])
    require_problem(await client.send(request), 403, "http_local_host")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost:8080"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:8080", "Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_a_page_of_another_site_is_refused(module_api: Api, headers: dict[str, str]) -> None:
    before = await module_api.stored()
    for response in await everything(await module_api.client(), **headers):
        require_problem(response, 403, "http_local_origin")
        assert not [name for name in response.headers if name.startswith("access-control-")]
    assert await module_api.stored() == before


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_the_servers_own_pages_are_answered(module_api: Api, site: str) -> None:
    headers = {"Origin": "http://localhost:8080", "Sec-Fetch-Site": site}
    responses = await everything(await module_api.client(), **headers)
    assert all(response.status_code in {200, 201, 404} for response in responses)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("headers", [{}, {"Origin": "https://evil.example"}])
async def test_a_form_of_another_site_stores_nothing(module_api: Api, kind: str, headers: dict[str, str]) -> None:
    client, before = await module_api.client(), await module_api.stored()
    for route, _ in WRITES:
        content = b'{"group_id": "g", "content": "posted by a form", "x": "="}'
        response = await client.post(route, content=content, headers={**headers, "Content-Type": kind})
        require_problem(response, 403 if headers else 415)
    assert await module_api.stored() == before


async def test_a_preflight_is_granted_nothing(module_api: Api) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    response = await (await module_api.client()).options(CAPTURES, headers=headers)
    require_problem(response, 405)
    assert not [name for name in response.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "header",
    ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "x-forwarded-proto", "X-Forwarded-Anything", "X-Real-IP"],
)
async def test_what_came_through_a_proxy_is_refused(module_api: Api, header: str) -> None:
    for response in await everything(await module_api.client(), **{header: "127.0.0.1"}):
        assert header.lower() in require_problem(response, 403, "http_local_proxy")["detail"]


async def test_another_machine_is_refused_even_if_the_server_was_bound_past_its_settings(module_api: Api) -> None:
    for peer in ("192.0.2.7", "::ffff:192.0.2.7", ""):
        transport = httpx.ASGITransport(module_api.app, client=(peer, 4711))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8080") as client:
            for response in await everything(client):
                require_problem(response, 403, "http_local_peer")


async def test_the_person_at_the_machine_is_named_local_and_an_agent_can_only_lose_rights(module_api: Api) -> None:
    group, client = new_group(), await module_api.client(**{"Clearwell-Actor": "agent"})
    kept = await client.post(CAPTURES, json={"group_id": group, "content": LONG})
    require_problem(await client.post(INGEST, json={"group_id": group, "content": LONG}), 403, "right_missing")
    require_problem(await client.get(f"/api/v1/quarantine/{kept.json()['id']}?group_id={group}"), 403, "right_missing")
    row = await (await module_api.client()).get(f"/api/v1/quarantine/{kept.json()['id']}?group_id={group}")
    assert row.json()["captured_by"] == "local/agent"


async def test_the_first_key_closes_local_mode_and_revoking_it_does_not_reopen_it(api: Api) -> None:
    local = await api.client()
    assert all(response.status_code in {200, 201, 404} for response in await everything(local))

    key, secret = await api.key(*Right)
    for response in await everything(local):
        assert "clearwell keys create" in require_problem(response, 401, "key_needed")["detail"]
    with_key = await api.client(Authorization=f"Bearer {secret}")
    assert all(response.status_code in {200, 201, 404} for response in await everything(with_key))

    await api.clearwell.keys.revoke(key.id, by=Principal.local("test"))
    for client, code in ((local, "key_needed"), (with_key, "key_invalid")):
        for response in await everything(client):
            require_problem(response, 401, code)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "memory.example.com"])  # noqa: S104
async def test_it_does_not_start_beyond_this_machine_before_a_key_was_made(settings: Settings, host: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        async with served(settings.model_copy(update={"host": host})):
            raise AssertionError("it started")
    assert refused.value.code == "bind_without_key"
    assert host in str(refused.value)


async def test_with_a_key_it_listens_anywhere_and_nobody_is_local(settings: Settings) -> None:
    async with served(settings) as app:
        await Api(app).key(Right.READ)
    async with served(settings.model_copy(update={"host": "0.0.0.0"})) as app, client_of(app) as client:  # noqa: S104
        for response in await everything(client):
            require_problem(response, 401, "key_needed")


async def test_health_needs_neither_key_nor_host(module_api: Api) -> None:
    client = await module_api.client(Host="10.0.0.7", Origin="https://evil.example")
    assert (await client.get("/healthz")).json() == {"status": "alive"}
    assert (await client.get("/readyz")).json() == {"status": "ready", "degraded": []}
