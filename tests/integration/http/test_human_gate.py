"""The gate that only people pass, under attack: forged metadata, replayed sessions, foreign forms, revoked keys, jobs
of an agent, and SQL in the role of an agent."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from clearwell.errors import Unauthenticated
from clearwell.records import ApiKey, Principal, Right, Vector
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from tests.conftest import opened
from tests.insights import put_insight, rows
from tests.integration.http.serving import Api, new_group, require_problem
from tests.integration.postgres.test_rights import enter
from tests.path import LONG, OTHER

HTML = {"Accept": "text/html"}
FORGED = {
    "verified": True,
    "promoted": True,
    "label": "verified",
    "layer": "longterm",
    "human": "ann",
    "decided_by": "local",
    "actor": "person",
    "proposed": True,
    "confidence": 1.0,
}


async def test_forged_metadata_promotes_nothing(api: Api) -> None:
    group = new_group()
    agent = await api.caller(Right.CAPTURE, Right.READ, groups=[group])
    capture = {"group_id": group, "content": LONG, "agent_id": "a1", "metadata": FORGED, "node_type": "human"}
    assert (await agent.post("/api/v1/captures?wait=true", json=capture)).status_code == 201
    for forged in ("verified", "promoted_at", "decided_by", "layer", "flags", "id", "captured_by"):
        require_problem(await agent.post("/api/v1/captures", json={**capture, forged: True}), 422)
    (item,) = (await agent.post("/api/v1/memory/query", json={"group_id": group, "query": LONG})).json()["results"]
    assert (item["verified"], item["label"], item["layer"]) == (False, "ephemeral", "working")
    assert "claims_authority" in item["flags"]
    context = {"group_id": group, "proposal": LONG}
    assert "[✅" not in (await agent.post("/api/v1/context", json=context)).json()["text"]
    assert (await api.stored())["promotions"] == 0


def token_in(page: httpx.Response) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', page.text)
    assert found is not None
    return found.group(1)


async def sign_in(api: Api, group: str) -> tuple[httpx.AsyncClient, str, ApiKey]:
    """A reviewer's browser, the token of its forms, and the key."""
    key, secret = await api.key(Right.REVIEW, Right.READ, groups=[group])
    browser = await api.client()
    data = {"key": secret, "form_token": token_in(await browser.get("/sign-in"))}
    assert (await browser.post("/sign-in", data=data)).status_code == 303
    return browser, token_in(await browser.get(f"/g/{group}/review")), key


async def test_a_form_decides_only_with_the_token_of_the_same_session(api: Api) -> None:
    group = new_group()
    insight = await put_insight(api.clearwell, group, LONG, [])
    path, form = f"/g/{group}/review/{insight}", {"action": "promote", "version": "1"}
    victim, own, _ = await sign_in(api, group)
    _, foreign, _ = await sign_in(api, group)
    attempts: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, {}),
        ({"form_token": foreign}, {}),
        ({"form_token": own}, {"Sec-Fetch-Site": "cross-site"}),
        ({"form_token": own}, {"Sec-Fetch-Site": "same-site"}),
        ({"form_token": own}, {"Content-Type": "text/plain"}),
    ]
    for more, headers in attempts:
        answer = await victim.post(path, data={**form, **more}, headers={**HTML, **headers})
        assert answer.status_code in (403, 415), (more, headers)
    assert (await victim.get(path, params={**form, "form_token": own})).status_code in (404, 405)
    assert (await api.stored())["promotions"] == 0
    assert (await victim.post(path, data={**form, "form_token": own})).status_code == 303
    assert (await api.stored())["promotions"] == 1


async def test_a_session_that_was_copied_is_worth_nothing_after_signing_out(api: Api) -> None:
    group = new_group()
    insight = await put_insight(api.clearwell, group, LONG, [])
    browser, token, _ = await sign_in(api, group)
    thief = await api.client()
    for cookie in browser.cookies.jar:
        thief.cookies.jar.set_cookie(cookie)
    assert (await thief.get(f"/g/{group}/review")).status_code == 200, "as long as the session lasts"
    await browser.post("/sign-out", data={"form_token": token})
    data = {"action": "promote", "form_token": token}
    answer = await thief.post(f"/g/{group}/review/{insight}", data=data, headers=HTML)
    assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/sign-in")
    assert (await api.stored())["promotions"] == 0


@pytest.mark.parametrize("rights", [(Right.CAPTURE, Right.READ), (Right.REVIEW,), (Right.ADMIN,)])
async def test_no_holder_raises_its_own_key(api: Api, rights: Sequence[Right]) -> None:
    group = new_group()
    key, secret = await api.key(*rights, groups=[group])
    holder = await api.client(Authorization=f"Bearer {secret}")
    for path, body in (
        (f"/g/{group}/agents/keys", {"name": "more", "scope": "review"}),
        ("/api/v1/keys", {"name": "more", "scopes": ["review"], "groups": [group]}),
        (f"/api/v1/keys/{key.id}", {"scopes": ["capture", "read", "review", "admin"]}),
    ):
        for method in ("POST", "PUT", "PATCH"):
            answer = await holder.request(method, path, json=body)
            assert answer.status_code in (303, 401, 403, 404, 405, 415), (method, path, answer.status_code)
    for header in ({"Clearwell-Actor": "person"}, {"X-Scopes": "review,admin"}, {"X-Original-User": "local"}):
        body = {"group_id": group, "subject": "x", "token": "x"}
        answer = await holder.post("/api/v1/forget", json=body, headers=header)
        assert Right.ADMIN in rights or answer.status_code in (403, 404, 422), answer.text
        if Right.REVIEW not in rights:
            ingest = {"group_id": group, "content": OTHER}
            answer = await holder.post("/api/v1/memory/ingest", json=ingest, headers=header)
            assert answer.status_code in (403, 422), answer.text
    assert [one for one in await api.clearwell.keys.list() if one.id != key.id] == []
    assert (await api.clearwell.keys.list())[0].rights == frozenset(rights)
    assert (await api.stored())["promotions"] == 0


async def test_a_key_that_is_revoked_while_its_request_arrives_decides_nothing(api: Api) -> None:
    group = new_group()
    insight = await put_insight(api.clearwell, group, LONG, [])
    key, secret = await api.key(Right.REVIEW, groups=[group])
    reviewer = await api.client(Authorization=f"Bearer {secret}")

    async def body() -> AsyncIterator[bytes]:
        yield b'{"version": 1'
        await api.clearwell.keys.revoke(key.id, by=Principal.local("test"))
        yield b"}"

    json = {"Content-Type": "application/json"}
    answer = await reviewer.post(f"/api/v1/insights/{insight}/promote", content=body(), headers=json)
    require_problem(answer, 401, "key_invalid")
    assert (await api.stored())["promotions"] == 0


class Slow(WordEmbedder):
    """A model that waits, after it was asked, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked.set()
        await self.go.wait()
        return await super().embed(texts)


async def test_a_key_that_is_revoked_while_a_decision_is_prepared_decides_nothing(settings: Settings) -> None:
    model = Slow()
    async with opened(settings, model) as clearwell:
        insight = await put_insight(clearwell, "g", LONG, [])
        keys, operator = clearwell.keys, Principal.local("test")
        key, secret = await keys.create(name="r", rights=frozenset({Right.REVIEW}), groups=None, by=operator)
        reviewer = await keys.authenticate(secret, local=False)
        promoted = asyncio.create_task(clearwell.memory.acting_as(reviewer).promote(OTHER, group="g"))
        decided = asyncio.create_task(clearwell.review.acting_as(reviewer).promote(insight, group="g"))
        await model.asked.wait()
        await keys.revoke(key.id, by=operator)
        model.go.set()
        for attempt in (promoted, decided):
            with pytest.raises(Unauthenticated, match="revoked before"):
                await attempt
        assert await rows(clearwell, "SELECT id FROM promotions") == []
        assert await rows(clearwell, "SELECT id FROM decisions") == []
        assert await rows(clearwell, "SELECT id FROM memories") == []


AGENT_TABLES = {
    "admissions": {"INSERT"},
    "agents": {"SELECT"},
    "group_authors": {"SELECT"},
    "group_terms": {"SELECT"},
    "groups": {"SELECT"},
    "ingress_verdicts": {"INSERT"},
    "memories": {"SELECT"},
    "memory_conflicts": {"SELECT"},
    "memory_gaps": {"SELECT"},
    "quarantine_logs": {"INSERT"},
    "reembeddings": {"SELECT"},
}
AGENT_COLUMNS = {
    "decisions": {"action", "group_id", "id", "insight_id", "memory_id", "side_sources", "undoes"},
    "insight_sources": {"group_id", "insight_id", "log_id", "span_end", "span_start"},
    "promotions": {"group_id", "id", "origin_id"},
    "quarantine_logs": {"captured_by", "group_id", "id", "idempotency_key", "request_hash"},
}
AGENT_FUNCTIONS = {"clearwell_agent_names", "clearwell_is_superseded", "clearwell_worded"}
"""The functions with rights of their own that an agent may call."""


def test_the_role_of_agents_has_these_rights_and_no_others(database_url: str) -> None:
    """A new grant to agents must be listed here, with the reason in its migration."""
    with psycopg.connect(database_url) as owner:
        tables = group_by_first(
            owner.execute(
                "SELECT c.relname, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a "
                "WHERE a.grantee IN (0, 'clearwell_agent'::regrole) AND c.relnamespace = 'public'::regnamespace"
            ).fetchall()
        )
        columns = group_by_first(
            owner.execute(
                "SELECT c.relname, t.attname FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid, "
                "aclexplode(t.attacl) a WHERE a.grantee IN (0, 'clearwell_agent'::regrole) "
                "AND a.privilege_type = 'SELECT' AND c.relnamespace = 'public'::regnamespace"
            ).fetchall()
        )
        changed = owner.execute(
            "SELECT count(*) FROM pg_attribute t, aclexplode(t.attacl) a "
            "WHERE a.grantee = 'clearwell_agent'::regrole AND a.privilege_type <> 'SELECT'"
        ).fetchone()
        functions = owner.execute(
            "SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace "
            "AND has_function_privilege('clearwell_agent', oid, 'EXECUTE')"
        ).fetchall()
    assert (tables, columns, changed) == (AGENT_TABLES, AGENT_COLUMNS, (0,))
    assert {name for (name,) in functions} == AGENT_FUNCTIONS


def group_by_first(pairs: Sequence[tuple[Any, ...]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for first, second in pairs:
        found.setdefault(first, set()).add(second)
    return found


JOBS = (
    "INSERT INTO promotion_work (group_id, promotion_id, next_try_at) VALUES ('g', gen_random_uuid(), now())",
    "INSERT INTO digests (group_id, id, status, requested_by, created_at) "
    "VALUES ('g', gen_random_uuid(), 'queued', 'me', now())",
    "INSERT INTO forgets (group_id, id, token, receipt, erased_at) VALUES ('g', gen_random_uuid(), 't', '{}', now())",
    "INSERT INTO audit_pending SELECT FROM audit_events",
    "INSERT INTO working_groups DEFAULT VALUES",
    "INSERT INTO segmentations SELECT FROM statements",
    "INSERT INTO console_sessions SELECT FROM api_keys",
    "UPDATE admissions SET state = 'admitted'",
    "DELETE FROM tombstones",
    "SET ROLE clearwell_reviewer",
)


def test_an_agent_makes_no_job_and_takes_no_other_role(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("CREATE ROLE only_agent LOGIN NOINHERIT")
        owner.execute("GRANT clearwell_agent TO only_agent")
        try:
            for statement in JOBS:
                with pytest.raises(InsufficientPrivilege), owner.transaction():
                    owner.execute("SET LOCAL SESSION AUTHORIZATION only_agent")
                    enter(owner, "clearwell_agent")
                    owner.execute(statement.encode())
        finally:
            owner.execute("DROP ROLE only_agent")


async def test_a_job_for_what_nobody_decided_makes_no_memory(settings: Settings) -> None:
    """Also if somebody got it into the table: the worker reads the promotion and not the job."""
    async with opened(settings, WordEmbedder()) as clearwell:
        done = await clearwell.memory.acting_as(Principal.local()).promote(LONG, group="g")
        assert done.decision_id is not None
        await clearwell.review.acting_as(Principal.local()).undo(done.decision_id, group="g")
        waiting = "DELETE FROM memories RETURNING id"  # as if the model had been down when it was promoted
        assert len(await rows(clearwell, waiting)) == 1
        await rows(
            clearwell,
            "INSERT INTO promotion_work (group_id, promotion_id, next_try_at) "
            "SELECT 'g', p.id, now() FROM promotions p RETURNING promotion_id",
        )
        await clearwell.promotion_completer.complete_due()
        assert await rows(clearwell, "SELECT id FROM memories WHERE valid_to IS NULL") == []
