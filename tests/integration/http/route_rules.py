"""Who may use which route, in one table. Every route of the application has a rule here.

``{group}`` is the group that a request is about; the other names in braces are the ids of things in that group
(``tests/integration/http/test_isolation.py`` makes them). A request without a body or form is sent as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fastapi import FastAPI

from clearwell.records import Right

CAPTURE, READ, REVIEW, ADMIN = (frozenset({right}) for right in (Right.CAPTURE, Right.READ, Right.REVIEW, Right.ADMIN))
READERS = REVIEW | ADMIN
"""Who prepares decisions or operates the group."""
ANYBODY: frozenset[Right] = frozenset()
TEXT = "The {word} service of this team keeps its {word} records for {number} days."
GROUP = {"group_id": "{group}"}
TOOL = {"name": "search_memory", "arguments": {"query": "records", "group": "{group}"}}
SEARCH = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": TOOL}


class Cover(StrEnum):
    """Which groups the key must cover."""

    NAMED = "the group that is named, or the only one of the key"
    OWN = "any: the answer is about the groups of the key alone"
    EVERY = "every group"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Who may use a route, and a request that its callers are served.

    ``answers`` are the statuses of a caller who is allowed. ``also`` are other bodies that name things by their ids.
    With ``every`` the caller needs all of ``needs``, otherwise one of them.
    ``unnamed`` says whether the group can be omitted by a key that covers only one. ``control`` is off where serving
    the request would disturb the other tests, and says which test serves it.
    """

    needs: frozenset[Right]
    cover: Cover = Cover.NAMED
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    form: Mapping[str, str] | None = None
    answers: frozenset[int] = frozenset({200})
    also: tuple[Mapping[str, Any], ...] = ()
    unnamed: bool = True
    control: str = ""
    every: bool = False

    def admits(self, rights: frozenset[Right]) -> bool:
        """Whether a caller with these rights has those that the route needs."""
        return self.needs <= rights if self.every else bool(self.needs & rights)


def read(needs: frozenset[Right], **query: str) -> Rule:
    """A reading route whose group is a parameter."""
    return Rule(needs=needs, query={**GROUP, **query})


def at(needs: frozenset[Right], status: int = 200) -> Rule:
    """A route whose group is a part of its address."""
    return Rule(needs=needs, answers=frozenset({status}))


def write(needs: frozenset[Right], status: int = 200, *also: Mapping[str, Any], **body: Any) -> Rule:
    """A route whose group is a field of its body."""
    return Rule(needs=needs, body={**GROUP, **body}, answers=frozenset({status}), also=also)


def submit(needs: frozenset[Right], **form: str) -> Rule:
    """A change by a form of the console, which leads to another page."""
    return Rule(needs=needs, form=form, answers=frozenset({303}))


OPEN = Rule(needs=ANYBODY, cover=Cover.OWN)

RULES: dict[str, Rule] = {
    # agents
    "POST /api/v1/captures": Rule(
        needs=CAPTURE, body={**GROUP, "content": TEXT}, answers=frozenset({201}), unnamed=False
    ),
    "POST /api/v1/ingress/check": Rule(needs=CAPTURE, body={**GROUP, "content": TEXT}, unnamed=False),
    "POST /api/v1/memory/query": write(READ, query="records"),
    "POST /api/v1/memory/fact_check": write(READ, claim=TEXT),
    "POST /api/v1/nodes/fact_check": write(READ, input={"claim": TEXT}),
    "POST /api/v1/nodes/memory_retrieval": write(READ, input={"topic": "records"}),
    "POST /api/v1/context": write(READ, proposal="What do we know about records?"),
    "GET /api/v1/memories/{memory}": read(READ),
    "GET /api/v1/memories/{memory}/promotion": read(READ),
    "GET /api/v1/working/{group}": at(READ),
    "GET /api/v1/events": read(READ | READERS),
    "ANY /mcp": Rule(needs=READ, body=SEARCH, unnamed=False),
    # groups and agents
    "GET /api/v1/groups": Rule(needs=READ | READERS, cover=Cover.OWN),
    "GET /api/v1/groups/{group}": at(READ | ADMIN),
    "GET /api/v1/groups/{group}/agents": at(READ | ADMIN),
    "GET /api/v1/groups/{group}/agents/{agent}": at(READ | ADMIN),
    "PUT /api/v1/groups/{group}": Rule(needs=ADMIN, body={"system_prompt": TEXT}),
    "PUT /api/v1/groups/{group}/agents/{agent}": Rule(needs=ADMIN, body={"persona": TEXT}),
    "DELETE /api/v1/groups/{group}/agents/{agent}": at(ADMIN),
    # reviewers
    "POST /api/v1/memory/ingest": write(REVIEW, 200, {"content": TEXT, "supersedes": "{memory}"}, content=TEXT),
    "GET /api/v1/memories": read(READERS),
    "GET /api/v1/memories/{memory}/origin": read(READERS),
    "POST /api/v1/memories/{memory}/withdraw": write(REVIEW, reason="outdated"),
    "POST /api/v1/memories/retract": write(
        REVIEW, 409, {"source": "{row}"}, {"memory_id": "{memory}"}, memory_id="{memory}", token="x"
    ),
    "GET /api/v1/quarantine": read(READERS),
    "GET /api/v1/quarantine/{row}": read(READERS),
    "GET /api/v1/quarantine/{row}/influence": read(READERS),
    "POST /api/v1/quarantine/{row}/promote": write(REVIEW, 200, {"supersedes": "{memory}"}),
    "POST /api/v1/quarantine/promote": write(REVIEW, ids=["{row}"]),
    "POST /api/v1/quarantine/{refused}/admit": write(REVIEW),
    "POST /api/v1/working/{group}/{row}/promote": Rule(needs=REVIEW, body={}),
    "DELETE /api/v1/working/{group}/{row}": at(READERS),
    "GET /api/v1/ids": read(READERS, kind="row", ending="{row}"),
    "GET /api/v1/insights": read(READERS),
    "GET /api/v1/insights/{insight}": read(READERS),
    "POST /api/v1/insights/{insight}/promote": write(REVIEW, 200, {"supersedes": "{memory}"}),
    "POST /api/v1/insights/{insight}/reject": write(REVIEW, reason="outdated"),
    "POST /api/v1/insights/{insight}/merge": write(REVIEW, 200, **{"with": ["{insight_2}"]}),
    "POST /api/v1/insights/{insight}/snooze": write(REVIEW),
    "POST /api/v1/insights/{insight}/undo": write(REVIEW),
    "POST /api/v1/insights/decide": write(REVIEW, decisions=[{"id": "{insight}", "action": "snooze"}]),
    "GET /api/v1/decisions": read(READERS),
    "POST /api/v1/decisions/{decision}/undo": write(REVIEW),
    "GET /api/v1/review/calibration": read(READERS),
    "GET /api/v1/review/activity": read(READERS),
    "GET /api/v1/review/counts": read(READERS),
    "GET /api/v1/review/numbers": read(READERS),
    "GET /api/v1/tombstones": read(READERS),
    "POST /api/v1/tombstones": write(READERS, 201, value=TEXT, reason="outdated"),
    "POST /api/v1/tombstones/{tombstone}/lift": write(READERS),
    "POST /api/v1/digests": write(READERS, 202),
    "GET /api/v1/digests": read(READERS),
    "GET /api/v1/digests/{digest}": read(READERS),
    # operators
    "GET /api/v1/ingress/counts": read(READERS),
    "POST /api/v1/quarantine/{refused}/requeue": write(ADMIN, 202),
    "POST /api/v1/quarantine/requeue": write(ADMIN, 202, refused_by="confidence"),
    "POST /api/v1/quarantine/{unassigned}/assign": Rule(
        needs=ADMIN, cover=Cover.EVERY, body=GROUP, answers=frozenset({202})
    ),
    "GET /api/v1/audit": read(READERS),
    "GET /api/v1/audit/head": read(READERS),
    "POST /api/v1/audit/verify": write(READERS),
    "POST /api/v1/forget/preview": write(ADMIN, 200, {"memory_id": "{memory}"}, log_id="{row}"),
    "POST /api/v1/forget": write(ADMIN, 409, {"memory_id": "{memory}", "token": "x"}, log_id="{row}", token="x"),
    "GET /api/v1/keys": Rule(needs=ADMIN, cover=Cover.EVERY),
    "POST /api/v1/keys": Rule(
        needs=ADMIN, cover=Cover.EVERY, body={"scopes": ["read"], "groups": ["{group}"]}, answers=frozenset({201})
    ),
    "POST /api/v1/keys/{key}/revoke": Rule(needs=ADMIN, cover=Cover.EVERY, body={}),
    "GET /api/v1/settings": Rule(needs=ADMIN, cover=Cover.EVERY),
    "POST /api/v1/demo": Rule(
        needs=ADMIN, cover=Cover.EVERY, body={}, answers=frozenset({202}), control="tests/browser/test_overview.py"
    ),
    "GET /api/v1/export": Rule(needs=READERS, every=True, query=GROUP),
    "POST /api/v1/import": Rule(
        needs=READERS,
        every=True,
        body={**GROUP, "header": "{}", "lines": ["{}"], "seal": "{}"},
        control="a batch is signed for its group: tests/integration/test_archive.py",
    ),
    "GET /metrics": Rule(needs=ADMIN, cover=Cover.EVERY),
    # anybody
    "GET /healthz": OPEN,
    "GET /readyz": OPEN,
    "GET /openapi.json": OPEN,
    "GET /docs": OPEN,
    "GET /static/{wanted}/{name}": Rule(needs=ANYBODY, cover=Cover.OWN, answers=frozenset({404})),
    "GET /sign-in": OPEN,
    "POST /sign-in": Rule(needs=ANYBODY, cover=Cover.OWN, form={"key": "cw_wrong"}, answers=frozenset({403})),
    "POST /sign-out": Rule(needs=ANYBODY, cover=Cover.OWN, form={}, answers=frozenset({303})),
    "POST /preferences": Rule(needs=ANYBODY, cover=Cover.OWN, form={"theme": "dark"}, answers=frozenset({303})),
    # the console: a person is signed in
    "GET /": Rule(needs=READERS, cover=Cover.OWN, answers=frozenset({303})),
    "GET /groups": Rule(needs=READERS, cover=Cover.OWN),
    "GET /events": read(READ | READERS),
    "POST /demo": Rule(
        needs=ADMIN, cover=Cover.EVERY, form={}, answers=frozenset({303}), control="tests/browser/test_overview.py"
    ),
    "GET /g/{group}/agents": at(READERS),
    "POST /g/{group}/agents/prompt": submit(ADMIN, system_prompt=TEXT),
    "POST /g/{group}/agents/schedule": submit(ADMIN),
    "POST /g/{group}/agents/persona": submit(ADMIN, agent="{agent}", persona=TEXT),
    "POST /g/{group}/agents/persona/remove": submit(ADMIN, agent="{agent}"),
    "POST /g/{group}/agents/keys": Rule(
        needs=ADMIN, cover=Cover.EVERY, form={"scope_read": "1", "groups": "{group}", "name": "new"}
    ),
    "POST /g/{group}/agents/keys/{key}/revoke": Rule(needs=ADMIN, cover=Cover.EVERY, form={}, answers=frozenset({303})),
    "GET /g/{group}/audit": at(READERS),
    "POST /g/{group}/audit/verify": Rule(needs=READERS, form={}),
    "GET /g/{group}/forget": at(ADMIN),
    "POST /g/{group}/forget/preview": Rule(needs=ADMIN, form={"kind": "quarantine", "value": "{row}"}),
    "POST /g/{group}/forget": Rule(
        needs=ADMIN,
        form={"kind": "quarantine", "value": "{row}", "token": "x", "things": "1", "expected": "1"},
        answers=frozenset({409}),
    ),
    "GET /g/{group}/chat": at(READERS),
    "GET /g/{group}/chat/{row}/influence": at(READERS),
    "GET /g/{group}/chat/{row}/statements": at(READERS),
    "GET /g/{group}/chat/{row}/promote": at(READERS),
    "POST /g/{group}/chat/{row}/promote": submit(REVIEW),
    "GET /g/{group}/overview": at(READERS),
    "GET /g/{group}/agents/reliability": at(READERS),
    "GET /g/{group}/overview/activity": at(READERS),
    "GET /g/{group}/overview/waiting": at(READERS),
    "GET /g/{group}/playground": Rule(needs=READ, query={"q": "records"}),
    "GET /g/{group}/review": at(READERS),
    "GET /g/{group}/review/source/{row}": at(READERS),
    "GET /g/{group}/review/{insight}/changes": Rule(needs=READERS, query={"version": "1"}),
    "POST /g/{group}/review/digest": submit(READERS),
    "POST /g/{group}/review/undo": submit(REVIEW, decision="{decision}"),
    "POST /g/{group}/review/bulk": submit(REVIEW, id="{insight}", action="snooze", confirmed="1"),
    "POST /g/{group}/review/{insight}": submit(REVIEW, action="snooze"),
    "GET /g/{group}/quarantine": at(READERS),
    "GET /g/{group}/quarantine/{row}": at(READERS),
    "POST /g/{group}/quarantine/{refused}/admit": submit(REVIEW),
    "POST /g/{group}/quarantine/{refused}/requeue": submit(ADMIN),
    "POST /g/{group}/quarantine/{row}/promote": submit(REVIEW),
    "GET /g/{group}/memories": at(READERS),
    "GET /g/{group}/memories/{memory}": at(READERS),
    "POST /g/{group}/memories/{memory}/withdraw": submit(REVIEW, reason="outdated"),
    "POST /g/{group}/memories/{memory}/replace": submit(REVIEW, text=TEXT),
    "POST /g/{group}/memories/{memory}/undo": submit(REVIEW, decision="{decision}"),
    "GET /g/{group}/working": at(READ),
    "POST /g/{group}/working/{row}/promote": submit(REVIEW),
    "POST /g/{group}/working/{row}/undo": submit(REVIEW, decision="{decision}"),
    "POST /g/{group}/working/{row}/remove": submit(READERS),
}


def is_console(route: str) -> bool:
    """Whether a person is known by a session and not by a key."""
    path = route.partition(" ")[2]
    return not path.startswith(("/api/", "/mcp", "/metrics"))


def list_routes(app: FastAPI) -> set[str]:
    """Every route of the application, those outside of OpenAPI included, with their parameters unnamed."""
    return {
        f"{method} {unname(route.path)}"
        for route in _walk(app.routes)
        for method in (set(getattr(route, "methods", None) or {"ANY"}) - {"HEAD"})
    }


def unname(path: str) -> str:
    """A path whose parameters have no names: ``/memories/{}``."""
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def _walk(routes: Any) -> Iterator[Any]:
    for route in routes:
        included = getattr(route, "original_router", None) or getattr(route, "app", None)
        inner = getattr(included, "routes", None)
        if inner:
            yield from _walk(inner)
        else:
            yield route
