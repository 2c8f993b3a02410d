"""Review over HTTP, beyond the first click: who decided, what holds by itself, and what is refused with its reason."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from clearwell.records import Right
from tests.insights import PERSON, put_insight
from tests.integration.http.serving import Api, new_group, require_problem
from tests.integration.http.test_review import BACKUP, MOVED, found, said


async def promoted(http: httpx.AsyncClient, group: str, row: UUID, **body: Any) -> httpx.Response:
    return await http.post(f"/api/v1/quarantine/{row}/promote", json={"group_id": group, **body})


async def captured(api: Api, group: str, text: str, agent: str = "a1") -> UUID:
    return (await api.clearwell.memory.acting_as(PERSON).capture(said(group, text, agent), wait=True)).id


async def test_a_second_promotion_of_the_same_words_holds_them(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    row = await captured(module_api, group, BACKUP)
    first = (await promoted(http, group, row)).json()
    typed = (await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": BACKUP})).json()
    assert (typed["id"], typed["already"]) == (first["id"], True)
    for decision, withdrawn, left in (
        (first["decision_id"], None, [first["id"]]),
        (typed["decision_id"], first["id"], []),
    ):
        undone = (await http.post(f"/api/v1/decisions/{decision}/undo", json={"group_id": group})).json()
        assert undone.get("withdrawn") == withdrawn
        assert await found(http, group, "billing backups") == left


async def test_what_was_promoted_otherwise_is_told(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    row = await captured(module_api, group, BACKUP)
    first = (await promoted(http, group, row, text="Backups take eleven minutes.")).json()
    for body in (
        {"text": "Backups take ninety minutes."},
        {},
        {"agent_id": "a1", "text": "Backups take eleven minutes."},
    ):
        problem = require_problem(await promoted(http, group, row, **body), 409, "promoted_otherwise")
        assert problem["current"]["memory_id"] == first["id"]
        assert problem["current"]["content"] == "Backups take eleven minutes."
    require_problem(await promoted(http, group, row, version=1), 422)
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    await http.post(f"/api/v1/insights/{insight}/promote", json={})
    again = await http.post(f"/api/v1/insights/{insight}/promote", json={"agent_id": "a1"})
    require_problem(again, 409, "insight_promoted_otherwise")


@pytest.mark.parametrize(("reason", "code"), [("a\x00b", "text_nul"), ("r" * 2001, "reason_large")])
async def test_a_reason_that_cannot_be_kept_is_refused(
    module_api: Api, http: httpx.AsyncClient, reason: str, code: str
) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    done = (await http.post(f"/api/v1/insights/{insight}/promote", json={})).json()
    listed = (await http.post("/api/v1/memories/retract", json={"group_id": group, "agent_id": "a1"})).json()
    retraction = {"group_id": group, "agent_id": "a1", "token": listed["token"], "reason": reason}
    for address, body in (
        (f"/api/v1/insights/{insight}/undo", {"reason": reason}),
        (f"/api/v1/decisions/{done['decision_id']}/undo", {"reason": reason}),
        ("/api/v1/memories/retract", retraction),
    ):
        require_problem(await http.post(address, json=body), 422, code)
    assert await found(http, group, "payment service") == [done["id"]]


async def test_a_list_of_what_would_go_says_what_else_it_rests_on(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(
        module_api.clearwell, group, MOVED, [said(group, MOVED), said(group, f"{MOVED} It is so.", "a2", "s2")]
    )
    await http.post(f"/api/v1/insights/{insight}/promote", json={})
    listed = (await http.post("/api/v1/memories/retract", json={"group_id": group, "agent_id": "a2"})).json()
    assert [one["rests_on"] for one in listed["memories"]] == [{"meant": 1, "others": 1}]


async def test_rejected_words_are_refused_with_the_tombstone_to_lift(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    done = (await http.post(f"/api/v1/insights/{insight}/reject", json={"reason": "not so"})).json()
    ingest = {"group_id": group, "content": MOVED}
    problem = require_problem(await http.post("/api/v1/memory/ingest", json=ingest), 409, "promotion_rejected")
    assert f"/api/v1/tombstones/{done['tombstone_id']}/lift" in problem["detail"]
    again = await http.post("/api/v1/captures", params={"wait": True}, json={**ingest, "agent_id": "a2"})
    assert again.status_code < 300
    assert all(one["reason"] != "verdict_tombstone_rejected" for one in again.json()["verdicts"])
    await http.post(f"/api/v1/tombstones/{done['tombstone_id']}/lift", json={"group_id": group})
    assert (await http.post("/api/v1/memory/ingest", json=ingest)).json()["chunks"] == 1


async def test_who_decided_is_named_as_the_key_is(api: Api) -> None:
    group = new_group()
    key, secret = await api.key(*Right, groups=[group])
    caller = await api.client(Authorization=f"Bearer {secret}")
    insight = await put_insight(api.clearwell, group, MOVED, [said(group, MOVED)])
    done = (await caller.post(f"/api/v1/insights/{insight}/promote", json={})).json()
    value = {"group_id": group, "value": "The moon is made of cheese.", "reason": "no"}
    await caller.post("/api/v1/tombstones", json=value)
    (decision,) = (await caller.get("/api/v1/decisions", params={"group_id": group})).json()["decisions"]
    assert (decision["by"], decision["by_name"]) == (f"key:{key.id}", "test")
    (same,) = (await caller.get(f"/api/v1/insights/{insight}")).json()["decisions"]
    assert same["by_name"] == "test"
    origin = (await caller.get(f"/api/v1/memories/{done['id']}/origin")).json()
    assert origin["promotions"][0]["decided_by_name"] == "test"
    (stone,) = (await caller.get("/api/v1/tombstones", params={"group_id": group})).json()["tombstones"]
    assert (stone["made_by_name"], stone["lifted_by_name"]) == ("test", None)
