"""The life of a bundled server, shared by PostgreSQL and Valkey.

One program at a time starts, attaches or stops (lock ``start``). A server holds lock ``life`` as long as it or a child
of it lives, so a server that outlived its program is found and used, and two never work in one folder. Programs
hold lock ``users`` together; the one that leaves last stops the server.
"""

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar

import structlog

from clearwell.embedded.folders import DataFolder
from clearwell.embedded.launch import RunAs, launch, reap, reap_ended
from clearwell.embedded.locks import Lock
from clearwell.embedded.log_files import open_log, tail
from clearwell.embedded.polling import poll
from clearwell.embedded.processes import ServerProcess, find_parent, find_running
from clearwell.errors import EmbeddedStoreError

log = structlog.get_logger(__name__)
RELEASE_SECONDS = 10.0


@dataclass(frozen=True)
class RunningServer:
    """A bundled server that answers."""

    name: str
    version: str
    url: str
    pid: int
    folder: Path
    log: Path
    started: bool  # by us; else it was found alive


class EmbeddedServer(ABC):
    """A server in a data folder. Blocking: call it from a thread in asynchronous code, from one at a time."""

    name: ClassVar[str]
    program: ClassVar[str]
    setting: ClassVar[str]
    key: ClassVar[str]
    stop_signals: ClassVar[Sequence[tuple[str, float]]]  # by name, with the seconds to wait after each

    def __init__(self, data_dir: Path, *, start_seconds: float = 120.0) -> None:
        self.data = DataFolder(Path(os.path.realpath(data_dir)))
        self.start_seconds = start_seconds
        self._start_lock = Lock(self.data.run / f"{self.key}.start")
        self._users_lock = Lock(self.data.run / f"{self.key}.users")
        self._life_lock = Lock(self.data.run / f"{self.key}.life")
        self._running: RunningServer | None = None
        self._process: ServerProcess | None = None
        self._started_by = 0
        self._log_since = 0

    def start(self) -> RunningServer:
        """Attach to the live server of this folder, or start one. Also restarts a server that died."""
        if self._running is not None and self.alive():
            return self._running
        self._find_program()
        self.data.create()
        with self._alone(), ExitStack() as undo:
            if not self._users_lock.held:
                self._users_lock.try_shared()
                undo.callback(self._users_lock.release)
            undo.callback(self._life_lock.release)
            self._settle()
            self._running = self._attach() or self._start()
            undo.pop_all()
        self._process = ServerProcess.find(self._running.pid)
        self._started_by = os.getpid()
        return self._running

    def stop(self) -> None:
        """Stop using the server. The last program that does so stops it."""
        if not self._users_lock.held or self._started_by != os.getpid():  # a forked copy of us is no user
            return
        with self._alone():
            self._running = self._process = None
            try:
                if self._users_lock.try_exclusive():
                    self._shut_down()
            finally:
                self._users_lock.release()

    def alive(self) -> bool:
        """Whether the process of the server that ``start`` returned is alive. Asks the system, not the server."""
        reap_ended()
        return self._process is not None and self._process.alive()

    def is_running(self) -> bool:
        """Whether any program runs a server in this folder. Starts nothing."""
        family = find_running(Path(os.path.realpath(self.folder)), self.program)
        return any(not process.title.startswith("postgres:") for process in family)  # those are its children

    def __enter__(self) -> RunningServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where the server keeps its data and works."""

    @property
    def log(self) -> Path:
        return self.data.logs / f"{self.key}.log"

    @property
    def run_as(self) -> RunAs:
        return RunAs()

    @abstractmethod
    def _find_program(self) -> None:
        """Find the program. Raises if there is none for this system."""

    @abstractmethod
    def _settle(self) -> None:
        """Decide on folders. Called by one program at a time, before attaching or starting."""

    @abstractmethod
    def _prepare(self) -> None:
        """Prepare the folder for a start. Called when no server runs in it."""

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """The command line of the server."""

    @abstractmethod
    def _answer(self, pid: int, *, started: bool) -> RunningServer | None:
        """Return the server that responds at our socket, if it is ready and runs in our folder."""

    def _server_process(self) -> ServerProcess | None:
        return find_parent(find_running(self.folder, self.program))

    def _attach(self) -> RunningServer | None:
        """Attach to a server that runs in the folder. Returns None, with lock ``life`` held, if there is none."""
        for _ in poll(self.start_seconds, pause=0.05):
            if self._life_lock.try_exclusive():
                self._refuse_stranger()
                return None
            process = self._server_process()
            if process is not None and (running := self._answer(process.pid, started=False)) is not None:
                return running
        raise EmbeddedStoreError(
            "embedded_held", name=self.name, folder=self.folder, seconds=round(self.start_seconds), log=self.log
        )

    def _refuse_stranger(self) -> None:
        stranger = self._server_process()
        if stranger is not None:
            raise EmbeddedStoreError("embedded_stranger", name=self.name, folder=self.folder, pid=stranger.pid)

    def _start(self) -> RunningServer:
        self._prepare()
        try:
            return self._start_once()
        except EmbeddedStoreError as error:
            if error.code != "embedded_start_failed" or not self._set_damage_aside():
                raise
        # The end of the server has released the lock.
        if not self._life_lock.wait_exclusive(RELEASE_SECONDS):
            raise self._make_error("embedded_start_failed")
        return self._start_once()

    def _set_damage_aside(self) -> bool:
        """Move away what keeps the server from starting, if that is known and can be made again. Whether it was."""
        return False

    def _start_once(self) -> RunningServer:
        child = self._launch(self._command(), self.folder)
        self._life_lock.hand_over()
        with ExitStack() as undo:
            undo.callback(self._abort, child)
            running = self._wait_for_answer(child)
            undo.pop_all()
        return running

    def _launch(self, command: Sequence[str | Path], folder: Path) -> "subprocess.Popen[bytes]":
        output = open_log(self.log)
        try:
            self._log_since = os.fstat(output).st_size
            return launch(command, lock=self._life_lock, output=output, folder=folder, run_as=self.run_as)
        finally:
            os.close(output)

    def _wait_for_answer(self, child: "subprocess.Popen[bytes]") -> RunningServer:
        for _ in poll(self.start_seconds):
            if child.poll() is not None:
                raise self._make_error("embedded_start_failed")
            if (running := self._answer(child.pid, started=True)) is not None:
                return running
        raise self._make_error("embedded_start_slow", seconds=round(self.start_seconds))

    def _make_error(self, code: str, **params: object) -> EmbeddedStoreError:
        last = tail(self.log, self._log_since)
        return EmbeddedStoreError(
            code, name=self.name, folder=self.folder, log=self.log, tail=last, setting=self.setting, **params
        )

    def _abort(self, child: "subprocess.Popen[bytes]") -> None:
        """Stop a server that was started but cannot be used."""
        child.send_signal(signal.Signals[self.stop_signals[-1][0]])
        with suppress(subprocess.TimeoutExpired):
            reap(child.pid, seconds=10)

    def _shut_down(self) -> None:
        process = self._server_process()
        if process is None:
            reap_ended()
            return
        for name, seconds in self.stop_signals:
            process.send(signal.Signals[name])
            if self._life_lock.wait_exclusive(seconds):
                self._life_lock.release()
                reap(process.pid)
                return
            log.warning("embedded_slow_stop", name=self.name, pid=process.pid, signal=name, seconds=seconds)
        raise EmbeddedStoreError("embedded_not_stopped", name=self.name, folder=self.folder, pid=process.pid)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        seconds = round(self.start_seconds) + 60
        if not self._start_lock.wait_exclusive(seconds):
            raise EmbeddedStoreError("embedded_busy", name=self.name, folder=self.data.path, seconds=seconds)
        try:
            yield
        finally:
            self._start_lock.release()
