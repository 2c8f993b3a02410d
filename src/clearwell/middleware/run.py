"""The body of a node with memory around it, and the capture of streams.

What was produced is captured when the body ends. If it fails or is cancelled, that is captured as partial, with the
reason in its metadata. Capturing never waits, so a cancellation goes on at once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from clearwell.middleware.nodes import Node, NodeContext, Session

if TYPE_CHECKING:
    from clearwell.middleware.middleware import MemoryMiddleware

C = TypeVar("C")
Output = TypeVar("Output")
SessionLike = Session | Mapping[str, object]
NodeFunction = Callable[[Session, NodeContext], Awaitable[Output]]

CANCELLED, FAILED, NOT_CONSUMED = "cancelled", "failed", "not consumed to the end"


class MemoryRun:
    """One execution of a node. ``context`` is what the node should read.

    The body calls ``finish`` with its output, or ``add`` with each piece of it.
    """

    def __init__(self, middleware: "MemoryMiddleware", session: Session, node: Node) -> None:
        self.context = NodeContext()
        self._middleware = middleware
        self._session = session
        self._node = node
        self._pieces: list[str] = []
        self._output: object = None

    def add(self, piece: str) -> None:
        """Add a piece of the output, as a stream produces it."""
        self._pieces.append(piece)

    def finish(self, output: object) -> None:
        """Say what the output of the node is. It counts instead of the pieces."""
        self._output = output

    async def __aenter__(self) -> Self:
        self.context = await self._middleware.before_node_execution(self._session, self._node)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        output = "".join(self._pieces) if self._output is None else self._output
        self._middleware.capture(self._session, self._node, output, reason=describe_end(error))


class NodeDecorator:
    """Makes a node of a function that takes the session and its context, and returns the output."""

    def __init__(self, middleware: "MemoryMiddleware", node: Node) -> None:
        self._middleware = middleware
        self._node = node

    def __call__(self, function: NodeFunction[Output]) -> Callable[[SessionLike], Awaitable[Output]]:
        async def execute(session: SessionLike) -> Output:
            session = Session.from_value(session)
            async with self._middleware.run(session, self._node) as run:
                output = await function(session, run.context)
                run.finish(output)
            return output

        execute.__name__, execute.__doc__ = getattr(function, "__name__", "node"), function.__doc__
        return execute


async def capture_chunks(
    middleware: "MemoryMiddleware", session: Session, node: Node, chunks: AsyncIterable[C], text: Callable[[C], str]
) -> AsyncGenerator[C, None]:
    """Pass the chunks of a stream on, and capture their text when the stream ends."""
    pieces: list[str] = []
    reason: str | None = NOT_CONSUMED
    try:
        async for chunk in chunks:
            pieces.append(text(chunk))
            yield chunk
        reason = None
    except GeneratorExit:
        raise
    except BaseException as error:
        reason = describe_end(error)
        raise
    finally:
        middleware.capture(session, node, "".join(pieces), reason=reason)


def read_chunk(chunk: object) -> str:
    """The text of a chunk: a text itself, or its ``content``."""
    content = chunk.get("content") if isinstance(chunk, Mapping) else getattr(chunk, "content", chunk)
    return content if isinstance(content, str) else ""


def describe_end(error: BaseException | None) -> str | None:
    """Why an output is incomplete. The text of an error is left out: it may hold secrets."""
    if error is None:
        return None
    return CANCELLED if isinstance(error, asyncio.CancelledError) else f"{FAILED}: {type(error).__name__}"
