"""Groups and agents over HTTP: described, read, removed, and refused where the key does not allow it."""

from urllib.parse import quote

import httpx
import pytest

from clearwell.records import Right
from tests.integration.http.serving import Api, new_group, require_problem

PROMPT = "你们是支付平台的架构评审组。结论须有依据。"
PERSONA = "你是风险审计员，先找会出错的地方。"


async def test_a_group_is_described_and_read(http: httpx.AsyncClient) -> None:
    group = new_group()
    empty = await http.get(f"/api/v1/groups/{group}")
    by_default = empty.json()["next_digest_at"]
    assert by_default is not None
    assert empty.json() == {
        "group_id": group,
        "system_prompt": "",
        "digest_cron": None,
        "digest_zone": None,
        "created_at": None,
        "updated_at": None,
        "next_digest_at": by_default,
    }
    body = {"system_prompt": PROMPT, "digest_cron": "0 6 * * 1", "digest_zone": "Asia/Shanghai"}
    put = await http.put(f"/api/v1/groups/{group}", json=body)
    assert put.status_code == 200
    assert {**put.json(), **body} == put.json()
    part = await http.put(f"/api/v1/groups/{group}", json={"digest_zone": None})
    assert part.json()["digest_zone"] is None
    assert part.json()["system_prompt"] == PROMPT
    assert (await http.get(f"/api/v1/groups/{group}")).json() == part.json()
    assert group in [one["group_id"] for one in (await http.get("/api/v1/groups")).json()["groups"]]


@pytest.mark.parametrize("group", ["组 一/二?", "a%2Fb", "x" * 200])
async def test_ids_may_be_any_text(http: httpx.AsyncClient, group: str) -> None:
    path = f"/api/v1/groups/{quote(group, safe='')}"
    assert (await http.put(path, json={"system_prompt": group})).json()["group_id"] == group
    assert (await http.put(f"{path}/agents/{quote('甲/乙', safe='')}", json={"persona": "x"})).json()[
        "agent_id"
    ] == "甲/乙"
    assert [one["agent_id"] for one in (await http.get(f"{path}/agents")).json()["agents"]] == ["甲/乙"]


async def test_an_agent_is_described_read_and_removed(http: httpx.AsyncClient) -> None:
    path = f"/api/v1/groups/{new_group()}/agents"
    require_problem(await http.get(f"{path}/a1"), 404, "agent_not_found")
    put = await http.put(f"{path}/a1", json={"persona": PERSONA})
    assert put.json()["persona"] == PERSONA
    assert (await http.get(f"{path}/a1")).json() == put.json()
    assert (await http.get(path)).json()["agents"] == [put.json()]
    assert (await http.delete(f"{path}/a1")).status_code == 200
    require_problem(await http.delete(f"{path}/a1"), 404, "agent_not_found")


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"digest_cron": "every monday"}, "cron_invalid", "digest_cron"),
        ({"digest_cron": "0 0 30 2 *"}, "cron_never", "digest_cron"),
        ({"digest_zone": "Mars/Olympus"}, "zone_unknown", "digest_zone"),
        ({"system_prompt": "x" * 40_000}, "prompt_large", "system_prompt"),
        ({"system_prompt": 5}, "http_field_text", "system_prompt"),
        ({"prompt": "x"}, "http_field_unknown", "prompt"),
    ],
)
async def test_values_that_are_refused_with_field_and_reason(
    http: httpx.AsyncClient, body: dict[str, object], code: str, field: str
) -> None:
    problem = require_problem(await http.put(f"/api/v1/groups/{new_group()}", json=body), 422, code)
    assert problem["field"] == field


async def test_a_repeated_put_is_answered_and_not_done_again(http: httpx.AsyncClient) -> None:
    group = new_group()
    path, key = f"/api/v1/groups/{group}", {"Idempotency-Key": "describe-1"}
    await http.put(path, json={"system_prompt": "first"}, headers=key)
    await http.put(path, json={"system_prompt": "second"})
    again = await http.put(path, json={"system_prompt": "first"}, headers=key)
    assert again.json()["system_prompt"] == "second"
    other = await http.put(path, json={"system_prompt": "other"}, headers=key)
    require_problem(other, 422, "idempotency_mismatch")


async def test_keys_read_and_write_what_they_may(api: Api) -> None:
    admin = await api.caller(Right.ADMIN, groups=["g"])
    bound = await api.caller(Right.READ, Right.CAPTURE, groups=["g"], agent_id="a1")
    everywhere = await api.caller(Right.ADMIN)
    await everywhere.put("/api/v1/groups/h", json={"system_prompt": "secret of h"})
    await admin.put("/api/v1/groups/g", json={"system_prompt": PROMPT})
    for agent in ("a1", "a2"):
        await admin.put(f"/api/v1/groups/g/agents/{agent}", json={"persona": agent})
    assert (await bound.get("/api/v1/groups/g")).json()["system_prompt"] == PROMPT
    assert [one["group_id"] for one in (await bound.get("/api/v1/groups")).json()["groups"]] == ["g"]
    assert [one["agent_id"] for one in (await bound.get("/api/v1/groups/g/agents")).json()["agents"]] == ["a1"]
    require_problem(await bound.get("/api/v1/groups/g/agents/a2"), 403, "agent_not_covered")
    for response in (
        await bound.put("/api/v1/groups/g", json={"system_prompt": "mine"}),
        await bound.put("/api/v1/groups/g/agents/a1", json={"persona": "mine"}),
        await bound.delete("/api/v1/groups/g/agents/a1"),
        await bound.get("/api/v1/groups/h"),
        await admin.put("/api/v1/groups/h", json={"system_prompt": "mine"}),
    ):
        require_problem(response, 403)
    assert (await everywhere.get("/api/v1/groups/h")).json()["system_prompt"] == "secret of h"
