"""POST /api/v1/captures: every output is kept, and the filter's verdicts are said in words."""

import httpx
import pytest

from clearwell.records import UNASSIGNED
from tests.integration.http.serving import LONG, Api, new_group, require_problem

CAPTURES = "/api/v1/captures"


async def test_a_capture_is_kept_at_once_and_admitted_soon(http: httpx.AsyncClient) -> None:
    group = new_group()
    response = await http.post(CAPTURES, json={"group_id": group, "content": LONG})
    assert response.status_code == 201
    assert response.json() == {"id": response.json()["id"], "group_id": group, "admission": "pending", "verdicts": []}


async def test_waiting_answers_with_the_verdicts(http: httpx.AsyncClient) -> None:
    body = {
        "group_id": new_group(),
        "session_id": "s-1",
        "node_id": "n-1",
        "node_type": "agent",
        "agent_id": "risk-auditor",
        "content": LONG,
        "metadata": {"confidence": 0.9, "深": {"层": [1, None, "值"]}},
        "occurred_at": "2026-11-14T09:30:00+08:00",
        "partial": False,
    }
    response = await http.post(CAPTURES, params={"wait": "true"}, json=body)
    assert response.status_code == 201
    answer = response.json()
    assert answer["admission"] == "admitted"
    assert [one["check"] for one in answer["verdicts"]] == [
        "confidence",
        "length",
        "instruction",
        "substance",
        "tombstone",
        "echo",
        "non_duplicate",
        "self_consistency",
    ]
    assert set(answer["verdicts"][0]) == {
        "check",
        "outcome",
        "value",
        "threshold",
        "reason",
        "reason_code",
        "params",
        "at",
    }
    assert answer["verdicts"][0]["reason"] == "The confidence 0.9 is at least 0.8."


async def test_reasons_are_said_in_chinese_to_who_prefers_it(http: httpx.AsyncClient) -> None:
    body = {"group_id": new_group(), "content": LONG, "metadata": {"confidence": 0.5}}
    response = await http.post(f"{CAPTURES}?wait=true", json=body, headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    assert response.json()["admission"] == "refused"
    assert response.json()["verdicts"][0]["reason"] == "置信度 0.5 低于阈值 0.8。"


@pytest.mark.parametrize(
    "confidence", ["NaN", "Infinity", "-Infinity", "true", '"high"', "-0.1", "1.01", "1e400", "9" * 400]
)
async def test_a_strange_confidence_is_the_filters_to_judge_and_no_reason_to_refuse(
    http: httpx.AsyncClient, confidence: str
) -> None:
    body = f'{{"group_id": "{new_group()}", "content": "{LONG}", "metadata": {{"confidence": {confidence}}}}}'
    response = await http.post(
        f"{CAPTURES}?wait=true", content=body.encode(), headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 201, response.text
    answer = response.json()
    assert answer["admission"] == "refused"
    assert (answer["verdicts"][0]["check"], answer["verdicts"][0]["outcome"]) == ("confidence", "fail")


async def test_waiting_is_yes_or_no_and_there_is_no_other_parameter(http: httpx.AsyncClient) -> None:
    body = {"group_id": new_group(), "content": LONG}
    response = await http.post(CAPTURES, params={"wait": "maybe", "until": "noon"}, json=body)
    problem = require_problem(response, 422)
    assert {one["field"]: one["code"] for one in problem["errors"]} == {
        "wait": "http_field_bool",
        "until": "http_field_unknown",
    }


async def test_without_a_group_it_is_kept_as_unassigned_and_refused(http: httpx.AsyncClient) -> None:
    response = await http.post(CAPTURES, json={"content": LONG})
    assert response.status_code == 201
    answer = response.json()
    assert (answer["group_id"], answer["admission"]) == (UNASSIGNED, "refused")
    assert [one["check"] for one in answer["verdicts"]] == ["group"]
    row = await http.get(f"/api/v1/quarantine/{answer['id']}", params={"group_id": UNASSIGNED})
    assert row.json()["content"] == LONG


@pytest.mark.parametrize("group", [None, "", UNASSIGNED, "x" * 201, "a\tb", 7])
async def test_a_group_that_is_named_must_be_a_group(http: httpx.AsyncClient, group: object) -> None:
    response = await http.post(CAPTURES, json={"group_id": group, "content": LONG})
    assert require_problem(response, 422)["field"] == "group_id"


async def test_project_id_is_another_name_of_the_group(http: httpx.AsyncClient) -> None:
    group = new_group()
    response = await http.post(CAPTURES, json={"project_id": group, "content": LONG})
    assert response.json()["group_id"] == group
    both = {"project_id": group, "group_id": group, "content": LONG}
    assert (await http.post(CAPTURES, json=both)).status_code == 201
    response = await http.post(CAPTURES, json={**both, "group_id": "another"})
    assert require_problem(response, 422, "http_group_twice")["field"] == "group_id"


@pytest.mark.parametrize(
    "content",
    [
        "שלום עולם, זהו טקסט מימין לשמאל שנשמר בדיוק כפי שהוא נכתב כאן.",
        "zero\u200bwidth\u200djoiners\ufeff and\u00a0spaces stay where they are, every single one of them.",
        "  👩‍👩‍👧‍👦 emoji ⚡️ and e\u0301 stay decomposed, with the spaces at both ends as well.  \r\n\t",
    ],
)
async def test_text_is_kept_byte_for_byte(http: httpx.AsyncClient, content: str) -> None:
    group = new_group()
    kept = await http.post(CAPTURES, json={"group_id": group, "content": content, "metadata": {"注": content}})
    row = (await http.get(f"/api/v1/quarantine/{kept.json()['id']}", params={"group_id": group})).json()
    assert row["content"] == content
    assert row["metadata"] == {"注": content}


async def test_answers_are_utf8_and_not_escaped(http: httpx.AsyncClient) -> None:
    group = f"组-{new_group()}"
    response = await http.post(CAPTURES, json={"group_id": group, "content": LONG})
    assert group.encode() in response.content


async def test_a_batch_has_a_result_for_each_capture_in_order(http: httpx.AsyncClient) -> None:
    one, other = new_group(), new_group()
    captures = [
        {"group_id": one, "content": LONG},
        {"group_id": other, "content": "  "},
        {"content": "no group"},
        {"group_id": other, "content": "x" * (1024 * 1024 + 1)},
        {"group_id": other, "content": "好的"},
    ]
    response = await http.post(CAPTURES, params={"wait": "true"}, json={"captures": captures})
    assert response.status_code == 200
    results = response.json()["results"]
    assert [result.get("admission") for result in results] == ["admitted", None, "refused", None, "refused"]
    assert [result.get("status") for result in results] == [None, 422, None, 413, None]
    assert [result.get("group_id") for result in results] == [one, None, UNASSIGNED, None, other]
    assert results[1]["type"] == "urn:clearwell:problem:text_blank"
    assert (results[3]["field"], results[3]["limit"]) == ("content", 1024 * 1024)


async def test_a_thousand_captures_are_kept_at_once(http: httpx.AsyncClient) -> None:
    group = new_group()
    captures = [{"group_id": group, "content": f"short {number}"} for number in range(1000)]
    response = await http.post(CAPTURES, json={"captures": captures})
    assert len({result["id"] for result in response.json()["results"]}) == 1000


@pytest.mark.parametrize(
    ("captures", "field", "code"),
    [
        ([{"content": "x"}] * 1001, "captures", "http_list_long"),
        ([], "captures", "http_list_short"),
        ("x", "captures", "http_field_list"),
        ([{"content": "kept?"}, {"content": 7}], "captures.1.content", "http_field_text"),
        ([{"content": "kept?"}, {"text": "x"}], "captures.1.content", "http_field_missing"),
        ([{"content": "kept?"}, {"content": "x", "tags": []}], "captures.1.tags", "http_field_unknown"),
        ([{"content": "kept?"}, "x"], "captures.1", "http_field_object"),
        ([{"content": "kept?"}, {"content": "x", "group_id": None}], "captures.1.group_id", "http_field_text"),
        (
            [{"content": "kept?"}, {"content": "x", "group_id": "a", "project_id": "b"}],
            "captures.1.group_id",
            "http_group_twice",
        ),
    ],
)
async def test_a_structural_error_refuses_the_whole_batch(
    module_api: Api, http: httpx.AsyncClient, captures: object, field: str, code: str
) -> None:
    before = await module_api.stored()
    response = await http.post(CAPTURES, json={"captures": captures})
    assert require_problem(response, 422, code)["field"] == field
    assert await module_api.stored() == before


async def test_everything_that_is_wrong_is_listed(http: httpx.AsyncClient) -> None:
    response = await http.post(CAPTURES, json={"contents": "x", "metadata": [], "partial": "yes"})
    problem = require_problem(response, 422)
    assert {one["field"]: one["code"] for one in problem["errors"]} == {
        "content": "http_field_missing",
        "contents": "http_field_unknown",
        "metadata": "http_field_object",
        "partial": "http_field_bool",
    }


@pytest.mark.parametrize(
    ("occurred_at", "code"),
    [
        ("yesterday", "http_field_moment"),
        (1763080200, "http_field_moment"),
        ("2026-11-14T09:30:00", "time_naive"),
        ("2026-11-14", "time_naive"),
        ("0001-01-01T00:00:00+14:00", "time_range"),
        ("9999-12-31T23:59:59-12:00", "time_range"),
    ],
)
async def test_a_time_needs_a_form_a_zone_and_a_year_that_can_be_stored(
    http: httpx.AsyncClient, occurred_at: object, code: str
) -> None:
    body = {"group_id": new_group(), "content": LONG, "occurred_at": occurred_at}
    assert require_problem(await http.post(CAPTURES, json=body), 422, code)["field"] == "occurred_at"


async def test_the_extreme_times_can_be_stored_and_read(http: httpx.AsyncClient) -> None:
    group = new_group()
    for occurred_at in ("0001-01-03T00:00:00Z", "9999-12-29T00:00:00Z"):
        body = {"group_id": group, "content": f"{LONG} {occurred_at}", "occurred_at": occurred_at}
        kept = await http.post(f"{CAPTURES}?wait=true", json=body)
        assert kept.json()["admission"] != "pending"
        row = await http.get(f"/api/v1/quarantine/{kept.json()['id']}", params={"group_id": group})
        assert row.json()["occurred_at"] == occurred_at
    assert (await http.get(f"/api/v1/working/{group}")).status_code == 200
