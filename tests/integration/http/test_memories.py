"""GET /api/v1/memories/{id}: one verified memory, whole."""

import httpx

from tests.integration.http.serving import new_group

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
