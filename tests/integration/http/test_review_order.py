"""In which order insights are offered, in which decisions are taken back, and what a rejection leaves alone."""

from uuid import UUID, uuid4

import httpx
import uuid_utils.compat

from tests.insights import PERSON, put_insight
from tests.integration.http.serving import Api, new_group, require_problem
from tests.integration.http.test_review import BACKUP, MOVED, RELEASE, STAYED, found, said


async def ingested(http: httpx.AsyncClient, group: str, content: str, **more: str) -> dict[str, str]:
    answer = await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": content, **more})
    made: dict[str, str] = answer.json()
    return made


async def test_a_chain_of_replacements_is_undone_from_its_end(http: httpx.AsyncClient) -> None:
    group = new_group()
    first = await ingested(http, group, MOVED)
    second = await ingested(http, group, STAYED, supersedes=first["id"])
    third = await ingested(http, group, BACKUP, supersedes=second["id"])
    refused = await http.post(f"/api/v1/decisions/{second['decision_id']}/undo", json={})
    problem = require_problem(refused, 409, "undo_superseding_first")
    assert third["decision_id"] in problem["detail"]
    assert problem["current"] == {"decision_id": third["decision_id"], "memory_id": third["id"]}
    assert await found(http, group, "payment backups") == [third["id"]]
    for later, then in ((third, second), (second, first)):
        await http.post(f"/api/v1/decisions/{later['decision_id']}/undo", json={})
        assert await found(http, group, "payment backups") == [then["id"]]


async def test_the_best_of_the_newest_digest_is_offered_first(module_api: Api, http: httpx.AsyncClient) -> None:
    group, clearwell = new_group(), module_api.clearwell
    old, new = uuid_utils.compat.uuid7(), uuid_utils.compat.uuid7()
    of_old = [await put_insight(clearwell, group, MOVED, [], digest_id=old, position=place) for place in range(2)]
    rejected = await put_insight(clearwell, group, STAYED, [], digest_id=new, position=0, flags=["near_rejected"])
    of_new = [await put_insight(clearwell, group, BACKUP, [], digest_id=new, position=place) for place in (1, 2)]
    wanted = [str(one) for one in (*of_new, rejected, *of_old)]
    offered, place = [], None
    while True:
        where = {"group_id": group, "limit": "2"} | ({"before": place} if place else {})
        page = (await http.get("/api/v1/insights", params=where)).json()
        offered += [one["id"] for one in page["insights"]]
        place = page["next"]
        if place is None:
            break
    assert offered == wanted


async def test_a_rejected_quote_leaves_its_source_alone(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, RELEASE, [said(group, f"{RELEASE}{MOVED}")])
    done = (await http.post(f"/api/v1/insights/{insight}/reject", json={"reason": "not ours"})).json()
    assert done["tombstone_id"] is not None
    capture = {
        "group_id": group,
        "content": RELEASE,
        "agent_id": "a2",
        "session_id": "s9",
        "metadata": {"confidence": 0.9},
    }
    receipt = (await http.post("/api/v1/captures", params={"wait": "true"}, json=capture)).json()
    outcomes = {one["check"]: one["outcome"] for one in receipt["verdicts"]}
    assert outcomes["tombstone"] != "fail", outcomes
    again = await put_insight(module_api.clearwell, group, RELEASE, [])
    assert (await http.get(f"/api/v1/insights/{again}")).json()["rejected"]["reason"] == "not ours"
    undone = await http.post(f"/api/v1/insights/{insight}/undo", json={})
    assert undone.json()["insight"]["state"] == "pending"


async def test_many_outputs_are_promoted_with_a_result_each(module_api: Api, http: httpx.AsyncClient) -> None:
    group, memory = new_group(), module_api.clearwell.memory
    rows = [str((await memory.acting_as(PERSON).capture(said(group, text), wait=True)).id) for text in (MOVED, BACKUP)]
    body = {"group_id": group, "ids": [rows[0], "no id", str(uuid4()), rows[1]]}
    results = (await http.post("/api/v1/quarantine/promote", json=body)).json()["results"]
    assert [one["status"] for one in results] == ["promoted", 404, 404, "promoted"]
    again = (await http.post("/api/v1/quarantine/promote", json={**body, "origin": "working"})).json()["results"]
    assert (again[0]["id"], again[0]["already"]) == (results[0]["id"], True)


async def test_a_malformed_decision_fails_alone(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    decisions = [{"id": "no id", "action": "promote"}, {"id": str(insight), "action": "promote"}]
    answer = await http.post("/api/v1/insights/decide", json={"group_id": group, "decisions": decisions})
    wrong, good = answer.json()["results"]
    assert (wrong["status"], wrong["field"], good["status"]) == (422, "id", "promoted")
    refused = await http.post(
        f"/api/v1/insights/{insight}/reject", json={"reason": "no"}, headers={"Accept-Language": "zh"}
    )
    problem = require_problem(refused, 409, "insight_decided")
    assert problem["title"] == "已有决定"
    assert "promoted" not in problem["detail"]


async def test_a_scope_is_read_alike_alone_and_in_a_batch(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    one = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    two = await put_insight(module_api.clearwell, group, BACKUP, [said(group, BACKUP)])
    wrong = [{"scope": "agent"}, {"scope": "group", "agent_id": "a1"}]
    alone = [(await http.post(f"/api/v1/insights/{one}/promote", json=fields)).json() for fields in wrong]
    decisions = [{"id": str(one), "action": "promote", **fields} for fields in wrong]
    decisions.append({"id": str(two), "action": "promote", "scope": "agent", "agent_id": "a1"})
    batch = await http.post("/api/v1/insights/decide", json={"group_id": group, "decisions": decisions})
    *refused, promoted = batch.json()["results"]
    described = [[(one["status"], one["field"], one["detail"]) for one in answers] for answers in (alone, refused)]
    assert described[0] == described[1]
    assert [one["status"] for one in refused] == [422, 422]
    memory = await module_api.clearwell.memory.acting_as(PERSON).memory(
        UUID(promoted["id"]), group=group, agent_id="a1"
    )
    assert memory.scope == "agent"
