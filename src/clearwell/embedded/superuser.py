"""PostgreSQL refuses to run as root. Two ways around that, for a program that was started by root.

``namespace``  in a user namespace where root has the number of ``nobody``: everything stays in the data folder
               and stays root's own. The normal way.
``nobody``     where user namespaces are forbidden (Docker's default): as the user ``nobody``, in the data folder if
               ``nobody`` can get there, else below /var/lib or the temporary folder. No parent folder is ever
               changed; a data folder of root's own is made passable (0711), what is in it stays closed.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import structlog

from clearwell.embedded.folders import DataFolder, translate_write_errors
from clearwell.embedded.launch import RunAs, environment
from clearwell.errors import EmbeddedStoreError

if sys.platform != "win32":
    import pwd

log = structlog.get_logger(__name__)

COPIED_PROGRAMS = ("initdb", "postgres")


class RootMode(StrEnum):
    """How PostgreSQL is run for root."""

    NAMESPACE = "namespace"
    NOBODY = "nobody"


@dataclass(frozen=True)
class User:
    """An entry of the system's list of users."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class ServerPlacement:
    """Where PostgreSQL's data and sockets are, and as whom it runs."""

    home: Path  # holds the data, and may hold a copy of the programs
    sockets: Path
    run_as: RunAs
    owner: int

    @property
    def folder(self) -> Path:
        return self.home / "postgres"


def find_placement(data: DataFolder, install: Path, mode: RootMode | None) -> ServerPlacement:
    """Return the data folder itself, except for root. ``mode`` forces one of the two ways for root."""
    if os.geteuid() != 0:
        return ServerPlacement(data.path, data.run, RunAs(), os.geteuid())
    user = _ordinary_user()
    wrapper = ("unshare", "--user", f"--map-user={user.uid}", f"--map-group={user.gid}")
    if mode is None:
        mode = _mode_for(data, install, wrapper, user)
    if mode is RootMode.NAMESPACE:
        return ServerPlacement(data.path, data.run, RunAs(wrapper=wrapper), 0)
    if _owner_of_data(data) == 0:
        raise EmbeddedStoreError("embedded_data_of_root", folder=data.postgres, user=user.name)
    home = _home_for(data, user)
    return ServerPlacement(home, home / "run-postgres", RunAs(uid=user.uid, gid=user.gid), user.uid)


def reachable_install(placement: ServerPlacement, install: Path) -> Path:
    """Return ``install``, or a copy of it if the user that PostgreSQL runs as cannot reach it."""
    uid, gid = placement.run_as.uid, placement.run_as.gid
    if uid is None or gid is None or _works([str(install / "bin" / "postgres"), "--version"], uid, gid):
        return install
    built = (install / "bin" / "postgres").stat()
    copy = placement.home / f"program-{built.st_size}-{built.st_mtime_ns}"
    if not copy.exists():
        with translate_write_errors(copy):
            _copy_package(install.parent, copy, owner=uid)
    return copy / install.parent.name / install.name


def _mode_for(data: DataFolder, install: Path, wrapper: Sequence[str], user: User) -> RootMode:
    """Follow existing data; otherwise use the namespace if programs can run and write in it."""
    if data.postgres.is_symlink() or _owner_of_data(data) == user.uid:
        return RootMode.NOBODY
    script = 'test -w "$1" && test -x "$1" && exec "$2" --version'
    trial = [*wrapper, "sh", "-c", script, "sh", str(data.path), str(install / "bin" / "postgres")]
    return RootMode.NAMESPACE if _works(trial) else RootMode.NOBODY


def _owner_of_data(data: DataFolder) -> int | None:
    version = data.postgres / "PG_VERSION"
    return version.stat().st_uid if version.exists() else None


def _ordinary_user() -> User:
    """Return ``nobody``, or else any other user: initdb needs an entry for the user id."""
    users = [User(entry.pw_name, entry.pw_uid, entry.pw_gid) for entry in pwd.getpwall() if entry.pw_uid != 0]
    found = next((user for user in users if user.name == "nobody"), next(iter(users), None))
    if found is None:
        raise EmbeddedStoreError("embedded_no_user")
    return found


def _works(command: Sequence[str], uid: int | None = None, gid: int | None = None) -> bool:
    groups: list[int] | None = None if uid is None else []
    try:
        done = subprocess.run(
            command,
            check=False,
            timeout=10,
            cwd="/",
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=uid,
            group=gid,
            extra_groups=groups,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _can_pass(folder: Path, user: User) -> bool:
    return _works(["sh", "-c", 'cd "$1"', "sh", str(folder)], user.uid, user.gid)


def _home_for(data: DataFolder, user: User) -> Path:
    if data.postgres.is_symlink():
        home = data.postgres.resolve().parent
    elif _make_passable(data.path, user):
        return data.path
    elif (elsewhere := next(_homes_elsewhere(data, user), None)) is not None:
        home = elsewhere
    else:
        raise EmbeddedStoreError("embedded_no_home", path=data.path, user=user.name)
    _link(data, home)
    log.warning("embedded_elsewhere", folder=str(home / "postgres"), link=str(data.postgres), user=user.name)
    return home


def _make_passable(folder: Path, user: User) -> bool:
    found = folder.stat()
    if found.st_uid != 0 or not _can_pass(folder.parent, user):
        return False
    folder.chmod(stat.S_IMODE(found.st_mode) | 0o011)
    return _can_pass(folder, user)


def _homes_elsewhere(data: DataFolder, user: User) -> Iterator[Path]:
    for base in (Path("/var/lib"), Path(tempfile.gettempdir())):
        home = base / f"clearwell-{data.fingerprint}"
        try:
            home.mkdir(mode=0o711, exist_ok=True)
        except OSError:
            continue
        found = home.lstat()
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022
        if ours and _can_pass(home, user):
            yield home


def _link(data: DataFolder, home: Path) -> None:
    """Link the data folder to the place of its data, so that a later start finds it."""
    if not data.postgres.is_symlink():
        with translate_write_errors(data.postgres):
            if data.postgres.exists():
                data.postgres.rmdir()
            data.postgres.symlink_to(home / "postgres")


def _copy_package(package: Path, copy: Path, *, owner: int) -> None:
    """Copy what a server needs of a package, with its libraries beside it as in the wheel.

    The files stay root's and can be read, but only ``owner``, as whom PostgreSQL runs, can enter the copy.
    """
    unfinished = copy.with_name(f"{copy.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(package / "pginstall", unfinished / package.name / "pginstall", ignore=_not_needed)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, unfinished / libraries.name)
    for path in unfinished.rglob("*"):
        path.chmod(0o755)
    unfinished.chmod(0o700)
    os.chown(unfinished, owner, -1)
    unfinished.rename(copy)


def _not_needed(folder: str, names: list[str]) -> list[str]:
    in_bin = Path(folder).name == "bin"
    return [name for name in names if name.endswith((".a", "include")) or (in_bin and name not in COPIED_PROGRAMS)]
