"""Start, find again, share and leave."""

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from tests.integration.embedded.observing import Program, ServerClass, eventually, lives, read, write

from clearwell.embedded import EmbeddedPostgres, RunningServer, data_size

Programs = Callable[..., Program]


def test_first_start_gives_a_server_that_answers_and_stop_ends_it(server: ServerClass, folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    folder.chmod(0o750)
    data = closed / "new" / "data"
    with server(data) as running:
        write(running, "hello")
        assert read(running.url) == ["hello"]
        assert running.started
        assert running.version
        assert running.folder.is_relative_to(folder)
        assert running.log.stat().st_size > 0
        assert data_size(data).total > 0
        assert_closed_to_others(data, running)
    assert not lives(running.pid)
    assert [stat.S_IMODE(parent.stat().st_mode) for parent in (folder, closed)] == [0o750, 0o700]


def assert_closed_to_others(data: Path, running: RunningServer) -> None:
    sockets = [path for path in (data / "run").iterdir() if path.is_socket()]
    assert sockets
    for path in (data, running.folder, running.log.parent, running.log, *sockets):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_postgres_listens_to_no_network_and_keeps_data_safe(used: Path) -> None:
    with EmbeddedPostgres(used) as running, psycopg.connect(running.url) as connection:
        shown = {
            name: connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            for name in ("listen_addresses", "fsync", "full_page_writes", "synchronous_commit", "server_encoding")
        }
        assert {name: row and row[0] for name, row in shown.items()} == {
            "listen_addresses": "",
            "fsync": "on",
            "full_page_writes": "on",
            "synchronous_commit": "on",
            "server_encoding": "UTF8",
        }
        connection.execute("CREATE EXTENSION vector")
        assert connection.info.dbname == "clearwell"


def test_failed_statements_do_not_bring_content_into_the_log(used: Path) -> None:
    with EmbeddedPostgres(used) as running, psycopg.connect(running.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (text text, number int CHECK (number > 0))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO notes VALUES ('a secret of the agent', -1)")
    log = running.log.read_text()
    assert "violates check constraint" in log
    assert "secret" not in log


def test_warm_start_finds_the_data(server: ServerClass, used: Path) -> None:
    for number in range(3):
        with server(used) as running:
            assert running.started
            write(running, f"run {number}")
    with server(used) as running:
        assert read(running.url) == ["run 0", "run 1", "run 2"]


def test_start_again_gives_the_same_server_and_stop_again_does_nothing(server: ServerClass, used: Path) -> None:
    one = server(used)
    one.stop()
    first = one.start()
    assert one.start() == first
    one.stop()
    one.stop()
    assert not one.alive()
    assert not lives(first.pid)


def test_two_objects_of_one_program_share_a_server(server: ServerClass, used: Path) -> None:
    one, two = server(used), server(used)
    first, second = one.start(), two.start()
    assert (first.started, second.started) == (True, False)
    assert (first.pid, first.url, first.version) == (second.pid, second.url, second.version)
    one.stop()
    assert two.alive()
    write(second, "still here")
    two.stop()
    assert not lives(first.pid)


def test_two_programs_at_once_share_a_server_until_the_last_leaves(
    server: ServerClass, folder: Path, program: Programs
) -> None:
    programs = [program(server, folder), program(server, folder)]
    answers = [each.running() for each in programs]
    assert sorted(answer["started"] for answer in answers) == [False, True]
    assert answers[0]["pid"] == answers[1]["pid"]
    starter = programs[[answer["started"] for answer in answers].index(True)]
    other = programs[1 - programs.index(starter)]

    starter.leave()
    assert lives(answers[0]["pid"])
    with server(folder) as running:
        write(running, "still here")
        assert not running.started
    assert read(running.url) == ["still here"]

    other.leave()
    assert eventually(lambda: not lives(answers[0]["pid"]))


def test_a_program_killed_leaves_its_server_to_the_next(server: ServerClass, used: Path, program: Programs) -> None:
    first = program(server, used)
    pid = first.running()["pid"]
    first.kill()
    assert first.line() == ""  # the server holds no pipe of the program
    assert lives(pid)
    with server(used) as running:
        assert not running.started
        assert running.pid == pid
        write(running, "attached")
    assert eventually(lambda: not lives(pid))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_copy_of_the_program_does_not_stop_the_server(server: ServerClass, used: Path) -> None:
    one = server(used)
    running = one.start()
    child = os.fork()
    if child == 0:
        one.stop()
        os._exit(0)
    os.waitpid(child, 0)
    assert one.alive()
    one.stop()
    assert not lives(running.pid)


def test_ctrl_c_does_not_reach_a_server_but_stop_does_even_with_sigint_ignored(
    server: ServerClass, used: Path, program: Programs
) -> None:
    first = program(server, used, "ignore-sigint")
    pid = first.running()["pid"]
    assert os.getpgid(pid) != os.getpgid(first.process.pid)
    assert os.getsid(pid) != os.getsid(first.process.pid)
    os.killpg(first.process.pid, signal.SIGINT)
    first.leave()
    assert eventually(lambda: not lives(pid))
    log = (used / "logs" / f"{server.key}.log").read_text()
    assert "fast shutdown" in log or "ready to exit" in log
    assert "immediate shutdown" not in log
