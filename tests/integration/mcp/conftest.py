"""One real server for the tests of a module, and one for each test that makes keys."""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
import redis
from mcp import Client

from tests.conftest import with_database
from tests.integration.cli.program import Program
from tests.integration.mcp.clients import TRANSPORTS, over_http, over_stdio

_numbers = count()
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@dataclass(frozen=True)
class Station:
    """A program whose server runs, and its address."""

    program: Program
    url: str

    def promote(self, group: str, text: str) -> str:
        """Promote a text as a person does who has seen what is in it; returns the id of the memory."""
        seen = ("--acknowledge", "hidden_text", "--acknowledge", "instruction_like")
        return str(self.program.good("ingest", "-g", group, text, *seen, "--json").json["id"])


@pytest.fixture(scope="module")
def station(postgres_url: str, valkey_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    """Local mode: no key was ever made."""
    redis_url = f"{valkey_server}{'&' if '?' in valkey_server else '?'}db=14"
    with redis.Redis.from_url(redis_url) as working:
        working.flushdb()
    name, folder = f"mcp_{next(_numbers)}", tmp_path_factory.mktemp("mcp")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template_clearwell')
        program = make_program(folder, with_database(postgres_url, name), redis_url)
        with program.serving() as running:
            yield Station(program, running.url)
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def program(database_url: str, redis_url: str, tmp_path: Path) -> Program:
    """A program of the test's own, of which nothing runs yet."""
    return make_program(tmp_path, database_url, redis_url)


def make_program(folder: Path, database_url: str, redis_url: str) -> Program:
    environment = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "CLEARWELL_DATA_DIR": str(folder / "data")}
    return Program(folder, environment)


@pytest.fixture(params=TRANSPORTS)
def connect(request: pytest.FixtureRequest, station: Station) -> Connect:
    """Connects a client to the same memory, over either transport, with a group of its own."""

    def over_either(group: str) -> AbstractAsyncContextManager[Client]:
        if request.param == "stdio":
            return over_stdio(station.program, "--group", group, "--agent", "coder", "--session", "s1")
        return over_http(station.url, query=f"?group={group}&agent=coder&session=s1")

    return over_either
