"""PostgreSQL for root: in a user namespace, or as nobody where that is forbidden."""

import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.integration.embedded.observing import pids_below, read, title_of, user_of, write

from clearwell.embedded import EmbeddedPostgres, RootMode, data_size
from clearwell.embedded.folders import DataFolder
from clearwell.embedded.install import postgres_install
from clearwell.errors import EmbeddedStoreError

pytestmark = pytest.mark.root


@pytest.fixture
def closed_folder(folder: Path) -> Iterator[Path]:
    """A data folder that nobody cannot reach, so that its data go elsewhere."""
    data = folder / "data"
    yield data
    for base in ("/var/lib", "/tmp"):
        home = Path(base, f"clearwell-{DataFolder(data).fingerprint}")
        if home.exists():
            assert not pids_below(home)
            shutil.rmtree(home)


def nobody() -> int:
    return pwd.getpwnam("nobody").pw_uid


def test_in_a_namespace_everything_stays_roots_own_and_nobody_does_not_take_it_over(folder: Path) -> None:
    with EmbeddedPostgres(folder, root_mode=RootMode.NAMESPACE) as running:
        write(running, "hello")
        assert running.folder == folder / "postgres"
        assert user_of(running.pid) == 0
    assert {path.stat().st_uid for path in folder.rglob("*")} == {0}
    with pytest.raises(EmbeddedStoreError) as caught:
        EmbeddedPostgres(folder, root_mode=RootMode.NOBODY).start()
    assert caught.value.code == "embedded_data_of_root"
    assert f"chown -R nobody {folder / 'postgres'}" in str(caught.value)


def test_where_namespaces_are_forbidden_nobody_runs_it_in_a_folder_that_nobody_can_reach(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with EmbeddedPostgres(folder) as running:
        write(running, "hello")
        assert running.folder == folder / "postgres"
        assert user_of(running.pid) == nobody()
        check_only_passable(folder)
    monkeypatch.undo()
    with EmbeddedPostgres(folder) as running:  # data that are nobody's stay so, also where namespaces work
        assert user_of(running.pid) == nobody()
        assert read(running.url) == ["hello"]


def check_only_passable(data_dir: Path) -> None:
    """The data folder can be passed through, and nothing in it can be entered by others."""
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o711
    for inner in data_dir.iterdir():
        assert stat.S_IMODE(inner.stat().st_mode) == 0o700, inner


def closed_install(folder: Path) -> Path:
    """A copy of the installation below a folder that only root can enter."""
    folder.mkdir(mode=0o700)
    package = postgres_install().parent
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, folder / part.name)
    return folder / package.name / "pginstall"


def test_as_nobody_the_copy_of_a_closed_program_is_closed_to_others_too(folder: Path, tmp_path: Path) -> None:
    install = closed_install(tmp_path / "closed")
    with EmbeddedPostgres(folder, root_mode=RootMode.NOBODY, install=install) as running:
        write(running, "hello")
        assert user_of(running.pid) == nobody()
        (copy,) = folder.glob("program-*")
        assert title_of(running.pid).startswith(str(copy))
        assert copy.stat().st_uid == nobody()
        check_only_passable(folder)


def test_as_nobody_data_and_programs_go_elsewhere_when_they_cannot_be_reached(
    folder: Path, closed_folder: Path
) -> None:
    install = closed_install(folder / "closed")

    with capture_logs() as said, EmbeddedPostgres(closed_folder, root_mode=RootMode.NOBODY, install=install) as running:
        write(running, "hello")
        assert user_of(running.pid) == nobody()
        assert not running.folder.is_relative_to(folder)
        assert title_of(running.pid).startswith(str(running.folder.parent))
    assert [(line["event"], line["folder"]) for line in said] == [("embedded_elsewhere", str(running.folder))]
    assert (closed_folder / "postgres").readlink() == running.folder
    assert data_size(closed_folder).postgres > 1_000_000
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, closed_folder)] == [0o700, 0o700]

    with EmbeddedPostgres(closed_folder, install=install) as running:
        assert read(running.url) == ["hello"]
