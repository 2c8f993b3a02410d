"""One program, four ways to it: the library and the client, each asynchronous and synchronous.

Every method of the memory manager and of the review service is called here on each of them, on real servers.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
import uvicorn

from clearwell import AsyncClient, Client, ContextRequest, NodeOptions, RetrieveOptions, open_memory
from clearwell.adapters.http import create_app
from clearwell.app import Clearwell
from clearwell.errors import Conflict, IdempotencyMismatch, InvalidInput, NotFound
from clearwell.flow.review import ReviewService
from clearwell.ports import MemoryFilter, QuarantineFilter
from clearwell.records import (
    Action,
    Admission,
    AuditFilter,
    DecisionRequest,
    ForgetSelector,
    GroupChange,
    ImportBatch,
    InsightState,
    MemoryState,
    NewMemory,
    Origin,
    Principal,
    SourceSelector,
)
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.vocabulary import IdKind
from tests.insights import put_insight
from tests.path import LONG, OTHER, said
from tests.unit.test_client_surface import WITHOUT_ROUTE, methods

THIRD = "The release of the mobile application is planned for the second Tuesday of every month."
NOWHERE = UUID(int=99)
CALLED: dict[str, set[str]] = {}
"""The methods that were called on each face."""


class Face:
    """A memory whose methods are called by name, and awaited where they are asynchronous."""

    def __init__(self, name: str, memory: Any) -> None:
        self.memory = memory
        self._called = CALLED.setdefault(name, set())

    async def __call__(self, name: str, /, *arguments: object, **named: object) -> Any:
        """Call ``review.…`` or another method."""
        self._called.add(name)
        found = self.memory
        for part in name.split("."):
            found = getattr(found, part)
        return await call(found, *arguments, **named)


async def call(method: Callable[..., Any], *arguments: object, **named: object) -> Any:
    """Call a method. A synchronous one is called in a thread, because the server may run on the loop of the test."""
    if inspect.iscoroutinefunction(inspect.unwrap(method)):
        return await method(*arguments, **named)
    return await asyncio.to_thread(method, *arguments, **named)


@asynccontextmanager
async def listen(clearwell: Clearwell) -> AsyncIterator[str]:
    """The API of this program on a port of this machine."""
    app = create_app(clearwell.settings)
    app.state.clearwell = clearwell
    server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", log_config=None, access_log=False))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@pytest.fixture(params=["library", "client", "sync library", "sync client"])
async def face(request: pytest.FixtureRequest, clearwell: Clearwell, settings: Settings) -> AsyncIterator[Face]:
    if request.param == "library":
        yield Face(request.param, clearwell.memory.acting_as(Principal.local()))
    elif request.param == "sync library":
        with ExitStack() as stack:
            memory = await asyncio.to_thread(stack.enter_context, open_memory(settings))
            try:
                yield Face(request.param, memory)
            finally:
                await asyncio.to_thread(stack.close)
    elif request.param == "client":
        async with listen(clearwell) as url, AsyncClient(url, agent=False) as client:
            yield Face(request.param, client)
    else:
        async with listen(clearwell) as url:
            with Client(url, agent=False) as client:
                yield Face(request.param, client)


async def test_outputs_on_their_way_through_the_ingress_pipeline(face: Face) -> None:
    receipt = await face("capture", said(confidence=0.9), wait=True, idempotency_key="k")
    assert receipt.admission is Admission.ADMITTED
    assert (await face("capture", said(confidence=0.9), idempotency_key="k")).id == receipt.id
    with pytest.raises(IdempotencyMismatch):
        await face("capture", said(OTHER), idempotency_key="k")
    short, blank = await face("capture_many", [said("Too short."), said(" ")], wait=True)
    assert short.admission is Admission.REFUSED
    assert isinstance(blank, InvalidInput)
    checked = await face("check", said("Too short."))
    assert [one.outcome for one in checked.verdicts] == [one.outcome for one in short.verdicts]
    row = await face("quarantine_row", short.id, group="g")
    assert (row.capture.content, row.admission, row.verdicts) == ("Too short.", Admission.REFUSED, short.verdicts)
    rows = await face("quarantine_rows", group="g", where=QuarantineFilter(admission=Admission.REFUSED))
    page = await face("quarantine_page", group="g", where=QuarantineFilter(admission=Admission.REFUSED), limit=1)
    assert (page.rows[0].capture.id, len(page.rows)) == (rows[0].capture.id, 1)
    by_id = await face("quarantine_rows", group="g", where=QuarantineFilter(ids=[short.id, uuid4()]))
    assert [one.capture.id for one in by_id] == [short.id]
    assert [one.capture.id for one in rows] == [short.id]
    counts = await face("ingress_counts", group="g")
    assert sum(one.count for one in counts if (one.check, one.outcome) == ("length", "fail")) == 1
    assert await face("requeue", short.id, group="g") is Admission.REFUSED
    assert (await face("requeue_refused", "confidence", group="g")).rows == 0
    with pytest.raises(NotFound):
        await face("quarantine_row", NOWHERE, group="g")


async def test_a_person_admits_and_removes(face: Face) -> None:
    refused = await face("capture", said("Too short."), wait=True)
    admitted = await face("admit_refused", refused.id, group="g", reason="It is the name of a product.")
    assert admitted.admission is Admission.ADMITTED
    (entry,) = await face("working_memory", group="g")
    assert (entry.id, entry.verified) == (refused.id, False)
    await face("remove_working_entry", entry.id, group="g")
    assert not list(await face("working_memory", group="g"))
    tombstone = (await face("add_tombstone", OTHER, group="g", reason="outdated")).id
    assert (await face("capture", said(OTHER), wait=True)).admission is Admission.REFUSED
    assert [one.id for one in await face("tombstones", group="g")] == [tombstone]
    await face("lift_tombstone", tombstone, group="g")
    assert (await face("tombstones", group="g"))[0].lifted_at is not None


async def test_knowledge_is_found_and_given_to_agents(face: Face) -> None:
    promoted = await face("promote", LONG, group="g", author="Ann", metadata={"source": "minutes"})
    second, blank = await face("promote_many", [NewMemory(content=OTHER), NewMemory(content=" ")], group="g")
    assert second.chunks == 1
    assert isinstance(blank, InvalidInput)
    found = await face("retrieve", LONG, group="g", options=RetrieveOptions(explain=True, sources=["cold"]))
    assert (found.items[0].id, found.items[0].author, found.items[0].verified) == (promoted.id, "Ann", True)
    assert found.items[0].explanation is not None
    assert (await face("memory", promoted.id, group="g")).content == LONG
    origin = await face("memory_origin", promoted.id, group="g")
    assert (origin.memory_id, origin.origin, origin.agents, origin.outputs) == (promoted.id, Origin.TYPED, (), 0)
    built = await face("build_context", ContextRequest(proposal=LONG, max_tokens=500), group="g")
    assert "payment service" in built.messages[-1].content
    for name in ("retrieval_node", "fact_check_node"):
        node = await face(name, group="g", **({"options": NodeOptions(max_results=2)} if name[0] == "r" else {}))
        run = await call(node.run, {"topic": LONG, "claim": LONG, "kept": 1})
        assert run.output["kept"] == 1
        assert len(run.events) >= 3
    checked = await face("fact_check", LONG, group="g")
    assert len(checked.claims) == 1


async def test_events_are_followed(face: Face) -> None:
    events = await face("events", group="g")
    first: Any = await anext(events) if inspect.isasyncgen(events) else await asyncio.to_thread(next, events)
    assert (first.type, first.group_id) == ("subscribed", "g")
    await call(events.aclose if inspect.isasyncgen(events) else events.close)
    seen = list[str]()
    context = await face("on_event", lambda event: seen.append(event.type), group="g")
    async with AsyncExitStack() as stack:
        if isinstance(context, AbstractAsyncContextManager):
            await stack.enter_async_context(context)
        else:
            await call(context.__enter__)
            stack.push_async_callback(call, context.__exit__, None, None, None)
        await face("capture", said(), wait=True)
        async with asyncio.timeout(20):
            while "admitted" not in seen:  # noqa: ASYNC110 - a synchronous callback runs in another thread
                await asyncio.sleep(0.02)
    assert "captured" in seen


async def test_groups_and_agents(face: Face) -> None:
    changed = await face("change_group", GroupChange(system_prompt="Be exact."), group="组/1")
    assert changed.system_prompt == "Be exact."
    assert await face("group", "组/1") == changed
    assert [one.group_id for one in await face("groups")] == ["组/1"]
    agent = await face("put_agent", "a/1", group="组/1", persona="careful")
    assert await face("agent", "a/1", group="组/1") == agent
    assert list(await face("agents", group="组/1")) == [agent]
    await face("remove_agent", "a/1", group="组/1")
    with pytest.raises(NotFound):
        await face("agent", "a/1", group="组/1")


async def test_digests(face: Face) -> None:
    digest_id, status = await face("request_digest", group="g")
    assert await face("request_digest", group="g") == (digest_id, status)
    digest = await face("digest", digest_id, group="g")
    assert (digest.id, digest.status) == (digest_id, status)
    assert [one.id for one in await face("digests", group="g", limit=300)] == [digest_id]


async def test_decisions_on_insights(face: Face, clearwell: Clearwell) -> None:
    first = await put_insight(clearwell, "g", LONG, [said(LONG)])
    others = [await put_insight(clearwell, "g", f"{THIRD} Number {number}.", []) for number in range(4)]
    assert len(await face("review.insights", group="g", state=InsightState.PENDING, limit=250)) == 5
    assert len(await face("review.insights", group="g", limit=2)) == 2
    dossier = await face("review.insight", first, group="g")
    assert dossier.insight.summary == LONG
    assert dossier.insight.sources[0].content == LONG
    promoted = await face("review.promote", first, group="g", version=1, idempotency_key="p")
    assert promoted.status == "promoted"
    assert (await face("review.promote", first, group="g", version=1, idempotency_key="p")).id == promoted.id
    assert (await face("review.snooze", others[0], group="g", days=2)).status == "snoozed"
    assert (await face("review.reject", others[1], group="g", reason="no")).status == "rejected"
    assert (await face("review.merge", others[2], [others[3]], group="g")).status == "merged"
    assert (await face("review.undo_last", others[1], group="g")).undone is Action.REJECT
    again = DecisionRequest(action=Action.REJECT, id=others[1], reason="no")
    assert (await face("review.decide", again, group="g")).status == "rejected"
    done, missing = await face(
        "review.decide_many", [replace_id(again, others[2]), replace_id(again, NOWHERE)], group="g"
    )
    assert done.status == "rejected"
    assert isinstance(missing, NotFound)
    decisions = await face("review.decisions", group="g", limit=500)
    undone = await face("review.undo", decisions[-1].id, group="g", only=Action.PROMOTE)
    assert undone.withdrawn == promoted.id
    with pytest.raises(Conflict):
        await face("review.undo", decisions[-1].id, group="g")
    assert (await face("review.statistics", group="g")).insights["rejected"] == 2
    assert len(await face("review.activity", group="g", days=7)) == 7
    assert (await face("review.counts", group="g")).promoting == 0


async def test_outputs_become_knowledge_and_are_retracted(face: Face) -> None:
    row, entry, third = [(await face("capture", said(text), wait=True)).id for text in (LONG, OTHER, THIRD)]
    promoted = await face("review.promote_row", row, NewMemory(content=""), group="g")
    await face("review.promote_entry", entry, NewMemory(content="", agent_id="a1"), group="g")
    done, invalid = await face("review.promote_outputs", [str(third), "x"], group="g")
    assert done.chunks == 1
    assert isinstance(invalid, Exception)
    origin = await face("review.origin", promoted.id, group="g")
    assert origin.promotions[0].promotion.text.content == LONG
    assert [one.capture.id for one in origin.rows] == [row]
    influence = await face("review.influence", row, group="g")
    assert list(await face("review.find_ids", str(row)[-8:], group="g", kind=IdKind.ROW)) == [row]
    assert [one.promotion.memory_id for one in influence.promotions] == [promoted.id]
    selector = SourceSelector(source=row)
    preview = await face("review.preview_retraction", selector, group="g")
    assert [one.memory_id for one in preview.memories] == [promoted.id]
    result = await face("review.retract", selector, group="g", token=preview.token, reason="wrong")
    assert result.memories == (promoted.id,)
    listed = await face("review.memories", group="g", where=MemoryFilter(state=MemoryState.VERIFIED))
    named = [one.promotion.promotion.memory_id for one in listed][:1]
    by_id = await face("review.memories", group="g", where=MemoryFilter(ids=[*named, uuid4()]))
    assert [one.promotion.promotion.memory_id for one in by_id] == named
    assert done.id in [one.promotion.promotion.memory_id for one in listed]
    withdrawn = await face("review.withdraw", done.id, group="g", reason="outdated")
    assert (withdrawn.status, withdrawn.memories) == ("retracted", (done.id,))
    rows = await face("review.calibration", group="g")
    assert sum(one.entries for one in rows) == 3


async def test_the_audit_is_read_and_verified(face: Face) -> None:
    await face("put_agent", "a1", group="g", persona="p")
    (event,) = await face("audit_events", group="g", where=AuditFilter(action="put agent"))
    assert event.subject == "agent a1"
    head = await face("audit_head", group="g")
    assert head.number >= 1
    report = await face("verify_audit", group="g", head=head)
    assert (report.intact, report.unsealed_events, report.findings) == (True, 0, ())
    assert report.head.number >= head.number


async def test_an_output_is_forgotten(face: Face) -> None:
    row = (await face("capture", said(LONG), wait=True)).id
    selector = ForgetSelector(log_id=row)
    plan = await face("preview_forget", selector, group="g")
    assert (plan.outputs, plan.things) == ((row,), 1)
    assert (plan.copies["working_entries"], plan.counts["working_entries"], plan.copies["jobs"]) == (1, 1, 0)
    receipt = await face("forget", selector, group="g", token=plan.token)
    assert (receipt.outputs, receipt.kind) == ((row,), "quarantine")
    with pytest.raises(NotFound):
        await face("quarantine_row", row, group="g")


async def test_a_group_is_exported_and_imported(face: Face) -> None:
    await face("promote", LONG, group="g")
    exported = await face("export_group", group="g")
    lines = list[str]()
    if inspect.isasyncgen(exported):
        lines += [str(one) async for one in exported]
    else:
        lines += await asyncio.to_thread(list, exported)
    seal = next(number for number, line in enumerate(lines) if '"kind":"seal"' in line)
    batch = ImportBatch(header=lines[0], previous="", lines=tuple(lines[1:seal]), seal=lines[seal])
    imported = await face("import_batch", batch, group="g")
    assert (imported.group_id, imported.next_number, imported.finished) == ("g", 1, False)
    with pytest.raises(InvalidInput):
        await face("import_batch", replace(batch, previous="0"), group="g")


async def test_an_output_without_a_group_is_assigned(face: Face) -> None:
    row = (await face("capture", said(LONG, group_id=None))).id
    assigned = await face("assign", row, group="g")
    again = await face("assign", row, group="g")
    assert (again.id, assigned.group_id) == (assigned.id, "g")
    stored = await face("quarantine_row", assigned.id, group="g")
    assert stored.capture.content == LONG
    assert (await face("quarantine_row", row, group="unassigned")).capture.content == LONG
    (event,) = await face("audit_events", group="g", where=AuditFilter(action="assign"))
    assert event.detail == {"assigned_from": str(row)}
    with pytest.raises(NotFound):
        await face("assign", NOWHERE, group="g")


def replace_id(request: DecisionRequest, insight_id: UUID) -> DecisionRequest:
    return DecisionRequest(action=request.action, id=insight_id, reason=request.reason)


def test_every_method_was_called_above() -> None:
    expected = {name for name in methods(MemoryManager) if name not in WITHOUT_ROUTE}
    expected |= {f"review.{name}" for name in methods(ReviewService) if name not in WITHOUT_ROUTE}
    for face, called in CALLED.items():
        assert called <= expected, f"no methods of the library: {called - expected}"
        assert expected <= called, f"call these in tests/contract/test_faces.py, as {face}: {expected - called}"
