"""The middleware: what nodes read, what is captured of them, and that a memory never breaks an agent."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from clearwell.errors import ClearwellError, NotAllowed, Unavailable
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.context.retrieval_node import MemoryRetrievalNode, NodeOptions
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.messages import Language
from clearwell.middleware import AgentMemory, HookPolicy, Injection, MemoryMiddleware, Node, Session
from clearwell.middleware.nodes import format_output, make_capture
from clearwell.records import BuiltContext, Capture, CaptureReceipt, NewCapture, Retrieval
from clearwell.settings import Settings
from clearwell.testing import CountedIds
from tests.path import AGENT, LONG, OTHER, Path

SESSION = Session("s1", group_id="g", state={"topic": "payment service moved to the new cluster"})
AUDITOR = Node("auditor", agent_id="risk-auditor")


def middleware_on(memory: AgentMemory, path: Path, **options: Any) -> MemoryMiddleware:
    return MemoryMiddleware(memory, settings=path.settings, clock=path.clock, **options)


def agent_middleware(path: Path, **options: Any) -> MemoryMiddleware:
    return middleware_on(path.memory.acting_as(AGENT), path, **options)


def stored(path: Path, group: str = "g") -> list[Capture]:
    """What is in quarantine, in the order in which it was captured."""
    return [row.capture for _, row in sorted(path.quarantine.rows[group].items())]


class Faulty:
    """A memory that fails in the way that a test wants, and else is the memory of the path."""

    def __init__(self, path: Path, error: BaseException | None = None) -> None:
        self.memory = path.memory.acting_as(AGENT)
        self.error = error
        self.free = asyncio.Event()
        self.free.set()
        self.refuses: set[str] = set()
        self.batches: list[int] = []

    @property
    def destination(self) -> str:
        return self.memory.destination

    async def answer(self) -> None:
        await self.free.wait()
        if self.error is not None:
            raise self.error

    async def capture(self, new: NewCapture, *, wait: bool = False) -> CaptureReceipt:
        await self.answer()
        return await self.memory.capture(new, wait=wait)

    async def capture_many(
        self, news: Sequence[NewCapture], *, wait: bool = False
    ) -> Sequence[CaptureReceipt | ClearwellError]:
        await self.answer()
        self.batches.append(len(news))
        if len(news) > 1 and any(new.content in self.refuses for new in news):
            raise ValueError("a batch with a capture that cannot be handled")
        if news[0].content in self.refuses:
            raise ValueError("a capture that cannot be handled")
        return await self.memory.capture_many(news, wait=wait)

    async def retrieve(self, query: str, *, group: str, options: RetrieveOptions | None = None) -> Retrieval:
        await self.answer()
        return await self.memory.retrieve(query, group=group, options=options)

    async def build_context(self, request: ContextRequest, *, group: str) -> BuiltContext:
        await self.answer()
        return await self.memory.build_context(request, group=group)

    def retrieval_node(
        self, *, group: str, options: NodeOptions | None = None, language: Language = "en"
    ) -> MemoryRetrievalNode:
        if self.error is not None:
            raise self.error
        return self.memory.retrieval_node(group=group, options=options, language=language)


class Forgetful(Faulty):
    """A memory whose first answers are lost after the captures were stored."""

    async def capture_many(
        self, news: Sequence[NewCapture], *, wait: bool = False
    ) -> Sequence[CaptureReceipt | ClearwellError]:
        answer = await super().capture_many(news, wait=wait)
        if len(self.batches) < 3:
            raise TimeoutError
        return answer


# before


async def test_an_agent_reads_the_groups_memory_and_its_own() -> None:
    path = Path()
    of_group = await path.memory.promote(LONG, group="g")
    own = await path.memory.promote(OTHER, group="g", agent_id="risk-auditor")
    context = await agent_middleware(path).before_node_execution(SESSION, AUDITOR)
    assert {of_group.id, own.id} == set(context.ids)
    assert f'<memory id="{of_group.id}">{LONG}</memory>' in context.text
    assert f'<memory id="{own.id}">{OTHER}</memory>' in context.text
    assert [message.role for message in context.messages] == ["system", "user"]
    assert LONG not in context.messages[0].content, "memories are data, not instructions"
    assert context.problem is None


async def test_a_long_proposal_reaches_the_agent_whole() -> None:
    proposal = "The payment service is to be moved. " * 100
    context = await agent_middleware(Path()).before_node_execution(SESSION, Node("n", input=proposal))
    assert proposal.strip() in context.text


async def test_a_memory_retrieval_node_gets_the_state_with_its_history() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    context = await agent_middleware(path).before_node_execution(SESSION, {"id": "m", "type": "memory_retrieval"})
    assert context.text.startswith("## 历史上下文 / History\n1. [✅ Verified")
    assert context.state == {**SESSION.state, "history_context": context.text}
    assert len(context.ids) == 1


async def test_evidence_for_a_claim_is_verified_first() -> None:
    path = Path()
    hot = "The payment service was moved to the new cluster on Monday, said the operator of the night shift."
    agent = path.memory.acting_as(AGENT)
    await agent.capture(NewCapture(content=hot, group_id="g"), wait=True)
    await path.memory.promote(OTHER, group="g")
    node = Node("check", type="fact_check", input={"claim": hot, "topic": "something else"})
    context = await agent_middleware(path).before_node_execution(SESSION, node)
    assert [item.verified for item in context.items] == [True, False]
    assert context.text.index(OTHER) < context.text.index(hot)


async def test_policies_decide_for_other_types() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    middleware = agent_middleware(path, policies={"planner": HookPolicy(inject=Injection.HISTORY, capture=False)})
    assert (await middleware.before_node_execution(SESSION, Node("t", type="tool"))).text == ""
    assert (await middleware.before_node_execution(SESSION, Node("c", type="chair"))).messages
    assert (await middleware.before_node_execution(SESSION, Node("p", type="planner"))).text.startswith("## ")
    await middleware.after_node_execution(SESSION, Node("p", type="planner"), LONG)
    await middleware.after_node_execution(SESSION, Node("t", type="tool"), OTHER)
    await middleware.aclose()
    assert [(row.node_type, row.content) for row in stored(path)] == [("tool", OTHER)]


@pytest.mark.parametrize("node_type", ["agent", "fact_check", "memory_retrieval"])
@pytest.mark.parametrize(
    "error",
    [Unavailable("middleware_no_answer", reason="x"), NotAllowed("not_allowed"), OSError(), TimeoutError(), KeyError()],
)
async def test_an_error_of_the_memory_gives_an_empty_context_with_the_reason(node_type: str, error: Exception) -> None:
    path = Path()
    middleware = middleware_on(Faulty(path, error), path, language="zh")
    context = await middleware.before_node_execution(SESSION, Node("n", type=node_type))
    assert (context.text, context.messages, context.items) == ("", (), ())
    assert context.problem is not None
    assert context.problem.code
    assert str(context.problem)


async def test_a_memory_that_hangs_delays_one_node_for_the_time_limit_only() -> None:
    path = Path(settings=Settings(middleware_seconds=0.05))
    memory = Faulty(path)
    memory.free.clear()
    middleware, clock = middleware_on(memory, path), asyncio.get_running_loop().time
    started = clock()
    contexts = [await middleware.before_node_execution(SESSION, AUDITOR) for _ in range(50)]
    assert clock() - started < 1, "the others are not even asked"
    assert {context.problem.code for context in contexts if context.problem} == {"middleware_no_answer"}
    assert len([context for context in contexts if context.problem]) == 50


@pytest.mark.parametrize(
    ("session", "code"), [(Session("s1"), "middleware_no_group"), (Session("s1", group_id="g"), "node_no_query")]
)
async def test_without_a_group_or_a_question_the_reason_is_given(session: Session, code: str) -> None:
    context = await agent_middleware(Path()).before_node_execution(session, AUDITOR)
    assert context.problem is not None
    assert context.problem.code == code


async def test_what_was_prefetched_is_read_without_waiting_for_the_memory() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    memory = Faulty(path)
    middleware = middleware_on(memory, path)
    middleware.prefetch(SESSION, AUDITOR)
    await asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == "prefetched context"])
    memory.free.clear()
    async with asyncio.timeout(1):
        context = await middleware.before_node_execution(SESSION, AUDITOR)
    assert LONG in context.text
    memory.free.set()
    middleware.prefetch(SESSION, AUDITOR)
    other = Node("auditor", agent_id="risk-auditor", input="another question about invoices")
    assert "another question" in (await middleware.before_node_execution(SESSION, other)).text
    await middleware.aclose()


async def test_what_was_prefetched_from_a_dead_memory_has_its_problem() -> None:
    path = Path()
    middleware = middleware_on(Faulty(path, OSError()), path)
    middleware.prefetch(SESSION, Node("t", type="tool"))
    for number in range(150):
        middleware.prefetch(SESSION, Node(f"n{number}"))
    contexts = [await middleware.before_node_execution(SESSION, Node(f"n{number}")) for number in range(150)]
    assert all(context.problem is not None for context in contexts)
    await middleware.aclose()


async def test_a_cancellation_before_a_node_is_not_swallowed() -> None:
    path = Path()
    memory = Faulty(path)
    memory.free.clear()
    task = asyncio.create_task(middleware_on(memory, path).before_node_execution(SESSION, AUDITOR))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# after


async def test_an_output_is_captured_as_the_protocols_map_says() -> None:
    path = Path()
    output = {
        "content": LONG,
        "group_id": "other",
        "metadata": {"tokens": 12, "when": path.clock.now()},
        "confidence": 0.9,
        "agent_id": "stated",
    }
    async with middleware_on(path.memory, path) as middleware:
        assert await middleware.after_node_execution(SESSION, AUDITOR, output) is output
    (row,) = stored(path, "other")
    assert (row.content, row.session_id, row.node_id, row.agent_id) == (LONG, "s1", "auditor", "stated")
    assert row.metadata == {"tokens": 12, "when": str(path.clock.now()), "confidence": 0.9}
    assert (row.occurred_at, row.partial) == (path.clock.now(), False)
    assert middleware.status().delivered == 1


@pytest.mark.parametrize("output", [None, "", "  ", {}, {"content": ""}, {"content": 5}, {"other": LONG}, [LONG], 5])
async def test_output_without_content_is_passed_through(output: object) -> None:
    path = Path()
    async with agent_middleware(path) as middleware:
        assert await middleware.after_node_execution(SESSION, AUDITOR, output) is output
    assert path.quarantine.rows["g"] == {}


@pytest.mark.parametrize(
    ("output", "session", "default", "expected"),
    [
        ({"group_id": "a"}, "b", "c", "a"),
        ({"project_id": "a"}, "b", "c", "a"),
        ({"group_id": ""}, "b", "c", "b"),
        ({}, None, "c", "c"),
        ({}, None, None, "unassigned"),
    ],
)
async def test_the_group_is_that_of_the_output_the_session_or_the_middleware(
    output: Mapping[str, object], session: str | None, default: str | None, expected: str
) -> None:
    path = Path()
    async with middleware_on(path.memory, path, group=default) as middleware:
        await middleware.after_node_execution({"id": "s1", "group_id": session}, AUDITOR, {"content": LONG, **output})
    assert len(path.quarantine.rows[expected]) == 1


async def test_what_memory_retrieval_returns_is_not_captured_again() -> None:
    path = Path()
    async with agent_middleware(path) as middleware:
        await middleware.after_node_execution(SESSION, Node("m", type="memory_retrieval"), {"content": LONG})
    assert path.quarantine.rows["g"] == {}


async def test_captures_keep_their_order_and_the_time_at_which_they_were_said() -> None:
    path = Path()
    memory = Faulty(path, Unavailable("middleware_no_answer", reason="x"))
    middleware = middleware_on(memory, path)
    said = path.clock.now()
    for number in range(250):
        await middleware.after_node_execution(SESSION, AUDITOR, f"{LONG} {number}")
    assert not await middleware.flush()
    status = middleware.status()
    assert (status.waiting, status.problem, status.failing_since) == (250, "middleware_no_answer", said)
    assert status.waiting_bytes > 250 * len(LONG)
    memory.error = None
    assert await middleware.flush()
    assert [row.content for row in stored(path)] == [f"{LONG} {number}" for number in range(250)]
    assert {row.occurred_at for row in stored(path)} == {said}
    assert memory.batches == [100, 100, 50]
    assert middleware.status().problem is None
    await middleware.aclose()


async def test_a_refused_capture_does_not_hold_up_the_others() -> None:
    path = Path()
    async with agent_middleware(path) as middleware:
        for content, group in ((LONG, "g"), ("\x00", "g"), (OTHER, "not mine"), (OTHER, "g")):
            await middleware.after_node_execution(SESSION, AUDITOR, {"content": content, "group_id": group})
        assert await middleware.flush()
    assert [row.content for row in stored(path)] == [LONG, OTHER]
    assert (middleware.status().delivered, middleware.status().refused) == (2, 2)


async def test_a_capture_that_breaks_its_batch_is_set_aside_after_some_attempts() -> None:
    path = Path()
    memory = Faulty(path)
    memory.refuses = {"broken"}
    async with middleware_on(memory, path) as middleware:
        for content in (LONG, "broken", OTHER):
            await middleware.after_node_execution(SESSION, AUDITOR, content)
        with capture_logs() as logs:
            while not await middleware.flush():
                pass
    failures = [entry["exc_info"] for entry in logs if entry["event"] == "delivery failed"]
    assert {str(error) for error in failures} == {
        "a batch with a capture that cannot be handled",
        "a capture that cannot be handled",
    }
    assert all(error.__traceback__ is not None for error in failures)
    assert [row.content for row in stored(path)] == [LONG, OTHER]
    assert middleware.status().refused == 1


async def test_a_memory_that_fails_for_unknown_reasons_gets_everything_later() -> None:
    path = Path()
    memory = Faulty(path, ValueError("an error of the server"))
    middleware = middleware_on(memory, path)
    for number in range(4):
        await middleware.after_node_execution(SESSION, AUDITOR, f"{LONG} {number}")
    with capture_logs() as logs:
        for _ in range(20):
            assert not await middleware.flush()
    failures = [entry["exc_info"] for entry in logs if entry["event"] == "delivery failed"]
    assert len(failures) >= 20
    assert set(failures) == {memory.error}
    assert (middleware.status().refused, middleware.status().problem) == (0, "ValueError")
    memory.error = None
    while not await middleware.flush():
        pass
    assert [row.content for row in stored(path)] == [f"{LONG} {number}" for number in range(4)]
    await middleware.aclose()


async def test_an_outage_is_logged_once_and_without_a_traceback() -> None:
    path = Path()
    middleware = middleware_on(Faulty(path, ConnectionResetError()), path)
    middleware.capture(SESSION, AUDITOR, LONG)
    with capture_logs() as logs:
        for _ in range(3):
            assert not await middleware.flush()
    assert [(entry["event"], "exc_info" in entry) for entry in logs] == [("captures wait for the memory", False)]
    await middleware.aclose()


async def test_a_capture_whose_key_is_known_with_another_hash_counts_as_delivered() -> None:
    path = Path()
    agent = path.memory.acting_as(AGENT)
    ids = CountedIds()
    key = str(ids.new())
    await agent.capture(NewCapture(content=LONG, group_id="g", idempotency_key=key))
    middleware = middleware_on(agent, path, ids=CountedIds())
    middleware.capture(SESSION, AUDITOR, f"{LONG}, hashed in another way")
    middleware.capture(SESSION, AUDITOR, OTHER)
    assert await middleware.flush()
    assert [row.content for row in stored(path)] == [LONG, OTHER]
    assert (middleware.status().delivered, middleware.status().refused) == (2, 0)
    await middleware.aclose()


async def test_a_lost_answer_does_not_store_an_output_twice() -> None:
    path = Path()
    async with middleware_on(Forgetful(path), path) as middleware:
        await middleware.after_node_execution(SESSION, AUDITOR, LONG)
        await middleware.after_node_execution(SESSION, AUDITOR, OTHER)
        while not await middleware.flush():
            pass
    assert [row.content for row in stored(path)] == [LONG, OTHER]


async def test_a_full_backlog_drops_the_oldest() -> None:
    path = Path(settings=Settings(spool_max_bytes=2048))
    memory = Faulty(path, OSError())
    middleware = middleware_on(memory, path)
    for number in range(10):
        await middleware.after_node_execution(SESSION, AUDITOR, f"{LONG} {number}")
    status = middleware.status()
    assert status.waiting + status.dropped == 10
    assert 0 < status.waiting < 10
    memory.error = None
    assert await middleware.flush()
    assert stored(path)[-1].content == f"{LONG} 9"
    await middleware.aclose()


# the body of a node


async def test_a_run_reads_before_and_captures_after() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    async with agent_middleware(path) as middleware:
        async with middleware.run(SESSION, AUDITOR) as run:
            assert LONG in run.context.text
            run.finish({"content": OTHER})
        async with middleware.run(SESSION, AUDITOR):
            pass
    assert [(row.content, row.partial) for row in stored(path)] == [(OTHER, False)]


async def test_a_failed_node_is_captured_as_partial() -> None:
    path = Path()
    async with agent_middleware(path) as middleware:
        with pytest.raises(ZeroDivisionError):
            async with middleware.run(SESSION, AUDITOR) as run:
                run.add("The first half of the report ")
                run.add("is here.")
                raise ZeroDivisionError("with a secret")
    (row,) = stored(path)
    assert (row.content, row.partial) == ("The first half of the report is here.", True)
    started = {"started_at": path.clock.now().isoformat()}
    assert row.metadata == {"partial_reason": "failed: ZeroDivisionError", "run": started}


async def test_what_a_node_was_given_is_captured_with_its_output() -> None:
    path = Path()
    memory = await path.memory.promote(LONG, group="g")
    began = path.clock.now()
    async with agent_middleware(path) as middleware:
        async with middleware.run(SESSION, Node("auditor", agent_id="auditor", input=LONG)) as run:
            path.clock.forward(timedelta(seconds=7))
            run.finish({"content": OTHER, "metadata": {"confidence": 0.9}})
        await middleware.after_node_execution(SESSION, Node("auditor", agent_id="auditor"), LONG)
    first, second = stored(path)
    assert first.metadata["run"] == {"started_at": began.isoformat(), "given": [str(memory.id)]}
    assert (first.occurred_at, first.metadata["confidence"]) == (began + timedelta(seconds=7), 0.9)
    assert "run" not in second.metadata


async def test_a_cancelled_node_is_captured_as_partial_and_ends_at_once() -> None:
    path, started = Path(), asyncio.Event()
    memory = Faulty(path)
    async with middleware_on(memory, path) as middleware:

        async def work() -> None:
            async with middleware.run(SESSION, AUDITOR) as run:
                run.add(LONG)
                memory.free.clear()
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        async with asyncio.timeout(1):
            with pytest.raises(asyncio.CancelledError):
                await task
        memory.free.set()
    (row,) = stored(path)
    assert (row.partial, row.metadata["partial_reason"]) == (True, "cancelled")


async def stream(*, fails: bool = False) -> AsyncIterator[str]:
    for word in LONG.split(" "):
        yield f"{word} "
    if fails:
        raise ConnectionResetError


async def test_a_stream_is_captured_whole_at_its_end() -> None:
    path = Path()
    async with agent_middleware(path) as middleware:
        chunks = [chunk async for chunk in middleware.capture_stream(SESSION, AUDITOR, stream())]
    assert "".join(chunks).strip() == LONG
    assert [(row.content.strip(), row.partial) for row in stored(path)] == [(LONG, False)]


async def test_a_stream_that_fails_or_is_left_is_captured_as_partial() -> None:
    path = Path()
    async with agent_middleware(path) as middleware:
        with pytest.raises(ConnectionResetError):
            async for _ in middleware.capture_stream(SESSION, AUDITOR, stream(fails=True)):
                pass
        async with aclosing(middleware.capture_stream(SESSION, AUDITOR, stream())) as chunks:
            async for _ in chunks:
                break
    reasons = [(row.content.strip(), row.partial, row.metadata["partial_reason"]) for row in stored(path)]
    assert reasons == [(LONG, True, "failed: ConnectionResetError"), ("The", True, "not consumed to the end")]


async def test_chunks_of_other_types_are_read_by_their_content() -> None:
    path = Path()

    async def chunks() -> AsyncIterator[dict[str, str]]:
        for word in LONG.split(" "):
            yield {"content": f"{word} "}

    async with agent_middleware(path) as middleware:
        async for _ in middleware.capture_stream(SESSION, AUDITOR, chunks()):
            pass
        async for _ in middleware.capture_stream(SESSION, AUDITOR, chunks(), text=lambda chunk: chunk["content"][0]):
            pass
    assert stored(path)[0].content.strip() == LONG
    assert len(stored(path)[1].content) == len(LONG.split(" "))


async def test_a_decorated_function_is_a_node() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    async with agent_middleware(path) as middleware:

        @middleware.node(AUDITOR)
        async def audit(session: Session, context: Any) -> str:
            assert session == SESSION
            assert LONG in context.text
            return OTHER

        assert await audit(SESSION) == OTHER
        assert audit.__name__ == "audit"
    assert [row.content for row in stored(path)] == [OTHER]


@pytest.mark.parametrize("value", [None, 5, "s1"])
async def test_what_is_no_session_is_a_mistake_of_the_caller(value: Any) -> None:
    with pytest.raises(TypeError, match="the session must be a Session or a mapping"):
        await agent_middleware(Path()).before_node_execution(value, AUDITOR)


def test_metadata_that_contains_itself_is_left_out() -> None:
    metadata: dict[str, Any] = {}
    metadata["self"] = metadata
    new = make_capture(SESSION, AUDITOR, {"content": LONG, "metadata": metadata}, key="k", at=Path().clock.now())
    assert new is not None
    assert new.metadata == {"metadata_error": "not JSON"}


def test_asynchronous_memory_needs_an_asynchronous_context() -> None:
    middleware = agent_middleware(Path(), spool=False)
    with pytest.raises(TypeError, match="async with"), middleware:
        pass


def test_outputs_are_texts_or_json() -> None:
    itself: list[object] = []
    itself.append(itself)
    assert (format_output(None), format_output(LONG)) == ("", LONG)
    assert format_output({"付款": Path}) == '{"付款":"' + str(Path) + '"}'
    assert format_output(itself) == "[[...]]"
    assert format_output(b"\xff")
