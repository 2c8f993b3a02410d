"""Every route for every kind of caller: in its own group, in another one, and without a group.

The rules are the table of ``route_rules.py``. Another group is full of things with a word that occurs nowhere else: no
answer to a stranger has it, nor any id of that group.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
import redis.asyncio
import uuid_utils.compat
from fastapi import FastAPI
from psycopg import sql

from clearwell.app import Clearwell
from clearwell.records import GroupChange, NewCapture, Right
from clearwell.settings import Settings
from tests.insights import PERSON, put_insight
from tests.integration.http.route_rules import RULES, Cover, Rule, is_console, list_routes, unname
from tests.integration.http.serving import Api, served
from tests.integration.http.test_console import sign_in, token_in

OWN, OTHER, SERVED, EMPTY = "iso-own", "iso-zirconheron", "iso-served", "iso-nowhere"
SECRET = "zirconheron"
"""A word of every name and text of the other group."""
WORDS = ("amber", "birch", "cobalt", "dahlia", "ember", "fjord", "garnet", "hazel", "indigo", "juniper", "kestrel")
NAME = re.compile(r"\{(\w+)\}")
VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)?")
_numbers = count(100)


class Outcome(StrEnum):
    """What became of a request."""

    SERVED = "served"
    STRANGER = "asked for a key"
    REFUSED = "refused"
    INVALID = "asked which group"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of caller. ``effective`` are the rights that it has after it was lowered to those of an agent."""

    rights: frozenset[Right]
    groups: tuple[str, ...] | None = (OWN,)
    agent_id: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def effective(self) -> frozenset[Right]:
        return self.rights & {Right.CAPTURE, Right.READ} if self.headers else self.rights

    @property
    def may_sign_in(self) -> bool:
        return self.agent_id is None and not self.headers and bool(self.rights & {Right.REVIEW, Right.ADMIN})


AGENT = frozenset({Right.CAPTURE, Right.READ})
KINDS: dict[str, Kind] = {
    "nobody": Kind(rights=frozenset()),
    **{right.value: Kind(rights=frozenset({right})) for right in Right},
    "capture and read": Kind(rights=AGENT),
    "review and admin": Kind(rights=frozenset({Right.REVIEW, Right.ADMIN})),
    "all": Kind(rights=frozenset(Right)),
    "bound to an agent": Kind(rights=AGENT, agent_id="a1"),
    "all for an agent": Kind(rights=frozenset(Right), headers={"Clearwell-Actor": "agent"}),
    "all in two groups": Kind(rights=frozenset(Right), groups=(OWN, EMPTY)),
}
EVERYWHERE = Kind(rights=frozenset(Right), groups=None)


@dataclass
class Place:
    """A group with things in it. Each is made when a request first names it; ``fresh`` makes it again each time."""

    clearwell: Clearwell
    group: str
    word: str = ""
    made: dict[str, str] = field(default_factory=dict)

    async def names(self, route: str, rule: Rule, body: object = None, *, fresh: bool = False) -> dict[str, str]:
        wanted = set(NAME.findall(f"{route} {rule.query} {rule.body} {rule.form} {body}"))
        if fresh:
            self.made = {}
        if "undo" in route and "insight" in wanted and "insight" not in self.made:
            await self._make_undoable()
        for name in sorted(wanted & {*MAKERS}):
            if name not in self.made:
                self.made[name] = str(await MAKERS[name](self))
        return {**plain_names(), **self.made, "group": self.group}

    async def _make_undoable(self) -> None:
        insight = await put_insight(self.clearwell, self.group, self.text())
        self.made["insight"] = str(insight)
        await self.clearwell.review.acting_as(PERSON).snooze(insight, group=self.group)

    def text(self) -> str:
        number = next(_numbers)
        one, two, three = (WORDS[number // part % len(WORDS)] for part in (1, 11, 121))
        return (
            f"The {self.word} {one} {two} {three}: the {one} team paid invoice {uuid4().hex[:8]} of {number} to {two}."
        )

    async def capture(self, *, confidence: float = 0.9, group: str | None = None) -> UUID:
        new = NewCapture(
            content=self.text(),
            group_id=group,
            session_id=f"s-{self.word}",
            agent_id=f"a1{self.word}",
            metadata={"confidence": confidence},
        )
        return (await self.clearwell.memory.acting_as(PERSON).capture(new, wait=True)).id

    async def promote(self) -> tuple[UUID, UUID]:
        made = await self.clearwell.memory.acting_as(PERSON).promote(
            self.text(), group=self.group, author=self.word or None
        )
        self.made["memory"], self.made["decision"] = str(made.id), str(made.decision_id)
        assert made.decision_id is not None
        return made.id, made.decision_id

    async def put_agent(self) -> str:
        memory = self.clearwell.memory.acting_as(PERSON)
        return (await memory.put_agent(f"a1{self.word}", group=self.group, persona=self.text())).agent_id

    async def add_tombstone(self) -> UUID:
        memory = self.clearwell.memory.acting_as(PERSON)
        made = await memory.add_tombstone(self.text(), group=self.group, reason=f"{self.word} is wrong")
        assert made.id is not None
        return made.id

    async def create_key(self) -> UUID:
        key, _ = await self.clearwell.keys.create(
            name=f"key {self.word}", rights=AGENT, groups=frozenset({self.group}), by=PERSON
        )
        return key.id

    async def put_digest(self) -> UUID:
        digest_id = UUID(str(uuid_utils.compat.uuid7()))
        await put_insight(self.clearwell, self.group, self.text(), digest_id=digest_id)
        return digest_id


async def _first(pair: Awaitable[tuple[UUID, UUID]], place: int) -> UUID:
    return (await pair)[place]


MAKERS: dict[str, Callable[[Place], Awaitable[object]]] = {
    "row": lambda place: place.capture(group=place.group),
    "refused": lambda place: place.capture(group=place.group, confidence=0.1),
    "unassigned": lambda place: place.capture(),
    "memory": lambda place: _first(place.promote(), 0),
    "decision": lambda place: _first(place.promote(), 1),
    "insight": lambda place: put_insight(place.clearwell, place.group, place.text()),
    "insight_2": lambda place: put_insight(place.clearwell, place.group, place.text()),
    "tombstone": lambda place: place.add_tombstone(),
    "digest": lambda place: place.put_digest(),
    "agent": lambda place: place.put_agent(),
    "key": lambda place: place.create_key(),
}
IDS = {*MAKERS} - {"agent"}
"""Agents have names, which are the same in every group."""


def plain_names() -> dict[str, str]:
    number = next(_numbers)
    word = f"{WORDS[number % len(WORDS)]}{uuid4().hex[:6]}"
    return {"word": word, "number": str(number), "wanted": "x", "name": "none.css"}


def unknown_names() -> dict[str, str]:
    return {**plain_names(), **{name: str(uuid4()) for name in MAKERS}}


def fill(value: Any, names: Mapping[str, str]) -> Any:
    """A request with its names replaced."""
    match value:
        case str():
            return NAME.sub(lambda found: names[found[1]], value)
        case list():
            return [fill(inner, names) for inner in value]
        case dict():
            return {name: fill(inner, names) for name, inner in value.items()}
    return value


@dataclass(frozen=True)
class Answer:
    """An answer, with everything that was sent for it."""

    response: httpx.Response
    sent: str

    @property
    def text(self) -> str:
        headers = "\n".join(f"{name}: {value}" for name, value in self.response.headers.multi_items())
        return f"{self.response.status_code}\n{headers}\n{self.response.text}"

    @property
    def outcome(self) -> Outcome:
        status = self.response.status_code
        if status == 401 or self.response.headers.get("location", "").startswith("/sign-in"):
            return Outcome.STRANGER
        if status == 403 or '"isError":true' in self.response.text.replace(" ", ""):
            return Outcome.REFUSED
        return Outcome.INVALID if status == 422 else Outcome.SERVED

    @property
    def gist(self) -> str:
        """What an answer says except for ids and times, to compare two answers."""
        headers = {
            name: value
            for name, value in self.response.headers.items()
            if name not in {"content-length", "set-cookie", "date"}
        }
        text = re.sub(r'name="form_token" value="\w+"|"form_token": ?"\w+"', "", self.response.text)
        return VARYING.sub("…", f"{self.response.status_code} {headers} {text}")


@dataclass
class World:
    """The callers, the groups, and what the stores hold of them."""

    api: Api
    callers: dict[str, httpx.AsyncClient]
    tokens: dict[str, str]
    own: Place
    other: Place
    served: Place

    async def ask(
        self, caller: str, route: str, names: Mapping[str, str], *, body: object = None, grouped: bool = True
    ) -> Answer:
        """Send the request of a rule. ``body`` replaces that of the rule; without ``grouped`` the group is omitted."""
        rule, (method, path) = RULES[route], route.split(" ")
        wanted: dict[str, Any] = {
            "params": fill(dict(rule.query), names),
            "json": fill(rule.body if body is None else body, names),
        }
        headers = {}
        if not grouped:
            wanted["params"].pop("group_id", None)
            (wanted["json"] or {}).pop("group_id", None)
            (wanted["json"] or {}).get("params", {}).get("arguments", {}).pop("group", None)
        if path == "/mcp":
            method, headers = "POST", {"Accept": "application/json, text/event-stream"}
        if path.endswith("/events"):
            method = "HEAD"  # a stream does not end
        if rule.form is not None:
            wanted["data"] = {**fill(dict(rule.form), names), "form_token": self.tokens.get(caller, "")}
        url = fill(path, names)
        sent = {name: value for name, value in wanted.items() if value is not None}
        response = await self.callers[caller].request(method, url, headers=headers, **sent)
        assert response.status_code < 500, (caller, route, response.text)
        return Answer(response, f"{url} {json.dumps(sent)}")

    def require_silent(self, answer: Answer, what: str) -> None:
        """Nothing of the other group is in an answer, except what the request itself named."""
        for word in (SECRET, *self.other.made.values()):
            if word not in answer.sent:
                assert word not in answer.text, f"{what} tells {word} of another group:\n{answer.text}"

    async def settle(self) -> None:
        """Wait until the worker has done what follows from the captures: nothing changes from sweep to sweep."""
        memory = self.api.clearwell.memory.acting_as(PERSON)
        await memory.change_group(GroupChange(system_prompt=f"We are {SECRET}."), group=OTHER)
        last, same = await self.stored(), 0
        async with asyncio.timeout(60):
            while same < 5:
                await asyncio.sleep(0.3)
                now = await self.stored()
                last, same = now, same + 1 if now == last else 0

    async def stored(self) -> dict[str, object]:
        """The number and the hash of everything that is stored, except the audit and the group that is served."""
        settings = self.api.clearwell.settings
        assert settings.database_url is not None
        assert settings.redis_url is not None
        found: dict[str, object] = {}
        async with await psycopg.AsyncConnection.connect(settings.database_url.get_secret_value()) as owner:
            parts = [_count_rows(str(name), bool(grouped)) for name, grouped in await _tables(owner)]
            cursor = await owner.execute(sql.SQL(" UNION ALL ").join(parts), {"served": SERVED})
            found |= {str(name): (number, total) for name, number, total in await cursor.fetchall()}
        async with redis.asyncio.Redis.from_url(settings.redis_url.get_secret_value()) as working:
            for key in await working.keys(f"*{OWN}*") + await working.keys(f"*{OTHER}*"):
                if await working.type(key) != b"stream":
                    found[str(key)] = await working.dump(key)
        return found


NOT_COMPARED = ("audit_events", "audit_pending", "audit_seals", "schema_migrations")
"""The audit has the refusals themselves."""


async def _tables(owner: psycopg.AsyncConnection) -> list[tuple[object, object]]:
    cursor = await owner.execute(
        """SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'group_id')
        FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname <> ALL (%s)""",
        ([*NOT_COMPARED],),
    )
    return await cursor.fetchall()


def _count_rows(table: str, grouped: bool) -> sql.Composed:
    where = sql.SQL(" WHERE t.group_id <> %(served)s" if grouped else "")
    counted = sql.SQL("SELECT {}, count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) FROM {} t")
    return counted.format(sql.Literal(table), sql.Identifier(table)) + where


@pytest.fixture(scope="module")
async def isolated_app(module_settings: Settings) -> AsyncIterator[FastAPI]:
    """With the names of groups in its metrics, and no limit on the requests of a key."""
    update = {"metrics_groups": True, "key_requests_per_minute": 0}
    async with served(module_settings.model_copy(update=update)) as app:
        yield app


@pytest.fixture(scope="module")
async def world(isolated_app: FastAPI) -> AsyncIterator[World]:
    async with Api(isolated_app) as api:
        places = [Place(api.clearwell, OWN), Place(api.clearwell, OTHER, SECRET), Place(api.clearwell, SERVED)]
        made = World(api, {}, {}, *places)
        await api.key(Right.REVIEW, groups=[OTHER], agent_id=None)
        for name, kind in {**KINDS, "everywhere": EVERYWHERE}.items():
            await add_caller(made, name, kind)
        for name, kind in KINDS.items():
            if kind.groups == (OWN,):
                in_served = Kind(rights=kind.rights, groups=(SERVED,), agent_id=kind.agent_id, headers=kind.headers)
                await add_caller(made, f"served {name}", in_served)
        for place in (made.own, made.other):
            for name in MAKERS:
                if name not in place.made:
                    place.made[name] = str(await MAKERS[name](place))
        await made.settle()
        yield made


async def add_caller(world: World, name: str, kind: Kind) -> None:
    """A client of the API with a key, and a browser of the console where the key can sign in."""
    if not kind.rights:
        world.callers[name] = await world.api.client()
        world.callers[f"{name} in the console"] = browser = await world.api.client()
        world.tokens[f"{name} in the console"] = token_in(await browser.get("/sign-in"))
        return
    _, secret = await world.api.key(*kind.rights, groups=kind.groups, agent_id=kind.agent_id)
    world.callers[name] = await world.api.client(Authorization=f"Bearer {secret}", **kind.headers)
    if kind.may_sign_in:
        world.callers[f"{name} in the console"] = browser = await world.api.client()
        await sign_in(browser, secret)
        world.tokens[f"{name} in the console"] = token_in(await browser.get("/sign-in"))


def list_callers(route: str) -> Iterator[tuple[str, Kind]]:
    """The kinds of callers that there are for a route, and the names of their clients."""
    for name, kind in KINDS.items():
        if not is_console(route):
            yield name, kind
        elif kind.may_sign_in or name == "nobody":
            yield f"{name} in the console", kind


def expect(rule: Rule, kind: Kind, where: str = "own") -> set[Outcome]:
    """What the table says of a request in the own group, in another one, or without a group."""
    if not rule.needs:
        return {Outcome.SERVED}
    if not kind.rights:
        return {Outcome.STRANGER}
    omitted = {Outcome.INVALID} if where == "no" else set()
    allowed = rule.admits(kind.effective) and rule.cover is not Cover.EVERY
    if not allowed or (where == "no" and not rule.unnamed):
        return {Outcome.REFUSED, *omitted}
    return {Outcome.REFUSED} if where == "another" and rule.cover is Cover.NAMED else {Outcome.SERVED, *omitted}


def test_every_route_has_a_rule(isolated_app: FastAPI) -> None:
    served_by = list_routes(isolated_app)
    document = isolated_app.openapi()["paths"]
    documented = {f"{method.upper()} {unname(path)}" for path, methods in document.items() for method in methods}
    assert documented <= served_by, "list_routes no longer finds every route of the application"
    ruled = {unname(route.replace(" ", "/ ", 1)).replace("/ ", " ", 1) for route in RULES}
    for route in sorted(served_by - ruled):
        pytest.fail(
            f"{route} has no rule. Say in RULES of tests/integration/http/route_rules.py which scopes it needs, which "
            f"groups its key must cover, and a request that an allowed caller is served."
        )
    assert ruled <= served_by, f"rules of routes that do not exist: {sorted(ruled - served_by)}"


@pytest.mark.parametrize("route", RULES)
async def test_a_refused_request_changes_nothing_and_tells_nothing(world: World, route: str) -> None:
    """Every caller in its own group, in another one, and without a group, where the table refuses it."""
    rule = RULES[route]
    own, other = await world.own.names(route, rule), await world.other.names(route, rule)
    before = await world.stored()
    asked = 0
    for name, kind in list_callers(route):
        for where, names in (("own", own), ("another", other), ("no", own)):
            expected = expect(rule, kind, where)
            if Outcome.SERVED in expected:
                continue
            answer = await world.ask(name, route, names, grouped=where != "no")
            what = f"{route} by {name} in {where} group"
            assert answer.outcome in expected, f"{what}: {answer.text}"
            world.require_silent(answer, what)
            asked += 1
    assert await world.stored() == before, f"{route} changed something for a caller that it refused"
    assert asked or not rule.needs


@pytest.mark.parametrize("route", [route for route in RULES if NAME.search(route.partition(" ")[2])])
async def test_another_group_is_like_one_that_does_not_exist(world: World, route: str) -> None:
    rule = RULES[route]
    callers = [(name, kind) for name, kind in list_callers(route) if rule.admits(kind.effective)]
    for name, _ in callers:
        real = await world.ask(name, route, await world.other.names(route, rule))
        absent = await world.ask(name, route, {**unknown_names(), "group": "iso-zirconhorse"})
        assert real.gist.replace(OTHER, "iso-zirconhorse").replace(f"a1{SECRET}", "…") == absent.gist, (route, name)


def list_bodies(route: str) -> list[object]:
    """The bodies of requests that name things by ids: None is that of the rule."""
    rule = RULES[route]
    named = IDS.intersection(NAME.findall(f"{route} {rule.query} {rule.body} {rule.form}"))
    return [*([None] if named else []), *({"group_id": "{group}", **body} for body in rule.also)]


@pytest.mark.parametrize("route", [route for route in RULES if list_bodies(route)])
async def test_an_id_of_another_group_is_like_an_unknown_one(world: World, route: str) -> None:
    """Also for a caller who may do it in the own group, and also where the group is omitted."""
    rule = RULES[route]
    for body in list_bodies(route):
        # The ids of a body are foreign, and those of its address the caller's own; without a body all are foreign.
        foreign = IDS.intersection(NAME.findall(str(body))) if body is not None else IDS
        own, other = await world.own.names(route, rule, body), await world.other.names(route, rule, body)
        same = {**own, "word": "w", "number": "1"}
        real = {**same, **{name: other[name] for name in foreign if name in other}}
        absent = {**same, **{name: str(uuid4()) for name in foreign}}
        before = await world.stored()
        for name, kind in list_callers(route):
            if not rule.admits(kind.effective):
                continue
            for grouped in (True, False):
                answers = [await world.ask(name, route, names, body=body, grouped=grouped) for names in (real, absent)]
                what = f"{route} by {name} with {body or 'foreign ids'}, group named: {grouped}"
                assert answers[0].gist == answers[1].gist, what
                world.require_silent(answers[0], what)
        assert await world.stored() == before, f"{route} changed something"


@pytest.mark.parametrize("route", [route for route in RULES if not RULES[route].control])
async def test_an_allowed_caller_is_served(world: World, route: str) -> None:
    """The control of the refusals: the same requests, by callers who may. No answer tells of another group."""
    rule = RULES[route]
    if rule.cover is Cover.EVERY:
        callers = ["everywhere in the console" if is_console(route) else "everywhere"]
    elif not rule.needs:
        callers = ["nobody in the console" if is_console(route) else "nobody"]
    else:
        callers = [
            f"served {name}"
            for name, kind in list_callers(route)
            if kind.groups == (OWN,) and Outcome.SERVED in expect(rule, kind)
        ]
    assert callers
    for name in callers:
        for grouped in (True, False) if rule.unnamed and rule.cover is Cover.NAMED else (True,):
            names = await world.served.names(route, rule, fresh=not route.startswith("GET"))
            answer = await world.ask(name, route, names, grouped=grouped)
            what = f"{route} by {name}, group named: {grouped}"
            assert answer.response.status_code in rule.answers, f"{what}: {answer.text}"
            assert answer.outcome is Outcome.SERVED or not rule.needs, f"{what}: {answer.text}"
            if rule.cover is not Cover.EVERY:
                world.require_silent(answer, what)


async def test_the_word_of_the_other_group_is_told_to_those_who_may_read_it(world: World) -> None:
    """The control of the search for it."""
    for route in ("GET /api/v1/quarantine", "GET /api/v1/memories", "GET /api/v1/tombstones", "GET /metrics"):
        answer = await world.ask("everywhere", route, {**world.other.made, "group": OTHER})
        assert SECRET in answer.response.text, route
