"""A TCP proxy that does to connections what networks do: delays, resets, half-closes, black-holes and truncates."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from urllib.parse import unquote, urlsplit

CHUNK = 64 * 1024
AT_ONCE = struct.pack("ii", 1, 0)
"""The option SO_LINGER with which closing a socket sends RST."""


class Trouble(StrEnum):
    """What happens to data on its way, or to a connection that is opened."""

    DELAY = "delay"
    """It arrives later, in small pieces."""
    RESET = "reset"
    """It is lost, and both ends get RST."""
    HALF_CLOSE = "half-close"
    """It arrives, and nothing after it in this direction; the other direction stays open."""
    BLACK_HOLE = "black hole"
    """It is lost, and all that follows in both directions, while the connection stays open."""
    TRUNCATE = "truncate"
    """Its first part arrives, and then both ends see the end of the connection."""
    REFUSE = "refuse"
    """It is lost with RST, and so is every new connection."""


class Direction(StrEnum):
    """Which data a trouble concerns."""

    REQUESTS = "requests"
    ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens: at a port of this machine, or at a socket file."""

    port: int = 0
    path: str = ""

    @classmethod
    def of_postgres(cls, url: str) -> "Address":
        parts = urlsplit(url)
        folder = unquote(parts.netloc.rpartition("@")[2].partition(":")[0])
        return cls(path=f"{folder}/.s.PGSQL.{parts.port}")

    @classmethod
    def of_valkey(cls, url: str) -> "Address":
        return cls(path=unquote(urlsplit(url).path))

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.path:
            return await asyncio.open_unix_connection(self.path)
        return await asyncio.open_connection("127.0.0.1", self.port)


@dataclass(slots=True)
class _Link:
    """The two ends of one proxied connection."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    silent: bool = False
    """Whether nothing is forwarded any more."""

    def reset(self) -> None:
        for end in (self.client, self.server):
            raw = end.get_extra_info("socket")
            if raw is not None and raw.family != socket.AF_UNIX:
                with suppress(OSError):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            end.transport.abort()


@dataclass(slots=True)
class FaultyProxy:
    """Forwards connections to ``target``, which may change. ``trouble`` happens to what is on its way meanwhile."""

    target: Address
    random: Random
    port: int = 0
    trouble: Trouble | None = None
    direction: Direction | None = None
    """The direction that the trouble concerns; None for both."""
    hit: int = 0
    """How many pieces of data or new connections the trouble has met."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _links: list[_Link] = field(default_factory=list)

    def begin(self, trouble: Trouble, direction: Direction | None = None) -> None:
        self.trouble, self.direction, self.hit = trouble, direction, 0

    def end(self) -> None:
        self.trouble = None

    def cut(self) -> None:
        """Reset every connection, also those on which nothing is on its way."""
        for link in self._links:
            link.reset()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._forward(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.trouble is Trouble.REFUSE:
            self.hit += 1
            _Link(writer, writer).reset()
            return
        try:
            answers, server = await self.target.connect()
        except OSError:
            _Link(writer, writer).reset()
            return
        link = _Link(writer, server)
        self._links.append(link)
        try:
            await asyncio.gather(
                self._pump(link, reader, server, Direction.REQUESTS),
                self._pump(link, answers, writer, Direction.ANSWERS),
            )
        except OSError:
            link.reset()
        finally:
            self._links.remove(link)
            server.transport.abort()

    async def _pump(
        self, link: _Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter, direction: Direction
    ) -> None:
        while data := await source.read(CHUNK):
            if link.silent:
                continue
            if self.trouble is None or self.direction not in (None, direction):
                sink.write(data)
                await sink.drain()
            elif not await self._disturb(self.trouble, link, data, sink):
                return
        if link.silent:
            link.reset()
        elif sink.can_write_eof() and not sink.transport.is_closing():
            sink.write_eof()

    async def _disturb(self, trouble: Trouble, link: _Link, data: bytes, sink: asyncio.StreamWriter) -> bool:
        """Do to this data what the trouble says. Returns whether this direction goes on."""
        self.hit += 1
        if trouble is Trouble.DELAY:
            cut = self.random.randrange(len(data) + 1)
            for part in (data[:cut], data[cut:]):
                await asyncio.sleep(self.random.uniform(0.005, 0.06))
                sink.write(part)
                await sink.drain()
            return True
        if trouble is Trouble.BLACK_HOLE:
            link.silent = True
            return True
        if trouble in (Trouble.RESET, Trouble.REFUSE):
            link.reset()
            return False
        sink.write(data if trouble is Trouble.HALF_CLOSE else data[: self.random.randrange(len(data))])
        await sink.drain()
        if trouble is Trouble.HALF_CLOSE:
            sink.write_eof()
        else:
            link.client.close()
            link.server.close()
        return False

    async def close(self) -> None:
        """End every connection. Cancelling their tasks instead would be logged as an error by asyncio."""
        self.cut()
        if tasks := list(self._tasks):
            await asyncio.wait(tasks, timeout=5)


@asynccontextmanager
async def faulty_proxy(target: Address, random: Random) -> AsyncIterator[FaultyProxy]:
    """A proxy on a free port in front of a server."""
    proxy = FaultyProxy(target, random)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = int(server.sockets[0].getsockname()[1])
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
