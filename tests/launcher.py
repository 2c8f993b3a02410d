"""Starts commands of the program without importing it each time.

One process for each test process imports the program and loads the model once. For a command it forks, and the copy
runs the command to its end with its own arguments, environment, folder and streams.

Two things differ from a start of its own. All modules are imported already. And the copy ends after its threads have
ended, what was registered to run at exit has run, and its streams are flushed, but before the interpreter frees each
object: that would copy all the memory that it shares with the first process, and take two thirds of the processor time
of a command. Both are tested with interpreters of their own (``Program.own_interpreter``).
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
STREAMS = 3


class Command:
    """A command that was started, with the part of ``subprocess.Popen`` that tests use."""

    def __init__(self, connection: socket.socket) -> None:
        self._answers = connection.makefile("rb")
        self._connection = connection
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self._read_code()
        return self.returncode

    def wait(self, timeout: float) -> int:
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            self._read_code()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read_code(self) -> None:
        self.returncode = int(self._answers.readline())
        self._answers.close()
        self._connection.close()


class Launcher:
    """The process that forks, as seen by the tests."""

    def __init__(self, source: Path) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.launcher", str(theirs.fileno())],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(source)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def start(
        self,
        words: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
    ) -> Command:
        """Start ``clearwell`` with these words."""
        ours, theirs = socket.socketpair()
        request = {"words": words, "environment": dict(environment), "folder": str(folder)}
        with theirs:
            # One byte: what was sent with it arrives with it, whoever else sends at the same time.
            socket.send_fds(self._control, [b"."], [theirs.fileno(), *(stream.fileno() for stream in streams)])
        ours.sendall(json.dumps(request).encode() + b"\n")
        return Command(ours)

    def close(self) -> None:
        self._control.close()
        self._process.wait(60)


@cache
def launcher(source: Path) -> Launcher:
    """The launcher of this test process for the program in this folder."""
    started = Launcher(source)
    atexit.register(started.close)
    return started


def wait_for_command(control: socket.socket) -> dict[str, Any]:
    """Return a request in the copy that is to run it. The first process returns never: it ends with the tests."""
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([control, ended], [], [])
        if ended in ready:
            ended.recv(1024)
            report_ended(running)
        if control not in ready:
            continue
        _, received, _, _ = socket.recv_fds(control, 1, 1 + STREAMS)
        if not received:
            os._exit(0)
        connection, streams = socket.socket(fileno=received[0]), received[1:]
        with connection.makefile("rb") as requests:
            request: dict[str, Any] = json.loads(requests.readline())
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for opened in (control, ended, wake, connection, *running.values()):
                opened.close()
            take_streams(streams)
            return request
        running[pid] = connection
        connection.sendall(f"{pid}\n".encode())
        for stream in streams:
            os.close(stream)


def report_ended(running: dict[int, socket.socket]) -> None:
    """Report the exit codes of the commands that have ended. A test may have stopped waiting for one."""
    for pid in list(running):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            with running.pop(pid) as connection, suppress(BrokenPipeError):
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def take_streams(streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def adopt(request: dict[str, Any]) -> None:
    """Make this process what a shell would have started."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["clearwell", *request["words"]]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115


def load_program() -> list[object]:
    """Import all of it and load the model. What is returned has to be kept."""
    import clearwell

    names = [module.name for module in pkgutil.walk_packages(clearwell.__path__, "clearwell.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    from clearwell.models.offline import load_use

    kept: list[object] = [*modules, load_use()]
    gc.freeze()  # or every collection in a copy would touch, and so copy, all of it
    return kept


class Exit:
    """Ends this process with the exit code of its command instead of freeing every object."""

    def __init__(self) -> None:
        self._code: int | None = 1  # of an exception that nobody handles
        atexit.register(self._leave)  # before anything else is registered, so that it runs last

    def run(self, command: Callable[[], None]) -> None:
        try:
            command()
            self._code = 0
        except SystemExit as exit_request:
            self._code = exit_request.code if isinstance(exit_request.code, int) else None
            raise
        except KeyboardInterrupt:
            self._code = None
            raise

    def _leave(self) -> None:
        """Let the interpreter end as it does where there is no exit code, and where coverage is still to be written."""
        if self._code is not None and "coverage" not in sys.modules:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self._code)


if __name__ == "__main__":
    ending = Exit()
    kept = load_program()
    adopt(wait_for_command(socket.socket(fileno=int(sys.argv[1]))))
    from clearwell.adapters.cli import main

    ending.run(main)
