"""The proxy of the fault run does what its troubles say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests.servers.proxy import Address, Direction, FaultyProxy, Trouble, faulty_proxy

MESSAGE = b"x" * 1000
SOON = 0.3


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(10_000):
        writer.write(data)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def proxied() -> AsyncIterator[tuple[FaultyProxy, asyncio.StreamReader, asyncio.StreamWriter]]:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with faulty_proxy(Address(port=port), Random(3)) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        yield proxy, reader, writer
        writer.close()
    server.close()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(MESSAGE)
    await writer.drain()
    return await asyncio.wait_for(reader.readexactly(len(MESSAGE)), 5)


@pytest.mark.parametrize("trouble", [None, Trouble.DELAY])
async def test_data_that_is_not_disturbed_or_only_late_arrives_whole(trouble: Trouble | None) -> None:
    async with proxied() as (proxy, reader, writer):
        proxy.trouble = trouble
        assert await exchange(reader, writer) == MESSAGE


async def test_a_reset_ends_both_sides() -> None:
    async with proxied() as (proxy, reader, writer):
        assert await exchange(reader, writer) == MESSAGE
        proxy.begin(Trouble.RESET, Direction.REQUESTS)
        with pytest.raises(OSError, match="reset"):
            await exchange(reader, writer)
        assert proxy.hit == 1


async def test_a_truncated_answer_ends_early() -> None:
    async with proxied() as (proxy, reader, writer):
        proxy.begin(Trouble.TRUNCATE, Direction.ANSWERS)
        with pytest.raises(asyncio.IncompleteReadError) as caught:
            await exchange(reader, writer)
        assert len(caught.value.partial) < len(MESSAGE)


async def test_after_a_half_close_nothing_more_arrives_in_that_direction() -> None:
    async with proxied() as (proxy, reader, writer):
        proxy.begin(Trouble.HALF_CLOSE, Direction.ANSWERS)
        assert await exchange(reader, writer) == MESSAGE
        assert await asyncio.wait_for(reader.read(), 5) == b""


async def test_a_black_hole_stays_one_for_its_connection_and_not_for_the_next() -> None:
    async with proxied() as (proxy, reader, writer):
        proxy.begin(Trouble.BLACK_HOLE)
        for _ in range(2):
            writer.write(MESSAGE)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), SOON)
            proxy.end()
        again = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await exchange(*again) == MESSAGE
        again[1].close()


async def test_connections_are_refused_and_all_can_be_cut() -> None:
    async with proxied() as (proxy, reader, writer):
        assert await exchange(reader, writer) == MESSAGE
        proxy.begin(Trouble.REFUSE)
        refused, to_refused = await asyncio.open_connection("127.0.0.1", proxy.port)
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await exchange(refused, to_refused)
        to_refused.close()
        proxy.end()
        proxy.cut()
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await exchange(reader, writer)
