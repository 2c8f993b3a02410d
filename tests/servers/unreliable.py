"""A TCP server that does to each request what a script says: drop it, keep it waiting, or answer it."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

DROP = "drop"
"""Close the connection without an answer."""
HANG = "hang"
"""Never answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer to one request."""

    status: int = 200
    body: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class UnreliableServer:
    """What the server does next, and the headers of the requests that it saw. The last step is repeated."""

    steps: Sequence[str | Reply]
    url: str = ""
    seen: list[dict[str, str]] = field(default_factory=list)
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        try:
            while True:
                headers = await _read_request(reader)
                step = self.steps[min(len(self.seen), len(self.steps) - 1)]
                self.seen.append(headers)
                if step == DROP:
                    return
                if isinstance(step, Reply):
                    writer.write(_format(step))
                    await writer.drain()
                else:
                    await asyncio.Event().wait()
        except asyncio.IncompleteReadError:
            pass
        finally:
            self.connections.discard(task)
            writer.close()


@asynccontextmanager
async def serve_unreliably(*steps: str | Reply) -> AsyncIterator[UnreliableServer]:
    """A server that takes one step of the script for each request."""
    served = UnreliableServer(steps)
    server = await asyncio.start_server(served.answer, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        server.close()
        for connection in (open_now := list(served.connections)):
            connection.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> dict[str, str]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    headers["content"] = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
    return headers


def _format(reply: Reply) -> bytes:
    body = json.dumps(reply.body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
