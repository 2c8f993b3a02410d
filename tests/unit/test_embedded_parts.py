"""The small parts under the bundled servers: locks, folders, logs, launching, and systems without them."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clearwell.embedded.folders import DataFolder, claim, socket_folder
from clearwell.embedded.install import postgres_install, valkey_server
from clearwell.embedded.launch import RunAs, launch, reap
from clearwell.embedded.locks import Lock
from clearwell.embedded.log_files import TURN_OVER_BYTES, open_log, tail
from clearwell.errors import EmbeddedStoreError


def test_a_lock_that_a_child_inherited_is_held_until_the_child_ends(tmp_path: Path) -> None:
    lock, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert lock.try_exclusive()
    child = subprocess.Popen(["sleep", "300"], pass_fds=(lock.fileno(),))
    lock.hand_over()
    assert not lock.held
    assert not other.try_exclusive()
    child.kill()
    child.wait()
    assert other.wait_exclusive(10)
    other.release()


def test_the_last_of_several_shared_holders_gets_the_lock_exclusively(tmp_path: Path) -> None:
    one, two = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert one.try_shared()
    assert two.try_shared()
    assert not one.try_exclusive()
    assert two.try_exclusive()
    two.release()


def test_a_socket_folder_that_others_can_enter_or_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "closed").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "closed")
    claim(tmp_path / "closed", os.geteuid())
    for name in ("open", "link"):
        with pytest.raises(EmbeddedStoreError) as caught:
            claim(tmp_path / name, os.geteuid())
        assert caught.value.code == "embedded_socket_folder"
        assert str(tmp_path / name) in caught.value.text("zh")


@pytest.mark.parametrize("name", ["a,comma", "x" * 120])
def test_a_path_that_a_client_cannot_use_as_host_is_replaced_and_remembered(tmp_path: Path, name: str) -> None:
    data = DataFolder(tmp_path / name)
    data.create()
    pointer = data.run / "sockets"
    sockets = socket_folder(data, data.run, pointer, os.geteuid())
    assert not sockets.is_relative_to(data.path)
    assert socket_folder(data, data.run, pointer, os.geteuid()) == sockets == Path(pointer.read_text())
    sockets.rmdir()


@pytest.mark.root
def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "squatted").mkdir(mode=0o700)
    os.chown(tmp_path / "squatted", 12345, -1)
    with pytest.raises(EmbeddedStoreError, match="12345"):
        claim(tmp_path / "squatted", os.geteuid())


def test_a_large_log_is_set_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"x" * (TURN_OVER_BYTES + 1))
    os.close(open_log(path))
    assert path.stat().st_size == 0
    assert (tmp_path / "server.log.1").stat().st_size == TURN_OVER_BYTES + 1


def test_the_tail_of_a_log_begins_where_this_start_began(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("of an earlier start\n")
    since = path.stat().st_size
    path.write_text(path.read_text() + "first\nsecond\n")
    assert tail(path, since) == "    first\n    second"


@pytest.mark.linux
def test_a_launched_program_has_default_signals_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    lock = Lock(tmp_path / "lock")
    assert lock.try_exclusive()
    output = open_log(tmp_path / "log")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        command = ["sh", "-c", "cat /proc/self/status; env; ls -l /proc/self/fd; cut -d' ' -f6 /proc/$$/stat; echo $$"]
        child = launch(command, lock=lock, output=output, folder=tmp_path, run_as=RunAs())
    finally:
        signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.close(output)
    reap(child.pid)
    lock.release()
    said = (tmp_path / "log").read_text()
    masks = dict(line.split(":\t") for line in said.splitlines() if line.startswith("Sig") and ":\t" in line)
    # The C library keeps signal 32 and above for itself, and a program cannot change what it inherits of those.
    assert int(masks["SigIgn"], 16) & 0x7FFF_FFFF == 0
    assert int(masks["SigBlk"], 16) == 0
    assert "PGPORT" not in said
    assert "OPENAI_API_KEY" not in said
    assert {part.rpartition("-> ")[2] for part in said.splitlines() if "-> " in part} == {
        "/dev/null",
        str(tmp_path / "log"),
        str(tmp_path / "lock"),
        *(part.rpartition("-> ")[2] for part in said.splitlines() if "-> /proc/" in part),
    }
    session, pid = said.split()[-2:]
    assert session == pid == str(child.pid)


def test_without_a_wheel_the_message_names_the_setting() -> None:
    with pytest.raises(EmbeddedStoreError) as caught:
        postgres_install(packages=("no_such_wheel",))
    assert caught.value.code == "embedded_missing"
    assert "DATABASE_URL" in caught.value.text("en")
    assert "DATABASE_URL" in caught.value.text("zh")
    with pytest.raises(EmbeddedStoreError, match="REDIS_URL"):
        valkey_server(packages=("no_such_wheel",))


def test_on_windows_it_can_be_imported_and_says_what_is_needed(tmp_path: Path) -> None:
    script = """
        import os, signal, sys
        from pathlib import Path
        import psutil, psycopg, redis, structlog
        import shutil, subprocess, tempfile
        sys.platform = "win32"
        for name in ("fcntl", "pwd"):
            sys.modules[name] = None
        for module, name in ((signal, "SIGKILL"), (signal, "SIGQUIT"), (os, "geteuid"), (os, "O_NOFOLLOW")):
            delattr(module, name)
        from clearwell.embedded import EmbeddedPostgres, EmbeddedValkey, data_size
        from clearwell.errors import EmbeddedStoreError
        for server in (EmbeddedPostgres, EmbeddedValkey):
            try:
                server(Path(sys.argv[1])).start()
            except EmbeddedStoreError as error:
                print(error.code, error.params["setting"])
        print(data_size(Path(sys.argv[1])).total)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), tmp_path],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.splitlines() == ["embedded_missing DATABASE_URL", "embedded_missing REDIS_URL", "0"]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_data_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(EmbeddedStoreError, match="chmod 700") as refused:
        DataFolder(folder).create()
    assert refused.value.code == "embedded_open_folder"
    assert not (folder / "run").exists()
    folder.chmod(0o755)
    DataFolder(folder).create()


def test_a_data_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 65534, -1)
    else:
        folder = Path("/usr")
    with pytest.raises(EmbeddedStoreError) as refused:
        DataFolder(folder).create()
    assert refused.value.code == "embedded_wrong_owner"
