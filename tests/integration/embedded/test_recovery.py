"""After kill -9, crashes at bad moments, stale files and strangers."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest
from structlog.testing import capture_logs
from tests.integration.embedded.observing import (
    PATIENCE,
    Program,
    ServerClass,
    children_of,
    eventually,
    lives,
    pids_below,
    read,
    title_of,
    write,
)

from clearwell.embedded import EmbeddedPostgres, EmbeddedValkey
from clearwell.embedded.install import valkey_server
from clearwell.errors import EmbeddedStoreError

Programs = Callable[..., Program]


@pytest.fixture
def foreign_process() -> Iterator[int]:
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process.pid
        assert process.poll() is None, "somebody ended a process that is not ours to end"
        process.kill()


def test_after_kill_9_of_the_server_the_data_are_there(server: ServerClass, used: Path) -> None:
    one = server(used)
    first = one.start()
    write(first, "before")
    os.kill(first.pid, signal.SIGKILL)
    assert eventually(lambda: not one.alive())

    second = one.start()
    assert second.started
    assert second.pid != first.pid
    assert read(second.url) == ["before"]
    write(second, "after")
    one.stop()
    with server(used) as running:
        assert read(running.url) == ["before", "after"]


def test_a_busy_backend_that_outlived_postgres_does_not_block_the_next_start(used: Path) -> None:
    one = EmbeddedPostgres(used)
    first = one.start()
    write(first, "before")
    with closing(psycopg.connect(first.url, autocommit=True)) as busy:
        backend = busy.info.backend_pid
        busy.pgconn.send_query(b"DO 'begin loop end loop; end'")
        assert eventually(lambda: " DO" in title_of(backend))
        os.kill(first.pid, signal.SIGKILL)
        assert eventually(lambda: not one.alive())
        assert lives(backend)
        second = one.start()
    assert not lives(backend)
    assert read(second.url) == ["before"]
    one.stop()


def test_stopping_a_server_that_was_killed_is_quiet(server: ServerClass, used: Path) -> None:
    one = server(used)
    os.kill(one.start().pid, signal.SIGKILL)
    one.stop()
    assert eventually(lambda: not pids_below(used))


def test_stale_pid_files_that_name_a_live_process_are_not_believed(used: Path, foreign_process: int) -> None:
    with EmbeddedPostgres(used) as running:
        write(running, "before")
        files = [running.folder / "postmaster.pid", used / "run" / ".s.PGSQL.5432.lock"]
        texts = [path.read_text().replace(str(running.pid), str(foreign_process), 1) for path in files]
    for path, text in zip(files, texts, strict=True):
        path.write_text(text)
    with EmbeddedPostgres(used) as running:
        assert running.started
        assert running.pid != foreign_process
        assert read(running.url) == ["before"]


def test_a_program_killed_during_initdb_leaves_no_half_data(folder: Path, program: Programs) -> None:
    first = program(EmbeddedPostgres, folder)
    assert eventually(lambda: list(folder.glob("postgres.new-*/PG_VERSION")))
    first.kill()
    assert not (folder / "postgres").exists()
    with EmbeddedPostgres(folder) as running:
        write(running, "complete")
    assert not list(folder.glob("postgres.new-*"))


def test_a_server_started_by_somebody_else_is_refused_and_left_alone(folder: Path) -> None:
    data = folder / "valkey"
    data.mkdir()
    socket = folder / "other.sock"
    command: list[str | Path] = [valkey_server(), "--port", "0", "--unixsocket", socket, "--dir", data]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as stranger:
        assert eventually(socket.exists)
        with pytest.raises(EmbeddedStoreError) as caught:
            EmbeddedValkey(folder).start()
        assert caught.value.code == "embedded_stranger"
        assert str(stranger.pid) in str(caught.value)
        assert stranger.poll() is None
        stranger.terminate()
        stranger.wait(PATIENCE)


def test_a_server_that_hangs_is_named_and_not_replaced(folder: Path) -> None:
    with EmbeddedValkey(folder) as running:
        os.kill(running.pid, signal.SIGSTOP)
        with pytest.raises(EmbeddedStoreError) as caught:
            EmbeddedValkey(folder, start_seconds=0.1).start()
        os.kill(running.pid, signal.SIGCONT)
        assert caught.value.code == "embedded_held"
        assert str(running.folder) in str(caught.value)


class ImpatientPostgres(EmbeddedPostgres):
    stop_signals: ClassVar[Sequence[tuple[str, float]]] = (("SIGINT", 0.3), ("SIGQUIT", 15))


class ImpatientValkey(EmbeddedValkey):
    stop_signals: ClassVar[Sequence[tuple[str, float]]] = (("SIGTERM", 0.3), ("SIGKILL", 15))


@pytest.mark.parametrize("impatient", [ImpatientPostgres, ImpatientValkey])
def test_a_server_that_does_not_stop_is_stopped_harder_and_that_is_said(impatient: ServerClass, used: Path) -> None:
    one = impatient(used)
    running = one.start()
    write(running, "before")
    stuck = next((pid for pid in children_of(running.pid) if "walwriter" in title_of(pid)), running.pid)
    os.kill(stuck, signal.SIGSTOP)
    with capture_logs() as said:
        one.stop()
    assert [line["event"] for line in said] == ["embedded_slow_stop"]
    assert not pids_below(used)
    with impatient(used) as running:
        assert read(running.url) == ["before"]


def test_an_append_only_file_that_cannot_be_read_is_moved_away(folder: Path) -> None:
    """A disk that was full leaves one at times. Working memory is rebuilt, so nobody has to repair it."""
    one = EmbeddedValkey(folder)
    write(one.start(), "before")
    one.stop()
    (file,) = (folder / "valkey" / "appendonlydir").glob("*.incr.aof")
    file.write_bytes(b"broken\r\n" + file.read_bytes())
    with capture_logs() as said, EmbeddedValkey(folder) as running:
        assert read(running.url) == []
        write(running, "after")
    assert [line["event"] for line in said] == ["embedded_damaged"]
    assert (folder / "valkey" / "appendonlydir.damaged" / file.name).exists()
    with EmbeddedValkey(folder) as running:
        assert read(running.url) == ["after"]
