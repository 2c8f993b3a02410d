"""GET /api/v1/memories: one verified memory whole, the list of all, and the withdrawal of one."""

from uuid import uuid4

import httpx

from clearwell.records import Right
from tests.integration.http.serving import Api, new_group, require_problem

LONG = " ".join(f"Point {number} of the retention policy names the owner of table {number}." for number in range(40))


async def promote(http: httpx.AsyncClient, content: str, group: str, **fields: object) -> dict[str, str]:
    body = {"group_id": group, "content": content, **fields}
    answer: dict[str, str] = (await http.post("/api/v1/memory/ingest", json=body)).json()
    return answer


async def test_a_memory_is_read_whole_until_it_is_withdrawn(http: httpx.AsyncClient) -> None:
    group = new_group()
    done = await promote(http, LONG, group, author="ann", metadata={"source": "minutes"})
    assert int(done["chunks"]) > 1
    url = f"/api/v1/memories/{done['id']}"
    found = (await http.get(url, params={"group_id": group})).json()
    assert (found["content"], found["author"], found["label"]) == (LONG, "ann", "verified")
    assert found["metadata"] == {"source": "minutes"}
    assert (await http.get(url, params={"group_id": new_group()})).status_code == 404
    undone = await http.post(f"/api/v1/decisions/{done['decision_id']}/undo", json={"group_id": group})
    assert undone.status_code == 200
    gone = await http.get(url, params={"group_id": group})
    assert (gone.status_code, gone.json()["type"].endswith("memory_not_found")) == (404, True)


async def test_a_memory_of_an_agent_is_read_for_that_agent_only(http: httpx.AsyncClient) -> None:
    group = new_group()
    own = await promote(http, "The auditor of this group reads the contracts on Mondays.", group, agent_id="a1")
    url = f"/api/v1/memories/{own['id']}"
    assert (await http.get(url, params={"group_id": group})).status_code == 404
    assert (await http.get(url, params={"group_id": group, "agent_id": "a1"})).json()["scope"] == "agent"


LISTED = "/api/v1/memories"
QUERY = "/api/v1/memory/query"


async def test_memories_are_listed_in_pages_and_by_filters(http: httpx.AsyncClient) -> None:
    group = new_group()
    texts = [f"Region {name} keeps its backups for ninety days." for name in ("north", "south", "west")]
    made = [await promote(http, text, group, session_id=f"s-{place}") for place, text in enumerate(texts)]
    page = (await http.get(LISTED, params={"group_id": group, "limit": 2})).json()
    assert [one["memory_id"] for one in page["memories"]] == [made[2]["id"], made[1]["id"]]
    assert [one["state"] for one in page["memories"]] == ["verified", "verified"]
    assert (page["memories"][0]["days_used"], page["memories"][0]["last_used_at"]) == (0, None)
    rest = (await http.get(LISTED, params={"group_id": group, "limit": 2, "before": page["next"]})).json()
    assert ([one["memory_id"] for one in rest["memories"]], rest["next"]) == ([made[0]["id"]], None)
    for narrowed in ({"words": "SOUTH"}, {"session_id": "s-1"}, {"session_id": "s-1", "unused": "true"}):
        found = (await http.get(LISTED, params={"group_id": group, **narrowed})).json()["memories"]
        assert [one["content"] for one in found] == [texts[1]], narrowed
    assert (await http.get(LISTED, params={"group_id": new_group()})).json()["memories"] == []


async def test_only_what_an_agent_is_given_is_a_use(module_api: Api, http: httpx.AsyncClient) -> None:
    group, agent = new_group(), await module_api.client(**{"Clearwell-Actor": "agent"})
    made = await promote(http, "Backups are kept for ninety days in two regions.", group)
    words = "How long are backups kept?"
    question = {"group_id": group, "query": words, "agent_id": "a1", "record": False}

    async def read_use() -> tuple[int, bool]:
        await module_api.clearwell.uses.record()
        (listed,) = (await http.get(LISTED, params={"group_id": group})).json()["memories"]
        recalled = await module_api.clearwell.recalls.find_recalled(group, agent_id="a1")
        return listed["days_used"], made["id"] in map(str, recalled)

    page = await http.get(f"/g/{group}/playground", params={"q": words, "agent": "a1"})
    assert page.text.count("two regions") > 1
    assert len((await http.post(QUERY, json=question)).json()["results"]) == 1
    asked = {"group_id": group, "proposal": words, "agent_id": "a1", "record": False}
    assert "two regions" in (await http.post("/api/v1/context", json=asked)).json()["text"]
    assert await read_use() == (0, False)
    assert len((await agent.post(QUERY, json=question)).json()["results"]) == 1
    assert await read_use() == (1, True)


async def test_a_memory_is_withdrawn_with_a_reason_and_restored(http: httpx.AsyncClient) -> None:
    group = new_group()
    made = await promote(http, "Backups are kept for ninety days in two regions.", group)
    url = f"{LISTED}/{made['id']}/withdraw"
    blank = await http.post(url, json={"group_id": group, "reason": " "})
    assert require_problem(blank, 422)["field"] == "reason"
    done = (await http.post(url, json={"group_id": group, "reason": "outdated"})).json()
    assert (done["status"], done["memories"]) == ("retracted", [made["id"]])
    question = {"group_id": group, "query": "How long are backups kept?"}
    assert (await http.post(QUERY, json=question)).json()["results"] == []
    (listed,) = (await http.get(LISTED, params={"group_id": group, "state": "withdrawn"})).json()["memories"]
    assert listed["valid_to"]
    again = await http.post(url, json={"group_id": group, "reason": "outdated"})
    assert (again.status_code, again.json()["type"].endswith("memory_withdrawn")) == (409, True)
    undo = await http.post(f"/api/v1/decisions/{done['decision_id']}/undo", json={"group_id": group})
    assert undo.status_code == 200
    assert len((await http.post(QUERY, json=question)).json()["results"]) == 1


async def test_an_unknown_memory_cannot_be_withdrawn(http: httpx.AsyncClient) -> None:
    url = f"{LISTED}/{uuid4()}/withdraw"
    refused = await http.post(url, json={"group_id": new_group(), "reason": "outdated"})
    assert (refused.status_code, refused.json()["type"].endswith("memory_not_found")) == (404, True)


async def test_an_agent_neither_lists_nor_withdraws_memories(api: Api) -> None:
    group = new_group()
    person = await api.caller(Right.REVIEW, Right.READ, groups=[group])
    agent = await api.caller(Right.CAPTURE, Right.READ, groups=[group])
    made = await promote(person, "Backups are kept for ninety days in two regions.", group)
    assert (await agent.get(LISTED, params={"group_id": group})).status_code == 403
    url = f"{LISTED}/{made['id']}/withdraw"
    assert (await agent.post(url, json={"group_id": group, "reason": "no"})).status_code == 403
    (still,) = (await person.get(LISTED, params={"group_id": group})).json()["memories"]
    assert still["state"] == "verified"


async def test_an_agent_reads_who_promoted_a_memory_and_no_output(api: Api) -> None:
    group, said = new_group(), "The payment service keeps its audit records for at least seven years."
    person = await api.caller(Right.CAPTURE, Right.READ, Right.REVIEW)
    agent = await api.caller(Right.CAPTURE, Right.READ, groups=[group])
    capture = {"group_id": group, "agent_id": "auditor", "content": f"{said} Nobody else knows why."}
    row = (await agent.post("/api/v1/captures", params={"wait": True}, json=capture)).json()["id"]
    body = {"group_id": group, "text": said}
    promoted = (await person.post(f"/api/v1/quarantine/{row}/promote", json=body)).json()["id"]
    url = f"/api/v1/memories/{promoted}/promotion"
    answer = await agent.get(url, params={"group_id": group})
    found = answer.json()
    assert (found["origin"], found["agents"], found["outputs"]) == ("quarantine", ["auditor"], 1)
    assert (found["promoted_by_name"], found["supersedes"], found["conflicts_with"]) == ("test", None, [])
    assert "Nobody else" not in answer.text
    assert (await agent.get(f"/api/v1/memories/{promoted}/origin", params={"group_id": group})).status_code == 403
    other = await api.caller(Right.READ, groups=[new_group()])
    require_problem(await other.get(url, params={"group_id": group}), 403, "group_not_covered")
    require_problem(await agent.get(f"/api/v1/memories/{row}/promotion", params={"group_id": group}), 404)
