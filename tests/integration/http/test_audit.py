"""The audit over HTTP and in the database: every refusal is recorded, and changes of the trail are found."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from clearwell.clock import SystemClock, TimeOrderedIds
from clearwell.flow.audit import seals
from clearwell.flow.audit.acceptance import TrailAcceptance
from clearwell.records import KnownHead, Principal, Right
from clearwell.settings import Settings
from tests.integration.http.serving import LONG, Api, require_problem, served
from tests.integration.http.test_console import sign_in, token_in
from tests.integration.postgres.test_rights import enter
from tests.waiting import until

GROUP = "g"
ROLES = ("clearwell_agent", "clearwell_reviewer", "clearwell_worker", "clearwell_operator", "clearwell_eraser")
ROW = "018f0000-0000-7000-8000-000000000001"


async def run_sql(api: Api, statement: LiteralString, *params: object) -> list[tuple[Any, ...]]:
    """Run a statement as the owner of the database, past row-level security."""
    assert api.clearwell.settings.database_url is not None
    url = api.clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(statement, params)
        return [] if cursor.description is None else await cursor.fetchall()


Request = Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]
REFUSED_TO_AGENTS: dict[str, Request] = {
    "remove working entry": lambda client: client.delete(f"/api/v1/working/{GROUP}/{ROW}"),
    "requeue": lambda client: client.post(f"/api/v1/quarantine/{ROW}/requeue", json={"group_id": GROUP}),
    "requeue refused": lambda client: client.post(
        "/api/v1/quarantine/requeue", json={"group_id": GROUP, "refused_by": "length"}
    ),
    "request digest": lambda client: client.post("/api/v1/digests", json={"group_id": GROUP}),
    "change group": lambda client: client.put(f"/api/v1/groups/{GROUP}", json={"system_prompt": "x"}),
    "put agent": lambda client: client.put(f"/api/v1/groups/{GROUP}/agents/a", json={"persona": "x"}),
    "remove agent": lambda client: client.delete(f"/api/v1/groups/{GROUP}/agents/a"),
    "quarantine page": lambda client: client.get("/api/v1/quarantine", params={"group_id": GROUP}),
    "quarantine row": lambda client: client.get(f"/api/v1/quarantine/{ROW}", params={"group_id": GROUP}),
    "insights": lambda client: client.get("/api/v1/insights", params={"group_id": GROUP}),
    "tombstones": lambda client: client.get("/api/v1/tombstones", params={"group_id": GROUP}),
    "audit events": lambda client: client.get("/api/v1/audit", params={"group_id": GROUP}),
}


@pytest.mark.parametrize("attempted", REFUSED_TO_AGENTS)
async def test_a_refused_request_leaves_an_event(module_api: Api, attempted: str) -> None:
    key, secret = await module_api.key(Right.CAPTURE, Right.READ, groups=[GROUP])
    agent = await module_api.client(Authorization=f"Bearer {secret}")
    require_problem(await REFUSED_TO_AGENTS[attempted](agent), 403)
    reviewer = await module_api.caller(Right.REVIEW, groups=[GROUP])
    found = (await reviewer.get("/api/v1/audit", params={"group_id": GROUP, "actor": f"key:{key.id}"})).json()
    (event,) = found["events"]
    assert (event["action"], event["detail"]["why"]) == ("refused", "right_missing")
    assert event["subject"].startswith(attempted)
    assert event["actor_name"] == "test"


async def test_a_refused_capture_in_another_group_leaves_an_event(module_api: Api) -> None:
    key, secret = await module_api.key(Right.CAPTURE, groups=["mine"])
    agent = await module_api.client(Authorization=f"Bearer {secret}")
    owner = await module_api.caller(Right.CAPTURE, groups=["theirs"])
    assert (await owner.post("/api/v1/captures", json={"group_id": "theirs", "content": LONG})).status_code == 201
    require_problem(await agent.post("/api/v1/captures", json={"group_id": "theirs", "content": LONG}), 403)
    batch = {"captures": [{"group_id": "mine", "content": LONG}, {"group_id": "theirs", "content": LONG}]}
    assert (await agent.post("/api/v1/captures", json=batch)).status_code == 200
    reviewer = await module_api.caller(Right.REVIEW, groups=["theirs", "mine"])
    where = {"group_id": "theirs", "actor": f"key:{key.id}"}
    found = (await reviewer.get("/api/v1/audit", params=where)).json()["events"]
    assert [event["subject"] for event in found] == ["capture many", "capture"]
    assert not (await reviewer.get("/api/v1/audit", params={**where, "group_id": "mine"})).json()["events"]


async def test_invented_groups_make_no_trails(module_api: Api) -> None:
    key, secret = await module_api.key(Right.CAPTURE, Right.READ, groups=["mine"])
    agent = await module_api.client(Authorization=f"Bearer {secret}")
    names = [f"invented-{number}-{'界' * 150}" for number in range(200)]
    for name in names[:100]:
        require_problem(await agent.post("/api/v1/memory/query", json={"group_id": name, "query": "x"}), 403)
    batch = [{"group_id": name, "content": LONG} for name in names[100:]]
    assert (await agent.post("/api/v1/captures", json={"captures": batch})).status_code == 200
    trails = "SELECT DISTINCT group_id FROM audit_events WHERE actor = %s"
    assert await run_sql(module_api, trails, f"key:{key.id}") == [("",)]
    operator = await module_api.caller(Right.ADMIN)
    found = (await operator.get("/api/v1/audit", params={"actor": f"key:{key.id}", "limit": 200})).json()["events"]
    assert {event["detail"]["group"] for event in found} == {name[:80] for name in names}


async def test_a_conflict_of_a_person_leaves_an_event(module_api: Api) -> None:
    group = f"conflict-{uuid4()}"
    reviewer = await module_api.caller(Right.REVIEW, groups=[group])
    outdated = {"group_id": group, "agent_id": "a", "token": "outdated"}
    require_problem(await reviewer.post("/api/v1/memories/retract", json=outdated), 409)
    found = (await reviewer.get("/api/v1/audit", params={"group_id": group, "action": "refused"})).json()["events"]
    assert [event["subject"] for event in found] == ["retract"]


async def test_unknown_callers_are_counted_in_one_event(api: Api) -> None:
    await api.key(Right.READ, groups=[GROUP])
    stranger = await api.client(Authorization="Bearer cw_wrong")
    for _ in range(3):
        require_problem(await stranger.get("/api/v1/groups"), 401)
    await api.clearwell.gate.flush()
    operator = await api.caller(Right.ADMIN)
    found = (await operator.get("/api/v1/audit", params={"actor": "unknown"})).json()["events"]
    assert [event["detail"] for event in found] == [{"why": "key_invalid", "times": 3}]


async def test_events_are_filtered_and_paged(module_api: Api) -> None:
    group = f"pages-{uuid4()}"
    admin = await module_api.caller(Right.ADMIN, Right.REVIEW, groups=[group])
    for number in range(5):
        await admin.put(f"/api/v1/groups/{group}/agents/a{number}", json={"persona": "p"})
    await admin.put(f"/api/v1/groups/{group}", json={"system_prompt": "s"})
    everything = (await admin.get("/api/v1/audit", params={"group_id": group})).json()["events"]
    assert [event["action"] for event in everything] == ["change group", *["put agent"] * 5]
    subjects: list[str] = []
    before: str | None = None
    while True:
        named = {} if before is None else {"before": before}
        page = (await admin.get("/api/v1/audit", params={"group_id": group, "limit": 2, **named})).json()
        subjects += [event["subject"] for event in page["events"]]
        before = page["next"]
        if before is None:
            break
    assert subjects == [event["subject"] for event in everything]
    third = everything[3]
    later = (await admin.get("/api/v1/audit", params={"group_id": group, "since": third["at"]})).json()["events"]
    assert [event["id"] for event in later] == [event["id"] for event in everything[:4]]
    only = (await admin.get("/api/v1/audit", params={"group_id": group, "action": "change group"})).json()["events"]
    assert len(only) == 1


async def test_who_may_not_read_the_audit(module_api: Api) -> None:
    for caller in (
        await module_api.caller(Right.CAPTURE, Right.READ, groups=[GROUP]),
        await module_api.caller(Right.REVIEW, groups=["another"]),
        await module_api.caller(Right.REVIEW, groups=[GROUP], **{"Clearwell-Actor": "agent"}),
    ):
        for request in (
            caller.get("/api/v1/audit", params={"group_id": GROUP}),
            caller.get("/api/v1/audit/head", params={"group_id": GROUP}),
            caller.post("/api/v1/audit/verify", json={"group_id": GROUP}),
        ):
            require_problem(await request, 403)
    some = await module_api.caller(Right.ADMIN, groups=["a", "b"])
    require_problem(await some.get("/api/v1/audit"), 403, "audit_of_installation")
    bound = module_api.clearwell.memory.acting_as(Principal(name="b", rights=frozenset(Right), agent_id="a"))
    with pytest.raises(Exception, match="bound to the agent"):
        await bound.audit_events(group=GROUP)


async def make_trail(api: Api, events: int = 6) -> tuple[str, httpx.AsyncClient]:
    """A group with sealed events, in two seals."""
    group = f"trail-{uuid4()}"
    admin = await api.caller(Right.ADMIN, Right.REVIEW, groups=[group])
    for number in range(events):
        await admin.put(f"/api/v1/groups/{group}/agents/a{number}", json={"persona": "p"})
        if number == events // 2:
            await api.clearwell.sealer.seal_group(group)
    await api.clearwell.sealer.seal_group(group)
    return group, admin


async def verify(admin: httpx.AsyncClient, group: str, head: object = None) -> dict[str, Any]:
    body = {"group_id": group} if head is None else {"group_id": group, "head": head}
    response = await admin.post("/api/v1/audit/verify", json=body)
    assert response.status_code == 200, response.text
    report: dict[str, Any] = response.json()
    return report


def faults(report: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(finding["fault"], finding["event_id"]) for finding in report["findings"]]


def places(report: dict[str, Any]) -> list[tuple[str, int | None]]:
    return [(finding["fault"], finding["seal"]) for finding in report["findings"] if finding["fault"] != "unsealed"]


async def list_ids(api: Api, group: str) -> list[str]:
    found = await run_sql(api, "SELECT id FROM audit_events WHERE group_id = %s ORDER BY id", group)
    return [str(one[0]) for one in found]


async def test_an_untouched_trail_is_intact(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    report = await verify(admin, group)
    assert (report["intact"], report["findings"], report["sealed_events"]) == (True, [], 6)
    assert report["seals"] >= 2
    assert await module_api.clearwell.memory.acting_as(Principal.local()).verify_audit() is not None


async def test_a_changed_event_is_found(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    ids = await list_ids(module_api, group)
    await run_sql(module_api, "UPDATE audit_events SET actor = 'mallory' WHERE id = %s", ids[1])
    report = await verify(admin, group)
    assert (report["intact"], faults(report)) == (False, [("changed", ids[1])])
    assert report["findings"][0]["seal"] == 1


async def test_a_removed_event_is_found(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    ids = await list_ids(module_api, group)
    await run_sql(module_api, "DELETE FROM audit_events WHERE id = %s", ids[4])
    assert faults(await verify(admin, group)) == [("removed", ids[4])]


async def test_swapped_events_are_found(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    ids = await list_ids(module_api, group)
    for old, new in ((ids[0], ROW), (ids[2], ids[0]), (ROW, ids[2])):
        await run_sql(module_api, "UPDATE audit_events SET id = %s WHERE id = %s", new, old)
    assert faults(await verify(admin, group)) == [("changed", ids[0]), ("changed", ids[2])]


async def test_an_inserted_event_is_found_even_when_it_is_sealed(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    ids = await list_ids(module_api, group)
    forged = "018f0000-0000-7000-8000-0000000000ff"
    await run_sql(
        module_api,
        "INSERT INTO audit_events SELECT %s, group_id, at, actor, 'promote', subject, detail, signature"
        " FROM audit_events WHERE id = %s",
        forged,
        ids[0],
    )
    assert faults(await verify(admin, group)) == [("inserted", forged)]
    await run_sql(module_api, "INSERT INTO audit_pending VALUES (%s, %s)", group, forged)
    await module_api.clearwell.sealer.seal_group(group)
    assert faults(await verify(admin, group)) == [("inserted", forged)]
    await run_sql(module_api, "UPDATE audit_events SET signature = NULL WHERE id = %s", forged)
    assert ("changed", forged) in faults(await verify(admin, group))
    await run_sql(module_api, "DELETE FROM audit_events WHERE id = %s", forged)


async def test_a_rewritten_seal_is_found(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    await run_sql(module_api, "UPDATE audit_seals SET root = sha256('x') WHERE group_id = %s AND number = 1", group)
    found = {(one["fault"], one["seal"]) for one in (await verify(admin, group))["findings"]}
    assert ("seal_changed", 1) in found


async def test_a_removed_seal_is_found(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    await run_sql(module_api, "DELETE FROM audit_seals WHERE group_id = %s AND number = 1", group)
    found = {(one["fault"], one["seal"]) for one in (await verify(admin, group))["findings"]}
    assert ("seal_removed", 1) in found


async def test_a_removed_end_is_found_with_an_exported_head(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    head = (await admin.get("/api/v1/audit/head", params={"group_id": group})).json()
    assert (await verify(admin, group, head))["intact"]
    last = head["number"]
    await run_sql(
        module_api,
        "DELETE FROM audit_events WHERE id IN"
        " (SELECT unnest(event_ids) FROM audit_seals WHERE group_id = %s AND number = %s)",
        group,
        last,
    )
    await run_sql(module_api, "DELETE FROM audit_seals WHERE group_id = %s AND number = %s", group, last)
    assert places(await verify(admin, group)) == [("trail_cut", last)]
    report = await verify(admin, group, head)
    assert places(report) == [("trail_cut", last), ("tail_removed", last)]
    forged = {**head, "number": last - 1}
    assert places(await verify(admin, group, forged))[1:] == [("head_invalid", last - 1)]


RESEAL: list[LiteralString] = [
    "DELETE FROM audit_seals WHERE group_id = %s",
    "DELETE FROM audit_pending WHERE group_id = %s",
    "INSERT INTO audit_pending (group_id, event_id) SELECT group_id, id FROM audit_events WHERE group_id = %s",
]


async def test_the_worker_does_not_seal_a_forged_trail_anew(module_api: Api) -> None:
    group, admin = await make_trail(module_api, events=30)
    ids = await list_ids(module_api, group)
    assert module_api.clearwell.settings.database_url is not None
    url = module_api.clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await owner.execute("DELETE FROM audit_events WHERE id = %s", [ids[10]])
        await owner.execute("UPDATE audit_events SET actor = 'key:INNOCENT', signature = NULL WHERE id = %s", [ids[20]])
        for statement in RESEAL:
            await owner.execute(statement, [group])
    await module_api.clearwell.sealer.seal_all()
    report = await verify(admin, group)
    assert not report["intact"]
    assert ("trail_cut", 1) in places(report)
    assert ("inserted", ids[20]) in faults(report)
    assert not await run_sql(module_api, "SELECT number FROM audit_seals WHERE group_id = %s", group)
    assert group in (await module_api.clearwell.stores.audit_heads.state()).refused


async def test_a_replaced_trail_is_found(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    heads = module_api.clearwell.stores.audit_heads
    known = await heads.find(group)
    assert known is not None
    await run_sql(module_api, "DELETE FROM audit_events WHERE group_id = %s", group)
    for statement in RESEAL:
        await run_sql(module_api, statement, group)
    await heads.replace(group, None)
    for number in range(6):
        await admin.put(f"/api/v1/groups/{group}/agents/b{number}", json={"persona": "p"})
        await module_api.clearwell.sealer.seal_group(group)
    assert (await verify(admin, group))["intact"], "another process, which knew no head, has sealed it"
    await heads.replace(group, known)
    assert places(await verify(admin, group)) == [("trail_replaced", known.number)]
    await admin.put(f"/api/v1/groups/{group}/agents/c", json={"persona": "p"})
    assert await module_api.clearwell.sealer.seal_group(group) == 0


async def test_a_removed_signature_in_the_first_seal_is_found_without_a_head(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    ids = await list_ids(module_api, group)
    await run_sql(module_api, "UPDATE audit_events SET actor = 'x', signature = NULL WHERE id = %s", ids[0])
    for statement in RESEAL:
        await run_sql(module_api, statement, group)
    await module_api.clearwell.stores.audit_heads.replace(group, None)
    report = await verify(admin, group)
    assert report["sealed_events"] == 6
    assert faults(report) == [("inserted", ids[0])]


async def test_a_lost_heads_file_is_a_warning_and_begun_anew(settings: Settings) -> None:
    async with served(settings) as app, Api(app) as api:
        group, _ = await make_trail(api)
    (settings.data_dir / "audit.heads").unlink()
    async with served(settings) as app, Api(app) as api:
        admin = await api.caller(Right.ADMIN, Right.REVIEW, groups=[group])
        report = await verify(admin, group)
        assert (report["intact"], report["warnings"]) == (True, ["head_begun"])
        assert report["begun_at"] is not None
        await admin.put(f"/api/v1/groups/{group}/agents/new", json={"persona": "p"})
        assert (await verify(admin, group))["sealed_events"] == 7
        for statement in RESEAL:
            await run_sql(api, statement, group)
        assert ("trail_cut", 1) in places(await verify(admin, group))
        audit, heads = api.clearwell.stores.audit, api.clearwell.stores.audit_heads
        await TrailAcceptance(audit, heads, SystemClock(), TimeOrderedIds()).accept_all(by="local:operator")
        report = await verify(admin, group)
        assert (report["intact"], report["warnings"], report["sealed_events"]) == (True, [], 8)
        found = (await admin.get("/api/v1/audit", params={"group_id": group, "action": "accept trail"})).json()
        assert [event["detail"]["known_seal"] for event in found["events"]] == [3]


async def test_seals_that_do_not_verify_are_no_beginning(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    await run_sql(module_api, "UPDATE audit_seals SET sealed_at = now() WHERE group_id = %s AND number = 2", group)
    await module_api.clearwell.stores.audit_heads.replace(group, None)
    await admin.put(f"/api/v1/groups/{group}/agents/new", json={"persona": "p"})
    assert await module_api.clearwell.sealer.seal_group(group) == 0
    assert ("seal_changed", 2) in places(await verify(admin, group))


async def test_a_head_begins_with_the_newest_seals(module_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "BEGINNING_SEALS", 1)
    group, admin = await make_trail(module_api)
    heads = module_api.clearwell.stores.audit_heads
    known = await heads.find(group)
    await heads.replace(group, None)
    assert (await verify(admin, group))["intact"]
    assert await heads.find(group) == known


async def test_the_console_shows_a_cut_trail_and_a_head_that_was_begun(module_api: Api) -> None:
    group, _ = await make_trail(module_api)
    heads = module_api.clearwell.stores.audit_heads
    known = await heads.find(group)
    assert known is not None
    await heads.replace(group, replace(known, number=known.number + 1, begun_at=datetime(2026, 1, 5, tzinfo=UTC)))
    _, secret = await module_api.key(Right.ADMIN, Right.REVIEW, groups=[group])
    browser = await module_api.client()
    await sign_in(browser, secret)
    form = {"form_token": token_in(await browser.get(f"/g/{group}/audit"))}
    page = await browser.post(f"/g/{group}/audit/verify", data=form)
    assert page.status_code == 200
    assert "the trail was cut here" in page.text
    assert "recreated at 2026-01-05 00:00 UTC" in page.text


async def test_seals_of_another_process_are_followed(module_api: Api) -> None:
    group, admin = await make_trail(module_api)
    heads = module_api.clearwell.stores.audit_heads
    (first, *_) = await module_api.clearwell.stores.audit.seals(group, after=0, limit=1)
    await heads.replace(group, KnownHead(group_id=group, number=1, root=first.root))
    report = await verify(admin, group)
    assert (report["intact"], report["warnings"]) == (True, [])
    known = await heads.find(group)
    assert known is not None
    assert known.number == report["head"]["number"] == 2


async def test_the_worker_seals_within_ten_seconds(api: Api) -> None:
    admin = await api.caller(Right.ADMIN, groups=[GROUP])
    await admin.put(f"/api/v1/groups/{GROUP}/agents/a", json={"persona": "p"})

    async def all_sealed() -> bool:
        return not await run_sql(api, "SELECT event_id FROM audit_pending")

    await until(all_sealed, seconds=10)
    assert await run_sql(api, "SELECT number FROM audit_seals WHERE group_id = %s", GROUP)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET actor = 'x'",
        "DELETE FROM audit_events",
        "TRUNCATE audit_events",
        "UPDATE audit_seals SET root = ''",
        "DELETE FROM audit_seals",
        "TRUNCATE audit_seals",
        "UPDATE audit_pending SET event_id = gen_random_uuid()",
    ],
)
async def test_no_role_changes_the_trail(module_api: Api, role: LiteralString, statement: LiteralString) -> None:
    assert module_api.clearwell.settings.database_url is not None
    url = module_api.clearwell.settings.database_url.get_secret_value()
    with psycopg.connect(url) as connection:
        enter(connection, role, GROUP)
        with pytest.raises(InsufficientPrivilege):
            connection.execute(statement)
