"""Starts a program as a child process that outlives this one, ignores Ctrl-C and inherits only its lock."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clearwell.embedded.locks import Lock

BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ")

# Children are remembered, so that one that was left to other programs is reaped when it ends before us.
_children: dict[int, "subprocess.Popen[bytes]"] = {}


@dataclass(frozen=True)
class RunAs:
    """How a program is started: behind a wrapper, or as another user."""

    wrapper: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None


def launch(
    command: Sequence[str | Path], *, lock: Lock, output: int, folder: Path, run_as: RunAs
) -> "subprocess.Popen[bytes]":
    """Start ``command`` in ``folder`` with its output in ``output``; it inherits ``lock`` and no other descriptor."""
    user = "-" if run_as.uid is None else f"{run_as.uid}:{run_as.gid}"
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", BOOTSTRAP, user, *run_as.wrapper, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment(),
        pass_fds=(lock.fileno(),),
        start_new_session=True,
    )
    _children[child.pid] = child
    return child


def environment() -> dict[str, str]:
    """The environment of the servers: no keys, no ``PG…`` variables for clients, English messages."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C"}


def reap(pid: int, seconds: float = 5.0) -> None:
    """Collect a child that has ended, so that no zombie keeps its pid."""
    child = _children.get(pid)
    if child is not None:
        child.wait(seconds)
        del _children[pid]


def reap_ended() -> None:
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            del _children[pid]
