"""Keys: who may do what, in which group, and that no header raises rights."""

import asyncio
from uuid import uuid4

import httpx
import pytest

from clearwell.errors import InvalidInput
from clearwell.records import Principal, Right
from clearwell.settings import Settings
from tests.integration.http.serving import LONG, Api, client_of, new_group, require_problem, served

CAPTURE, READ, REVIEW, ADMIN = Right.CAPTURE, Right.READ, Right.REVIEW, Right.ADMIN
CAPTURES, INGEST, QUERY = "/api/v1/captures", "/api/v1/memory/ingest", "/api/v1/memory/query"
QUARANTINE, WORKING = "/api/v1/quarantine", "/api/v1/working"
ROUTES = ["capture", "captures", "ingest", "items", "query", "working", "quarantine", "row"]


async def ask(client: httpx.AsyncClient, route: str, group: str, **headers: str) -> httpx.Response:
    content = {"content": LONG}
    match route:
        case "capture":
            return await client.post(CAPTURES, json={"group_id": group, **content}, headers=headers)
        case "captures":
            return await client.post(CAPTURES, json={"captures": [{"group_id": group, **content}]}, headers=headers)
        case "ingest":
            return await client.post(INGEST, json={"group_id": group, **content}, headers=headers)
        case "items":
            return await client.post(INGEST, json={"group_id": group, "items": [content]}, headers=headers)
        case "query":
            return await client.post(QUERY, json={"group_id": group, "query": "?"}, headers=headers)
        case "working":
            return await client.get(f"{WORKING}/{group}", headers=headers)
        case "quarantine":
            return await client.get(QUARANTINE, params={"group_id": group}, headers=headers)
        case _:
            return await client.get(f"{QUARANTINE}/{uuid4()}", params={"group_id": group}, headers=headers)


@pytest.mark.parametrize(
    ("right", "allowed"),
    [
        (CAPTURE, {"capture", "captures"}),
        (READ, {"query", "working"}),
        (REVIEW, {"ingest", "items", "quarantine", "row"}),
        (ADMIN, {"quarantine", "row"}),
    ],
)
async def test_a_key_can_do_what_its_scope_says_and_nothing_else(
    module_api: Api, right: Right, allowed: set[str]
) -> None:
    group = new_group()
    client = await module_api.caller(right, groups=[group])
    for route in ROUTES:
        response = await ask(client, route, group)
        if route in allowed:
            assert response.status_code == (404 if route == "row" else 201 if route == "capture" else 200), route
        else:
            require_problem(response, 403, "right_missing")


async def test_a_key_covers_its_own_group_only(module_api: Api) -> None:
    group, other = new_group(), new_group()
    client = await module_api.caller(*Right, groups=[group])
    for route in ROUTES:
        response = await ask(client, route, other)
        if route == "captures":
            assert response.json()["results"][0]["type"] == "urn:clearwell:problem:group_not_covered"
            assert response.json()["results"][0]["status"] == 403
        else:
            require_problem(response, 403, "group_not_covered")
        assert (await ask(client, route, group)).status_code in {200, 201, 404}
    row = (await client.post(CAPTURES, json={"group_id": group, "content": LONG})).json()["id"]
    stranger = await module_api.caller(*Right, groups=[other])
    require_problem(await stranger.get(f"{QUARANTINE}/{row}"), 404)
    require_problem(await stranger.get(f"{QUARANTINE}/{row}", params={"group_id": group}), 403)


async def test_a_key_of_one_group_need_not_name_it_for_a_row(module_api: Api) -> None:
    group = new_group()
    client = await module_api.caller(CAPTURE, REVIEW, groups=[group])
    row = (await client.post(CAPTURES, json={"group_id": group, "content": LONG})).json()["id"]
    assert (await client.get(f"{QUARANTINE}/{row}")).json()["group_id"] == group
    of_two = await module_api.caller(REVIEW, groups=[group, new_group()])
    assert (await of_two.get(f"{QUARANTINE}/{row}")).json()["group_id"] == group
    of_others = await module_api.caller(REVIEW, groups=[new_group(), new_group()])
    require_problem(await of_others.get(f"{QUARANTINE}/{row}"), 404, "row_not_found")


async def test_a_key_of_one_group_need_not_name_it_at_all(module_api: Api) -> None:
    client = await module_api.caller(*Right, groups=[new_group()])
    for path in ("insights", "digests", "decisions", "review/numbers", "quarantine", "tombstones"):
        assert (await client.get(f"/api/v1/{path}")).status_code == 200, path
    assert (await client.post(QUERY, json={"query": "?"})).status_code == 200
    assert (await client.post("/api/v1/digests", json={})).status_code == 202
    of_two = await module_api.caller(*Right, groups=[new_group(), new_group()])
    problem = require_problem(await of_two.get("/api/v1/insights"), 422, "http_group_which")
    assert problem["field"] == "group_id"


async def test_only_a_key_of_all_groups_reads_the_unassigned(module_api: Api) -> None:
    of_one, of_all = await module_api.caller(REVIEW, groups=[new_group()]), await module_api.caller(REVIEW)
    require_problem(await of_one.get(QUARANTINE, params={"group_id": "unassigned"}), 403)
    assert (await of_all.get(QUARANTINE, params={"group_id": "unassigned"})).status_code == 200


async def test_a_key_of_an_agent_can_name_no_other(module_api: Api) -> None:
    group = new_group()
    client = await module_api.caller(Right.CAPTURE, Right.READ, groups=[group], agent_id="own")
    for route, text in ((CAPTURES, {"content": LONG}), (QUERY, {"query": "?"})):
        body = {"group_id": group, **text}
        require_problem(await client.post(route, json={**body, "agent_id": "other"}), 403, "agent_not_covered")
        assert (await client.post(route, json={**body, "agent_id": "own"})).status_code < 300
    kept = await client.post(CAPTURES, json={"group_id": group, "content": "no agent named"})
    reviewer = await module_api.caller(Right.REVIEW, groups=[group])
    assert (await reviewer.get(f"{QUARANTINE}/{kept.json()['id']}")).json()["agent_id"] == "own"


async def test_a_key_of_an_agent_can_never_decide(module_api: Api) -> None:
    for right in (Right.REVIEW, Right.ADMIN):
        with pytest.raises(InvalidInput, match="agents may not promote"):
            await module_api.key(Right.READ, right, agent_id="own")


async def test_an_agent_cannot_promote_or_read_quarantine_with_any_key(module_api: Api) -> None:
    group = new_group()
    client = await module_api.caller(*Right, groups=[group])
    for route in ("ingest", "items", "quarantine", "row"):
        for actor in ("agent", "Agent", " AGENT "):
            require_problem(await ask(client, route, group, **{"Clearwell-Actor": actor}), 403, "right_missing")
    for route in ("capture", "query", "working"):
        assert (await ask(client, route, group, **{"Clearwell-Actor": "agent"})).status_code < 300


@pytest.mark.parametrize("actor", ["person", "admin", ""])
async def test_the_actor_header_raises_nothing(module_api: Api, actor: str) -> None:
    client = await module_api.caller(CAPTURE)
    response = await ask(client, "ingest", new_group(), **{"Clearwell-Actor": actor})
    assert require_problem(response, 422, "http_actor_unknown")["field"] == "Clearwell-Actor"


async def test_a_revoked_key_is_refused_from_the_next_request(module_api: Api) -> None:
    key, secret = await module_api.key(*Right)
    client = await module_api.client(Authorization=f"Bearer {secret}")
    assert (await ask(client, "query", new_group())).status_code == 200
    await module_api.clearwell.keys.revoke(key.id, by=Principal.local("test"))
    for route in ROUTES:
        response = await ask(client, route, new_group())
        require_problem(response, 401, "key_invalid")
        assert response.headers["www-authenticate"] == "Bearer"


async def test_what_a_key_captures_while_it_is_revoked_is_stored_or_refused(api: Api, settings: Settings) -> None:
    """Also at another process, and in the same second."""
    group = new_group()
    key, secret = await api.key(CAPTURE, groups=[group])
    async with served(settings) as second, client_of(second, Authorization=f"Bearer {secret}") as there:
        here = await api.client(Authorization=f"Bearer {secret}")
        assert [(await ask(client, "capture", group)).status_code for client in (here, there)] == [201, 201]
        revoked = api.clearwell.keys.revoke(key.id, by=Principal.local("test"))
        racing = [ask(client, "capture", group) for client in (here, there) * 10]
        *answers, _ = await asyncio.gather(*racing, revoked)
        statuses = [answer.status_code for answer in answers if isinstance(answer, httpx.Response)]
        assert {*statuses} <= {201, 401}
        for client in (here, there):
            require_problem(await ask(client, "capture", group), 401, "key_invalid")
    assert (await api.stored())["quarantine_logs"] == 2 + statuses.count(201)


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        ("Bearer cw_wrong", "key_invalid"),
        ("Bearer ", "http_authorization_form"),
        ("Bearer", "http_authorization_form"),
        ("Basic dXNlcjpwYXNz", "http_authorization_form"),
        ("cw_naked", "http_authorization_form"),
        ("", "http_authorization_form"),
        (None, "key_needed"),
    ],
)
async def test_without_a_valid_key_nothing_is_done(module_api: Api, authorization: str | None, code: str) -> None:
    await module_api.key(READ)
    client = await module_api.client(**({} if authorization is None else {"Authorization": authorization}))
    before = await module_api.stored()
    for route in ROUTES:
        response = await ask(client, route, new_group())
        require_problem(response, 401, code)
        assert response.headers["www-authenticate"] == "Bearer"
    assert await module_api.stored() == before


@pytest.mark.parametrize("route", ["/api/v1/captures", "/api/v1/memory/ingest", "/api/v1/memory/query"])
async def test_the_key_is_checked_before_the_body_is_read(module_api: Api, route: str) -> None:
    await module_api.key(READ)
    client = await module_api.client()
    for content, kind in ((b"{", "application/json"), (b"x" * 17 * 1024 * 1024, "text/plain")):
        require_problem(await client.post(route, content=content, headers={"Content-Type": kind}), 401, "key_needed")


async def test_the_scheme_of_the_key_is_read_in_any_case(module_api: Api) -> None:
    _, secret = await module_api.key(READ)
    client = await module_api.client(Authorization=f"bearer  {secret}")
    assert (await ask(client, "query", new_group())).status_code == 200


async def test_a_key_passes_a_proxy_and_a_foreign_host(module_api: Api) -> None:
    _, secret = await module_api.key(READ)
    client = await module_api.client(
        "https://memory.example.com",
        **{
            "Authorization": f"Bearer {secret}",
            "X-Forwarded-For": "203.0.113.9",
            "Forwarded": "for=203.0.113.9",
            "Origin": "https://console.example.com",
            "Sec-Fetch-Site": "cross-site",
        },
    )
    response = await ask(client, "query", new_group())
    assert response.status_code == 200
    assert not [name for name in response.headers if name.startswith("access-control-")]


async def test_an_operator_creates_lists_and_revokes_keys(module_api: Api) -> None:
    operator, group = await module_api.caller(ADMIN, REVIEW), new_group()
    made = await operator.post("/api/v1/keys", json={"scopes": ["read"], "groups": [group], "agent_id": "scout"})
    assert (made.status_code, made.json()["key"]["name"], made.json()["key"]["scopes"]) == (201, "read", ["read"])
    key_id, secret = made.json()["key"]["id"], made.json()["secret"]
    headers = {"Authorization": f"Bearer {secret}"}
    assert (await operator.get(f"{WORKING}/{group}", headers=headers)).status_code == 200
    listed = (await operator.get("/api/v1/keys")).json()["keys"]
    assert [key["agent_id"] for key in listed if key["id"] == key_id] == ["scout"]
    assert secret not in str(listed)
    assert (await operator.post(f"/api/v1/keys/{key_id}/revoke", json={})).json() == {"id": key_id}
    require_problem(await operator.get(f"{WORKING}/{group}", headers=headers), 401, "key_invalid")
    require_problem(await operator.post(f"/api/v1/keys/{key_id}/revoke", json={}), 404, "key_not_found")
    bound = {"scopes": ["admin"], "groups": None, "agent_id": "scout"}
    require_problem(await operator.post("/api/v1/keys", json=bound), 422, "key_agent_decides")


async def test_keys_and_settings_are_for_operators_of_every_group(module_api: Api) -> None:
    group = new_group()
    some, operator = await module_api.caller(ADMIN, groups=[group]), await module_api.caller(ADMIN)
    for method, path in (("GET", "keys"), ("GET", "settings"), ("POST", "demo")):
        refused = await some.request(method, f"/api/v1/{path}", json=None if method == "GET" else {})
        require_problem(refused, 403, "operator_of_some_groups")
    events = (await operator.get("/api/v1/audit", params={"action": "refused"})).json()["events"]
    attempts = {event["subject"] for event in events if event["detail"]["why"] == "operator_of_some_groups"}
    assert {"list keys", "read settings", "run demo"} <= attempts
    shown = (await operator.get("/api/v1/settings")).json()["settings"]
    address = next(setting for setting in shown if setting["variable"].endswith("DATABASE_URL"))
    assert address["value"].startswith("postgresql://")
