"""Digests over HTTP: asked for, made by the worker of the same process, and read."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx

from clearwell.records import Right
from tests.integration.http.serving import PROBLEM, Api, new_group
from tests.integration.http.test_console import sign_in

SAID = (
    ("risk", "s-1", "支付网关在并发超过五百时出现超时，建议上线前扩容并补充压测报告。"),
    ("ops", "s-2", "压测显示支付网关并发超过五百就会超时，上线之前需要先扩容。"),
    ("dev", "s-3", "The payment gateway times out above five hundred concurrent requests and must be scaled up first."),
    ("ops", "s-2", "Nightly backups of the billing database now take eleven minutes instead of forty minutes."),
    ("dev", "s-4", "Backups of the billing database finish in eleven minutes every night since the move."),
)
SHORT = "好的"


async def capture_all(http: httpx.AsyncClient, group: str) -> list[str]:
    captures = [
        {
            "group_id": group,
            "agent_id": agent,
            "session_id": session,
            "node_id": "n-1",
            "content": content,
            "metadata": {"confidence": 0.9},
        }
        for agent, session, content in (*SAID, ("dev", "s-4", SHORT))
    ]
    answer = await http.post("/api/v1/captures", json={"captures": captures})
    return [one["id"] for one in answer.json()["results"]]


async def digest_of(http: httpx.AsyncClient, group: str) -> dict[str, Any]:
    """Ask for a digest and look until it has ended, as a script would: by its id alone."""
    asked = await http.post("/api/v1/digests", json={"group_id": group})
    assert asked.status_code == 202, asked.text
    assert asked.headers["location"] == f"/api/v1/digests/{asked.json()['id']}"
    return await ended(http, asked.json()["id"])


async def ended(http: httpx.AsyncClient, digest_id: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = (await http.get(f"/api/v1/digests/{digest_id}")).json()
            assert 0 <= found["progress"] <= 1
            if found["status"] in ("done", "failed"):
                return found
            assert "insights" not in found
            await asyncio.sleep(0.05)


async def test_a_digest_right_after_the_captures_shows_what_they_say_together(http: httpx.AsyncClient) -> None:
    group = new_group()
    ids = await capture_all(http, group)
    found = await digest_of(http, group)
    assert (found["status"], found["progress"], found["group_id"]) == ("done", 1.0, group)
    first = found["insights"][0]
    assert (first["version"], first["state"], first["written_by"]) == (1, "pending", "extractive")
    assert first["support"]["agents"] >= 2
    sources = {source["log_id"]: source for one in found["insights"] for source in one["sources"]}
    assert set(sources) <= set(ids)
    assert {ids[0], ids[1]} <= set(sources)
    one = sources[ids[0]]
    assert (one["agent_id"], one["session_id"], one["node_id"], one["node_type"]) == ("risk", "s-1", "n-1", "agent")
    assert (one["confidence"], one["content"], one["cut"]) == (0.9, SAID[0][2], False)
    assert (one["admission"], sources[ids[1]]["admission"]) == ("admitted", "refused"), "a repeat corroborates"
    assert {verdict["check"] for verdict in one["verdicts"]} >= {"confidence", "length"}
    assert all(sentence["sources"] for sentence in first["sentences"])

    again = await digest_of(http, group)
    shown = {source["log_id"] for one in again["insights"] for source in one["sources"]}
    assert not shown & set(sources), "what an insight has shown is no candidate any more"

    listed = (await http.get("/api/v1/digests", params={"group_id": group})).json()
    assert [one["id"] for one in listed["digests"]] == [again["id"], found["id"]]
    assert "insights" not in listed["digests"][0]
    page = (await http.get("/api/v1/digests", params={"group_id": group, "limit": 1})).json()
    assert page["next"] == again["id"]
    params = {"group_id": group, "before": page["next"]}
    assert [one["id"] for one in (await http.get("/api/v1/digests", params=params)).json()["digests"]] == [found["id"]]


async def test_nothing_to_show_is_done_and_says_why(http: httpx.AsyncClient) -> None:
    found = await digest_of(http, new_group())
    assert (found["status"], found["insights"]) == ("done", [])
    assert found["note"].startswith("Nothing has been captured in the group grp-")
    chinese = await http.get(f"/api/v1/digests/{found['id']}", headers={"Accept-Language": "zh"})
    assert "中没有任何产出" in chinese.json()["note"]


async def test_a_repeated_request_is_answered_and_not_done_again(http: httpx.AsyncClient) -> None:
    group = new_group()
    headers = {"Idempotency-Key": str(uuid4())}
    answers = [(await http.post("/api/v1/digests", json={"group_id": group}, headers=headers)).json() for _ in range(2)]
    assert answers[0]["id"] == answers[1]["id"]
    await ended(http, answers[0]["id"])
    third = await http.post("/api/v1/digests", json={"group_id": group}, headers=headers)
    assert third.json()["id"] == answers[0]["id"]
    assert len((await http.get("/api/v1/digests", params={"group_id": group})).json()["digests"]) == 1
    other = await http.post("/api/v1/digests", json={"group_id": new_group()}, headers=headers)
    assert other.status_code == 422


async def test_agents_can_neither_ask_for_a_digest_nor_read_one(api: Api) -> None:
    reviewer = await api.caller(Right.REVIEW, groups=["g1"])
    agent = await api.caller(Right.CAPTURE, Right.READ, groups=["g1"])
    lowered = await api.caller(*Right, **{"Clearwell-Actor": "agent"})
    made = (await reviewer.post("/api/v1/digests", json={"group_id": "g1"})).json()["id"]
    for one in (agent, lowered):
        for answer in (
            await one.post("/api/v1/digests", json={"group_id": "g1"}),
            await one.get(f"/api/v1/digests/{made}"),
            await one.get(f"/api/v1/digests/{made}", params={"group_id": "g1"}),
            await one.get("/api/v1/digests", params={"group_id": "g1"}),
        ):
            assert answer.status_code == 403
            assert answer.headers["content-type"] == PROBLEM
    assert (await ended(reviewer, made))["status"] == "done"
    assert (await (await api.caller(Right.ADMIN)).get(f"/api/v1/digests/{made}")).status_code == 200


async def test_a_digest_of_another_group_is_not_there(api: Api) -> None:
    mine, other = await api.caller(Right.REVIEW, groups=["g1", "g2"]), await api.caller(Right.REVIEW, groups=["g3"])
    made = (await mine.post("/api/v1/digests", json={"group_id": "g1"})).json()["id"]
    assert (await other.get(f"/api/v1/digests/{made}")).status_code == 404
    assert (await other.get(f"/api/v1/digests/{made}", params={"group_id": "g1"})).status_code == 403
    assert (await other.get(f"/api/v1/digests/{made}", params={"group_id": "g3"})).status_code == 404
    assert (await mine.get(f"/api/v1/digests/{uuid4()}")).status_code == 404
    assert (await mine.get("/api/v1/digests/nothing")).status_code == 422
    assert (await other.post("/api/v1/digests", json={"group_id": "g1"})).status_code == 403


async def test_what_cannot_be_digested_is_refused(http: httpx.AsyncClient) -> None:
    for body in ({}, {"group_id": ""}, {"group_id": "unassigned"}, {"group_id": "g", "more": 1}):
        assert (await http.post("/api/v1/digests", json=body)).status_code == 422
    assert (await http.get("/api/v1/digests")).status_code == 422


async def test_the_review_shows_that_many_names_share_one_key(api: Api) -> None:
    group = new_group()
    key, secret = await api.key(Right.CAPTURE, groups=[group])
    await capture_all(await api.client(Authorization=f"Bearer {secret}"), group)
    _, reviewing = await api.key(Right.READ, Right.REVIEW, groups=[group])
    reviewer = await api.client(Authorization=f"Bearer {reviewing}")
    (first, *_) = (await digest_of(reviewer, group))["insights"]
    assert first["support"]["agents"] >= 2
    assert first["support"]["keys"] == 1
    assert {source["captured_by"] for source in first["sources"]} == {key.holder}
    browser = await api.client()
    await sign_in(browser, reviewing)
    page = await browser.get(f"/g/{group}/review", params={"insight": first["id"]})
    assert "1 key. Agents choose their names themselves" in page.text
    page = await browser.get(f"/g/{group}/review", headers={"Accept-Language": "zh"})
    assert "1 个密钥：智能体的名称由其自行填写" in page.text
