"""The server is stopped while agents capture, and an agent is killed: everything is delivered, in order, and once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import psycopg

from clearwell.middleware.spool import read_spool
from tests.integration.cli.program import SOURCE, Program, Running, reserved_port
from tests.integration.middleware.agent import SESSIONS

CAPTURES = 12_000
"""Ten minutes of twenty captures a second."""
BEFORE_THE_KILL = 6_000
ROWS = "SELECT session_id, content, occurred_at FROM quarantine_logs ORDER BY id"


class Agent:
    """A process that runs ``agent.py``."""

    def __init__(self, url: str, spool: Path, name: str, count: int) -> None:
        words = ["-m", "tests.integration.middleware.agent", url, str(spool), name, str(count)]
        self.process = subprocess.Popen(
            [sys.executable, *words],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{Path.cwd()}"},
        )
        assert self.process.stdout is not None
        self.output: IO[bytes] = self.process.stdout

    def read(self, *names: str) -> dict[str, Any]:
        """The next step that says these."""
        for line in self.output:
            step: dict[str, Any] = json.loads(line)
            if {*names} <= {*step}:
                return step
        raise AssertionError(f"the agent ended with {self.process.wait(10)}")

    def read_captured(self, count: int) -> int:
        """Wait until this many outputs are captured; returns how many there are."""
        while (captured := int(self.read("captured")["captured"])) < count:
            pass
        return captured

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(60)
        self.output.close()

    def kill(self) -> int:
        """Kill it in the middle of its work; returns how many captures it had reported."""
        self.process.kill()
        captured = [
            json.loads(line).get("captured", 0) for line in self.output.read().splitlines() if line[-1:] == b"}"
        ]
        return max(captured, default=0)


@contextmanager
def started(program: Program, port: int) -> Iterator[Running]:
    server = program.start("serve", "--port", str(port))
    try:
        server.wait_until(lambda: "Ctrl-C" in server.text)
        yield server
    finally:
        server.kill()


def test_ten_minutes_without_a_server_and_a_killed_agent_lose_and_double_nothing(
    program: Program, database_url: str, tmp_path: Path
) -> None:
    spool = tmp_path / "agents"
    with reserved_port() as port:
        url = f"http://127.0.0.1:{port}"
        with ExitStack() as stack:
            with started(program, port):
                first = stack.enter_context(Agent(url, spool, "first", CAPTURES))
                first.read_captured(100)
            captured = first.read_captured(BEFORE_THE_KILL)
            captured = max(captured, first.kill())
        assert captured < CAPTURES, "it was killed in the middle"
        assert read_spool(spool)[0].waiting > 0
        with Agent(url, spool, "second", CAPTURES - captured) as second:
            assert second.read("slowest_ms")["problems"] > 0, "nodes had no context, and no error"
            with started(program, port):
                done = second.read("delivered")
                assert (done["refused"], done["dropped"], second.process.wait(60)) == (0, 0, 0)
                check_rows(database_url, captured, CAPTURES - captured)
    assert [report.waiting for report in read_spool(spool)] == [0]


def check_rows(database_url: str, first: int, second: int) -> None:
    """Each session has what the first agent said and then what the second one said, in order and once.

    The first agent may have captured more than it had time to report.
    """
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(ROWS).fetchall()
    assert first + second <= len(rows) <= first + second + 2 * 100
    for session in range(SESSIONS):
        said = [content for session_id, content, _ in rows if session_id == f"s{session}"]
        of_first = [content for content in said if content.startswith("first")]
        assert said[: len(of_first)] == of_first == [f"first {number}" for number in range(len(of_first))]
        assert len(of_first) >= first // SESSIONS
        of_second = len(range(session, second, SESSIONS))
        assert said[len(of_first) :] == [f"second {number}" for number in range(of_second)]
    times = {session: [at for session_id, _, at in rows if session_id == f"s{session}"] for session in range(SESSIONS)}
    assert all(sorted(of_session) == of_session for of_session in times.values())
