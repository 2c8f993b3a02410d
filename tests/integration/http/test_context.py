"""POST /api/v1/context and /api/v1/nodes/memory_retrieval."""

import httpx
import pytest

from clearwell.records import Right
from tests.integration.http.serving import LONG, Api, new_group, require_problem

CONTEXT, NODE = "/api/v1/context", "/api/v1/nodes/memory_retrieval"
KNOWN = "支付网关每次停机不得超过十分钟，且须提前三天通知银行。"
PROPOSAL = "提案：周五晚上迁移支付网关。请评估停机风险。"


async def fill(http: httpx.AsyncClient) -> str:
    group = new_group()
    await http.put(f"/api/v1/groups/{group}", json={"system_prompt": "结论须有依据。"})
    await http.put(f"/api/v1/groups/{group}/agents/a1", json={"persona": "你是风险审计员。"})
    await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": KNOWN})
    own = {"group_id": group, "content": f"我曾见到：{KNOWN}", "agent_id": "a1"}
    await http.post("/api/v1/memory/ingest", json=own)
    await http.post("/api/v1/captures?wait=true", json={"group_id": group, "content": LONG, "agent_id": "a1"})
    return group


async def test_a_context_comes_as_text_as_messages_and_with_a_report(http: httpx.AsyncClient) -> None:
    group = await fill(http)
    body = {"group_id": group, "agent_id": "a1", "proposal": PROPOSAL, "max_tokens": 1500, "language": "zh"}
    answer = await http.post(CONTEXT, json=body)
    assert answer.status_code == 200
    built = answer.json()
    assert [one["role"] for one in built["messages"]] == ["system", "user"]
    assert built["text"] == "\n\n".join(one["content"] for one in built["messages"])
    assert built["text"].startswith("## 群组定位\n结论须有依据。\n\n## 角色人设\n你是风险审计员。")
    assert built["text"].endswith(f"## 当前提案\n{PROPOSAL}")
    assert [one["section"] for one in built["report"]["sections"]] == [
        "group_prompt", "persona", "group_memory", "agent_memory", "proposal",
    ]  # fmt: skip
    assert {one["fate"] for one in built["report"]["sections"]} == {"included"}
    assert 0 < built["report"]["tokens"] <= 1500
    assert built["degraded"] == []
    for section in built["report"]["sections"]:
        for item in section["items"]:
            assert f'<memory id="{item["id"]}">' in built["text"]


async def test_the_language_is_the_callers_unless_it_is_given(http: httpx.AsyncClient) -> None:
    group = await fill(http)
    body = {"group_id": group, "proposal": PROPOSAL}
    english = (await http.post(CONTEXT, json=body)).json()["text"]
    chinese = (await http.post(CONTEXT, json=body, headers={"Accept-Language": "zh-CN"})).json()["text"]
    assert "✅ Verified" in english
    assert "✅ 已验证" in chinese


@pytest.mark.parametrize(
    ("form", "there"), [("text", {"text"}), ("messages", {"messages"}), ("both", {"text", "messages"})]
)
async def test_only_what_was_asked_for_is_answered(http: httpx.AsyncClient, form: str, there: set[str]) -> None:
    group = new_group()
    built = (await http.post(CONTEXT, json={"group_id": group, "proposal": PROPOSAL, "format": form})).json()
    assert set(built) - {"report", "degraded"} == there


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "http_field_missing", "proposal"),
        ({"proposal": " "}, "text_blank", "proposal"),
        ({"proposal": "x", "max_tokens": 10}, "http_field_low", "max_tokens"),
        ({"proposal": "x", "format": "xml"}, "http_field_choice", "format"),
        ({"proposal": "x", "language": "fr"}, "http_field_choice", "language"),
        ({"proposal": "x", "sources": ["warm"]}, "sources_form", "sources"),
        ({"proposal": "x", "filters": {"a": {"like": 1}}}, "filters_operator", "filters.a"),
        ({"proposal": "a\u0000"}, "text_nul", "proposal"),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    http: httpx.AsyncClient, body: dict[str, object], code: str, field: str
) -> None:
    problem = require_problem(await http.post(CONTEXT, json={"group_id": "g", **body}), 422, code)
    assert problem["field"] == field


async def test_a_cut_and_what_is_left_out_are_told_in_the_callers_language(http: httpx.AsyncClient) -> None:
    group = await fill(http)
    body = {"group_id": group, "agent_id": "a1", "proposal": PROPOSAL * 40, "max_tokens": 300, "language": "zh"}
    built = (await http.post(CONTEXT, json=body)).json()
    sections = {one["section"]: one for one in built["report"]["sections"]}
    assert (sections["proposal"]["fate"], sections["proposal"]["reason_text"]) == ("cut", "超出 max_tokens 预算")
    assert sections["group_memory"]["fate"] == "left_out"
    assert "省略" in built["text"]


async def test_the_node_adds_the_history_and_tells_what_happened(http: httpx.AsyncClient) -> None:
    group = await fill(http)
    state = {"topic": "支付网关停机时间的限制", "session_id": "s-9", "draft": {"n": 1}}
    answer = await http.post(NODE, json={"group_id": group, "input": state, "options": {"relevance_threshold": 0.3}})
    assert answer.status_code == 200
    output = answer.json()["output"]
    history = output.pop("history_context")
    assert output == state
    assert history.startswith("## 历史上下文 / History\n1. [")
    assert f">{KNOWN}</memory>" in history
    types = [one["type"] for one in answer.json()["events"]]
    assert types == ["node_state_change", "memory_retrieved", "node_state_change"]


async def test_a_state_without_text_is_answered_with_an_empty_history(http: httpx.AsyncClient) -> None:
    answer = await http.post(NODE, json={"group_id": "g", "input": {"topic": 5}}, headers={"Accept-Language": "zh"})
    assert answer.status_code == 200
    assert answer.json()["output"] == {"topic": 5, "history_context": ""}
    (error,) = [one for one in answer.json()["events"] if one["type"] == "memory_retrieval_error"]
    assert error["data"]["error"].startswith("没有查询内容")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"input": []}, "http_field_object"),
        ({}, "http_field_missing"),
        ({"input": {}, "options": {"max_results": 0}}, "http_field_low"),
        ({"input": {}, "options": {"time_range_days": -1}}, "option_range"),
        ({"input": {}, "options": {"top_k": 3}}, "http_field_unknown"),
    ],
)
async def test_a_node_that_is_set_up_wrong_is_refused(
    http: httpx.AsyncClient, body: dict[str, object], code: str
) -> None:
    require_problem(await http.post(NODE, json={"group_id": "g", **body}), 422, code)


async def test_keys_build_for_their_own_agent_and_group_only(api: Api) -> None:
    admin = await api.caller(Right.ADMIN, Right.REVIEW, Right.READ, groups=["g"])
    for agent in ("a1", "a2"):
        await admin.put(f"/api/v1/groups/g/agents/{agent}", json={"persona": f"I am {agent}."})
    bound = await api.caller(Right.READ, groups=["g"], agent_id="a1")
    built = await bound.post(CONTEXT, json={"group_id": "g", "proposal": PROPOSAL})
    assert "I am a1." in built.json()["text"]
    other = await bound.post(CONTEXT, json={"group_id": "g", "agent_id": "a2", "proposal": PROPOSAL})
    require_problem(other, 403, "agent_not_covered")
    require_problem(await bound.post(CONTEXT, json={"group_id": "h", "proposal": PROPOSAL}), 403)
    require_problem(await bound.post(NODE, json={"group_id": "h", "input": {"topic": "x"}}), 403)
    writer = await api.caller(Right.CAPTURE, groups=["g"])
    require_problem(await writer.post(CONTEXT, json={"group_id": "g", "proposal": PROPOSAL}), 403, "right_missing")
