"""POST /api/v1/memory/ingest and /query: the protocol's two routes."""

import httpx
import pytest

from tests.integration.http.serving import LONG, Api, new_group, require_problem

INGEST, QUERY, CAPTURES = "/api/v1/memory/ingest", "/api/v1/memory/query", "/api/v1/captures"
DECISION = "项目最终决定采用微服务架构，以提高可扩展性和部署灵活性。"
QUESTION = "项目的架构决策是什么？"
FIELDS = ["status", "id", "promotion_id", "decision_id", "chunks", "already", "conflicts_with"]


async def test_the_protocols_examples_work(http: httpx.AsyncClient) -> None:
    group = new_group()
    ingested = await http.post(INGEST, json={"group_id": group, "content": DECISION})
    assert ingested.status_code == 200
    assert list(ingested.json()) == FIELDS
    assert (ingested.json()["status"], ingested.json()["chunks"]) == ("ingested", 1)

    found = await http.post(QUERY, json={"group_id": group, "query": QUESTION})
    assert found.status_code == 200
    (result,) = found.json()["results"]
    assert list(result)[:3] == ["content", "source", "score"]
    assert (result["content"], result["source"]) == (DECISION, "cold")
    assert 0 < result["score"] <= 1
    assert result["id"] == ingested.json()["id"]
    assert found.json()["degraded"] == []


async def test_a_result_says_what_it_is_and_where_it_is_from(http: httpx.AsyncClient) -> None:
    group = new_group()
    memory = {
        "content": DECISION,
        "session_id": "s-1",
        "author": "王芳",
        "occurred_at": "2026-11-14T09:30:00+08:00",
        "metadata": {"来源": "纪要"},
    }
    await http.post(INGEST, json={"group_id": group, **memory})
    await http.post(f"{CAPTURES}?wait=true", json={"group_id": group, "content": LONG, "agent_id": "risk-auditor"})
    question = {"group_id": group, "query": QUESTION, "hot_threshold": 0}
    found = (await http.post(QUERY, json=question)).json()["results"]
    verified, unverified = sorted(found, key=lambda one: one["source"])

    assert (verified["label"], verified["label_text"], verified["verified"]) == ("verified", "✅ Verified", True)
    assert (verified["layer"], verified["scope"], verified["chunk_no"]) == ("longterm", "group", 0)
    assert {name: verified[name] for name in ("session_id", "author", "metadata")} == {
        "session_id": "s-1",
        "author": "王芳",
        "metadata": {"来源": "纪要"},
    }
    assert verified["occurred_at"] == "2026-11-14T01:30:00Z"
    assert verified["promoted_at"]
    assert verified["expires_at"] is None

    assert (unverified["label"], unverified["label_text"]) == ("ephemeral", "⚡️ Unverified")
    assert (unverified["verified"], unverified["layer"], unverified["score"]) == (False, "working", 1.0)
    assert unverified["agent_id"] == "risk-auditor"
    assert unverified["flags"] == ["self_consistency_not_checked"]
    assert unverified["expires_at"]
    assert unverified["promoted_at"] is None


async def test_labels_are_said_in_chinese_to_who_prefers_it(http: httpx.AsyncClient) -> None:
    group = new_group()
    await http.post(INGEST, json={"group_id": group, "content": DECISION})
    await http.post(f"{CAPTURES}?wait=true", json={"group_id": group, "content": LONG})
    question = {"group_id": group, "query": QUESTION, "hot_threshold": 0}
    found = await http.post(QUERY, json=question, headers={"Accept-Language": "zh"})
    assert {one["label_text"] for one in found.json()["results"]} == {"✅ 已验证", "⚡️ 临时上下文"}


async def test_many_texts_are_promoted_at_once_each_with_its_result(http: httpx.AsyncClient) -> None:
    group = new_group()
    items = [{"content": DECISION}, {"content": "\n"}, {"content": "发布窗口定于每周二上午十点。", "author": "王芳"}]
    response = await http.post(INGEST, json={"group_id": group, "items": items})
    assert response.status_code == 200
    assert response.json()["status"] == "ingested"
    first, second, third = response.json()["results"]
    assert set(first) == set(third) == set(FIELDS)
    assert (second["status"], second["type"]) == (422, "urn:clearwell:problem:text_blank")
    found = await http.post(QUERY, json={"group_id": group, "query": "发布窗口"})
    assert {one["id"] for one in found.json()["results"]} == {first["id"], third["id"]}


@pytest.mark.parametrize(
    ("items", "field"),
    [
        ([{"content": "x"}] * 101, "items"),
        ([], "items"),
        ({}, "items"),
        ([{"content": "stored?"}, {"content": None}], "items.1.content"),
        ([{"content": "stored?"}, {"content": "x", "group_id": "other"}], "items.1.group_id"),
    ],
)
async def test_a_structural_error_refuses_all_items(
    module_api: Api, http: httpx.AsyncClient, items: object, field: str
) -> None:
    before = await module_api.stored()
    response = await http.post(INGEST, json={"group_id": new_group(), "items": items})
    assert require_problem(response, 422)["field"] == field
    assert await module_api.stored() == before


@pytest.mark.parametrize("route", [INGEST, QUERY])
@pytest.mark.parametrize("group", [{}, {"group_id": None}, {"group_id": ""}, {"group_id": "unassigned"}])
async def test_both_routes_need_a_group(http: httpx.AsyncClient, route: str, group: dict[str, object]) -> None:
    text = {"content": DECISION} if route == INGEST else {"query": QUESTION}
    assert require_problem(await http.post(route, json={**group, **text}), 422)["field"] == "group_id"


@pytest.mark.parametrize("route", [INGEST, QUERY])
async def test_project_id_names_the_group(http: httpx.AsyncClient, route: str) -> None:
    text = {"content": DECISION} if route == INGEST else {"query": QUESTION}
    assert (await http.post(route, json={"project_id": new_group(), **text})).status_code == 200


async def test_limits_of_a_query_hold(http: httpx.AsyncClient) -> None:
    group = new_group()
    items = [{"content": f"{DECISION}（第{number}条，编号 {number * 7919}）"} for number in range(8)]
    await http.post(INGEST, json={"group_id": group, "items": items})
    await http.post(f"{CAPTURES}?wait=true", json={"group_id": group, "content": LONG})

    async def sources(**options: object) -> list[str]:
        question = {"group_id": group, "query": QUESTION, "hot_threshold": 0, **options}
        response = await http.post(QUERY, json=question)
        assert response.status_code == 200, response.text
        return [one["source"] for one in response.json()["results"]]

    assert sorted(await sources()) == ["cold"] * 5 + ["hot"]
    assert len(await sources(max_results=2)) == 2
    assert await sources(hot_limit=0, cold_limit=3) == ["cold"] * 3
    assert await sources(cold_limit=0) == ["hot"]
    assert await sources(cold_limit=100, hot_limit=0) == ["cold"] * 8
    assert await sources(relevance_threshold=1, hot_limit=0) == []


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [
        ("max_results", 0, 1),
        ("max_results", 101, 100),
        ("hot_limit", -1, 0),
        ("cold_limit", 101, 100),
        ("relevance_threshold", 1.1, 1),
        ("max_results", "5", None),
        ("hot_limit", True, None),
        ("cold_limit", 1.5, None),
    ],
)
async def test_an_option_outside_its_bounds_is_refused_with_the_bound(
    http: httpx.AsyncClient, option: str, value: object, limit: float | None
) -> None:
    response = await http.post(QUERY, json={"group_id": new_group(), "query": QUESTION, option: value})
    problem = require_problem(response, 422)
    assert (problem["field"], problem.get("limit")) == (option, limit)


async def test_one_agents_own_memory_is_found_by_that_agent_only(http: httpx.AsyncClient) -> None:
    group = new_group()
    await http.post(INGEST, json={"group_id": group, "content": DECISION, "agent_id": "planner"})

    async def scopes(**agent: str) -> list[str]:
        response = await http.post(QUERY, json={"group_id": group, "query": QUESTION, **agent})
        return [one["scope"] for one in response.json()["results"]]

    assert await scopes() == []
    assert await scopes(agent_id="planner") == ["agent"]
    assert await scopes(agent_id="other") == []


async def test_metadata_comes_back_as_it_was_stored(http: httpx.AsyncClient) -> None:
    group = new_group()
    metadata = {"n": 9007199254740993, "big": int("9" * 400), "f": 0.1, "list": [None, True, {"深": "层"}], "": ""}
    await http.post(INGEST, json={"group_id": group, "content": DECISION, "metadata": metadata})
    found = await http.post(QUERY, json={"group_id": group, "query": QUESTION})
    assert found.json()["results"][0]["metadata"] == metadata
