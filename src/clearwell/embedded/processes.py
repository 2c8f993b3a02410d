"""Finds the server processes of a folder by asking the system. Pid files are not used."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil


@dataclass(frozen=True)
class ServerProcess:
    """A live process. A later process with the same pid is not mistaken for it."""

    pid: int
    parent: int
    title: str  # first word of its command line, as the process itself has set it
    _handle: psutil.Process = field(repr=False, compare=False)

    @classmethod
    def find(cls, pid: int) -> ServerProcess | None:
        """Return the process with this pid, or None if it has ended or belongs to another user."""
        try:
            handle = psutil.Process(pid)
            if handle.status() == psutil.STATUS_ZOMBIE:
                return None
            return cls(pid, handle.ppid(), "".join(handle.cmdline()[:1]), handle)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None

    def alive(self) -> bool:
        try:
            return bool(self._handle.is_running() and self._handle.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    def send(self, number: signal.Signals) -> None:
        with suppress(psutil.NoSuchProcess):
            self._handle.send_signal(number)


def find_running(folder: Path, program: str) -> list[ServerProcess]:
    """Return all processes of a server in ``folder``, including its children."""
    found = (ServerProcess.find(pid) for pid in psutil.pids() if _runs(pid, program, folder))
    return [process for process in found if process is not None]


def find_parent(family: Iterable[ServerProcess]) -> ServerProcess | None:
    """Return the process that is not a child of another one."""
    members = list(family)
    pids = {process.pid for process in members}
    return next((process for process in members if process.parent not in pids), None)


def _runs(pid: int, program: str, folder: Path) -> bool:
    """Whether the process is ``program`` with ``folder`` as its working folder, as both servers have it."""
    try:
        process = psutil.Process(pid)
        return bool(process.name() == program and process.cwd() == str(folder))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
