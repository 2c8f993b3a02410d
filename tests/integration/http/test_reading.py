"""GET /api/v1/quarantine and /api/v1/working: what reviewers and agents can look at."""

from datetime import datetime
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from tests.integration.http.serving import LONG, new_group, require_problem

CAPTURES, QUARANTINE, WORKING = "/api/v1/captures", "/api/v1/quarantine", "/api/v1/working"


async def capture(http: httpx.AsyncClient, group: str, content: str = LONG, **more: object) -> str:
    response = await http.post(f"{CAPTURES}?wait=true", json={"group_id": group, "content": content, **more})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


async def test_a_row_tells_its_whole_fate(http: httpx.AsyncClient) -> None:
    group = new_group()
    row_id = await capture(http, group, session_id="s", node_id="n", agent_id="a", metadata={"confidence": 0.1})
    row = (await http.get(f"{QUARANTINE}/{row_id}", params={"group_id": group})).json()
    assert (row["id"], row["group_id"], row["content"]) == (row_id, group, LONG)
    assert (row["session_id"], row["node_id"], row["node_type"], row["agent_id"]) == ("s", "n", "agent", "a")
    assert (row["metadata"], row["partial"], row["captured_by"]) == ({"confidence": 0.1}, False, "local")
    assert (row["admission"], row["flags"]) == ("refused", [])
    assert row["verdicts"][0] == {
        "check": "confidence",
        "outcome": "fail",
        "value": 0.1,
        "threshold": 0.8,
        "reason": "The confidence 0.1 is below 0.8.",
        "reason_code": "verdict_confidence_low",
        "params": {},
        "at": row["settled_at"],
    }
    assert [one["outcome"] for one in row["verdicts"][1:]] == ["not_checked"] * 7


async def test_an_unknown_or_foreign_row_is_not_found(http: httpx.AsyncClient) -> None:
    group, other = new_group(), new_group()
    row_id = await capture(http, group, "short")
    for wanted in (row_id, str(uuid4())):
        response = await http.get(f"{QUARANTINE}/{wanted}", params={"group_id": other})
        require_problem(response, 404, "row_not_found")


async def test_an_id_that_is_no_id_is_said_so(http: httpx.AsyncClient) -> None:
    response = await http.get(f"{QUARANTINE}/17", params={"group_id": new_group()})
    assert require_problem(response, 422, "http_field_uuid")["field"] == "id"


async def test_a_row_is_found_by_its_id_alone(http: httpx.AsyncClient) -> None:
    group = new_group()
    row = await capture(http, group, "short")
    for path in (f"{QUARANTINE}/{row}", f"{QUARANTINE}/{row}/influence"):
        assert (await http.get(path)).status_code == 200, path
    require_problem(await http.get(f"{QUARANTINE}/{uuid4()}"), 404, "row_not_found")
    require_problem(await http.get(QUARANTINE), 422, "http_group_which")


async def test_the_list_is_paged_newest_first(http: httpx.AsyncClient) -> None:
    group = new_group()
    ids = [await capture(http, group, f"short {number}") for number in range(5)]
    seen: list[str] = []
    parameters: dict[str, str | int] = {"group_id": group, "limit": 2}
    while True:
        page = (await http.get(QUARANTINE, params=parameters)).json()
        seen += [row["id"] for row in page["rows"]]
        if page["next"] is None:
            break
        parameters["before"] = page["next"]
    assert seen == ids[::-1]


async def test_a_full_last_page_has_no_next(http: httpx.AsyncClient) -> None:
    group = new_group()
    await capture(http, group, "short")
    page = (await http.get(QUARANTINE, params={"project_id": group, "limit": 1})).json()
    assert (len(page["rows"]), page["next"]) == (1, None)


async def test_the_list_is_filtered(http: httpx.AsyncClient) -> None:
    group = new_group()
    first = await capture(http, group, session_id="s-1", agent_id="a-1")
    second = await capture(http, group, "short", session_id="s-2", agent_id="a-2", node_type="fact_check")
    moment = (await http.get(f"{QUARANTINE}/{second}", params={"group_id": group})).json()["created_at"]

    async def found(**filters: str) -> list[str]:
        response = await http.get(QUARANTINE, params={"group_id": group, **filters})
        return [row["id"] for row in response.json()["rows"]]

    assert await found(session_id="s-1") == await found(agent_id="a-1") == await found(admission="admitted") == [first]
    assert await found(node_type="fact_check") == await found(since=moment) == [second]
    assert await found(until=moment) == [first]
    assert await found(session_id="s-1", agent_id="a-2") == []


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("group_id", "", "id_empty"),
        ("group_id", "a\x00b", "id_control"),
        ("session_id", "a\x00b", "id_control"),
        ("agent_id", "", "id_empty"),
        ("node_type", "x" * 201, "id_long"),
        ("admission", "maybe", "http_field_choice"),
        ("since", "now", "http_field_moment"),
        ("until", "2026-11-14T00:00:00", "time_naive"),
        ("limit", "0", "http_field_low"),
        ("limit", "201", "http_field_high"),
        ("limit", "many", "http_field_integer"),
        ("before", "17", "http_field_uuid"),
        ("colour", "blue", "http_field_unknown"),
        ("project_id", "another", "http_group_twice"),
    ],
)
async def test_a_wrong_parameter_is_named(http: httpx.AsyncClient, name: str, value: str, code: str) -> None:
    response = await http.get(QUARANTINE, params={"group_id": "grp", name: value})
    assert require_problem(response, 422, code)["field"] == ("group_id" if name == "project_id" else name)


async def test_the_list_needs_a_group(http: httpx.AsyncClient) -> None:
    assert require_problem(await http.get(QUARANTINE), 422)["field"] == "group_id"


async def test_working_memory_shows_its_live_entries(http: httpx.AsyncClient) -> None:
    group = new_group()
    row_id = await capture(http, group, agent_id="a", metadata={"confidence": 0.9})
    await capture(http, group, "too short to enter")
    response = await http.get(f"{WORKING}/{group}", headers={"Accept-Language": "zh-Hans-CN"})
    (entry,) = response.json()["entries"]
    assert (entry["id"], entry["content"], entry["agent_id"]) == (row_id, LONG, "a")
    assert (entry["label"], entry["label_text"], entry["verified"]) == ("ephemeral", "⚡️ 临时上下文", False)
    assert entry["flags"] == ["self_consistency_not_checked"]
    assert 0 <= entry["age_seconds"] < 60
    assert 24 * 3600 - 60 < entry["expires_in_seconds"] <= 24 * 3600
    assert datetime.fromisoformat(entry["expires_at"]).utcoffset() is not None


@pytest.mark.parametrize("group", ["a/b", "组 1", "a?b#c", "..%2F", "%"])
async def test_a_group_may_have_any_name_in_the_path(http: httpx.AsyncClient, group: str) -> None:
    name = f"{group}{new_group()}"
    await capture(http, name)
    response = await http.get(f"{WORKING}/{quote(name, safe='')}")
    assert [entry["group_id"] for entry in response.json()["entries"]] == [name]


@pytest.mark.parametrize("path", ["", "unassigned", "a%00b", "x" * 201])
async def test_a_group_that_cannot_be_is_refused_in_the_path(http: httpx.AsyncClient, path: str) -> None:
    assert require_problem(await http.get(f"{WORKING}/{path}"), 422)["field"] == "group_id"
