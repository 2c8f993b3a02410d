"""The options of POST /api/v1/memory/query, on real stores."""

from typing import Any

import httpx
import pytest

from tests.integration.http.serving import LONG, new_group, require_problem

INGEST, QUERY, CAPTURES = "/api/v1/memory/ingest", "/api/v1/memory/query", "/api/v1/captures"
ITEMS = [
    {
        "content": "Backups are kept for thirty days.",
        "session_id": "s-1",
        "author": "Ann",
        "occurred_at": "2026-10-01T09:00:00Z",
        "metadata": {"source": "minutes", "review": {"score": 4}},
    },
    {
        "content": "备份现在保留九十天。",
        "session_id": "s-2",
        "occurred_at": "2026-11-01T09:00:00+08:00",
        "metadata": {"source": "mail", "tags": ["ops"]},
    },
]


@pytest.fixture
async def group(http: httpx.AsyncClient) -> str:
    name = new_group()
    await http.post(INGEST, json={"group_id": name, "items": ITEMS})
    await http.post(f"{CAPTURES}?wait=true", json={"group_id": name, "content": LONG, "metadata": {"source": "chat"}})
    return name


async def asked(http: httpx.AsyncClient, group: str, **options: object) -> dict[str, Any]:
    question = {"group_id": group, "query": "How long are backups kept? 备份", "hot_threshold": 0, **options}
    answer = await http.post(QUERY, json=question)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_question_that_nothing_answers_gets_nothing_and_says_so(http: httpx.AsyncClient) -> None:
    name = new_group()
    await http.post(f"{CAPTURES}?wait=true", json={"group_id": name, "content": LONG})
    france = {"group_id": name, "query": "What is the capital of France?"}
    found = (await http.post(QUERY, json=france)).json()
    assert (found["results"], found["left_out"], found["note_code"]) == ([], 1, "retrieval_left_out")
    assert "hot_threshold" in found["note"]
    chinese = (await http.post(QUERY, json=france, headers={"Accept-Language": "zh"})).json()
    assert "没有可以回答" in chinese["note"]
    unclear = (await http.post(QUERY, json={**france, "hot_threshold": 0})).json()
    assert (len(unclear["results"]), unclear["note_code"]) == (1, "retrieval_unclear")


async def test_verified_items_that_do_not_answer_are_returned_with_a_note(http: httpx.AsyncClient, group: str) -> None:
    jupiter = {"group_id": group, "query": "What is the boiling point of tungsten on Jupiter?", "sources": ["cold"]}
    unclear = (await http.post(QUERY, json=jupiter)).json()
    assert unclear["results"]
    assert unclear["note_code"] == "retrieval_unclear"
    assert "clearly answers" in unclear["note"]
    clear = (await http.post(QUERY, json={**jupiter, "query": "How long are backups kept?"})).json()
    assert (clear["note"], clear["note_code"]) == (None, None)


async def test_recent_gives_the_newest_entries_without_a_query(http: httpx.AsyncClient, group: str) -> None:
    found = (await http.post(QUERY, json={"group_id": group, "recent": 3})).json()
    assert ([one["content"] for one in found["results"]], found["sources"]) == ([LONG], ["hot"])
    assert found["results"][0]["relevance"] is None
    assert (await http.post(QUERY, json={"group_id": group})).status_code == 422
    assert (await http.post(QUERY, json={"group_id": group, "recent": 0})).status_code == 422


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {0, 1, None}),
        ({"sources": ["hot"]}, {None}),
        ({"sources": ["cold"]}, {0, 1}),
        ({"session_id": "s-1"}, {0}),
        ({"from": "2026-10-15T00:00:00Z"}, {1, None}),
        ({"to": "2026-10-15T00:00:00Z"}, {0}),
        ({"from": "2026-09-01T00:00:00Z", "to": "2026-11-01T01:00:01Z"}, {0, 1}),
        ({"time_range_days": 1}, {None}),
        ({"filters": {"source": "minutes"}}, {0}),
        ({"filters": {"review.score": {"gte": 4}}}, {0}),
        ({"filters": {"tags": {"contains": "ops"}}}, {1}),
        ({"filters": [{"key": ["source"], "op": "in", "value": ["mail", "chat"]}]}, {1, None}),
        ({"filters": {"source": "x' OR '1'='1"}}, set()),
        ({"as_of": "2026-01-01T00:00:00Z"}, set()),
        ({"cold_limit": 1, "hot_limit": 0, "filters": {"source": "mail"}}, {1}),
    ],
)
async def test_each_option_holds(
    http: httpx.AsyncClient, group: str, options: dict[str, Any], expected: set[int | None]
) -> None:
    texts = [one["content"] for one in ITEMS]
    found = await asked(http, group, **options)
    assert {texts.index(one["content"]) if one["source"] == "cold" else None for one in found["results"]} == expected


async def test_the_answer_says_which_tiers_were_asked(http: httpx.AsyncClient, group: str) -> None:
    assert (await asked(http, group))["sources"] == ["hot", "cold"]
    assert (await asked(http, group, as_of="2026-01-01T00:00:00Z"))["sources"] == ["cold"]


async def test_an_explanation_left_null_is_none(http: httpx.AsyncClient, group: str) -> None:
    assert await asked(http, group, explain=None) == await asked(http, group)


async def test_explained_items_carry_the_parts_of_their_scores(http: httpx.AsyncClient, group: str) -> None:
    assert all(one["explanation"] is None for one in (await asked(http, group))["results"])
    for one in (await asked(http, group, explain=True))["results"]:
        explanation = one["explanation"]
        assert -1 <= explanation["cosine"] <= 1
        if one["source"] == "cold":
            assert sum(explanation["parts"].values()) == pytest.approx(explanation["rank"], abs=1e-3)
        else:
            assert explanation["age_seconds"] >= 0


async def test_items_are_cut_at_a_sentence_and_marked(http: httpx.AsyncClient) -> None:
    name = new_group()
    await http.post(f"{CAPTURES}?wait=true", json={"group_id": name, "content": f"{LONG} " * 40})
    (item,) = (await asked(http, name))["results"]
    assert (len(item["content"]) <= 500, item["cut"]) == (True, True)
    (item,) = (await asked(http, name, max_chars=0))["results"]
    assert (len(item["content"]) > 500, item["cut"]) == (True, False)


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"filters": {"a": {"like": "%"}}}, "filters_operator", "filters.a"),
        ({"filters": "a = 1"}, "filters_form", "filters"),
        ({"filters": {"a": {"in": 3}}}, "filters_list", "filters.a.in"),
        ({"sources": ["quarantine"]}, "sources_form", "sources"),
        ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "time_range_empty", "to"),
        ({"from": "2026-01-02T00:00:00"}, "time_naive", "from"),
        ({"time_range_days": 3, "to": "2026-01-01T00:00:00Z"}, "time_range_twice", "time_range_days"),
        ({"as_of": "2026-01-01T00:00:00Z", "sources": ["hot"]}, "as_of_hot", "as_of"),
        ({"time_range_days": -1}, "option_range", "time_range_days"),
        ({"session_id": ""}, "id_empty", "session_id"),
    ],
)
async def test_what_cannot_be_asked_names_the_field(
    http: httpx.AsyncClient, options: dict[str, Any], code: str, field: str
) -> None:
    response = await http.post(QUERY, json={"group_id": "g", "query": "x", **options})
    assert require_problem(response, 422, code)["field"] == field
