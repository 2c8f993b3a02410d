"""``serve --workers``: several processes answer on one port, one of them sweeps, and one that dies is replaced."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest
import redis

from clearwell.embedded import EmbeddedValkey
from tests.integration.cli.program import Program, Serving, free_port, until

KNOWN = "Invoices above ten thousand euros are signed by two members of the board."


@pytest.fixture
def program(program: Program) -> Program:
    """The processes start as their supervisor did."""
    return replace(program, own_interpreter=True)


@pytest.fixture(scope="module")
def serving(bundled: Program) -> Iterator[Serving]:
    """One that most tests look at. The last of them stops it."""
    with bundled.serving("--workers", "2") as running:
        yield running


@pytest.fixture(scope="module")
def working_url(serving: Serving, own_folder: Path) -> str:
    with EmbeddedValkey(own_folder / "data") as attached:
        return attached.url


def workers_of(serving: Serving) -> list[psutil.Process]:
    """The processes that answer requests, in the order in which they were started."""
    found = [child for child in psutil.Process(serving.process.pid).children() if is_worker(child)]
    return sorted(found, key=psutil.Process.create_time)


def is_replaced(serving: Serving, worker: psutil.Process) -> bool:
    workers = workers_of(serving)
    return len(workers) == 2 and worker not in workers


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_worker(process: psutil.Process) -> bool:
    try:
        return any("spawn_main" in word for word in process.cmdline())
    except psutil.Error:  # it has ended
        return False


def sweeping(redis_url: str) -> set[bytes]:
    with redis.Redis.from_url(redis_url) as client:
        return {member.partition(b" ")[0] for member in client.zrange("clearwell:workers", 0, -1)}


def answers(serving: Serving, *, requests: int = 40) -> list[int]:
    """The statuses of requests on connections of their own, many at a time, so that every process gets some."""

    async def ask_all() -> list[int]:
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=serving.url, trust_env=False, limits=limits, timeout=30) as client:
            body = {"group_id": "board", "query": "Who signs large invoices?"}
            sent = (client.post("/api/v1/memory/query", json=body) for _ in range(requests))
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    return asyncio.run(ask_all())


def cpu_seconds(processes: list[psutil.Process]) -> list[float]:
    return [process.cpu_times().user for process in processes]


def test_every_process_answers_and_one_of_them_sweeps(bundled: Program, serving: Serving, working_url: str) -> None:
    bundled.good("ingest", "-g", "board", KNOWN)
    workers = workers_of(serving)
    assert len(workers) == 2
    before = cpu_seconds(workers)
    until(lambda: set(answers(serving)) == {200} and all(map(float.__gt__, cpu_seconds(workers), before)))
    until(lambda: sweeping(working_url))
    assert len(sweeping(working_url)) == 1
    assert serving.text.count("is ready") == 1


def test_a_process_that_dies_is_reported_and_replaced(serving: Serving, working_url: str) -> None:
    first, second = workers_of(serving)
    until(lambda: sweeping(working_url))
    (sweeper,) = sweeping(working_url)
    first.kill()
    until(lambda: is_replaced(serving, first))
    assert f"pid={first.pid}" in serving.errors.read_text()
    assert "ended unexpectedly, restarting" in serving.errors.read_text()
    assert set(answers(serving)) == {200}
    until(lambda: sweeping(working_url) - {sweeper})
    assert second in workers_of(serving)


def test_an_open_request_is_answered_before_it_stops_and_no_other_is_accepted(
    bundled: Program, serving: Serving
) -> None:
    workers = workers_of(serving)
    (path,) = (bundled.folder / "data" / "run").glob("api-*.json")
    host, _, port = serving.url.removeprefix("http://").rpartition(":")
    body = b'{"group_id": "board", "query": "Who signs large invoices?"}'
    head = f"POST /api/v1/memory/query HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as waiting:
        waiting.sendall(f"{head}Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n".encode())
        assert waiting.recv(1000).startswith(b"HTTP/1.1 100 ")
        serving.process.send_signal(signal.SIGINT)
        until(lambda: refuses_connections(host, int(port)), seconds=8)
        waiting.sendall(body)
        assert waiting.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert serving.process.wait(60) == 0
    assert "Traceback" not in serving.errors.read_text()
    assert "has stopped" in serving.text
    assert not path.exists()
    assert not any(worker.is_running() for worker in workers)


def refuses_connections(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=60):
            return False
    except ConnectionRefusedError:
        return True


def test_the_processes_end_with_a_supervisor_that_was_killed(program: Program) -> None:
    with program.serving("--workers", "2") as serving:
        workers = workers_of(serving)
        assert len(workers) == 2
        serving.process.kill()
        serving.process.wait(60)
        until(lambda: not any(map(is_alive, workers)))


def test_what_keeps_it_from_starting_is_said_once(program: Program, empty_database_url: str) -> None:
    ran = program.but(DATABASE_URL=empty_database_url).run("serve", "--workers", "2", "--port", str(free_port()))
    assert ran.code == 1
    assert ran.err.count("clearwell migrate") == 1
    assert "is ready" not in ran.out


def test_a_first_process_that_is_killed_before_it_is_ready_is_reported(program: Program) -> None:
    with program.starting("--workers", "2") as starting:
        until(lambda: workers_of(starting))
        (first,) = workers_of(starting)
        first.kill()
        assert starting.process.wait(60) == 1
        assert "ended before it was ready" in starting.errors.read_text()
        assert "exit_code=-9" in starting.errors.read_text()


def test_pools_that_need_more_connections_than_there_are_are_reported(bundled: Program) -> None:
    said = "can open 300 connections, but the bundled PostgreSQL accepts 200"
    with bundled.but(CLEARWELL_POSTGRES_POOL_MAX="150").starting("--workers", "2") as starting:
        starting.wait_until(lambda: said in starting.errors.read_text())
        assert starting.stop(signal.SIGTERM) == 0
