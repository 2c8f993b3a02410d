"""``MemoryMiddleware``: the two hooks around every node of a workflow."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast
from uuid import UUID

import structlog

from clearwell.client.discovery import fingerprint_stores
from clearwell.clock import SystemClock, TimeOrderedIds
from clearwell.errors import ClearwellError, InvalidInput, Unavailable
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.context.fencing import format_history, quote_memories
from clearwell.flow.context.retrieval_node import HISTORY, NodeOptions, extract_query
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.logs import ensure_logs_configured
from clearwell.messages import Language
from clearwell.middleware.backlog import Backlog, MemoryBacklog
from clearwell.middleware.memory import AgentMemory
from clearwell.middleware.nodes import (
    QUESTION_FIELDS,
    Node,
    NodeContext,
    NodeExecution,
    NodeProblem,
    Session,
    make_capture,
    read_question,
)
from clearwell.middleware.policies import HookPolicy, Injection, find_policy
from clearwell.middleware.run import MemoryRun, NodeDecorator, SessionLike, capture_chunks, read_chunk
from clearwell.middleware.sender import CaptureSender, DeliveryStatus
from clearwell.middleware.spool import Spool
from clearwell.ports import Clock, Ids
from clearwell.records import EventType, Fate, Json
from clearwell.settings import Settings
from clearwell.sync.face import find_counterpart, find_loop_thread

if TYPE_CHECKING:
    from clearwell.sync.client import Client
    from clearwell.sync.memory import SyncMemoryManager

log = structlog.get_logger(__name__)

Output = TypeVar("Output")
C = TypeVar("C")
NodeLike = Node | Mapping[str, object]

MAX_PREFETCHED: Final = 100
MAX_RUNS: Final = 1000
SKIP_SECONDS: Final = 5.0
"""For how long ``before`` does not ask a memory that did not answer, so that an outage delays no more than one node."""


class MemoryMiddleware:
    """Memory around the nodes of a workflow, on the library or on a remote server.

    ``before_node_execution`` returns what a node should read, and ``after_node_execution`` captures what it produced.
    Both fail open: an error of the memory is logged and reported, and never raised. ``group`` counts where neither
    the output nor the session names one. ``policies`` are by node type, in addition to the built-in ones.

    Captures are delivered in the background: ``flush`` waits for them, and ``status`` shows what waits. They are
    written to ``spool`` first, a folder (by default that of the settings), so that they survive the process and are
    delivered by the next one; with False they are only held in memory. A folder that others can write to is a
    ConfigurationError.

    Use it as an asynchronous context manager, or call ``aclose`` at the end. On a synchronous memory, that
    of ``with open_memory()`` or ``Client``, it is a synchronous context manager, and its hooks run on the loop of that
    memory: the adapters of frameworks call them there.
    """

    def __init__(
        self,
        memory: "AgentMemory | SyncMemoryManager | Client",
        *,
        group: str | None = None,
        policies: Mapping[str, HookPolicy] | None = None,
        language: Language = "en",
        spool: Path | bool = True,
        settings: Settings | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        ensure_logs_configured()
        self._loop_thread = find_loop_thread(memory)
        self._memory = cast(AgentMemory, find_counterpart(memory))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._group = group
        self._policies = dict(policies or {})
        self._language: Language = language
        self._settings = settings or Settings()
        self._clock = clock or SystemClock()
        self._ids = ids or TimeOrderedIds()
        self._backlog = self._open_backlog(spool)
        self._sender = CaptureSender(self._memory, self._backlog, self._clock)
        self._skip_until = 0.0
        self._last_problem: NodeProblem | None = None
        self._prefetched: dict[tuple[object, ...], asyncio.Task[NodeContext]] = {}
        self._runs: dict[tuple[str | None, str | None, str | None], NodeExecution] = {}

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._sender.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        if self._loop_thread is None:
            raise TypeError("an asynchronous memory needs `async with`; open it with `with open_memory()` for `with`")
        return self._loop_thread.run(self.__aenter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop_thread is not None:
            self._loop_thread.run(self.aclose())

    # what it works on

    @property
    def memory(self) -> AgentMemory:
        """The memory that this middleware reads from and captures to."""
        return self._memory

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop on which the hooks run, once the context is entered."""
        return self._loop

    @property
    def group(self) -> str | None:
        """The group of sessions that name none."""
        return self._group

    @property
    def language(self) -> Language:
        """The language of contexts and problems."""
        return self._language

    # the hooks

    async def before_node_execution(self, session: SessionLike, node: NodeLike) -> NodeContext:
        """Return what the node should read, by its type. After a time limit it is empty, with the reason."""
        session, node = Session.from_value(session), Node.from_value(node)
        injection = find_policy(node.type, self._policies).inject
        started_at = self._clock.now()
        if injection is Injection.NOTHING:
            self._note_run(session, node, NodeExecution(started_at=started_at))
            return NodeContext()
        prefetched = self._prefetched.pop(_identify_read(session, node), None)
        context = await (self._read_or_fail(session, node, injection) if prefetched is None else prefetched)
        self._note_run(session, node, NodeExecution(started_at=started_at, given=context.ids))
        return context

    def _note_run(self, session: Session, node: Node, run: NodeExecution) -> None:
        """Keep what is captured with the output. Of nodes without an output only the last ones are kept."""
        while len(self._runs) >= MAX_RUNS:
            self._runs.pop(next(iter(self._runs)))
        self._runs[session.id, node.id, node.agent_id] = run

    def prefetch(self, session: SessionLike, node: NodeLike) -> None:
        """Start to read for a node that runs soon: its ``before_node_execution`` then waits less, or not at all.

        What is captured in the meantime may be missing from its context. A question that changes is read again.
        """
        session, node = Session.from_value(session), Node.from_value(node)
        injection = find_policy(node.type, self._policies).inject
        if injection is Injection.NOTHING:
            return
        while len(self._prefetched) >= MAX_PREFETCHED:
            self._prefetched.pop(next(iter(self._prefetched))).cancel()
        task = asyncio.create_task(self._read_or_fail(session, node, injection), name="prefetched context")
        self._prefetched[_identify_read(session, node)] = task

    async def _read_or_fail(self, session: Session, node: Node, injection: Injection) -> NodeContext:
        if asyncio.get_running_loop().time() < self._skip_until:
            return NodeContext(problem=self._last_problem)
        try:
            async with asyncio.timeout(self._settings.middleware_seconds):
                return await self._read(session, node, injection)
        except ClearwellError as error:
            return self._fail(error)
        except (TimeoutError, OSError) as error:
            return self._fail(Unavailable("middleware_no_answer", reason=type(error).__name__))
        except Exception as error:  # the edge of the agent: memory never breaks a node
            log.error("context not built", exc_info=error)
            return self._fail(ClearwellError("middleware_failed", reason=type(error).__name__))

    async def after_node_execution(self, session: SessionLike, node: NodeLike, output: Output) -> Output:
        """Capture the output of a node and return it unchanged. This does not wait for the memory."""
        self.capture(session, node, output)
        return output

    def capture(self, session: SessionLike, node: NodeLike, output: object, *, reason: str | None = None) -> bool:
        """Queue the capture of an output; returns False if there is nothing to capture.

        ``reason`` says why the output is incomplete: it is then captured as partial. Needs a running event loop.
        """
        session, node = Session.from_value(session), Node.from_value(node)
        if not find_policy(node.type, self._policies).capture:
            return False
        key, at = str(self._ids.new()), self._clock.now()
        run = self._runs.pop((session.id, node.id, node.agent_id), None)
        new = make_capture(session, node, output, key=key, at=at, default_group=self._group, reason=reason, run=run)
        if new is None:
            return False
        self._backlog.append(new)
        self._sender.start()
        self._sender.notify()
        return True

    # the body of a node

    def run(self, session: SessionLike, node: NodeLike) -> MemoryRun:
        """The execution of a node: ``async with middleware.run(session, node) as run``."""
        return MemoryRun(self, Session.from_value(session), Node.from_value(node))

    def capture_stream(
        self,
        session: SessionLike,
        node: NodeLike,
        chunks: AsyncIterable[C],
        *,
        text: Callable[[C], str] = read_chunk,
    ) -> AsyncGenerator[C, None]:
        """Pass the chunks of a stream on and capture their text at the end, as partial if the end is not reached."""
        return capture_chunks(self, Session.from_value(session), Node.from_value(node), chunks, text)

    def node(self, node: NodeLike) -> NodeDecorator:
        """Decorate ``async def function(session, context)``: it is then called with the session alone."""
        return NodeDecorator(self, Node.from_value(node))

    # delivery

    def status(self) -> DeliveryStatus:
        """How much waits for delivery, what was delivered and refused, and why nothing is delivered."""
        return self._sender.measure()

    async def flush(self, *, seconds: float = 10.0) -> bool:
        """Deliver what is queued. Returns False if something is left after this time."""
        return await self._sender.flush(seconds=seconds)

    async def aclose(self, *, seconds: float = 5.0) -> None:
        """Deliver what is queued, within this time, and stop. What is left in the spool is delivered later."""
        for task in self._prefetched.values():
            task.cancel()
        self._prefetched.clear()
        await self._sender.flush(seconds=seconds)
        await self._sender.close()
        self._backlog.close()

    def _open_backlog(self, spool: Path | bool) -> Backlog:
        """The spool, or a backlog in memory if there is to be none or its folder cannot be made."""
        max_bytes = self._settings.spool_max_bytes
        if spool is False:
            return MemoryBacklog(max_bytes=max_bytes)
        try:
            return Spool(
                self._settings.spool_path if spool is True else spool,
                f"{self._memory.destination}\n{fingerprint_stores(self._settings)}",
                max_bytes=max_bytes,
                max_age=timedelta(days=self._settings.spool_max_days),
                clock=self._clock,
                ids=self._ids,
            )
        except OSError as error:
            log.warning("spool not opened", reason=type(error).__name__, errno=error.errno)
            return MemoryBacklog(max_bytes=max_bytes)

    # what a node reads

    async def _read(self, session: Session, node: Node, injection: Injection) -> NodeContext:
        group = session.group_id or self._group
        if group is None:
            raise InvalidInput("middleware_no_group", field="group_id")
        question = read_question(session, node)
        if injection is Injection.HISTORY:
            return await self._read_history(question, group, session, node)
        if injection is Injection.EVIDENCE:
            return await self._read_evidence(question, group, node)
        return await self._build_context(question, group, node)

    async def _build_context(self, question: Mapping[str, object], group: str, node: Node) -> NodeContext:
        field, query = extract_query(question)
        request = ContextRequest(
            proposal=str(question.get(field or "", query)),
            query=query,
            language=self._language,
            options=RetrieveOptions(agent_id=node.agent_id),
        )
        built = await self._memory.build_context(request, group=group)
        items = [item for section in built.report.sections for item in section.items]
        return NodeContext(
            text=built.text,
            memories=quote_memories(built.messages[-1].content, self._language),
            messages=built.messages,
            ids=tuple(item.id for item in items if item.fate is not Fate.LEFT_OUT),
            degraded=built.degraded,
        )

    async def _read_evidence(self, question: Mapping[str, object], group: str, node: Node) -> NodeContext:
        """Retrieve what is known about a claim: the verified items, then the others, each in their order."""
        claim = question.get("claim")
        _, query = extract_query({"topic": claim} if isinstance(claim, str) else question)
        found = await self._memory.retrieve(query, group=group, options=RetrieveOptions(agent_id=node.agent_id))
        items = tuple(sorted(found.items, key=lambda item: not item.verified))
        history = format_history(items, self._language)
        return NodeContext(
            text=history,
            memories=quote_memories(history, self._language),
            items=items,
            ids=tuple(item.id for item in items),
            degraded=found.degraded,
        )

    async def _read_history(
        self, question: Mapping[str, object], group: str, session: Session, node: Node
    ) -> NodeContext:
        options = NodeOptions(agent_id=node.agent_id)
        retrieval = self._memory.retrieval_node(group=group, options=options, language=self._language)
        state = {"session_id": session.id, **question} if session.id is not None else question
        done = await retrieval.run(state)
        events = {event.type: event.data for event in done.events}
        history = str(done.output.get(HISTORY, ""))
        return NodeContext(
            text=history,
            ids=tuple(UUID(str(found)) for found in _list(events, "ids")),
            state={**question, HISTORY: history},
            degraded=tuple(str(part) for part in _list(events, "degraded")),
            problem=_read_problem(events),
        )

    def _fail(self, error: ClearwellError) -> NodeContext:
        """An empty context with the reason. A memory that does not answer is not asked again for some seconds."""
        log.warning("context not read", reason=error.code)
        problem = NodeProblem(code=error.code, text=error.text(self._language))
        if isinstance(error, Unavailable):
            self._skip_until = asyncio.get_running_loop().time() + SKIP_SECONDS
            self._last_problem = problem
        return NodeContext(problem=problem)


def _identify_read(session: Session, node: Node) -> tuple[object, ...]:
    """What a context depends on."""
    question = read_question(session, node)
    texts = tuple(value for name in QUESTION_FIELDS if isinstance(value := question.get(name), str))
    return session.id, session.group_id, node.id, node.type, node.agent_id, texts


def _list(events: Mapping[EventType, Mapping[str, Json]], name: str) -> list[Json]:
    value = events.get(EventType.MEMORY_RETRIEVED, {}).get(name)
    return value if isinstance(value, list) else []


def _read_problem(events: Mapping[EventType, Mapping[str, Json]]) -> NodeProblem | None:
    """Why the node has no history, if its retrieval failed."""
    if (error := events.get(EventType.MEMORY_RETRIEVAL_ERROR)) is None:
        return None
    return NodeProblem(code=str(error.get("code")), text=str(error.get("error")))
