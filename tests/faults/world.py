"""What is put under load and disturbed: the program in processes of its own, its two servers, and proxies before them.

There are two arrangements. In the first, ``clearwell serve`` is started as a user starts it and runs the bundled
servers itself. In the second the servers are somebody else's: the run starts them and, as an init system would, starts
them again when they end; ``clearwell serve`` and ``clearwell worker`` reach them through proxies.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import psutil
import psycopg

from clearwell.embedded import EmbeddedPostgres, EmbeddedServer, EmbeddedValkey, RunningServer
from clearwell.stores.postgres import migrate
from tests.faults.janitor import DISK
from tests.faults.stepped_server import READY
from tests.integration.cli.program import SOURCE, Program, Running, free_port
from tests.servers.proxy import Address, FaultyProxy, faulty_proxy

DISK_SIZE = "600m"
LEASE_SECONDS = 1.0
SETTINGS = {
    "CLEARWELL_SWEEP_SECONDS": "0.4",
    "CLEARWELL_ADMISSION_LEASE_SECONDS": str(LEASE_SECONDS),
    "CLEARWELL_DIGEST_STALLED_SECONDS": "3",
    "CLEARWELL_DIGEST_RETRY_SECONDS": "0.1",
    "CLEARWELL_DIGEST_ATTEMPTS": "20",
    "CLEARWELL_DIGEST_CRON": "",
    "CLEARWELL_POSTGRES_CONNECT_SECONDS": "2",
    "CLEARWELL_POSTGRES_STATEMENT_SECONDS": "2",
    "CLEARWELL_POSTGRES_POOL_MAX": "6",
    "CLEARWELL_REDIS_TIMEOUT_SECONDS": "0.5",
    "CLEARWELL_KEY_REQUESTS_PER_MINUTE": "0",
}
"""Times that let a round be short. They change how soon something happens and nothing else."""
LOGGED = 40
TRACEBACK, MAX_LOGGED = "Traceback", 6_000


@dataclass
class KeptServer:
    """A bundled server that the run starts, and starts again."""

    server: EmbeddedServer
    running: RunningServer

    @classmethod
    async def start(cls, server: EmbeddedServer) -> "KeptServer":
        return cls(server, await asyncio.to_thread(server.start))

    @property
    def url(self) -> str:
        return self.running.url

    @property
    def pid(self) -> int:
        return self.running.pid

    async def ensure(self) -> None:
        """Start it if it does not run."""
        if not self.server.alive():
            self.running = await asyncio.to_thread(self.server.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self.server.stop)


@dataclass
class Part:
    """A process of the program that the run starts, and starts again: its words and, while it runs, itself."""

    program: Program
    words: tuple[str, ...]
    ready: str
    running: Running | None = None

    async def start(self) -> None:
        if self.words[0] == STEPPED:
            self.running = await asyncio.to_thread(_start_stepped, self.program, *self.words[1:])
        else:
            self.running = await asyncio.to_thread(self.program.start, *self.words)

    async def wait_until_ready(self) -> None:
        assert self.running is not None
        running = self.running
        await asyncio.to_thread(
            running.wait_until, lambda: self.ready in running.text or self.ready in running.errors.read_text()
        )

    @property
    def pid(self) -> int:
        assert self.running is not None
        return self.running.process.pid

    async def ensure(self) -> None:
        """Start it if it has ended."""
        if self.running is None or self.running.process.poll() is not None:
            await self.start()
            await self.wait_until_ready()

    async def kill(self) -> None:
        if self.running is not None:
            await asyncio.to_thread(self.running.kill)

    async def stop(self) -> None:
        """End it as a user does."""
        if self.running is not None and self.running.process.poll() is None:
            self.running.process.terminate()
            await asyncio.to_thread(self.running.process.wait, 60)


STEPPED = "stepped"


def _start_stepped(program: Program, clock: str) -> Running:
    output = program.folder / "stepped.out"
    errors = output.with_suffix(".err")
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.stepped_server", clock],
            env={**program.variables, "PYTHONPATH": f"{SOURCE}{os.pathsep}{Path(__file__).parents[2]}"},
            cwd=program.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
    return Running(process, output, errors)


@dataclass
class World:
    """One arrangement that runs."""

    folder: Path
    random: Random
    program: Program
    port: int
    api: FaultyProxy
    parts: list[Part]
    key: str = ""
    """A key with every right. Without one, only requests to the very address of the server are accepted."""
    postgres_url: str = ""
    """The address that the checks use, past every proxy, with a login that sees all rows."""
    valkey_url: str = ""
    postgres: KeptServer | None = None
    """The server, if the run keeps it. Else the program does."""
    valkey: KeptServer | None = None
    standby: KeptServer | None = None
    to_postgres: FaultyProxy | None = None
    to_valkey: FaultyProxy | None = None
    disk: Path | None = None
    """The file system of limited size on which the data are, if there is one."""
    clock: Path | None = None
    furthest: float = field(default=0.0)
    """How many seconds ahead the clock of the program has been."""

    @property
    def url(self) -> str:
        """The address of the API, past the proxy."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def proxied_url(self) -> str:
        return f"http://127.0.0.1:{self.api.port}"

    def postgres_pid(self) -> int:
        """The process id of the postmaster. Raises OperationalError if it does not answer."""
        if self.postgres is not None:
            return self.postgres.pid
        with psycopg.connect(self.postgres_url, connect_timeout=5) as connection:
            parent = psutil.Process(connection.info.backend_pid).parent()
        assert parent is not None
        return parent.pid

    async def ensure(self) -> None:
        """Start again what has ended and what nobody else starts."""
        for server in (self.postgres, self.valkey, self.standby):
            if server is not None:
                await server.ensure()
        for part in self.parts:
            await part.ensure()

    def read_logs(self) -> str:
        """The last lines of what the processes of the program have logged."""
        running = [part.running for part in self.parts if part.running is not None]
        return "\n\n".join("\n".join(one.errors.read_text().splitlines()[-LOGGED:]) for one in running)

    def find_tracebacks(self) -> str:
        """What the processes of the program have logged of errors that they did not expect."""
        texts = [part.running.errors.read_text() for part in self.parts if part.running is not None]
        return "\n".join(text[text.index(TRACEBACK) :][:MAX_LOGGED] for text in texts if TRACEBACK in text)

    async def make_key(self) -> None:
        words = ("keys", "create", "--scope", "capture,read,review,admin", "--all-groups", "--json")
        made = await asyncio.to_thread(self.program.good, *words)
        self.key = str(made.json["key"])

    async def close(self) -> None:
        for part in reversed(self.parts):
            await part.stop()
        for server in (self.standby, self.valkey, self.postgres):
            if server is not None:
                await server.stop()


@asynccontextmanager
async def bundled_world(folder: Path, random: Random) -> AsyncIterator[World]:
    """``clearwell serve`` with the bundled servers, in an interpreter of its own, as for a user."""
    port, data = free_port(), folder / "data"
    environment = {**SETTINGS, "CLEARWELL_DATA_DIR": str(data), "CLEARWELL_PORT": str(port)}
    program = Program(folder, environment)
    serve = Part(replace(program, own_interpreter=True), ("serve",), "Ctrl-C")
    await serve.start()
    await serve.wait_until_ready()
    async with faulty_proxy(Address(port=port), random) as api:
        world = World(folder, random, program, port, api, [serve])
        for server in (EmbeddedPostgres(data), EmbeddedValkey(data)):
            # Attach to learn the address, and leave: the server stays the program's.
            running = await asyncio.to_thread(server.start)
            await asyncio.to_thread(server.stop)
            if isinstance(server, EmbeddedPostgres):
                world.postgres_url = running.url
            else:
                world.valkey_url = running.url
        try:
            await world.make_key()
            yield world
        finally:
            await world.close()


@asynccontextmanager
async def proxied_world(folder: Path, random: Random) -> AsyncIterator[World]:
    """Servers of somebody else's behind proxies, ``clearwell serve`` and ``clearwell worker``."""
    disk = _limited_disk(folder)
    data = disk or folder / "servers"
    postgres = await KeptServer.start(EmbeddedPostgres(data / "a"))
    valkey = await KeptServer.start(EmbeddedValkey(data / "a"))
    standby = await KeptServer.start(EmbeddedValkey(data / "b"))
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        # The log of a short run must fit on a small disk.
        connection.execute("ALTER SYSTEM SET max_wal_size = '96MB'")
        connection.execute("SELECT pg_reload_conf()")
    await migrate(postgres.url)
    port = free_port()
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(faulty_proxy(Address(port=port), random))
        to_postgres = await stack.enter_async_context(faulty_proxy(Address.of_postgres(postgres.url), random))
        to_valkey = await stack.enter_async_context(faulty_proxy(Address.of_valkey(valkey.url), random))
        program = Program(
            folder,
            {
                **SETTINGS,
                "CLEARWELL_DATA_DIR": str(folder / "data"),
                "CLEARWELL_PORT": str(port),
                "DATABASE_URL": f"postgresql://clearwell@127.0.0.1:{to_postgres.port}/clearwell",
                "REDIS_URL": f"redis://127.0.0.1:{to_valkey.port}/0",
            },
        )
        clock = folder / "clock"
        clock.write_text("0")
        world = World(
            folder,
            random,
            program,
            port,
            api,
            [Part(program, ("serve",), "Ctrl-C"), Part(program, ("worker",), "Ctrl-C")],
            postgres_url=postgres.url,
            valkey_url=valkey.url,
            postgres=postgres,
            valkey=valkey,
            standby=standby,
            to_postgres=to_postgres,
            to_valkey=to_valkey,
            disk=disk,
            clock=clock,
        )
        try:
            await world.ensure()
            await world.make_key()
            yield world
        finally:
            await world.close()


async def use_stepped_server(world: World) -> None:
    """Serve from one process whose clock can be stepped, in the place of the program's processes."""
    for part in world.parts:
        await part.stop()
    world.parts = [Part(world.program, (STEPPED, str(world.clock)), READY)]
    await world.ensure()


def _limited_disk(folder: Path) -> Path | None:
    """A file system of limited size, which only root can mount. The janitor unmounts it."""
    if os.geteuid() != 0 or sys.platform != "linux":
        return None
    disk = folder / DISK
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=0755", "tmpfs", disk], check=False)
    return disk if mounted.returncode == 0 else None


def stop_group(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to processes, as far as they live."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
