"""How review goes, for Prometheus: from the database, and naming nobody unless the operator allows it."""

import httpx
import pytest

from clearwell.app import Clearwell
from clearwell.settings import Settings
from tests.insights import PERSON, put_insight
from tests.integration.http.serving import client_of, served
from tests.integration.http.test_review import BACKUP, MOVED, RELEASE, said

TYPED = "Every production change needs a second pair of eyes before it is rolled out."


async def reviewed(clearwell: Clearwell, http: httpx.AsyncClient) -> None:
    """One insight promoted, one rejected, one output promoted straight, one text typed, one memory retrieved."""
    good = await put_insight(clearwell, "g", MOVED, [said("g", MOVED), said("g", MOVED, agent="a3")])
    bad = await put_insight(clearwell, "h", BACKUP, [said("h", BACKUP)])
    await http.post(f"/api/v1/insights/{good}/promote", json={})
    await http.post(f"/api/v1/insights/{bad}/reject", json={"reason": "no"})
    row = (await clearwell.memory.acting_as(PERSON).capture(said("g", RELEASE, agent="a2"), wait=True)).id
    await http.post(f"/api/v1/quarantine/{row}/promote", json={"group_id": "g"})
    await http.post("/api/v1/memory/ingest", json={"group_id": "h", "content": TYPED})
    await http.post("/api/v1/memory/query", json={"group_id": "g", "query": "payment service", "cold_limit": 1})
    await clearwell.recalls.flush()
    await clearwell.uses.record()


@pytest.mark.parametrize("allowed", [False, True])
async def test_metrics_tell_how_review_goes(settings: Settings, allowed: bool) -> None:
    async with served(settings.model_copy(update={"metrics_groups": allowed})) as app, client_of(app) as http:
        clearwell: Clearwell = app.state.clearwell
        await reviewed(clearwell, http)
        lines = set((await http.get("/metrics")).text.splitlines())
        if allowed:
            expected = {
                'clearwell_decisions_total{action="promote",group="g"} 2.0',
                'clearwell_decisions_total{action="promote",group="h"} 1.0',
                'clearwell_review_lag_seconds_count{group="g"} 1.0',
                'clearwell_accepted_rate{agent="a2",group="g"} 1.0',
                'clearwell_accepted_rate{agent="a1",group="h"} 0.0',
                'clearwell_accepted_by_check_rate{check="length",group="g",outcome="pass"} 1.0',
                'clearwell_memories_retrieved_share{group="g"} 0.5',
                'clearwell_digest_yield{group="h"} 0.0',
                'clearwell_insights{group="h",state="rejected"} 1.0',
            }
        else:
            expected = {
                'clearwell_decisions_total{action="promote"} 3.0',
                "clearwell_review_lag_seconds_count 2.0",
                'clearwell_accepted_decided{decision="promoted"} 2.0',
                'clearwell_accepted_decided{decision="rejected"} 1.0',
                "# HELP clearwell_accepted_decided What was decided, of all agents, each thing once.",
                'clearwell_accepted_by_check_decided{check="length",decision="promoted",outcome="pass"} 2.0',
                "clearwell_digest_yield 0.5",
                'clearwell_insights{state="promoted"} 1.0',
            }
            assert not any("a1" in line or "group" in line for line in lines if not line.startswith("#"))
        assert expected <= lines, expected - lines
        told = (await http.get("/api/v1/review/numbers", params={"group_id": "g"})).json()
        assert {"agent_id": "a2", "promoted": 1, "rejected": 0, "rate": 1.0} in told["accept_rate"]["by_agent"]


async def test_an_undone_promotion_is_no_longer_accepted(settings: Settings) -> None:
    async with served(settings) as app, client_of(app) as http:
        clearwell: Clearwell = app.state.clearwell
        row = (await clearwell.memory.acting_as(PERSON).capture(said("g", RELEASE), wait=True)).id
        made = (await http.post(f"/api/v1/quarantine/{row}/promote", json={"group_id": "g"})).json()
        await http.post(f"/api/v1/decisions/{made['decision_id']}/undo", json={})
        told = (await http.get("/api/v1/review/numbers", params={"group_id": "g"})).json()
        assert told["accept_rate"] == {
            "all": {"promoted": 0, "rejected": 0, "rate": None},
            "by_agent": [],
            "by_check": [],
        }
