"""Data folders with awkward paths, and places that cannot be used."""

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.integration.embedded.observing import ServerClass, lives, pids_below, read, write

from clearwell.embedded import EmbeddedPostgres, EmbeddedValkey
from clearwell.errors import EmbeddedStoreError


def socket_folder(url: str) -> Path:
    if url.startswith("unix:"):
        return Path(unquote(urlsplit(url).path)).parent
    return Path(unquote(urlsplit(url).netloc.split("@")[1].rsplit(":", 1)[0]))


def test_a_path_may_hold_spaces_and_whatever_else_a_path_can_hold(server: ServerClass, folder: Path) -> None:
    name = 'with spaces 数据 100% "it\'s" #?&=back\\slash'
    with server(folder / name) as running:
        write(running, "hello")
        assert socket_folder(running.url) == folder / name / "run"
    with server(folder / name) as running:
        assert read(running.url) == ["hello"]


def test_where_the_path_is_too_long_for_a_socket_it_is_in_a_private_folder_elsewhere(
    server: ServerClass, folder: Path
) -> None:
    data = folder.joinpath(*["deep" * 10] * 5)
    with server(data) as running:
        sockets = socket_folder(running.url)
        assert not sockets.is_relative_to(folder)
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert sockets.stat().st_uid == os.geteuid()
        write(running, "hello")
        with server(data) as other:
            assert not other.started
            assert other.url == running.url
    sockets.rmdir()  # a cleaned temporary folder is made again
    with server(data) as running:
        assert read(running.url) == ["hello"]
    sockets.rmdir()


@pytest.mark.parametrize("below", ["file", "file/data"])
def test_a_file_in_the_way_is_named(server: ServerClass, folder: Path, below: str) -> None:
    (folder / "file").write_text("not a folder")
    with pytest.raises(EmbeddedStoreError) as caught:
        server(folder / below).start()
    assert caught.value.code == "embedded_not_a_folder"
    for text in (caught.value.text("en"), caught.value.text("zh")):
        assert str(folder / below) in text
        assert "CLEARWELL_DATA_DIR" in text
    assert "is a file" in caught.value.text("en")
    assert "是文件" in caught.value.text("zh")


@pytest.mark.linux
def test_a_place_that_cannot_be_written_is_named(server: ServerClass) -> None:
    with pytest.raises(EmbeddedStoreError) as caught:
        server(Path("/proc/clearwell")).start()
    assert caught.value.code == "embedded_not_writable"
    assert "Cannot write to /proc/clearwell" in caught.value.text("en")
    assert "无法写入 /proc/clearwell" in caught.value.text("zh")


@pytest.mark.not_root
def test_a_folder_without_the_right_to_write_is_named(server: ServerClass, folder: Path) -> None:
    (folder / "data").mkdir(mode=0o500)
    with pytest.raises(EmbeddedStoreError) as caught:
        server(folder / "data").start()
    assert caught.value.code == "embedded_not_writable"


@pytest.mark.root
def test_data_of_another_user_are_refused(server: ServerClass, folder: Path) -> None:
    (folder / "run").mkdir()
    os.chown(folder / "run", 12345, -1)
    with pytest.raises(EmbeddedStoreError) as caught:
        server(folder).start()
    assert caught.value.code == "embedded_wrong_owner"
    assert "12345" in str(caught.value)


def test_a_start_that_fails_shows_the_end_of_the_log_and_leaves_nothing(server: ServerClass, used: Path) -> None:
    with server(used) as running:
        write(running, "before")
    damaged = {"postgres": "postgres/postgresql.conf", "valkey": "valkey/appendonlydir/appendonly.aof.manifest"}
    path = used / damaged[server.key]
    good = path.read_text()
    path.write_text("this is nonsense\n")
    with pytest.raises(EmbeddedStoreError) as caught:
        server(used).start()
    assert caught.value.code == "embedded_start_failed"
    for text in (caught.value.text("en"), caught.value.text("zh")):
        assert str(running.log) in text
        assert {"postgres": "syntax error", "valkey": "manifest"}[server.key] in text
    assert not pids_below(used)
    path.write_text(good)
    with server(used) as running:
        assert read(running.url) == ["before"]


def test_data_of_another_postgres_version_are_refused(used: Path) -> None:
    with EmbeddedPostgres(used) as running:
        version = running.version
    (used / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedStoreError) as caught:
        EmbeddedPostgres(used).start()
    assert caught.value.code == "embedded_other_version"
    assert "17" in str(caught.value)
    assert version in str(caught.value)


def test_files_of_somebody_else_are_not_overwritten(folder: Path) -> None:
    (folder / "postgres").mkdir()
    (folder / "postgres" / "thesis.txt").write_text("years of work")
    with pytest.raises(EmbeddedStoreError) as caught:
        EmbeddedPostgres(folder).start()
    assert caught.value.code == "embedded_foreign_files"
    assert (folder / "postgres" / "thesis.txt").read_text() == "years of work"


def test_a_failed_start_does_not_keep_the_folder(folder: Path) -> None:
    one = EmbeddedValkey(folder)
    (folder / "valkey").write_text("in the way")
    with pytest.raises(EmbeddedStoreError):
        one.start()
    (folder / "valkey").unlink()
    with EmbeddedValkey(folder) as running:
        assert running.started
    assert not lives(running.pid)
