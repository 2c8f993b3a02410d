"""Every way to a decision: an agent is refused and that is recorded; a reviewer succeeds by the same way."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

import httpx
import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from clearwell.adapters.http.api import decisions, insights, memory, outputs, provenance
from clearwell.app import Clearwell
from clearwell.errors import NotAllowed
from clearwell.records import Action, DecisionRequest, NewMemory, Principal, Right, SourceSelector
from tests.insights import put_insight, rows
from tests.integration.http.serving import Api, require_problem
from tests.integration.postgres.test_rights import PROMOTION, enter
from tests.path import LONG, OTHER, said

AGENTS = {
    "capture and read": Principal(name="bot", rights=frozenset({Right.CAPTURE, Right.READ})),
    "admin": Principal(name="ops", rights=frozenset({Right.ADMIN})),
    "lowered": Principal.local("ann").lowered(),
    "bound to an agent": Principal(name="bound", rights=frozenset(Right), agent_id="a1"),
    "another group's": Principal(name="other", rights=frozenset(Right), groups=frozenset({"h"})),
}
REVIEWER = Principal(name="rita", rights=frozenset({Right.REVIEW}), groups=frozenset({"g"}))


@dataclass(frozen=True)
class Try:
    """Somebody, and what there is to decide on."""

    clearwell: Clearwell
    insight: UUID
    row: UUID
    refused: UUID
    by: Principal


Way = Callable[[Try], Awaitable[object]]

SERVICE: dict[str, Way] = {
    "promote": lambda t: t.clearwell.memory.acting_as(t.by).promote(OTHER, group="g"),
    "promote many": lambda t: t.clearwell.memory.acting_as(t.by).promote_many([NewMemory(content=OTHER)], group="g"),
    "promote insight": lambda t: t.clearwell.review.acting_as(t.by).decide(
        DecisionRequest(action=Action.PROMOTE, id=t.insight), group="g"
    ),
    "undo": lambda t: t.clearwell.review.acting_as(t.by).decide(
        DecisionRequest(action=Action.UNDO, id=t.insight), group="g"
    ),
    "snooze": lambda t: t.clearwell.review.acting_as(t.by).decide(
        DecisionRequest(action=Action.SNOOZE, id=t.insight), group="g"
    ),
    "reject": lambda t: t.clearwell.review.acting_as(t.by).decide(
        DecisionRequest(action=Action.REJECT, id=t.insight, reason="no"), group="g"
    ),
    "many": lambda t: t.clearwell.review.acting_as(t.by).decide_many(
        [DecisionRequest(action=Action.UNDO, id=t.insight)], group="g"
    ),
    "row": lambda t: t.clearwell.review.acting_as(t.by).promote_row(t.row, NewMemory(content=""), group="g"),
    "admit": lambda t: t.clearwell.memory.acting_as(t.by).admit_refused(t.refused, group="g"),
    "entry": lambda t: t.clearwell.review.acting_as(t.by).promote_entry(t.row, NewMemory(content=""), group="g"),
}


async def refusals(clearwell: Clearwell) -> int:
    return len(await rows(clearwell, "SELECT id FROM audit_events WHERE action = 'refused'"))


async def test_the_service_lets_only_people_decide(clearwell: Clearwell) -> None:
    row = (await clearwell.memory.acting_as(Principal.local()).capture(said(LONG, confidence=0.9), wait=True)).id
    refused = (await clearwell.memory.acting_as(Principal.local()).capture(said(OTHER, confidence=0.1), wait=True)).id
    insight = await put_insight(clearwell, "g", LONG, [row])
    for name, way in SERVICE.items():
        for agent in AGENTS.values():
            before = await refusals(clearwell)
            with pytest.raises(NotAllowed):
                await way(Try(clearwell, insight, row, refused, agent))
            assert await refusals(clearwell) == before + 1, (name, agent)
    assert await rows(clearwell, "SELECT id FROM promotions") == []
    assert await rows(clearwell, "SELECT id FROM decisions") == []
    for way in SERVICE.values():
        await way(Try(clearwell, insight, row, refused, REVIEWER))
    listed = await clearwell.review.acting_as(REVIEWER).preview_retraction(SourceSelector(agent_id="a1"), group="g")
    with pytest.raises(NotAllowed):
        await clearwell.review.acting_as(AGENTS["lowered"]).retract(
            SourceSelector(agent_id="a1"), token=listed.token, group="g"
        )
    done = await clearwell.review.acting_as(REVIEWER).retract(
        SourceSelector(agent_id="a1"), token=listed.token, group="g"
    )
    assert done.decision_id is not None
    with pytest.raises(NotAllowed):
        await clearwell.review.acting_as(AGENTS["lowered"]).undo(done.decision_id, group="g")
    await clearwell.review.acting_as(REVIEWER).undo(done.decision_id, group="g")


BODIES: dict[str, dict[str, object]] = {
    "/api/v1/memory/ingest": {"group_id": "g", "content": OTHER},
    "/api/v1/insights/{id}/promote": {"group_id": "g"},
    "/api/v1/insights/{id}/undo": {"group_id": "g"},
    "/api/v1/insights/{id}/snooze": {"group_id": "g"},
    "/api/v1/insights/{id}/merge": {"group_id": "g", "with": ["{other}"]},
    "/api/v1/insights/{id}/reject": {"group_id": "g", "reason": "no"},
    "/api/v1/insights/decide": {"group_id": "g", "decisions": [{"id": "{id}", "action": "undo"}]},
    "/api/v1/memories/{id}/withdraw": {"group_id": "g", "reason": "no"},
    "/api/v1/quarantine/{id}/promote": {"group_id": "g"},
    "/api/v1/quarantine/promote": {"group_id": "g", "ids": ["{id}"]},
    "/api/v1/working/{group_id}/{id}/promote": {},
    "/api/v1/memories/retract": {"group_id": "g", "agent_id": "a1", "token": "{token}"},
    "/api/v1/decisions/{id}/undo": {"group_id": "g"},
}


def test_every_route_that_decides_is_tried() -> None:
    """A new route of review must be listed here."""
    posted = {
        str(getattr(route, "path", "")).replace(":text", "")
        for module in (insights, outputs, provenance, decisions, memory)
        for route in module.router.routes
        if "POST" in (getattr(route, "methods", None) or ())
    }
    assert posted - {"/api/v1/memory/query"} == set(BODIES)


async def tried(client: httpx.AsyncClient, route: str, named: dict[str, str]) -> httpx.Response:
    body = str(BODIES[route]).replace("'", '"')
    path = route.replace("{group_id}", "g").replace("{id}", named[route])
    for name, value in {**named, "{id}": named["insight"]}.items():
        body = body.replace(name, value) if name.startswith("{") else body
    return await client.post(path, content=body, headers={"Content-Type": "application/json"})


async def test_every_route_refuses_agents_and_serves_a_reviewer(api: Api) -> None:
    clearwell = api.clearwell
    row = (await clearwell.memory.acting_as(Principal.local()).capture(said(LONG, confidence=0.9), wait=True)).id
    insight, other = (
        await put_insight(clearwell, "g", LONG, [row]),
        await put_insight(clearwell, "g", OTHER, []),
    )
    typed = await clearwell.memory.acting_as(REVIEWER).promote("The office is closed on Friday afternoons.", group="g")
    named = dict.fromkeys(BODIES, str(insight)) | {"insight": str(insight), "{other}": str(other), "{token}": "x"}
    named["/api/v1/quarantine/{id}/promote"] = named["/api/v1/working/{group_id}/{id}/promote"] = str(row)
    named["/api/v1/decisions/{id}/undo"] = str(typed.decision_id)
    kept = await clearwell.memory.acting_as(REVIEWER).promote(
        "Visitors sign in at the east gate of the plant.", group="g"
    )
    named["/api/v1/memories/{id}/withdraw"] = str(kept.id)
    reviewer = await api.caller(Right.REVIEW, groups=["g"])
    agents = [
        await api.caller(Right.CAPTURE, Right.READ, groups=["g"]),
        await api.caller(Right.ADMIN, groups=["g"]),
        await api.caller(Right.CAPTURE, Right.READ, groups=["g"], agent_id="a1"),
        await api.caller(*Right, groups=["g"], **{"Clearwell-Actor": "agent"}),
    ]
    for route in BODIES:
        for agent in agents:
            before = await refusals(clearwell)
            require_problem(await tried(agent, route, named), 403)
            assert await refusals(clearwell) == before + 1, route
    values: list[tuple[str, dict[str, str]]] = [
        ("/api/v1/memories/retract", {"group_id": "g", "agent_id": "a1"}),
        ("/api/v1/tombstones", {"group_id": "g", "value": "x", "reason": "y"}),
    ]
    for route, value in values:
        before = await refusals(clearwell)
        require_problem(await agents[0].post(route, json=value), 403)
        assert await refusals(clearwell) == before + 1, route
    for route in BODIES:
        if route == "/api/v1/memories/retract":
            listed = await reviewer.post("/api/v1/memories/retract", json={"group_id": "g", "agent_id": "a1"})
            named["{token}"] = listed.json()["token"]
        answer = await tried(reviewer, route, named)
        assert answer.status_code == 200, (route, answer.text)


async def test_no_key_makes_one_with_more_than_its_own(clearwell: Clearwell) -> None:
    """Not even an operator of some groups, who could otherwise make a key for the others."""
    holders = [*AGENTS.values(), REVIEWER, Principal(name="o", rights=frozenset(Right), groups=frozenset({"g"}))]
    key, _ = await clearwell.keys.create(
        name="k", rights=frozenset({Right.READ}), groups=None, by=Principal.local("ann")
    )
    for holder in holders:
        if holder is AGENTS["admin"]:
            continue  # the operator of every group
        before = await refusals(clearwell)
        with pytest.raises(NotAllowed):
            await clearwell.keys.create(name="more", rights=frozenset(Right), groups=None, by=holder)
        with pytest.raises(NotAllowed):
            await clearwell.keys.revoke(key.id, by=holder)
        assert await refusals(clearwell) == before + 2, holder
    assert [one.id for one in await clearwell.keys.list() if one.revoked_at is None] == [key.id]
    await clearwell.keys.create(name="more", rights=frozenset(Right), groups=None, by=AGENTS["admin"])
    await clearwell.keys.revoke(key.id, by=AGENTS["admin"])


DECIDES: tuple[LiteralString, ...] = (
    PROMOTION,
    "UPDATE insights SET summary = 'another text'",
    "UPDATE memories SET valid_to = now()",
    "UPDATE digest_marks SET judged_by = gen_random_uuid()",
    "INSERT INTO decisions (group_id, id, action, decided_by, decided_at) "
    "VALUES ('g', gen_random_uuid(), 'promote', 'me', now())",
    "INSERT INTO promotion_work (group_id, promotion_id, next_try_at) "
    "VALUES ('g', '00000000-0000-0000-0000-000000000001', now())",
    "INSERT INTO tombstones (group_id, id, value_hash, kind, reason, made_by, made_at) "
    "VALUES ('g', gen_random_uuid(), 'x', 'rejected', 'r', 'me', now())",
)


def test_the_database_lets_neither_agents_nor_the_worker_decide(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as program:
        program.execute("SET ROLE clearwell_app")
        for role in ("clearwell_agent", "clearwell_worker", "clearwell_operator"):
            for statement in DECIDES:
                with pytest.raises(InsufficientPrivilege), program.transaction():
                    enter(program, role)
                    program.execute(statement)
        with program.transaction():
            enter(program, "clearwell_reviewer")
            for statement in DECIDES:
                program.execute(statement)
