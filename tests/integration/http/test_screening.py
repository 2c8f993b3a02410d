"""Hidden text over HTTP: refused until it is acknowledged, stored without it, and flagged wherever it is read."""

import httpx

from tests.integration.http.serving import LONG, new_group, require_problem

HIDDEN = LONG.replace("网关", "网\u200b关")
QUERY = "支付网关在并发超过五百时会怎样？"


async def test_hidden_text_of_an_output_is_acknowledged_and_leaves_a_flag(http: httpx.AsyncClient) -> None:
    group = new_group()
    said = {"group_id": group, "content": HIDDEN, "agent_id": "a1", "session_id": "s1"}
    row = (await http.post("/api/v1/captures?wait=true", json=said)).json()["id"]
    path = f"/api/v1/quarantine/{row}/promote"
    problem = require_problem(await http.post(path, json={}), 409, "promotion_unacknowledged")
    assert problem["current"]["acknowledge"] == ["hidden_text"]
    assert "网⟦U+200B⟧关" in problem["detail"]
    assert problem["current"]["texts"] == [HIDDEN.replace("\u200b", "⟦U+200B⟧")]
    chinese = await http.post(path, json={}, headers={"Accept-Language": "zh"})
    assert "不可见字符" in chinese.json()["detail"]

    made = (await http.post(path, json={"acknowledge": ["hidden_text"]})).json()
    assert made["status"] == "promoted"
    (item,) = (await http.post("/api/v1/memory/query", json={"group_id": group, "query": QUERY})).json()["results"]
    assert (item["content"], item["verified"], item["flags"]) == (LONG, True, ["hidden_text"])
    memory = (await http.get(f"/api/v1/memories/{made['id']}", params={"group_id": group})).json()
    assert (memory["content"], memory["flags"]) == (LONG, ["hidden_text"])
    (listed,) = (await http.get("/api/v1/memories", params={"group_id": group})).json()["memories"]
    assert listed["flags"] == ["hidden_text"]


async def test_one_hidden_text_of_a_batch_does_not_hold_up_the_others(http: httpx.AsyncClient) -> None:
    group = new_group()
    items = [
        {"content": "发布窗口定于每周二上午十点。"},
        {"content": HIDDEN},
        {"content": HIDDEN, "acknowledge": ["x"]},
    ]
    answer = await http.post("/api/v1/memory/ingest", json={"group_id": group, "items": items})
    first, second, third = answer.json()["results"]
    assert first["status"] == "ingested"
    assert second["type"] == "urn:clearwell:problem:promotion_unacknowledged"
    assert third["type"] == "urn:clearwell:problem:acknowledge_unknown"
    kept = {"group_id": group, "content": HIDDEN, "acknowledge": ["hidden_text"], "keep_invisible": True}
    made = (await http.post("/api/v1/memory/ingest", json=kept)).json()
    memory = (await http.get(f"/api/v1/memories/{made['id']}", params={"group_id": group})).json()
    assert memory["content"] == HIDDEN
