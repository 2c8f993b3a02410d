"""Review over HTTP: what a reviewer is shown, decides and takes back."""

from uuid import uuid4

import httpx
from psycopg.types.json import Jsonb

from clearwell.records import NewCapture, NewMemory, Right
from tests.insights import PERSON, put_insight, rows
from tests.integration.http.serving import Api, new_group, require_problem

MOVED = "The payment service was moved to the new cluster on Monday without any downtime at all."
STAYED = "The payment service was not moved to the new cluster on Monday without any downtime at all."
BACKUP = "Nightly backups of the billing database now take eleven minutes instead of forty minutes."
RELEASE = "发布窗口定于每周二上午十点，由值班工程师负责执行并记录结果。"

JSON = {"Content-Type": "application/json"}


def said(group: str, content: str, agent: str = "a1", session: str = "s1", confidence: float = 0.9) -> NewCapture:
    return NewCapture(
        content=content,
        group_id=group,
        session_id=session,
        node_id="n1",
        agent_id=agent,
        metadata={"confidence": confidence},
    )


async def found(http: httpx.AsyncClient, group: str, query: str) -> list[str]:
    answer = await http.post("/api/v1/memory/query", json={"group_id": group, "query": query, "hot_limit": 0})
    return [one["id"] for one in answer.json()["results"]]


async def test_one_click_makes_an_insight_knowledge_that_is_found(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    done = (await http.post(f"/api/v1/insights/{insight}/promote", json={})).json()
    assert (done["status"], done["already"], done["chunks"]) == ("promoted", False, 1)
    assert (done["insight"]["state"], done["insight"]["version"]) == ("promoted", 2)
    assert await found(http, group, "payment service") == [done["id"]]
    again = (await http.post(f"/api/v1/insights/{insight}/promote", content=b"", headers=JSON)).json()
    assert (again["id"], again["already"]) == (done["id"], True)
    assert await marks(module_api, group) == [insight]


async def marks(api: Api, group: str) -> list[object]:
    return [
        row[0] for row in await rows(api.clearwell, "SELECT judged_by FROM digest_marks WHERE group_id = %s", group)
    ]


async def test_what_happened_is_counted_by_day(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    first = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    second = await put_insight(module_api.clearwell, group, BACKUP, [said(group, BACKUP, confidence=0.1)])
    await http.post(f"/api/v1/insights/{first}/promote", json={})
    await http.post(f"/api/v1/insights/{second}/reject", json={"reason": "not measured"})
    shown = (await http.get("/api/v1/review/activity", params={"group_id": group, "days": 3})).json()["days"]
    assert len(shown) == 3
    counted = {name: sum(day[name] for day in shown) for name in ("admitted", "refused", "promoted", "rejected")}
    assert counted == {"admitted": 1, "refused": 1, "promoted": 1, "rejected": 1}
    assert [day["refused_by"] for day in shown] == [{}, {}, {"confidence": 1}]
    now = (await http.get("/api/v1/review/counts", params={"group_id": group})).json()
    assert now == {"waiting": 0, "memories": 1, "promoting": 0}
    assert max(day["lag_median"] or 0 for day in shown) > 0
    require_problem(
        await http.get("/api/v1/review/activity", params={"group_id": group, "days": 0}), 422, "http_field_low"
    )


async def test_everything_stands_beside_an_insight(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    known = (await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": MOVED})).json()
    await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": RELEASE})
    insight = await put_insight(module_api.clearwell, group, STAYED, [said(group, STAYED)])
    shown = (await http.get(f"/api/v1/insights/{insight}", params={"group_id": group})).json()
    (source,) = shown["sources"]
    assert (source["agent_id"], source["session_id"], source["node_id"], source["confidence"]) == (
        "a1",
        "s1",
        "n1",
        0.9,
    )
    assert {one["check"] for one in source["verdicts"]} >= {"confidence", "length", "non_duplicate"}
    assert shown["nearby"][0]["id"] == known["id"]
    assert shown["nearby"][0]["relation"] == "supersedes"
    assert [one["id"] for one in shown["supersedes"]] == [known["id"]]
    assert {"op": "insert", "text": " not"} in shown["nearby"][0]["diff"]
    assert "single_author" in shown["flags"]
    assert "conflict" not in shown["flags"], "of the whole output; the memory near it says what contradicts"
    listed = (await http.get("/api/v1/insights", params={"group_id": group, "state": "pending"})).json()
    assert [one["id"] for one in listed["insights"]] == [str(insight)]
    assert (await http.get("/api/v1/insights", params={"group_id": group, "state": "promoted"})).json()[
        "insights"
    ] == []


async def test_other_words_are_promoted_and_both_texts_kept(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    body = {"group_id": group, "version": 1, "text": BACKUP, "agent_id": "a1"}
    done = (await http.post(f"/api/v1/insights/{insight}/promote", json=body)).json()
    assert await found(http, group, "backups") == []
    own = {"group_id": group, "query": "backups", "agent_id": "a1", "hot_limit": 0}
    assert [one["id"] for one in (await http.post("/api/v1/memory/query", json=own)).json()["results"]] == [done["id"]]
    (decision,) = (await http.get("/api/v1/decisions", params={"group_id": group})).json()["decisions"]
    assert (decision["text_before"], decision["text_after"]) == (MOVED, BACKUP)
    assert (await http.get(f"/api/v1/insights/{insight}")).json()["summary"] == MOVED


async def test_a_stale_version_is_refused_with_what_changed(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    await http.post(f"/api/v1/insights/{insight}/snooze", json={"days": 3, "version": 1})
    refused = await http.post(f"/api/v1/insights/{insight}/promote", json={"version": 1})
    problem = require_problem(refused, 409, "insight_stale")
    assert (problem["current"]["version"], problem["current"]["state"]) == (2, "snoozed")
    assert (problem["current"]["action"], problem["current"]["by"]) == ("snooze", "local")
    good = await http.post(f"/api/v1/insights/{insight}/promote", json={"version": 2})
    assert good.json()["insight"]["version"] == 3


async def test_what_is_rejected_does_not_come_back_until_that_is_undone(
    module_api: Api, http: httpx.AsyncClient
) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, BACKUP)])
    require_problem(await http.post(f"/api/v1/insights/{insight}/reject", json={}), 422, "http_field_missing")
    done = (await http.post(f"/api/v1/insights/{insight}/reject", json={"reason": "not so"})).json()
    assert (done["status"], done["insight"]["state"]) == ("rejected", "rejected")
    assert await marks(module_api, group) == [insight]
    problem = require_problem(await http.post(f"/api/v1/insights/{insight}/promote", json={}), 409, "insight_decided")
    assert "Undo that decision first" in problem["detail"]
    typed = {"group_id": group, "content": MOVED.upper()}
    assert (
        "not so"
        in require_problem(await http.post("/api/v1/memory/ingest", json=typed), 409, "promotion_rejected")["detail"]
    )
    ingested = (await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": BACKUP})).json()
    assert ingested["status"] == "ingested", "the sources are not refused"
    like = await put_insight(module_api.clearwell, group, MOVED.replace("Monday", "Monday,"), [])
    beside = (await http.get(f"/api/v1/insights/{like}")).json()
    assert beside["rejected"]["reason"] == "not so"
    undone = (await http.post(f"/api/v1/insights/{insight}/undo", json={})).json()
    assert (undone["status"], undone["undone"], undone["insight"]["state"]) == ("undone", "reject", "pending")
    assert await marks(module_api, group) == [None]
    assert (await http.post(f"/api/v1/insights/{insight}/promote", json={})).json()["status"] == "promoted"
    require_problem(await http.post(f"/api/v1/insights/{uuid4()}/undo", json={}), 404, "insight_not_found")


async def test_a_promotion_is_undone_and_made_again(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    first = (await http.post(f"/api/v1/insights/{insight}/promote", json={})).json()
    undone = (await http.post(f"/api/v1/insights/{insight}/undo", json={"version": 2})).json()
    assert (undone["insight"]["state"], undone["insight"]["version"]) == ("pending", 3)
    assert await found(http, group, "payment service") == []
    assert await marks(module_api, group) == [None]
    require_problem(await http.post(f"/api/v1/insights/{insight}/undo", json={}), 409, "undo_nothing")
    second = (await http.post(f"/api/v1/insights/{insight}/promote", json={})).json()
    assert second["id"] != first["id"]
    assert await found(http, group, "payment service") == [second["id"]]


async def test_insights_are_merged_and_separated(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    one = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    two = await put_insight(module_api.clearwell, group, BACKUP, [said(group, BACKUP, agent="a2", session="s2")])
    merged = (await http.post(f"/api/v1/insights/{one}/merge", json={"with": [str(two)]})).json()
    assert merged["status"] == "merged"
    shown = (await http.get(f"/api/v1/insights/{one}")).json()
    assert shown["summary"] == f"{MOVED}\n{BACKUP}"
    assert [source["agent_id"] for source in shown["sources"]] == ["a1", "a2"]
    assert (shown["support"]["agents"], shown["written_by"]) == (2, "extractive")
    other = (await http.get(f"/api/v1/insights/{two}")).json()
    assert (other["state"], other["merged_into"]) == ("merged", str(one))
    require_problem(await http.post(f"/api/v1/insights/{two}/promote", json={}), 409, "insight_merged")
    await http.post(f"/api/v1/insights/{one}/promote", json={})
    require_problem(await http.post(f"/api/v1/insights/{two}/undo", json={}), 409, "undo_later_first")
    await http.post(f"/api/v1/insights/{one}/undo", json={})
    undone = (await http.post(f"/api/v1/insights/{two}/undo", json={})).json()
    assert undone["undone"] == "merge"
    shown = (await http.get(f"/api/v1/insights/{one}")).json()
    assert (shown["summary"], len(shown["sources"]), shown["state"]) == (MOVED, 1, "pending")
    assert (await http.get(f"/api/v1/insights/{two}")).json()["state"] == "pending"


async def test_a_memory_is_superseded_and_comes_back(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    old = (await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": MOVED})).json()
    insight = await put_insight(module_api.clearwell, group, STAYED, [said(group, STAYED)])
    done = (await http.post(f"/api/v1/insights/{insight}/promote", json={"supersedes": old["id"]})).json()
    assert done["superseded"] == old["id"]
    assert await found(http, group, "payment service") == [done["id"]]
    origin = (await http.get(f"/api/v1/memories/{old['id']}/origin")).json()
    assert origin["promotions"][0]["state"] == "withdrawn"
    again = {"group_id": group, "content": BACKUP, "supersedes": old["id"]}
    require_problem(await http.post("/api/v1/memory/ingest", json=again), 409, "supersedes_withdrawn")
    await http.post(f"/api/v1/insights/{insight}/undo", json={})
    assert await found(http, group, "payment service") == [old["id"]]
    newer = (await http.post("/api/v1/memory/ingest", json=again)).json()
    assert set(await found(http, group, "payment service backups")) == {newer["id"]}
    require_problem(
        await http.post("/api/v1/memory/ingest", json={**again, "supersedes": str(uuid4())}), 404, "memory_not_found"
    )


async def test_many_are_decided_at_once_with_a_result_each(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    one = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    two = await put_insight(module_api.clearwell, group, BACKUP, [said(group, BACKUP)])
    body = {
        "group_id": group,
        "decisions": [
            {"id": str(one), "action": "promote"},
            {"id": str(two), "action": "reject", "reason": "outdated"},
            {"id": str(two), "action": "promote"},
            {"id": str(uuid4()), "action": "snooze", "days": 2},
        ],
    }
    key = {"Idempotency-Key": "many"}
    results = (await http.post("/api/v1/insights/decide", json=body, headers=key)).json()["results"]
    assert [result["status"] for result in results] == ["promoted", "rejected", 409, 404]
    again = (await http.post("/api/v1/insights/decide", json=body, headers=key)).json()["results"]
    assert again[:2] == results[:2]
    assert [result["status"] for result in again[2:]] == [409, 409]


async def test_a_repeated_request_is_answered_and_not_done_again(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    insight = await put_insight(module_api.clearwell, group, MOVED, [said(group, MOVED)])
    key = {"Idempotency-Key": "once"}
    for action, body in (("promote", {}), ("undo", {}), ("reject", {"reason": "no"})):
        first = await http.post(f"/api/v1/insights/{insight}/{action}", json=body, headers=key)
        second = await http.post(f"/api/v1/insights/{insight}/{action}", json=body, headers=key)
        assert first.json() == second.json()
        assert second.headers["Idempotency-Replayed"] == "true"
    assert len((await http.get("/api/v1/decisions", params={"group_id": group})).json()["decisions"]) == 3


async def test_outputs_are_promoted_straight_from_the_tiers_below(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    clearwell = module_api.clearwell
    low = (await clearwell.memory.acting_as(PERSON).capture(said(group, MOVED, confidence=0.2), wait=True)).id
    live = (await clearwell.memory.acting_as(PERSON).capture(said(group, BACKUP), wait=True)).id
    refused = (await http.post(f"/api/v1/quarantine/{low}/promote", json={"group_id": group})).json()
    hot = (await http.post(f"/api/v1/working/{group}/{live}/promote", json={})).json()
    assert (refused["status"], hot["status"]) == ("promoted", "promoted")
    again = (await http.post(f"/api/v1/quarantine/{live}/promote", json={"group_id": group})).json()
    assert (again["id"], again["already"]) == (hot["id"], True), "an entry and its row are one thing"
    require_problem(await http.post(f"/api/v1/working/{group}/{low}/promote", json={}), 404, "entry_not_found")
    origin = (await http.get(f"/api/v1/memories/{hot['id']}/origin")).json()
    assert [row["id"] for row in origin["rows"]] == [str(live)]
    assert origin["promotions"][0]["author"] == "a1"
    influence = (await http.get(f"/api/v1/quarantine/{low}/influence", params={"group_id": group})).json()
    assert [one["memory_id"] for one in influence["promotions"]] == [refused["id"]]
    undone = (await http.post(f"/api/v1/decisions/{hot['decision_id']}/undo", json={})).json()
    assert undone["undone"] == "promote"
    assert await found(http, group, "backups billing") == [refused["id"]]


async def test_provenance_leads_from_a_memory_to_the_outputs_and_back(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    clearwell = module_api.clearwell
    first = (await clearwell.memory.acting_as(PERSON).capture(said(group, MOVED), wait=True)).id
    repeat = (await clearwell.memory.acting_as(PERSON).capture(said(group, MOVED.upper(), agent="a2"), wait=True)).id
    one = await put_insight(clearwell, group, MOVED, [first])
    two = await put_insight(clearwell, group, BACKUP, [said(group, BACKUP)])
    await http.post(f"/api/v1/insights/{one}/merge", json={"with": [str(two)]})
    memory = (await http.post(f"/api/v1/insights/{one}/promote", json={})).json()["id"]
    origin = (await http.get(f"/api/v1/memories/{memory}/origin")).json()
    assert {insight["id"] for insight in origin["insights"]} == {str(one), str(two)}
    assert {row["content"] for row in origin["rows"]} == {MOVED, BACKUP}
    assert [decision["action"] for decision in origin["decisions"]] == ["promote"]
    influence = (await http.get(f"/api/v1/quarantine/{first}/influence", params={"group_id": group})).json()
    assert [one["memory_id"] for one in influence["promotions"]] == [memory]
    again = (await http.get(f"/api/v1/quarantine/{repeat}/influence", params={"group_id": group})).json()
    assert again["sightings_of"] == [{"id": str(first), "layer": "working"}]
    require_problem(await http.get(f"/api/v1/memories/{uuid4()}/origin"), 404, "memory_not_found")


async def test_what_rests_on_a_session_is_listed_then_withdrawn_then_brought_back(
    module_api: Api, http: httpx.AsyncClient
) -> None:
    group = new_group()
    clearwell = module_api.clearwell
    insight = await put_insight(clearwell, group, MOVED, [said(group, MOVED, session="bad")])
    by_insight = (await http.post(f"/api/v1/insights/{insight}/promote", json={})).json()["id"]
    typed = {"group_id": group, "content": RELEASE, "session_id": "bad"}
    by_hand = (await http.post("/api/v1/memory/ingest", json=typed)).json()["id"]
    other = (await http.post("/api/v1/memory/ingest", json={"group_id": group, "content": BACKUP})).json()["id"]
    wanted = {"group_id": group, "session_id": "bad"}
    listed = (await http.post("/api/v1/memories/retract", json=wanted)).json()
    assert {one["memory_id"] for one in listed["memories"]} == {by_insight, by_hand}
    assert len(await found(http, group, "payment backups 发布")) == 3, "a list withdraws nothing"
    stale = await http.post("/api/v1/memories/retract", json={**wanted, "token": "x"})
    assert require_problem(stale, 409, "retract_changed")["current"]["token"] == listed["token"]
    done = (await http.post("/api/v1/memories/retract", json={**wanted, "token": listed["token"]})).json()
    assert {*done["memories"]} == {by_insight, by_hand}
    assert await found(http, group, "payment backups 发布") == [other]
    require_problem(await http.post(f"/api/v1/insights/{insight}/promote", json={}), 409, "promoted_withdrawn")
    undone = (await http.post(f"/api/v1/decisions/{done['decision_id']}/undo", json={})).json()
    assert undone["undone"] == "retract"
    assert len(await found(http, group, "payment backups 发布")) == 3
    require_problem(await http.post("/api/v1/memories/retract", json={"group_id": group}), 422, "retract_what")


async def test_who_said_the_side_that_was_not_promoted_was_rejected(module_api: Api, http: httpx.AsyncClient) -> None:
    group, clearwell = new_group(), module_api.clearwell
    person = clearwell.memory.acting_as(PERSON)
    outputs = [
        (await person.capture(said(group, text, agent=agent), wait=True)).id
        for text, agent in ((MOVED, "right"), (BACKUP, "wrong"))
    ]
    insight = await put_insight(clearwell, group, MOVED, outputs)
    support = {"agents": 1, "sessions": 1, "days": 1, "rows": 1}
    sides = [{"statement": MOVED, "log_ids": [str(one)], "support": support} for one in outputs]
    await rows(clearwell, "UPDATE insights SET sides = %s WHERE id = %s RETURNING id", Jsonb(sides), insight)
    await http.post(f"/api/v1/insights/{insight}/promote", json={"side": 0})
    told = (await http.get("/api/v1/review/numbers", params={"group_id": group})).json()
    rates = {one["agent_id"]: (one["promoted"], one["rejected"]) for one in told["accept_rate"]["by_agent"]}
    assert rates == {"right": (1, 0), "wrong": (0, 1)}
    table = (await http.get("/api/v1/review/calibration", params={"group_id": group})).json()["rows"]
    assert {row["agent_id"]: (row["promoted"], row["rejected"]) for row in table} == rates
    assert told["insights"] == {"promoted": 1}


async def test_numbers_and_calibration_tell_how_review_goes(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    clearwell = module_api.clearwell
    good = await put_insight(clearwell, group, MOVED, [said(group, MOVED, confidence=0.95)])
    bad = await put_insight(clearwell, group, BACKUP, [said(group, BACKUP, confidence=0.85)])
    await put_insight(clearwell, group, RELEASE, [said(group, RELEASE, agent="a2")])
    memory = (await http.post(f"/api/v1/insights/{good}/promote", json={})).json()["id"]
    await http.post(f"/api/v1/insights/{bad}/reject", json={"reason": "no"})
    table = (await http.get("/api/v1/review/calibration", params={"group_id": group})).json()["rows"]
    kept = {(row["agent_id"], tuple(row["confidence"])): row for row in table}
    assert kept["a1", (0.9, 1.0)]["promoted"] == 1
    assert kept["a1", (0.8, 0.9)]["rejected"] == 1
    assert kept["a2", (0.9, 1.0)]["open"] == 1
    assert await found(http, group, "payment service") == [memory]
    await clearwell.recalls.flush()
    await clearwell.uses.record()
    told = (await http.get("/api/v1/review/numbers", params={"group_id": group})).json()
    assert told["insights"] == {"pending": 1, "promoted": 1, "rejected": 1}
    assert told["accept_rate"]["by_agent"] == [{"agent_id": "a1", "promoted": 1, "rejected": 1, "rate": 0.5}]
    assert {"check": "length", "outcome": "pass", "promoted": 1, "rejected": 1, "rate": 0.5} in told["accept_rate"][
        "by_check"
    ]
    assert told["memories"] == {"verified": 1, "ever_retrieved": 1, "share_ever_retrieved": 1.0, "promoting": 0}
    assert told["review_lag_seconds"]["median"] >= 0
    assert told["digests"] == {"done": 3, "yield": 0.5}
    metrics = (await http.get("/metrics")).text
    assert 'clearwell_decisions_total{action="promote"}' in metrics


async def test_a_promotion_that_was_undone_counts_in_no_figure(module_api: Api, http: httpx.AsyncClient) -> None:
    group, person = new_group(), module_api.clearwell.memory.acting_as(PERSON)
    receipt = await person.capture(said(group, MOVED, confidence=0.95), wait=True)
    made = await person.review.promote_row(receipt.id, NewMemory(content=""), group=group)
    assert made.decision_id is not None
    for undone in (False, True):
        if undone:
            await person.review.undo(made.decision_id, group=group)
        told = (await http.get("/api/v1/review/numbers", params={"group_id": group})).json()["accept_rate"]["all"]
        (row,) = (await http.get("/api/v1/review/calibration", params={"group_id": group})).json()["rows"]
        assert row["promoted"] == told["promoted"] == (0 if undone else 1)


async def test_a_group_is_found_by_an_id_only_by_those_who_cover_it(api: Api) -> None:
    group, other = new_group(), new_group()
    insight = await put_insight(api.clearwell, group, MOVED, [said(group, MOVED)])
    mine = await api.caller(Right.REVIEW, Right.READ, groups=[group, new_group()])
    theirs = await api.caller(Right.REVIEW, groups=[other, new_group()])
    only = await api.caller(Right.REVIEW, groups=[other])
    for client in (theirs, only):
        require_problem(await client.get(f"/api/v1/insights/{insight}"), 404, "insight_not_found")
        require_problem(await client.post(f"/api/v1/insights/{insight}/promote", json={}), 404, "insight_not_found")
    assert (await mine.post(f"/api/v1/insights/{insight}/promote", json={})).json()["status"] == "promoted"
