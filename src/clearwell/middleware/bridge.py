"""Reaches the memory middleware from synchronous and asynchronous code, in whatever thread a framework runs it.

A middleware and the connections of its memory belong to one event loop, their home. Frameworks run synchronous nodes
and callbacks in threads of their own, and a synchronous program has its home in a thread that only serves memory.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final, ParamSpec, TypeVar

import structlog

from clearwell.errors import Conflict
from clearwell.middleware.middleware import MemoryMiddleware
from clearwell.middleware.nodes import Node, NodeContext, Session
from clearwell.sync.face import find_loop
from clearwell.sync.loop_thread import LoopThread

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger(__name__)

LONGEST_WAIT: Final = 120.0
"""Seconds. A fact check by a language model is what takes longest; a context has a time limit of its own."""


class LoopBridge:
    """Runs functions of a memory in its home.

    That is the loop behind a synchronous memory, else the event loop that runs when the bridge is made or called.
    """

    def __init__(self, loop_thread: LoopThread | None = None) -> None:
        self._home = _find_running_loop() if loop_thread is None else find_loop(loop_thread)

    async def call(self, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function of the memory at home."""
        here = asyncio.get_running_loop()
        home = self._find_home()
        if home is None or home.is_closed():
            home = self._home = here
        if home is here:
            return await function(*args, **kwargs)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(*args, **kwargs), home))

    def call_sync(self, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same, for synchronous code. It waits for the answer.

        Raises Conflict in the thread of the event loop, which could not answer while it waits, and TimeoutError if the
        loop has ended or does not answer.
        """
        home = self._find_home()
        if home is None or home is _find_running_loop():
            raise Conflict("adapter_sync_in_loop")
        if home.is_closed():
            raise TimeoutError
        future = asyncio.run_coroutine_threadsafe(function(*args, **kwargs), home)
        try:
            return future.result(LONGEST_WAIT)
        except BaseException:
            future.cancel()
            raise

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Call a function at home that does not wait. This does not wait either, and may be called from any thread."""
        here = _find_running_loop()
        home = self._find_home() or here
        if home is None:
            raise Conflict("adapter_sync_in_loop")
        if home is here:
            function(*args)
        elif not home.is_closed():
            home.call_soon_threadsafe(function, *args)

    def _find_home(self) -> asyncio.AbstractEventLoop | None:
        return self._home


class MiddlewareBridge(LoopBridge):
    """Calls a middleware in its home."""

    def __init__(self, middleware: MemoryMiddleware) -> None:
        super().__init__()
        self._middleware = middleware

    async def read(self, session: Session, node: Node) -> NodeContext:
        """What a node should read before it runs."""
        return await self.call(self._middleware.before_node_execution, session, node)

    def read_sync(self, session: Session, node: Node) -> NodeContext:
        """The same, for synchronous code. It waits for the answer; without one the context is empty."""
        try:
            return self.call_sync(self._middleware.before_node_execution, session, node)
        except TimeoutError as error:
            log.warning("context not read", reason=type(error).__name__)
            return NodeContext()

    def capture(self, session: Session, node: Node, output: object, *, reason: str | None = None) -> None:
        """Queue the capture of an output. This does not wait, and may be called from any thread."""
        self.post(self._capture, session, node, output, reason)

    def _find_home(self) -> asyncio.AbstractEventLoop | None:
        return self._middleware.loop or self._home

    def _capture(self, session: Session, node: Node, output: object, reason: str | None) -> None:
        self._middleware.capture(session, node, output, reason=reason)


def _find_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
