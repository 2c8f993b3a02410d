"""The client on twins: the records and errors of the library, idempotency keys, and rights."""

from pathlib import Path as Folder

import httpx
import pytest
from httpx import ASGITransport

from clearwell import AsyncClient, ContextRequest, FactCheckOptions, NewCapture, NodeOptions, RetrieveOptions
from clearwell.adapters.http.app import create_app
from clearwell.errors import IdempotencyMismatch, InvalidInput, NotAllowed, Unavailable
from clearwell.records import NodeEvent
from clearwell.settings import Settings
from clearwell.vocabulary import Admission, EventType, Source
from tests.path import LONG, OTHER, PERSON, Path, said

URL = "http://127.0.0.1:8080"


def connect(path: Path, *, agent: bool = True) -> AsyncClient:
    """A client of the program on these twins, with the token of the person at the machine."""
    app = create_app(path.settings)
    app.state.clearwell = path.program
    path.program.keys.trust("token", PERSON)
    return AsyncClient(URL, "token", agent=agent, transport=ASGITransport(app))


async def test_the_client_answers_with_the_records_of_the_library() -> None:
    path = Path()
    async with connect(path, agent=False) as client:
        receipt = await client.capture(said(confidence=0.9), wait=True)
        assert receipt.admission is Admission.ADMITTED
        options = RetrieveOptions(explain=True, sources=[Source.HOT])
        there = await client.retrieve(LONG, group="g", options=options)
        here = await path.memory.retrieve(LONG, group="g", options=options)
        assert there == here
        assert [item.id for item in there.items] == [receipt.id]
        promoted = await client.promote(OTHER, group="g", author="Ann", metadata={"source": "minutes"})
        assert promoted.chunks == 1
        request = ContextRequest(proposal="How long do backups take?", max_tokens=600)
        assert await client.build_context(request, group="g") == await path.memory.build_context(request, group="g")
        assert await client.check(said("Too short.")) == await path.memory.check(said("Too short."))
        (entry,) = await client.working_memory(group="g")
        (stored,) = await path.memory.working_memory(group="g")
        assert (entry.id, entry.content, entry.expires_at) == (stored.id, stored.content, stored.expires_at)
        assert (entry.embedding, entry.statements) == (None, ()), "vectors stay on the server"


async def test_a_verdict_over_http_explains_itself_in_both_languages() -> None:
    path = Path()
    async with connect(path) as client:
        receipt = await client.capture(said("Too short."), wait=True)
        (failed,) = [verdict for verdict in receipt.verdicts if verdict.outcome == "fail"]
        row = await path.memory.quarantine_row(receipt.id, group="g")
        (stored,) = [verdict for verdict in row.verdicts if verdict.outcome == "fail"]
        assert failed == stored
        assert failed.explanation("zh") == stored.explanation("zh")


async def test_a_batch_has_a_receipt_or_an_error_in_each_place() -> None:
    async with connect(Path()) as client:
        receipt, error = await client.capture_many([said(), said(" ")])
        assert not isinstance(receipt, Exception)
        assert isinstance(error, InvalidInput)
        assert error.field == "content"


async def test_a_write_with_the_same_key_is_done_once() -> None:
    path = Path()
    async with connect(path) as client:
        first = await client.capture(said(), idempotency_key="k1")
        again = await client.capture(said(), idempotency_key="k1")
        assert first.id == again.id
        with pytest.raises(IdempotencyMismatch):
            await client.capture(said(OTHER), idempotency_key="k1")
        assert len(path.quarantine.rows["g"]) == 1


async def test_every_write_has_a_key_and_no_read_has_one() -> None:
    requests: list[httpx.Request] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(422, json={"type": "x", "title": "t", "status": 422, "detail": "d"})

    async with AsyncClient(URL, transport=httpx.MockTransport(answer)) as client:
        for call in (client.capture(said()), client.capture(said()), client.retrieve("q", group="g")):
            with pytest.raises(InvalidInput):
                await call
    keys = [request.headers.get("Idempotency-Key") for request in requests]
    assert None not in keys[:2]
    assert keys[0] != keys[1]
    assert keys[2] is None


async def test_a_client_acts_for_an_agent_unless_told_otherwise() -> None:
    path = Path()
    async with connect(path) as client:
        with pytest.raises(NotAllowed, match="agent=False") as refused:
            await client.promote(LONG, group="g")
        assert refused.value.code == "right_missing"
    async with connect(path, agent=False) as client:
        assert (await client.promote(LONG, group="g")).chunks == 1


async def test_the_node_keeps_the_state_and_adds_the_history() -> None:
    path, seen = Path(), list[NodeEvent]()
    await path.memory.capture(said(), wait=True)
    state = {"topic": LONG, "messages": [object()]}
    async with connect(path) as client:
        node = client.retrieval_node(group="g", options=NodeOptions(max_results=3), on_event=seen.append)
        output = await node(state)
        local = await path.memory.retrieval_node(group="g", options=NodeOptions(max_results=3))(state)
        assert output == local
        assert output["messages"] is state["messages"]
        assert [event.type for event in seen].count(EventType.MEMORY_RETRIEVED) == 1
        (nothing,) = (await client.retrieval_node(group="g").run({}),)
        assert nothing.output["history_context"] == ""
        assert EventType.MEMORY_RETRIEVAL_ERROR in [event.type for event in nothing.events]


async def test_a_node_without_its_server_has_an_empty_history(free_port: int) -> None:
    async with AsyncClient(f"http://127.0.0.1:{free_port}", retries=0) as client:
        run = await client.retrieval_node(group="g").run({"topic": LONG})
        assert run.output == {"topic": LONG, "history_context": ""}
        assert [event.data.get("code") for event in run.events if event.type is EventType.MEMORY_RETRIEVAL_ERROR] == [
            "client_no_answer"
        ]


async def test_a_server_that_is_not_there_is_told_with_what_to_do(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}"
    async with AsyncClient(url, retries=1) as client:
        with pytest.raises(Unavailable, match=f"{url}.*clearwell serve"):
            await client.working_memory(group="g")


async def test_what_json_cannot_hold_is_refused_as_in_the_library() -> None:
    path = Path()
    new = NewCapture(content=LONG, group_id="g", metadata={"tool": object()})  # type: ignore[dict-item]
    async with connect(path) as client:
        with pytest.raises(InvalidInput) as there:
            await client.capture(new)
    with pytest.raises(InvalidInput) as here:
        await path.memory.capture(new)
    assert there.value.code == here.value.code


async def test_without_an_address_the_settings_name_the_server(free_port: int, tmp_path: Folder) -> None:
    settings = Settings(port=free_port, data_dir=tmp_path)
    async with AsyncClient(settings=settings, retries=0) as client:
        with pytest.raises(Unavailable, match=f"http://127.0.0.1:{free_port} "):
            await client.working_memory(group="g")


async def test_a_fact_check_over_http_is_the_record_of_the_library() -> None:
    path = Path()
    await path.memory.promote(OTHER, group="g")
    claims = [OTHER, OTHER.replace("eleven", "nineteen"), LONG]
    options = FactCheckOptions(session_id="s7", max_results=4)
    async with connect(path) as client:
        there = await client.fact_check(claims, group="g", options=options, language="zh")
        with pytest.raises(InvalidInput):
            await client.fact_check(" ", group="g")
    assert there == await path.memory.fact_check(claims, group="g", options=options, language="zh")
    assert [claim.rating.value for claim in there.claims] == ["supported", "contradicted", "unknown"]


async def test_the_fact_check_node_keeps_the_state_and_tells_its_events() -> None:
    path = Path()
    await path.memory.promote(OTHER, group="g")
    state: dict[str, object] = {"claim": (OTHER, 5), "session_id": "s7", "secret": object()}
    heard: list[NodeEvent] = []
    async with connect(path) as client:
        run = await client.fact_check_node(group="g", on_event=heard.append).run(state)
    here = await path.memory.fact_check_node(group="g").run(state)
    assert dict(run.output) == dict(here.output)
    assert tuple(heard) == run.events == here.events


async def test_a_server_that_is_down_makes_the_rating_unknown() -> None:
    client = AsyncClient("http://127.0.0.1:1", retries=0)
    async with client:
        run = await client.fact_check_node(group="g").run({"claim": OTHER})
    assert run.output["fact_check_result"] == {"rating": "unknown", "claims": []}
    assert [event.type for event in run.events][1] is EventType.FACT_CHECK_ERROR
