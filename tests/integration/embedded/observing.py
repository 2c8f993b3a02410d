"""What the tests of the bundled servers do and see from outside: programs, processes, stored values."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from redis import Redis

from clearwell.embedded import EmbeddedServer, RunningServer
from clearwell.embedded.polling import poll

PROGRAM = Path(__file__).with_name("program.py")
PATIENCE = 30.0

ServerClass = type[EmbeddedServer]


class Program:
    """A process that uses a server until it is told to leave."""

    def __init__(self, server: ServerClass, folder: Path, *flags: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, server.__name__, folder, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )

    def line(self) -> str:
        """Its next line; empty when nobody holds its output any more."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready, "the program said nothing"
        return self.process.stdout.readline().decode().strip()

    def running(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.line())
        return answer

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        assert self.line() == "stopped"
        assert self.process.wait(PATIENCE) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def close(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def eventually(condition: Callable[[], object]) -> bool:
    return any(condition() for _ in poll(PATIENCE))


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def pids_below(path: Path) -> list[int]:
    """Live processes whose working folder is in ``path``."""
    return [pid for pid in psutil.pids() if lives(pid) and _works_below(pid, path)]


def children_of(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children()]


def title_of(pid: int) -> str:
    return " ".join(psutil.Process(pid).cmdline())


def user_of(pid: int) -> int:
    return int(psutil.Process(pid).uids().effective)


def _works_below(pid: int, path: Path) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return Path(psutil.Process(pid).cwd()).is_relative_to(path)
    return False


def write(running: RunningServer, text: str) -> None:
    """Store a value; it is on disk when this returns."""
    if running.name == "PostgreSQL":
        with psycopg.connect(running.url) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS notes (text text)")
            connection.execute("INSERT INTO notes VALUES (%s)", (text,))
    else:
        with Redis.from_url(running.url) as client:
            client.rpush("notes", text)
            assert client.execute_command("WAITAOF", 1, 0, 5000)[0] == 1


def read(url: str) -> list[str]:
    """All values that were stored, in their order."""
    if url.startswith("postgresql:"):
        with psycopg.connect(url) as connection:
            return [row[0] for row in connection.execute("SELECT text FROM notes")]
    with Redis.from_url(url, decode_responses=True) as client:
        return [str(value) for value in client.lrange("notes", 0, -1)]
