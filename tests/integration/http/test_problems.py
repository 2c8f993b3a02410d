"""Errors as problem JSON: status, type, language, headers, and nothing of the inside."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from clearwell.adapters.http.request import MAX_VALUES
from clearwell.settings import Settings
from tests.integration.http.serving import LONG, client_of, new_group, require_problem, served

CAPTURES, INGEST, QUERY = "/api/v1/captures", "/api/v1/memory/ingest", "/api/v1/memory/query"


async def test_a_problem_has_its_type_field_and_limit(http: httpx.AsyncClient) -> None:
    response = await http.post(CAPTURES, json={"group_id": "x" * 201, "content": LONG})
    assert require_problem(response, 422) == {
        "type": "urn:clearwell:problem:id_long",
        "title": "Invalid value",
        "status": 422,
        "detail": "group_id has 201 characters; the limit is 200. Shorten it.",
        "field": "group_id",
        "limit": 200,
    }


@pytest.mark.parametrize(
    ("accepted", "detail"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "content 为空或只有空白字符。"),
        ("zh", "content 为空或只有空白字符。"),
        ("en-GB,en;q=0.9,zh;q=0.5", "content is empty or contains only white space."),
        ("de, *;q=0.5", "content is empty or contains only white space."),
        ("", "content is empty or contains only white space."),
    ],
)
async def test_the_detail_is_in_the_callers_language_and_the_type_in_none(
    http: httpx.AsyncClient, accepted: str, detail: str
) -> None:
    body = {"group_id": new_group(), "content": " "}
    response = await http.post(CAPTURES, json=body, headers={"Accept-Language": accepted})
    assert require_problem(response, 422, "text_blank")["detail"] == detail
    assert response.headers["content-language"] == ("zh" if "为空" in detail else "en")
    assert response.headers["vary"] == "Accept-Language"


async def test_structural_errors_are_said_in_both_languages(http: httpx.AsyncClient) -> None:
    said = [
        require_problem(await http.post(QUERY, json={"query": 7}, headers={"Accept-Language": language}), 422)
        for language in ("en", "zh")
    ]
    assert [one["errors"][0]["detail"] for one in said] == ["query must be a string.", "query 必须是字符串。"]
    assert said[0]["type"] == said[1]["type"]


@pytest.mark.parametrize(
    "body",
    [
        '{"group_id": "g", "query": "a", "query": "b"}',
        '{"group_id": "g", "query": "a", "filters": {"query": 1, "query": 2}}',
    ],
)
async def test_a_name_that_occurs_twice_in_an_object_is_refused(http: httpx.AsyncClient, body: str) -> None:
    response = await http.post(QUERY, content=body, headers={"Content-Type": "application/json"})
    detail = "An object in the body has the name query twice. Send each name once."
    assert require_problem(response, 400, "http_body_name_twice")["detail"] == detail


@pytest.mark.parametrize("query", ["group_id=g&group_id=h", "group_id=g&limit=1&limit=2", "group_id=g&group_id=g"])
async def test_a_parameter_that_occurs_twice_is_refused(http: httpx.AsyncClient, query: str) -> None:
    require_problem(await http.get(f"/api/v1/quarantine?{query}"), 422, "http_query_name_twice")


async def test_a_list_is_sent_as_repeated_parameters(http: httpx.AsyncClient) -> None:
    ids = "&".join(f"ids={uuid4()}" for _ in range(3))
    for route in ("quarantine", "memories"):
        assert (await http.get(f"/api/v1/{route}?group_id=g&{ids}")).status_code == 200


async def test_an_unknown_route_is_not_found(http: httpx.AsyncClient) -> None:
    problem = require_problem(await http.get("/api/v2/captures"), 404, "http_no_route")
    assert "/api/v2/captures" in problem["detail"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_a_wrong_method_names_the_right_one(http: httpx.AsyncClient, method: str) -> None:
    response = await http.request(method, CAPTURES)
    assert "POST" in require_problem(response, 405, "http_wrong_method")["detail"]
    assert response.headers["allow"] == "POST"


async def test_head_is_get_without_a_body(http: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/readyz", "/docs", "/api/v1/working/g"):
        head, get = await http.head(path), await http.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == get.headers["content-length"]
    assert (await http.head(CAPTURES)).status_code == 405


async def chunks(size: int, of: int = 65536) -> AsyncIterator[bytes]:
    yield b'{"group_id": "g", "content": "'
    for _ in range(size // of):
        yield b"x" * of
    yield b'"}'


@pytest.mark.parametrize("route", [CAPTURES, INGEST, QUERY])
async def test_a_body_above_the_limit_is_refused_whether_its_length_was_said_or_not(
    http: httpx.AsyncClient, route: str
) -> None:
    limit = 16 * 1024 * 1024
    headers = {"Content-Type": "application/json"}
    announced = await http.post(route, content=b" " * (limit + 1), headers=headers)
    in_chunks = await http.post(route, content=chunks(limit), headers=headers)
    for response in (announced, in_chunks):
        problem = require_problem(response, 413, "http_body_large")
        assert (problem["field"], problem["limit"]) == ("body", limit)


@pytest.mark.parametrize(
    "body",
    [
        b'{"group_id": "g", "query": "x", "filters": [' + b"{}," * 2_000_000 + b"{}]}",
        b'{"group_id": "g", "query": "x", "filters": [' + b"0," * 2_000_000 + b"0]}",
        b'{"group_id": "g", "query": "x", "filters": ' + b"[" * 2_000_000,
    ],
)
async def test_a_body_of_very_many_values_is_refused_before_it_is_parsed(http: httpx.AsyncClient, body: bytes) -> None:
    started = time.process_time()
    response = await http.post(QUERY, content=body, headers={"Content-Type": "application/json"})
    assert time.process_time() - started < 1, "parsing takes seconds in which nobody is answered"
    assert require_problem(response, 413, "http_body_values")["limit"] == MAX_VALUES


async def test_text_may_have_as_many_commas_as_it_likes(http: httpx.AsyncClient) -> None:
    content = 'a, [b], {c}, \\"d\\", ' * 30_000
    response = await http.post(CAPTURES, json={"group_id": "commas", "content": content})
    assert response.json()["admission"] == "pending"


async def test_a_batch_may_be_as_large_as_a_body(http: httpx.AsyncClient, module_app: FastAPI) -> None:
    captures = [{"group_id": "large", "content": "x" * 1024 * 1024} for _ in range(15)]
    response = await http.post(CAPTURES, json={"captures": captures})
    assert [one["admission"] for one in response.json()["results"]] == ["pending"] * 15
    started = asyncio.get_running_loop().time()
    assert (await http.get("/healthz")).status_code == 200
    assert asyncio.get_running_loop().time() - started < 5, "others are answered meanwhile"
    await module_app.state.clearwell.queue.join()


async def test_a_byte_order_mark_and_a_charset_do_no_harm(http: httpx.AsyncClient) -> None:
    content = b"\xef\xbb\xbf" + f'{{"group_id": "{new_group()}", "query": "记忆"}}'.encode()
    response = await http.post(QUERY, content=content, headers={"Content-Type": "Application/JSON; charset=utf-8"})
    assert response.status_code == 200


async def test_a_request_that_breaks_off_fails_no_one(module_app: FastAPI) -> None:
    sent: list[dict[str, object]] = []
    messages: Iterator[dict[str, object]] = iter(
        [{"type": "http.request", "body": b'{"group', "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> dict[str, object]:
        return next(messages)

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": CAPTURES,
        "raw_path": CAPTURES.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [(b"host", b"localhost:8080"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 4711),
        "server": ("127.0.0.1", 8080),
    }
    await module_app(scope, receive, send)
    assert sent[0]["status"] == 400


async def test_what_nobody_foresaw_is_a_plain_500(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    async with served(settings) as app, client_of(app) as client:

        @app.get("/failing")
        async def failing() -> None:
            raise RuntimeError("the inside of the machine")

        for language, title in (("en", "Internal error"), ("zh", "内部错误")):
            response = await client.get("/failing", headers={"Accept-Language": language})
            assert require_problem(response, 500, "http_failed")["title"] == title
            assert "machine" not in response.text
            assert "RuntimeError" not in response.text
    logged = capsys.readouterr().err
    assert "the inside of the machine" in logged
    assert "Traceback" in logged


@pytest.fixture
async def without_redis(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    nowhere = Settings(**{**settings.model_dump(), "redis_url": "redis://127.0.0.1:1/0"})
    async with served(nowhere) as app, client_of(app) as client:
        yield client


async def test_without_working_memory_the_rest_answers(without_redis: httpx.AsyncClient) -> None:
    http, group = without_redis, new_group()
    assert (await http.post(INGEST, json={"group_id": group, "content": LONG})).status_code == 200
    found = (await http.post(QUERY, json={"group_id": group, "query": "支付网关"})).json()
    assert ([one["source"] for one in found["results"]], found["degraded"]) == (["cold"], ["working_memory"])
    assert (await http.post(CAPTURES, json={"group_id": group, "content": LONG})).status_code == 201

    ready = await http.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "degraded": ["working_memory"]})
    response = await http.get(f"/api/v1/working/{group}")
    problem = require_problem(response, 503, "working_unavailable")
    assert response.headers["retry-after"] == "5"
    assert "127.0.0.1" not in str(problem)


async def test_a_capture_that_is_not_settled_in_time_is_answered_as_pending(settings: Settings) -> None:
    async with (
        served(settings.model_copy(update={"wait_seconds": 0.001})) as app,
        client_of(app) as client,
    ):
        response = await client.post(f"{CAPTURES}?wait=true", json={"group_id": new_group(), "content": LONG})
        assert (response.status_code, response.json()["admission"]) == (202, "pending")


async def test_without_postgresql_it_says_so_and_not_where_it_was(settings: Settings, postgres_url: str) -> None:
    quick = settings.model_copy(update={"postgres_connect_seconds": 0.5, "retrieve_timeout_seconds": 0.5})
    async with served(quick) as app, client_of(app) as client:
        group = new_group()
        await client.post(f"{CAPTURES}?wait=true", json={"group_id": group, "content": LONG})
        assert settings.database_url is not None
        name = settings.database_url.get_secret_value().rpartition("/")[2].partition("?")[0]
        await asyncio.to_thread(rename_database, postgres_url, name, f"{name}_away")
        try:
            response = await client.post(CAPTURES, json={"group_id": group, "content": LONG})
            assert name not in str(require_problem(response, 503, "database_unavailable"))
            assert response.headers["retry-after"] == "5"
            ready = require_problem(await client.get("/readyz"), 503, "http_not_ready")
            assert ready["degraded"] == ["database"]
            assert (await client.get("/healthz")).status_code == 200
            found = (await client.post(QUERY, json={"group_id": group, "query": "支付网关"})).json()
            assert ([one["source"] for one in found["results"]], found["degraded"]) == (["hot"], ["long_term_memory"])
        finally:
            await asyncio.to_thread(rename_database, postgres_url, f"{name}_away", name)


def rename_database(postgres_url: str, old: str, new: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        # A pool connects again at once, and a database that is in use cannot be renamed.
        connection.execute(f'ALTER DATABASE "{old}" ALLOW_CONNECTIONS false')
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (old,))
        connection.execute(f'ALTER DATABASE "{old}" RENAME TO "{new}"')
        connection.execute(f'ALTER DATABASE "{new}" ALLOW_CONNECTIONS true')
