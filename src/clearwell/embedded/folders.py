"""The data folder: its parts, its owner, and the folder of sockets if its path is too long for them."""

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clearwell.errors import EmbeddedStoreError

SOCKET_PATH_BYTES = 107 if sys.platform == "linux" else 103
LONGEST_SOCKET_NAME = ".s.PGSQL.5432"


@dataclass(frozen=True)
class DataFolder:
    """The folder of the bundled servers. Everything in it belongs to the user who runs Clearwell."""

    path: Path

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def valkey(self) -> Path:
        return self.path / "valkey"

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def fingerprint(self) -> str:
        """Return a short name for folders of this data folder that are outside of it."""
        return hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]

    def create(self) -> None:
        own_folder(self.path, parents=True)
        check_owner(self.path)
        check_mode(self.path)
        for folder in (self.run, self.logs):
            own_folder(folder)
            check_owner(folder)


@contextmanager
def translate_write_errors(path: Path) -> Iterator[None]:
    """Translate an OSError into an error that names the path and the reason."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise EmbeddedStoreError("embedded_not_writable", path=path, reason=reason) from error


def own_folder(path: Path, *, parents: bool = False) -> None:
    """Create a folder that only this user can enter, if it does not exist."""
    try:
        path.mkdir(mode=0o700, parents=parents, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise EmbeddedStoreError("embedded_not_a_folder", path=path) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise EmbeddedStoreError("embedded_not_writable", path=path, reason=reason) from error


def sync_folder(path: Path) -> None:
    """Flush a rename in this folder to disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_owner(path: Path) -> None:
    """Refuse data of another user, who could not read what we would write there."""
    owner = path.stat().st_uid
    if owner != os.geteuid():
        raise EmbeddedStoreError("embedded_wrong_owner", path=path, owner=owner, user=os.geteuid())


def check_mode(path: Path) -> None:
    """Refuse a folder in which other users can put files of their own into the place of ours."""
    mode = path.stat().st_mode
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EmbeddedStoreError("embedded_open_folder", path=path, mode=stat.filemode(mode))


def socket_folder(data: DataFolder, preferred: Path, pointer: Path, owner: int) -> Path:
    """A folder of ``owner`` alone whose path leaves room for a socket's name.

    Where the data folder's path does not suit the choice depends on the environment, so it is written to
    ``pointer``: a program started from cron has to find the sockets of one started from a desktop.
    """
    if _suits_sockets(preferred):
        folder = preferred
    elif pointer.exists():
        folder = Path(os.fsdecode(pointer.read_bytes()))
    else:
        folder = _short_folder(data, owner)
        with translate_write_errors(pointer):
            pointer.write_bytes(os.fsencode(folder))
    claim(folder, owner)
    return folder


def claim(folder: Path, owner: int) -> None:
    """Create ``folder`` for ``owner`` alone. Raises if another user created it before."""
    with translate_write_errors(folder):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            pass
        else:
            os.chown(folder, owner, -1)
        found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o077:
        mode = stat.filemode(found.st_mode)
        raise EmbeddedStoreError("embedded_socket_folder", path=folder, owner=found.st_uid, mode=mode, user=owner)


def _suits_sockets(folder: Path) -> bool:
    """Whether a path is short enough and has no comma, which libpq reads as a list of hosts."""
    return "," not in str(folder) and len(os.fsencode(folder / LONGEST_SOCKET_NAME)) <= SOCKET_PATH_BYTES


def _short_folder(data: DataFolder, owner: int) -> Path:
    # the user's own runtime folder, as systemd makes it; elsewhere claim() checks who made the folder
    for base in (Path(f"/run/user/{owner}"), Path(tempfile.gettempdir()), Path("/tmp")):  # noqa: S108
        folder = base / f"clearwell-{owner}-{data.fingerprint}"
        if base.is_dir() and os.access(base, os.W_OK | os.X_OK) and _suits_sockets(folder):
            return folder
    raise EmbeddedStoreError("embedded_path_too_long", path=data.path, limit=SOCKET_PATH_BYTES)
