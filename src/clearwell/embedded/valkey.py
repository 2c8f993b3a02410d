"""The bundled Valkey."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import structlog
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from clearwell.embedded.folders import check_owner, own_folder, socket_folder, translate_write_errors
from clearwell.embedded.install import valkey_server
from clearwell.embedded.log_files import tail
from clearwell.embedded.server import EmbeddedServer, RunningServer

log = structlog.get_logger(__name__)

SOCKET = "valkey.sock"
AOF_FOLDER = "appendonlydir"
UNREADABLE = "Bad file format reading the append only file"

SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "protected-mode": "yes",
    "daemonize": "no",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",  # the append-only file is the one record
    "maxmemory-policy": "noeviction",
}


class EmbeddedValkey(EmbeddedServer):
    """Valkey in ``data_dir``, at a Unix socket that only its user can reach. At most a second is lost by kill -9."""

    name: ClassVar[str] = "Valkey"
    program: ClassVar[str] = "valkey-server"
    setting: ClassVar[str] = "REDIS_URL"
    key: ClassVar[str] = "valkey"
    stop_signals: ClassVar[Sequence[tuple[str, float]]] = (("SIGTERM", 30), ("SIGKILL", 10))

    def __init__(self, data_dir: Path, *, start_seconds: float = 120.0) -> None:
        super().__init__(data_dir, start_seconds=start_seconds)
        self._program = Path()
        self._socket = Path()

    @property
    def folder(self) -> Path:
        return self.data.valkey

    def _find_program(self) -> None:
        self._program = valkey_server()

    def _settle(self) -> None:
        pointer = self.data.run / f"{self.key}.sockets"
        self._socket = socket_folder(self.data, self.data.run, pointer, os.geteuid()) / SOCKET

    def _prepare(self) -> None:
        own_folder(self.folder)
        check_owner(self.folder)

    def _set_damage_aside(self) -> bool:
        """Move an append-only file away that cannot be read, as a full disk can leave it.

        Working memory is rebuilt from quarantine, and the rest in it lasts a day at most.
        """
        files = self.folder / AOF_FOLDER
        if UNREADABLE not in tail(self.log, self._log_since) or not files.exists():
            return False
        aside = files.with_name(f"{AOF_FOLDER}.damaged")
        with translate_write_errors(files):
            shutil.rmtree(aside, ignore_errors=True)
            files.rename(aside)
        log.warning("embedded_damaged", folder=str(aside))
        return True

    def _command(self) -> Sequence[str | Path]:
        settings = SETTINGS | {"dir": str(self.folder), "unixsocket": str(self._socket)}
        return [self._program, *(word for name, value in settings.items() for word in (f"--{name}", value))]

    def _answer(self, pid: int, *, started: bool) -> RunningServer | None:
        url = f"unix://{quote(bytes(self._socket))}"
        client = Redis.from_url(url, socket_timeout=2, retry=Retry(NoBackoff(), 0), decode_responses=True)
        try:
            folder = str(client.config_get("dir")["dir"])
            version = str(client.info("server")["valkey_version"])
        except RedisError:
            return None
        finally:
            client.close()
        if Path(folder) != self.folder:
            return None
        return RunningServer(self.name, version, url, pid, self.folder, self.log, started)
