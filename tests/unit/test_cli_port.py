"""The address to listen on is taken before anything else, and what is in the way is said."""

import asyncio
import os
import socket

import pytest

from clearwell.adapters.cli.addresses import address, find_holder, is_loopback, listen, take_port
from clearwell.errors import ConfigurationError
from clearwell.settings import Settings


def settings(host: str, port: int) -> Settings:
    return Settings(host=host, port=port)


def test_a_port_in_use_names_the_process_and_a_free_one() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigurationError) as refused:
            take_port(settings("127.0.0.1", port))
    assert refused.value.code == "cli_port_taken_by"
    assert refused.value.params["pid"] == os.getpid()
    assert refused.value.params["other"] != port


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_two_that_bind_at_once_find_out_when_they_listen() -> None:
    wanted = settings("127.0.0.1", free_port())
    first, second = take_port(wanted), take_port(wanted)
    try:
        listen(first, wanted)
        with pytest.raises(ConfigurationError, match="is in use"):
            listen(second, wanted)
        found = find_holder(wanted.port)
        assert found is not None
        assert found.pid == os.getpid()
    finally:
        for one in (*first, *second):
            one.close()


async def test_accepted_connections_send_small_answers_at_once() -> None:
    """With Nagle's algorithm the second answer on a connection waits 40 ms for an acknowledgement."""
    no_delay: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        no_delay.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    wanted = settings("127.0.0.1", free_port())
    (listening,) = take_port(wanted)
    listen([listening], wanted)
    async with await asyncio.start_server(accept, sock=listening):
        _, writer = await asyncio.open_connection("127.0.0.1", wanted.port)
        writer.close()
        await writer.wait_closed()
        assert await asyncio.wait_for(no_delay, 10) == 1


@pytest.mark.parametrize(("host", "code"), [("not a host", "cli_host_unknown"), ("203.0.113.7", "cli_host_elsewhere")])
def test_an_address_that_is_not_ours_is_said(host: str, code: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        take_port(settings(host, 8080))
    assert refused.value.code == code


def test_addresses_as_seen_from_this_machine() -> None:
    assert address(settings("::", 80)) == "http://[::1]:80"
    assert address(settings("127.0.0.1", 8080)) == "http://127.0.0.1:8080"
    assert all(is_loopback(host) for host in ("localhost", "127.0.0.5", "::1"))
    assert not any(is_loopback(host) for host in ("::", "192.0.2.1", "db"))
