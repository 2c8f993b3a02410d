"""The real program in processes of its own, and the commands that it prints."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import httpx

import clearwell.errors
from tests.launcher import Command, launcher

FOREIGN = (
    "PYTHONDONTWRITEBYTECODE",
    "CLEARWELL_",
    "DATABASE_URL",
    "REDIS_URL",
    "LC_",
    "LANG",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
)
SOURCE = Path(clearwell.errors.__file__).parents[1]
START_SECONDS = 180
"""Long enough on a machine that does much else. Several processes that load the model take that at times."""
READY = ("Press Ctrl-C to stop", "按 Ctrl-C 停止")


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Program:
    """``clearwell`` with an environment of the test's own, in a folder of the test's own."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    own_interpreter: bool = False
    """Whether each command starts Python and imports the program, as for a user, instead of being forked."""

    def but(self, **changed: str) -> "Program":
        return replace(self, environment={**self.environment, **changed})

    def chinese(self) -> "Program":
        return self.but(LC_ALL="zh_CN.UTF-8")

    def run(self, *words: str, stdin: str = "") -> Ran:
        ran = self._ran(self.command(*words), stdin=stdin) if self.own_interpreter else self._forked(words, stdin=stdin)
        assert "Traceback" not in ran.err
        assert "\x1b" not in ran.out + ran.err, "no colours where there is no terminal"
        return ran

    def good(self, *words: str, stdin: str = "") -> Ran:
        ran = self.run(*words, stdin=stdin)
        assert ran.code == 0, ran
        return ran

    def shell(self, line: str, **more: str) -> Ran:
        """A line of shell in the program's environment."""
        return self.but(**more)._ran(["sh", "-c", line])

    @contextmanager
    def starting(self, *words: str, ignoring_sigint: bool = False) -> Iterator["Serving"]:
        """``serve`` on a free port, as soon as its process is there."""
        with reserved_port() as port:
            started = self.start("serve", "--port", str(port), *words, ignoring_sigint=ignoring_sigint)
            try:
                yield Serving(started.process, started.output, started.errors)
            finally:
                if started.process.poll() is None:
                    started.process.terminate()
                    started.process.wait(60)

    @contextmanager
    def serving(self, *words: str, ignoring_sigint: bool = False) -> Iterator["Serving"]:
        """``serve`` on a free port, once it is ready."""
        with self.starting(*words, ignoring_sigint=ignoring_sigint) as running:
            running.wait_until_ready()
            yield running

    def start(self, *words: str, ignoring_sigint: bool = False) -> "Running":
        """Start a command and do not wait for its end."""
        output = self.folder / f"{words[0]}-{time.monotonic_ns()}"
        errors = output.with_suffix(".err")
        with output.open("wb") as out, errors.open("wb") as err:
            return Running(self._start(words, out, err, ignoring_sigint=ignoring_sigint), output, errors)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "clearwell", *words]

    def _start(
        self, words: Sequence[str], out: IO[bytes], err: IO[bytes], *, ignoring_sigint: bool
    ) -> "subprocess.Popen[bytes] | Command":
        if self.own_interpreter:
            return subprocess.Popen(
                self.command(*words),
                env=self.variables,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=_ignore_sigint if ignoring_sigint else None,
            )
        assert not ignoring_sigint
        with Path(os.devnull).open("rb") as nothing:
            return self.fork(words, (nothing, out, err))

    def fork(self, words: Sequence[str], streams: tuple[IO[bytes], IO[bytes], IO[bytes]]) -> Command:
        """Start a command with these as its standard streams."""
        return launcher(SOURCE).start(words, environment=self.variables, folder=self.folder, streams=streams)

    def _forked(self, words: Sequence[str], stdin: str) -> Ran:
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(stdin.encode())
            given.seek(0)
            started = self.fork(words, (given, out, err))
            try:
                code = started.wait(60)
            finally:
                started.kill()
            return Ran(code, _read(out), _read(err))

    def _ran(self, command: list[str], stdin: str = "") -> Ran:
        ended = subprocess.run(
            command,
            env=self.variables,
            cwd=self.folder,
            input=stdin.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    @property
    def variables(self) -> dict[str, str]:
        """The environment of its commands."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return {**own, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(SOURCE), **self.environment}


@dataclass
class Running:
    """A command that runs."""

    process: "subprocess.Popen[bytes] | Command"
    output: Path
    errors: Path

    @property
    def text(self) -> str:
        return self.output.read_text()

    def wait_until(self, condition: Callable[[], object]) -> None:
        until(lambda: self.process.poll() is not None or condition(), seconds=START_SECONDS)
        assert self.process.poll() is None, self.text + self.errors.read_text()

    def wait(self, seconds: float = 60) -> Ran:
        """Wait for its end."""
        return Ran(self.process.wait(seconds), self.text, self.errors.read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(60)
        assert "Traceback" not in self.errors.read_text()
        return code


@dataclass
class Serving(Running):
    """A ``clearwell serve`` that runs."""

    @property
    def url(self) -> str:
        return next(word for word in self.text.split() if word.startswith("http://"))

    @property
    def commands(self) -> list[str]:
        return [line.strip() for line in self.text.splitlines() if line.startswith("  curl ")]

    def wait_until_ready(self) -> None:
        self.wait_until(lambda: any(mark in self.text for mark in READY))


def answers_of(program: Program, command: str, **environment: str) -> list[Any]:
    """What a printed command answers, run through the shell; where there is no curl, as a request of ours."""
    if shutil.which("curl") is None:
        for name, value in environment.items():
            command = command.replace(f"${name}", value)
        return [_request(part) for part in _split(shlex.split(command), "&&")]
    ran = program.shell(command, **environment)
    assert ran.code == 0, ran
    return [json.loads(line) for line in ran.out.splitlines()]


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


def _split(words: Sequence[str], separator: str) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word == separator:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _request(words: Sequence[str]) -> Any:
    url = next(word for word in words if word.startswith("http://"))
    values = dict(pairwise(words))
    pairs = [words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H"]
    return httpx.post(url, content=values["-d"].encode(), headers=dict(pairs), trust_env=False).json()


def until(condition: Callable[[], object], *, seconds: float = 60) -> None:
    """Look again and again until it holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port that the system gives to nobody else meanwhile. It is bound, and who reuses addresses can listen on it."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield int(reserved.getsockname()[1])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _ignore_sigint() -> None:
    """As a shell does for its background jobs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
