"""Every snippet of the READMEs and of docs/ runs as it is printed, and prints what the page says.

``WRITE_OUTPUTS=1`` (``make outputs``) writes what was printed into the pages instead of comparing it.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
import redis

from tests.acceptance.not_run import NOT_RUN, reason
from tests.acceptance.snippets import (
    FILES,
    ROOT,
    RUN,
    Block,
    PythonPage,
    Values,
    documents,
    read_blocks,
    split_commands,
    write_outputs,
)
from tests.conftest import with_database
from tests.integration.cli.program import Program

OWN_SERVER = "<!-- own server -->"
ADDRESS = re.compile(r"(?:localhost|127\.0\.0\.1):8080")
ASSIGNMENT = re.compile(r"[A-Z_]+=")
SHELL = re.compile(r"[|&;<>$`]")
LOCALES = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}
VALKEY_DATABASES = {"en": 8, "zh": 9}
"""Of the servers that pages share."""
OWN_VALKEY_DATABASE = 10
"""Of the pages with a server of their own, which run one after the other."""
WRITING = bool(os.environ.get("WRITE_OUTPUTS"))
_numbers = count()


def pages() -> list[Path]:
    return [path for path in documents() if any(block.language in RUN for block in read_blocks(path))]


@dataclass(frozen=True)
class Ground:
    """A server with a database of its own: what the snippets of pages run on."""

    program: Program
    address: str

    def run_command(self, command: str) -> str:
        """Run a command of a page and return what it prints."""
        words = shlex.split(command.replace("\\\n", " "))
        own = [word for word in words if ASSIGNMENT.match(word)]
        if words[len(own)] == "clearwell" and not SHELL.search(re.sub(r"'[^']*'", "", command)):
            changed = dict(word.split("=", 1) for word in own)
            ran = self.program.but(**changed).run(*words[len(own) + 1 :])
        else:
            ran = self.program.shell(command)
        assert ran.code == 0, f"{command}\n{ran.out}{ran.err}"
        return ran.out

    def in_place(self, code: str) -> str:
        return ADDRESS.sub(self.address, code)


@contextmanager
def open_ground(
    postgres_url: str, valkey_server: str, valkey_database: int, folder: Path, locale: str
) -> Iterator[Ground]:
    number = next(_numbers)
    redis_url = f"{valkey_server}{'&' if '?' in valkey_server else '?'}db={valkey_database}"
    with redis.Redis.from_url(redis_url) as working:
        working.flushdb()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "snippets_{number}" TEMPLATE template_clearwell STRATEGY FILE_COPY')
        environment = {
            "DATABASE_URL": with_database(postgres_url, f"snippets_{number}"),
            "REDIS_URL": redis_url,
            "CLEARWELL_DATA_DIR": str(folder / "data"),
            "LC_ALL": locale,
            "HOME": str(folder),
            "PATH": f"{command_folder(folder)}{os.pathsep}{os.environ['PATH']}",
        }
        program = Program(folder, environment)
        with program.serving() as serving:
            address = serving.url.removeprefix("http://")
            yield Ground(program.but(CLEARWELL_PORT=address.rpartition(":")[2]), address)
        connection.execute(f'DROP DATABASE "snippets_{number}" WITH (FORCE)')


def command_folder(folder: Path) -> Path:
    """The folder with ``clearwell`` for commands that need a shell. curl fails when the server does."""
    (folder / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n")
    (folder / "bin").mkdir()
    command = folder / "bin" / "clearwell"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clearwell "$@"\n')
    command.chmod(0o755)
    return command.parent


@pytest.fixture(scope="module")
def grounds(
    postgres_url: str, valkey_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Ground]]:
    """The servers that pages of one language share, as far as they were needed."""
    with ExitStack() as stack:

        class Grounds(dict[str, Ground]):
            def __missing__(self, language: str) -> Ground:
                folder, database = tmp_path_factory.mktemp("pages"), VALKEY_DATABASES[language]
                opened = open_ground(postgres_url, valkey_server, database, folder, LOCALES[language])
                self[language] = stack.enter_context(opened)
                return self[language]

        yield Grounds()


@pytest.fixture
def ground(
    page: Path,
    grounds: dict[str, Ground],
    postgres_url: str,
    valkey_server: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ground]:
    language = "zh" if ".zh" in page.name else "en"
    if not page.read_text(encoding="utf-8").startswith(OWN_SERVER):
        yield grounds[language]
        return
    folder = tmp_path_factory.mktemp("page")
    with open_ground(postgres_url, valkey_server, OWN_VALKEY_DATABASE, folder, LOCALES[language]) as opened:
        yield opened


class PageRun:
    """The blocks of one page, in order: shell and Python on one server."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._values = Values()
        self._python = PythonPage()
        self._printed = ""
        self._outputs: list[tuple[Block, str]] = []

    def run(self, block: Block) -> None:
        if WRITING:
            self._values.invent(block.code, self._printed)
        code = self._values.fill_in(self._ground.in_place(block.code))
        printed = self._python.run(block, code) if block.language == "python" else self._run_commands(code)
        printed = printed.replace(self._ground.address, "127.0.0.1:8080")
        self._printed += printed
        expected = block.output
        if expected is None or self._values.compare(expected.code, printed):
            return
        assert WRITING, f"{expected}: the page shows\n{expected.code}\nand this was printed\n{printed}"
        self._outputs.append((expected, printed))

    @property
    def outputs(self) -> list[tuple[Block, str]]:
        """The outputs that the page does not show yet."""
        return [(block, self._values.show(printed)) for block, printed in self._outputs]

    def _run_commands(self, code: str) -> str:
        commands = [command for command in split_commands(code) if reason(command) is None]
        return "".join(self._ground.run_command(command) for command in commands)

    def close(self) -> None:
        self._python.close()


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_runs_and_prints_what_it_says(page: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ground.program.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ground.program.folder)
    run = PageRun(ground)
    # In a thread of its own: blocks have event loops of their own.
    with ThreadPoolExecutor(1) as thread:
        try:
            for block in read_blocks(page):
                if block.language in RUN:
                    thread.submit(run.run, block).result()
        finally:
            thread.submit(run.close).result()
    write_outputs(page, run.outputs)


def test_every_block_is_run_or_is_no_program() -> None:
    strange = [str(block) for page in documents() for block in read_blocks(page) if block.language not in RUN + FILES]
    assert strange == []


def test_every_reason_for_not_running_a_command_is_needed() -> None:
    blocks = [block for page in documents() for block in read_blocks(page) if block.language == "bash"]
    commands = [command for block in blocks for command in split_commands(block.code)]
    unused = [pattern for pattern in NOT_RUN if not any(re.match(pattern, command) for command in commands)]
    assert unused == []
