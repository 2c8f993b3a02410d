"""The faults. Each disturbs a world that is under load and takes its cause away; recovering is the program's part."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import redis

from tests.faults.world import World
from tests.servers.proxy import Address, Direction, FaultyProxy, Trouble

BALLAST = "ballast"
SMALL_FILE = 64 * 1024
HOUR = 3600.0
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault: its name in the report, how often it is chosen, and what it does."""

    name: str
    weight: float
    act: Callable[[World], Awaitable[None]]
    only_promotions: bool = False
    """Whether the load consists of promotions alone, so that the fault comes in the middle of one."""


def _disturb(link: str, trouble: Trouble) -> Callable[[World], Awaitable[None]]:
    async def act(world: World) -> None:
        proxy: FaultyProxy = getattr(world, link)
        proxy.begin(trouble, world.random.choice((Direction.REQUESTS, Direction.ANSWERS, None)))
        try:
            await asyncio.sleep(world.random.uniform(0.05, 0.4))
        finally:
            proxy.end()

    return act


async def kill_program(world: World) -> None:
    await world.parts[0].kill()


async def kill_worker(world: World) -> None:
    await world.parts[1].kill()


async def kill_both(world: World) -> None:
    await asyncio.gather(*(part.kill() for part in world.parts))


async def kill_postgres(world: World) -> None:
    """Kill the postmaster. Its children end by themselves when they notice."""
    os.kill(await asyncio.to_thread(world.postgres_pid), signal.SIGKILL)
    await _wait_for_end(world)


async def restart_postgres(world: World) -> None:
    """As an administrator restarts it: connections are ended, and no new ones accepted meanwhile."""
    os.kill(await asyncio.to_thread(world.postgres_pid), signal.SIGINT)
    await _wait_for_end(world)


async def _wait_for_end(world: World) -> None:
    if world.postgres is not None:
        server = world.postgres.server
        while server.alive():  # noqa: ASYNC110 - what is waited for is in another process
            await asyncio.sleep(0.01)


async def kill_backend(world: World) -> None:
    """Kill a process that serves one connection, upon which PostgreSQL ends all others and recovers."""
    pids = await asyncio.to_thread(_find_backends, world)
    if pids:
        os.kill(world.random.choice(pids), signal.SIGKILL)


async def terminate_backends(world: World) -> None:
    """End every connection of the program from the side of the server."""
    await asyncio.to_thread(_terminate_backends, world)


def _find_backends(world: World) -> list[int]:
    found = []
    for child in psutil.Process(world.postgres_pid()).children():
        try:
            title = " ".join(child.cmdline())
        except psutil.Error:
            continue
        if "clearwell" in title and "[local]" in title:
            found.append(child.pid)
    return found


def _terminate_backends(world: World) -> None:
    with psycopg.connect(world.postgres_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        )


async def kill_valkey(world: World) -> None:
    os.kill(await asyncio.to_thread(_find_valkey, world), signal.SIGKILL)
    await asyncio.sleep(world.random.uniform(0, 0.2))


def _find_valkey(world: World) -> int:
    with redis.Redis.from_url(world.valkey_url, socket_timeout=5) as client:
        return int(client.info("server")["process_id"])


async def flush_valkey(world: World) -> None:
    await asyncio.to_thread(_flush, world.valkey_url)


async def flush_and_kill_postgres(world: World) -> None:
    """Lose working memory while what it is rebuilt from cannot be read."""
    await flush_valkey(world)
    await kill_postgres(world)


async def flush_and_kill_program(world: World) -> None:
    """Lose working memory, and the processes that have begun to rebuild it."""
    await flush_valkey(world)
    await asyncio.sleep(world.random.uniform(0, 0.3))
    await kill_both(world)


def _flush(url: str) -> None:
    with redis.Redis.from_url(url, socket_timeout=5) as client:
        client.flushall()


async def fail_over(world: World) -> None:
    """Give the address of Valkey to another server, which is empty."""
    assert world.valkey is not None
    assert world.standby is not None
    assert world.to_valkey is not None
    await asyncio.to_thread(_flush, world.standby.url)
    world.valkey, world.standby = world.standby, world.valkey
    world.valkey_url = world.valkey.url
    world.to_valkey.target = Address.of_valkey(world.valkey_url)
    world.to_valkey.cut()


async def exhaust_pool(world: World) -> None:
    """Hold a lock that every capture needs until all connections of the pool wait for it."""
    async with await psycopg.AsyncConnection.connect(world.postgres_url) as connection:
        await connection.execute("LOCK TABLE quarantine_logs IN ACCESS EXCLUSIVE MODE")
        await asyncio.sleep(world.random.uniform(0.3, 1.2))
        await connection.rollback()


def _pause(find: Callable[[World], int]) -> Callable[[World], Awaitable[None]]:
    """Stop a server and its children for a while: they neither answer nor end."""

    async def act(world: World) -> None:
        server = psutil.Process(await asyncio.to_thread(find, world))
        stopped = [server, *server.children(recursive=True)]
        for process in stopped:
            _signal(process, signal.SIGSTOP)
        try:
            await asyncio.sleep(world.random.uniform(0.1, 1.0))
        finally:
            for process in reversed(stopped):
                _signal(process, signal.SIGCONT)

    return act


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


async def fill_disk(world: World) -> None:
    """Leave no byte on the file system of both servers; without such a file system, let no file of PostgreSQL grow."""
    if world.disk is None:
        await _limit_files(world)
        return
    ballast = world.disk / BALLAST
    try:
        await asyncio.to_thread(_write_until_full, ballast)
        await asyncio.sleep(world.random.uniform(0.2, 1.0))
    finally:
        ballast.unlink(missing_ok=True)


def _write_until_full(path: Path) -> None:
    size = 16 * 1024 * 1024
    with path.open("wb", buffering=0) as file:
        while size >= 512:
            try:
                if file.write(bytes(size)) < size:
                    size //= 2
            except OSError:
                size //= 2


async def _limit_files(world: World) -> None:
    server = psutil.Process(await asyncio.to_thread(world.postgres_pid))
    limited = [server, *server.children(recursive=True)]
    limits = [process.rlimit(psutil.RLIMIT_FSIZE) for process in limited]
    for process, (_, hard) in zip(limited, limits, strict=True):
        process.rlimit(psutil.RLIMIT_FSIZE, (SMALL_FILE, hard))
    await asyncio.sleep(world.random.uniform(0.2, 1.0))
    for process in [server, *server.children(recursive=True)]:
        process.rlimit(psutil.RLIMIT_FSIZE, limits[0])


def _step(*steps: float, kill: bool = False) -> Callable[[World], Awaitable[None]]:
    """Step the clock of the program by these seconds, one after the other, and back to the time of the system."""

    async def act(world: World) -> None:
        assert world.clock is not None
        for ahead in (*steps, 0.0):
            world.furthest = max(world.furthest, ahead)
            unfinished = world.clock.with_suffix(".new")
            unfinished.write_text(str(ahead))
            unfinished.replace(world.clock)
            await asyncio.sleep(world.random.uniform(0.1, 0.3))
            if kill and ahead:
                await world.parts[0].kill()

    return act


LINKS = {"api": "client and API", "to_postgres": "program and PostgreSQL", "to_valkey": "program and Valkey"}


def _network(*links: str, weight: float) -> list[Fault]:
    return [
        Fault(f"network between {LINKS[link]}: {trouble}", weight, _disturb(link, trouble))
        for link in links
        for trouble in Trouble
    ]


BUNDLED: Sequence[Fault] = (
    Fault("kill -9: clearwell serve with bundled servers", 1.5, kill_program),
    Fault("kill -9: bundled PostgreSQL", 3, kill_postgres),
    Fault("kill -9: bundled PostgreSQL, one backend", 3, kill_backend),
    Fault("kill -9: bundled Valkey", 3, kill_valkey),
    Fault("Valkey: FLUSHALL", 1, flush_valkey),
    *_network("api", weight=0.4),
)
PROXIED: Sequence[Fault] = (
    *_network("api", "to_postgres", "to_valkey", weight=2.2),
    Fault("kill -9: clearwell serve", 5, kill_program),
    Fault("kill -9: clearwell worker", 5, kill_worker),
    Fault("kill -9: serve and worker at once", 2, kill_both),
    Fault("kill -9: PostgreSQL", 5, kill_postgres),
    Fault("kill -9: PostgreSQL, one backend", 5, kill_backend),
    Fault("PostgreSQL ends all connections", 4, terminate_backends),
    Fault("PostgreSQL restarted in the middle of promotions", 4, restart_postgres, only_promotions=True),
    Fault("kill -9: PostgreSQL in the middle of promotions", 4, kill_postgres, only_promotions=True),
    Fault("PostgreSQL stops for a while", 2, _pause(World.postgres_pid)),
    Fault("kill -9: Valkey", 6, kill_valkey),
    Fault("Valkey: FLUSHALL", 4, flush_valkey),
    Fault("Valkey: FLUSHALL, and kill -9 of PostgreSQL", 2, flush_and_kill_postgres),
    Fault("Valkey: FLUSHALL, and kill -9 of serve and worker", 2, flush_and_kill_program),
    Fault("Valkey: failover to an empty one", 4, fail_over),
    Fault("Valkey stops for a while", 2, _pause(_find_valkey)),
    Fault("pool of connections exhausted", 4, exhaust_pool),
    Fault("disk full", 3, fill_disk),
)
STEPPED: Sequence[Fault] = (
    Fault("clock: a minute forward and back", 1, _step(60)),
    Fault("clock: hours back and forward", 1, _step(-2 * HOUR)),
    Fault("clock: more than a day forward and back", 1, _step(DAY + HOUR)),
    Fault("clock: hours forward and back, with kill -9", 0.4, _step(3 * HOUR, kill=True)),
    Fault("clock: forward, then far back, with kill -9", 0.4, _step(HOUR, -DAY, kill=True)),
)
