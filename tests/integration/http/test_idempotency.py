"""Idempotency-Key: a repeated request is answered, not done again."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest

from clearwell.records import Right
from tests.integration.http.serving import LONG, Api, new_group, require_problem

CAPTURES, INGEST = "/api/v1/captures", "/api/v1/memory/ingest"


def bodies() -> list[tuple[str, dict[str, Any]]]:
    group = new_group()
    return [
        (CAPTURES, {"group_id": group, "content": LONG}),
        (CAPTURES, {"content": "without a group"}),
        (CAPTURES, {"captures": [{"group_id": group, "content": LONG}, {"group_id": group, "content": " "}]}),
        (
            CAPTURES,
            {"captures": [{"group_id": group, "content": "a"}, {"content": "b"}, {"group_id": "b", "content": "c"}]},
        ),
        (INGEST, {"group_id": group, "content": LONG}),
        (INGEST, {"group_id": group, "items": [{"content": LONG}, {"content": " "}]}),
    ]


NAMES = ["capture", "capture without group", "capture batch", "batch over groups", "ingest", "ingest batch"]


@pytest.mark.parametrize(("route", "body"), bodies(), ids=NAMES)
async def test_the_same_request_gets_the_same_answer_and_is_done_once(
    module_api: Api, http: httpx.AsyncClient, route: str, body: dict[str, Any]
) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    first = await http.post(route, json=body, headers=headers)
    stored = await module_api.stored()
    again = await http.post(route, json=body, headers=headers)
    assert first.status_code == again.status_code < 300, again.text
    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert await module_api.stored() == stored


@pytest.mark.parametrize(("route", "body"), bodies(), ids=NAMES)
async def test_another_body_under_the_same_key_is_refused(
    module_api: Api, http: httpx.AsyncClient, route: str, body: dict[str, Any]
) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    await http.post(route, json=body, headers=headers)
    stored = await module_api.stored()
    (name, value) = list(body.items())[-1]
    other = value + " and more" if isinstance(value, str) else [{**value[0], "session_id": "s"}, *value[1:]]
    response = await http.post(route, json={**body, name: other}, headers=headers)
    assert require_problem(response, 422, "idempotency_mismatch")["field"] == "Idempotency-Key"
    assert await module_api.stored() == stored


@pytest.mark.parametrize("route", [CAPTURES, INGEST])
async def test_requests_at_the_same_moment_are_done_once(module_api: Api, http: httpx.AsyncClient, route: str) -> None:
    body, headers = {"group_id": new_group(), "content": LONG}, {"Idempotency-Key": str(uuid4())}
    before = await module_api.stored()
    answers = await asyncio.gather(*(http.post(route, json=body, headers=headers) for _ in range(8)))
    done = [one for one in answers if one.status_code < 300]
    assert len({one.json()["id"] for one in done}) == 1
    for running in (one for one in answers if one not in done):
        require_problem(running, 409, "idempotency_running")
        assert running.headers["retry-after"]
    after = await module_api.stored()
    assert sum(after.values()) - sum(before.values()) == (1 if route == CAPTURES else 2)


async def test_waiting_is_no_part_of_the_request(http: httpx.AsyncClient) -> None:
    body, headers = {"group_id": new_group(), "content": LONG}, {"Idempotency-Key": str(uuid4())}
    first = await http.post(CAPTURES, json=body, headers=headers)
    again = await http.post(f"{CAPTURES}?wait=true", json=body, headers=headers)
    assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
    assert again.json()["admission"] == "admitted"


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "a\x7fb", "schlüssel"])
@pytest.mark.parametrize("route", [CAPTURES, INGEST])
async def test_a_key_has_a_form(http: httpx.AsyncClient, route: str, key: str) -> None:
    headers = httpx.Headers([(b"Idempotency-Key", key.encode("latin-1"))])
    response = await http.post(route, json={"group_id": new_group(), "content": LONG}, headers=headers)
    problem = require_problem(response, 422, "key_form")
    assert (problem["field"], problem["limit"]) == ("Idempotency-Key", 255)


async def test_a_failed_request_can_be_tried_again_under_its_key(http: httpx.AsyncClient) -> None:
    group, headers = new_group(), {"Idempotency-Key": str(uuid4())}
    require_problem(await http.post(CAPTURES, json={"group_id": group, "content": ""}, headers=headers), 422)
    response = await http.post(CAPTURES, json={"group_id": group, "content": LONG}, headers=headers)
    assert response.status_code == 201


async def test_two_callers_may_use_the_same_key(api: Api) -> None:
    group, headers = new_group(), {"Idempotency-Key": "mine"}
    one, other = await api.caller(Right.CAPTURE), await api.caller(Right.CAPTURE)
    first = await one.post(CAPTURES, json={"group_id": group, "content": LONG}, headers=headers)
    second = await other.post(CAPTURES, json={"group_id": group, "content": "something else"}, headers=headers)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["id"] != second.json()["id"]


async def test_an_output_with_a_key_of_its_own_is_stored_once_alone_or_in_a_batch(
    module_api: Api, http: httpx.AsyncClient
) -> None:
    first = {"group_id": new_group(), "content": LONG, "idempotency_key": str(uuid4())}
    alone = (await http.post(CAPTURES, json=first)).json()
    stored = await module_api.stored()
    other = {**first, "content": LONG + " More.", "idempotency_key": str(uuid4())}
    batch = await http.post(CAPTURES, json={"captures": [other, first]})
    assert [one["id"] == alone["id"] for one in batch.json()["results"]] == [False, True]
    again = await http.post(CAPTURES, json=other)
    assert again.json()["id"] == batch.json()["results"][0]["id"]
    assert again.headers["idempotency-replayed"] == "true"
    assert (await module_api.stored())["quarantine_logs"] == stored["quarantine_logs"] + 1
    changed = await http.post(CAPTURES, json={**first, "content": "something else"})
    require_problem(changed, 422, "idempotency_mismatch")
