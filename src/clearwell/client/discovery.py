"""How commands and clients find the server that runs on their data folder.

While ``clearwell serve`` answers, a file in the data folder holds its address, a random token and which stores it uses.
Only the user who started the server can read the file, and whoever presents the token is the person at the machine. The
server holds a lock on its file, which the kernel releases with the process: a file without a lock was left behind by a
server that was killed.
"""

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from clearwell.settings import Settings
from clearwell.version import __version__

if sys.platform != "win32":
    import fcntl

PATTERN = "api-*.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """A server as its file describes it."""

    url: str
    pid: int
    token: str
    stores: str
    version: str = __version__

    @classmethod
    def describe(cls, settings: Settings, url: str) -> "ServerInfo":
        """The server of this process at ``url``, with a new token."""
        return cls(url=url, pid=os.getpid(), token=secrets.token_urlsafe(32), stores=fingerprint_stores(settings))


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server answers, and the key or token to show there."""

    url: str
    secret: str | None


def locate_server(settings: Settings) -> ServerAddress:
    """The server that runs on this data folder, else the address and key of the settings."""
    key = None if settings.api_key is None else settings.api_key.get_secret_value()
    for server in find_servers(settings):
        return ServerAddress(server.url, key or server.token)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return ServerAddress(f"http://{host}:{settings.port}", key)


def fingerprint_stores(settings: Settings) -> str:
    """Hash the addresses of the stores, to tell stores apart without revealing passwords."""
    urls = [None if url is None else url.get_secret_value() for url in (settings.database_url, settings.redis_url)]
    named = [_data_dir(settings) if url is None else url for url in urls]
    return hashlib.sha256("\n".join(map(str, named)).encode("utf-8", "surrogateescape")).hexdigest()


@contextmanager
def publish(settings: Settings, info: ServerInfo) -> Iterator[None]:
    """Let commands find this server until the block ends. Raises OSError if the folder is not writable."""
    folder = _run_folder(settings)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"api-{info.pid}.json"
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
        _lock(file.fileno())
        json.dump(asdict(info), file)
        file.flush()
        unfinished.replace(path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def find_servers(settings: Settings) -> list[ServerInfo]:
    """Return the servers on this data folder and these stores, latest first. Removes files of killed servers."""
    stores, found = fingerprint_stores(settings), list[tuple[float, ServerInfo]]()
    for path in _run_folder(settings).glob(PATTERN):
        with suppress(OSError, ValueError, TypeError), path.open(encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if _is_foreign(status):
                continue
            if not _is_locked(file.fileno()):
                path.unlink(missing_ok=True)
                continue
            info = ServerInfo(**json.load(file))
            if info.stores == stores and info.version == __version__:
                found.append((status.st_mtime, info))
    return [info for _, info in sorted(found, key=lambda pair: pair[0], reverse=True)]


def _run_folder(settings: Settings) -> Path:
    return _data_dir(settings) / "run"


def _data_dir(settings: Settings) -> Path:
    return Path(os.path.realpath(settings.data_dir))


def _lock(descriptor: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_locked(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True  # whether the server lives is found out by asking it
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _is_foreign(status: os.stat_result) -> bool:
    """Whether a file belongs to another user and cannot be trusted."""
    return sys.platform != "win32" and status.st_uid != os.geteuid()
