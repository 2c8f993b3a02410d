"""Bad input of every kind gets a clear 4xx, and nothing of it is stored."""

import json
from typing import Any

import httpx
import pytest

from tests.integration.http.serving import LONG, Api, new_group, require_problem

CAPTURES, INGEST, QUERY = "/api/v1/captures", "/api/v1/memory/ingest", "/api/v1/memory/query"
TEXTS = {CAPTURES: "content", INGEST: "content", QUERY: "query"}
MIB = 1024 * 1024


def with_text(text: str) -> dict[str, str]:
    """A body of each route, whose text is this JSON."""
    return {route: f'{{"group_id": "g", "{name}": {text}}}' for route, name in TEXTS.items()}


def with_field(field: str) -> dict[str, str]:
    """A body of each route with a field more, given as JSON."""
    return {route: f'{{"group_id": "g", "{name}": {json.dumps(LONG)}, {field}}}' for route, name in TEXTS.items()}


def with_group(group: str) -> dict[str, str]:
    """A body that is right except for this group."""
    return {route: f'{{"group_id": {group}, "{name}": {json.dumps(LONG)}}}' for route, name in TEXTS.items()}


def same(body: str) -> dict[str, str]:
    return dict.fromkeys(TEXTS, body)


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + "1" + closing * depth


BODIES: dict[str, tuple[int, dict[str, str]]] = {
    "nothing": (400, same("")),
    "blanks": (400, same(" \r\n\t ")),
    "cut off": (400, same('{"group_id": "g", "content": "x"')),
    "two values": (400, same('{"group_id": "g"} {"group_id": "g"}')),
    "single quotes": (400, same("{'group_id': 'g', 'content': 'x'}")),
    "trailing comma": (400, with_field('"x": 1,')),
    "raw control character": (400, with_text('"a\x01b"')),
    "100,000 open brackets": (400, same("[" * 100_000)),
    "100,000 objects deep": (400, same(nested(100_000, '{"a":', "}"))),
    "metadata 90,000 deep": (400, with_field(f'"metadata": {{"a": {nested(90_000)}}}')),
    "a number of 5,000 digits": (400, with_field(f'"metadata": {{"a": {"9" * 5000}}}')),
    "null": (422, same("null")),
    "a number": (422, same("17")),
    "a text": (422, same('"content"')),
    "a list": (422, same('[{"group_id": "g", "content": "x"}]')),
    "NaN": (422, same("NaN")),
    "an empty object": (422, same("{}")),
    "no text": (422, same('{"group_id": "g"}')),
    "text null": (422, with_text("null")),
    "text is a number": (422, with_text("1")),
    "text is a list": (422, with_text('["x"]')),
    "text is an object 500 deep": (422, with_text(nested(500, '{"a":', "}"))),
    "text empty": (422, with_text('""')),
    "text blank": (422, with_text('" \\n\\t\\u3000\\u2003"')),
    "text with NUL": (422, with_text('"a\\u0000b"')),
    "text with a lone surrogate": (422, with_text('"a\\ud800b"')),
    "text with surrogates in the wrong order": (422, with_text('"\\udc00\\ud800"')),
    "text over 1 MiB": (413, with_text(json.dumps("x" * (MIB + 1)))),
    "text over 1 MiB in bytes only": (413, with_text(json.dumps("汉" * (MIB // 3 + 1), ensure_ascii=False))),
    "group null": (422, with_group("null")),
    "group empty": (422, with_group('""')),
    "group reserved": (422, with_group('"unassigned"')),
    "group too long": (422, with_group(f'"{"g" * 201}"')),
    "group with a control character": (422, with_group('"a\\nb"')),
    "group with a surrogate": (422, with_group('"\\ud83d"')),
    "group is a list": (422, with_group('["g"]')),
    "the group twice": (400, with_field('"group_id": "g"')),
    "two groups": (422, with_field('"project_id": "other"')),
    "project null": (422, with_field('"project_id": null')),
    "agent empty": (422, with_field('"agent_id": ""')),
    "agent is a number": (422, with_field('"agent_id": 7')),
    "agent with NUL": (422, with_field('"agent_id": "\\u0000"')),
    "unknown field": (422, with_field('"colour": "blue"')),
    "unknown field named with a surrogate": (422, with_field('"\\ud800": 1')),
    "unknown field named with NUL": (422, with_field('"\\u0000": 1')),
    "unknown field of 100,000 characters": (422, with_field(f'"{"x" * 100_000}": 1')),
    "2,000 unknown fields": (422, with_field(", ".join(f'"x{number}": 1' for number in range(2_000)))),
    "prototype": (422, with_field('"__proto__": {}, "__class__": {}')),
    "format placeholders": (422, with_field('"{0.__class__}": "{limit}"')),
}

STORED: dict[str, tuple[int, str]] = {
    "metadata a list": (422, '"metadata": []'),
    "metadata a text": (422, '"metadata": "x"'),
    "metadata null": (422, '"metadata": null'),
    "metadata 100 deep": (422, f'"metadata": {nested(100, chr(123) + chr(34) + "a" + chr(34) + ":", chr(125))}'),
    "metadata over 64 KiB": (422, f'"metadata": {{"a": "{"x" * 65536}"}}'),
    "metadata with NUL": (422, '"metadata": {"a": ["\\u0000"]}'),
    "metadata with NUL in a name": (422, '"metadata": {"a\\u0000": 1}'),
    "metadata with a surrogate": (422, '"metadata": {"a": {"b": "\\ud800"}}'),
    "metadata with a surrogate in a name": (422, '"metadata": {"\\udfff": 1}'),
    "session empty": (422, '"session_id": ""'),
    "session too long": (422, f'"session_id": "{"s" * 201}"'),
    "session a bool": (422, '"session_id": true'),
    "time a number": (422, '"occurred_at": 1e20'),
    "time far away": (422, '"occurred_at": "99999-01-01T00:00:00Z"'),
    "time before time": (422, '"occurred_at": "0001-01-01T00:00:00+23:59"'),
    "time with NUL": (422, '"occurred_at": "2026-01-01T00:00:00Z\\u0000"'),
    "time with a surrogate": (422, '"occurred_at": "\\ud800"'),
}

RAW: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "Latin-1": (400, '{"group_id": "g", "content": "café"}'.encode("latin-1"), {}),
    "GBK": (400, '{"group_id": "g", "content": "记忆"}'.encode("gbk"), {}),
    "UTF-16": (400, '{"group_id": "g", "content": "x"}'.encode("utf-16"), {}),
    "surrogate in UTF-8": (400, b'{"group_id": "g", "content": "\xed\xa0\x80"}', {}),
    "overlong UTF-8": (400, b'{"group_id": "g", "content": "\xc0\xaf"}', {}),
    "binary": (400, bytes(range(256)), {}),
    "gzip": (415, b"\x1f\x8b\x08\x00", {"Content-Encoding": "gzip"}),
    "form": (415, b"group_id=g&content=x", {"Content-Type": "application/x-www-form-urlencoded"}),
    "text": (415, b'{"group_id": "g", "content": "x"}', {"Content-Type": "text/plain"}),
    "no type": (415, b'{"group_id": "g", "content": "x"}', {"Content-Type": ""}),
    "type in words": (415, b"{}", {"Content-Type": "json"}),
    "type with NUL": (415, b"{}", {"Content-Type": "application/json\x00"}),
}


async def post(http: httpx.AsyncClient, route: str, body: str | bytes, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    return await http.post(route, content=content, headers={"Content-Type": "application/json", **headers})


def require_clear(response: httpx.Response, status: int) -> dict[str, Any]:
    problem = require_problem(response, status)
    assert len(response.content) < 20_000
    assert "Traceback" not in response.text
    if status in {413, 422}:
        assert problem["field"]
    return problem


@pytest.mark.parametrize("route", TEXTS)
@pytest.mark.parametrize("name", BODIES)
async def test_a_hostile_body_is_refused_clearly(
    module_api: Api, http: httpx.AsyncClient, name: str, route: str
) -> None:
    status, bodies = BODIES[name]
    before = await module_api.stored()
    for language in ("en", "zh"):
        require_clear(await post(http, route, bodies[route], **{"Accept-Language": language}), status)
    assert await module_api.stored() == before


@pytest.mark.parametrize("route", [CAPTURES, INGEST])
@pytest.mark.parametrize("name", STORED)
async def test_a_hostile_value_is_refused_clearly(
    module_api: Api, http: httpx.AsyncClient, name: str, route: str
) -> None:
    status, field = STORED[name]
    before = await module_api.stored()
    require_clear(await post(http, route, with_field(field)[route]), status)
    assert await module_api.stored() == before


@pytest.mark.parametrize("name", STORED)
async def test_a_hostile_item_leaves_the_others_alone_or_refuses_all(
    module_api: Api, http: httpx.AsyncClient, name: str
) -> None:
    """A wrong value is that item's problem; a wrong structure is the whole request's."""
    bad = f'{{"content": {json.dumps(LONG)}, {STORED[name][1]}}}'
    for route, body in (
        (CAPTURES, f'{{"captures": [{{"content": "kept"}}, {bad}]}}'),
        (INGEST, f'{{"group_id": "{new_group()}", "items": [{{"content": "stored"}}, {bad}]}}'),
    ):
        before = await module_api.stored()
        response = await post(http, route, body)
        if response.status_code == 200:
            good, problem = response.json()["results"]
            assert good["id"]
            assert (problem["status"], bool(problem["field"])) == (422, True)
            assert await module_api.stored() != before
        else:
            assert len(require_clear(response, 422)["field"].split(".")) == 3
            assert await module_api.stored() == before


@pytest.mark.parametrize("route", TEXTS)
@pytest.mark.parametrize("name", RAW)
async def test_hostile_bytes_are_refused_clearly(
    module_api: Api, http: httpx.AsyncClient, name: str, route: str
) -> None:
    status, content, headers = RAW[name]
    before = await module_api.stored()
    require_clear(await post(http, route, content, **headers), status)
    assert await module_api.stored() == before


SURROGATES: dict[str, tuple[str, str, dict[str, object], str]] = {
    "node, in the state": ("POST", "nodes/memory_retrieval", {"input": {"topic": "backup", "x": "\ud800"}}, "input.x"),
    "node, deep": ("POST", "nodes/memory_retrieval", {"input": {"a": [{"b": "\udfff"}]}}, "input.a.0.b"),
    "node, a name": ("POST", "nodes/memory_retrieval", {"input": {"\ud800": 1}}, "input.\\ud800"),
    "fact-check node": ("POST", "nodes/fact_check", {"input": {"claim": ["\ud800"]}}, "input.claim.0"),
    "claim": ("POST", "memory/fact_check", {"claim": "\ud800"}, "claim"),
    "query": ("POST", "memory/query", {"query": "x", "filters": {"\ud800": 1}}, "filters.\\ud800"),
    "context": ("POST", "context", {"proposal": "x", "filters": {"\ud800": 1}}, "filters.\\ud800"),
    "cron": ("PUT", "groups/g", {"digest_cron": "\ud800"}, "digest_cron"),
    "zone": ("PUT", "groups/g", {"digest_zone": "\ud800"}, "digest_zone"),
}


@pytest.mark.parametrize("name", SURROGATES)
async def test_a_lone_surrogate_is_refused_wherever_it_is(http: httpx.AsyncClient, name: str) -> None:
    method, route, body, field = SURROGATES[name]
    named = body if method == "PUT" else {"group_id": "g", **body}
    headers = {"Content-Type": "application/json"}
    response = await http.request(method, f"/api/v1/{route}", content=json.dumps(named), headers=headers)
    problem = require_clear(response, 422)
    assert (problem["field"], problem["type"].endswith("text_surrogate")) == (field, True)


HEADERS = {
    "language": ("Accept-Language", "zh;q=nan, zh;q=-1, zh;q=, *;q=1, ;;;,=," + "z-" * 2000),
    "language in bytes": ("Accept-Language", "\xff\xfe中".encode().decode("latin-1")),
    "very many languages": ("Accept-Language", ",".join(["de;q=0.1"] * 5000)),
}


@pytest.mark.parametrize("route", TEXTS)
@pytest.mark.parametrize("name", HEADERS)
async def test_a_strange_language_is_answered_in_english(http: httpx.AsyncClient, name: str, route: str) -> None:
    header, value = HEADERS[name]
    headers = httpx.Headers([(header.encode(), value.encode("latin-1")), (b"Content-Type", b"application/json")])
    problem = require_problem(await http.post(route, content=b"{}", headers=headers), 422)
    assert problem["title"] == "Invalid value"


@pytest.mark.parametrize(
    "path", ["/api/v1/nothing", "/api/v1/captures/", "/x//y", "/api/v1/working/%F0%28", "/%00", "/.env"]
)
async def test_a_strange_path_is_no_failure(http: httpx.AsyncClient, path: str) -> None:
    response = await http.get(path)
    assert response.status_code in {200, 404, 422}


@pytest.mark.parametrize("path", ["groups/{}", "groups/{}/agents", "groups/g/agents/{}", "working/{}"])
async def test_a_line_break_in_an_address_is_a_wrong_id_and_no_wrong_address(
    http: httpx.AsyncClient, path: str
) -> None:
    for value in ("a%0Ab", "%0A", "a%0A"):
        require_problem(await http.get(f"/api/v1/{path.format(value)}"), 422, "id_control")
