"""POST /api/v1/memory/fact_check and /api/v1/nodes/fact_check."""

import httpx
import pytest

from clearwell.records import Right
from tests.integration.http.serving import Api, new_group, require_problem

CHECK, NODE = "/api/v1/memory/fact_check", "/api/v1/nodes/fact_check"
KNOWN = "支付网关每次停机不得超过十分钟，且须提前三天通知银行。"
WRONG = KNOWN.replace("十分钟", "四十分钟")


async def fill(http: httpx.AsyncClient) -> tuple[str, str]:
    group = new_group()
    answer = await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": KNOWN})
    return group, answer.json()["id"]


async def test_claims_are_rated_with_their_citations(http: httpx.AsyncClient) -> None:
    group, memory = await fill(http)
    body = {"group_id": group, "claim": [KNOWN, WRONG, "月球是由奶酪构成的。"], "language": "zh"}
    answer = await http.post(CHECK, json=body)
    assert answer.status_code == 200
    found = answer.json()
    assert [claim["rating"] for claim in found["claims"]] == ["supported", "contradicted", "unknown"]
    assert (found["rating"], found["method"], found["model"]) == ("contradicted", "rules", None)
    (citation,) = found["claims"][1]["citations"]
    assert (citation["memory_id"], citation["label"], citation["stance"]) == (memory, "verified", "contradicts")
    assert (citation["sentence"], citation["span"]) == (KNOWN, {"start": 0, "end": len(KNOWN)})
    assert citation["reason_text"].startswith("数字不同")
    assert found["text"].startswith("## 事实核查 / Fact check\n论断 <claim>")


async def test_the_node_adds_its_result_to_the_state(http: httpx.AsyncClient) -> None:
    group, memory = await fill(http)
    state = {"claim": WRONG, "session_id": "s-9", "draft": {"n": 1}}
    answer = await http.post(NODE, json={"group_id": group, "input": state})
    assert answer.status_code == 200
    output = answer.json()["output"]
    text, result = output.pop("fact_check"), output.pop("fact_check_result")
    assert output == state
    assert f'<memory id="{memory}">{KNOWN}</memory>' in text
    assert (result["rating"], result["claims"][0]["citations"][0]["memory_id"]) == ("contradicted", memory)
    types = [event["type"] for event in answer.json()["events"]]
    assert types == ["node_state_change", "fact_checked", "node_state_change"]


async def test_a_state_without_a_claim_is_answered_with_unknown(http: httpx.AsyncClient) -> None:
    answer = await http.post(NODE, json={"group_id": "g", "input": {"claim": 5}}, headers={"Accept-Language": "zh"})
    assert answer.status_code == 200
    assert answer.json()["output"]["fact_check_result"] == {"rating": "unknown", "claims": []}
    (error,) = [event for event in answer.json()["events"] if event["type"] == "fact_check_error"]
    assert error["data"]["error"].startswith("没有论断")


@pytest.mark.parametrize(
    ("route", "body", "code"),
    [
        (CHECK, {"claim": " "}, "text_blank"),
        (CHECK, {"claim": []}, "text_blank"),
        (CHECK, {"claim": ["a", ""]}, "text_blank"),
        (CHECK, {}, "http_field_missing"),
        (CHECK, {"claim": "a", "max_results": 0}, "http_field_low"),
        (CHECK, {"claim": "a", "session_id": ""}, "id_empty"),
        (CHECK, {"claim": "a", "top_k": 3}, "http_field_unknown"),
        (CHECK, {"claim": "a" * 90_000}, "text_large"),
        (NODE, {"input": []}, "http_field_object"),
        (NODE, {"input": {}, "options": {"time_range_days": -1}}, "option_range"),
    ],
)
async def test_wrong_values_are_named(http: httpx.AsyncClient, route: str, body: dict[str, object], code: str) -> None:
    answer = await http.post(route, json={"group_id": "g", **body})
    require_problem(answer, 413 if code == "text_large" else 422, code)


@pytest.mark.parametrize(("route", "body"), [(CHECK, {"claim": "a"}), (NODE, {"input": {"claim": "a"}})])
async def test_only_readers_of_the_group_may_ask(api: Api, route: str, body: dict[str, object]) -> None:
    reader = await api.caller(Right.READ, groups=["g"])
    assert (await reader.post(route, json={"group_id": "g", **body})).status_code == 200
    require_problem(await reader.post(route, json={"group_id": "other", **body}), 403)
    capturer = await api.caller(Right.CAPTURE, groups=["g"])
    require_problem(await capturer.post(route, json={"group_id": "g", **body}), 403)
