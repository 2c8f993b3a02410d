"""The bundled PostgreSQL."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import psycopg
from psycopg import sql

from clearwell.embedded.folders import socket_folder, sync_folder, translate_write_errors
from clearwell.embedded.install import postgres_install
from clearwell.embedded.launch import RunAs, environment, reap
from clearwell.embedded.processes import ServerProcess, find_parent, find_running
from clearwell.embedded.server import EmbeddedServer, RunningServer
from clearwell.embedded.superuser import RootMode, ServerPlacement, find_placement, reachable_install
from clearwell.errors import EmbeddedStoreError

DATABASE = "clearwell"
LOGIN = "clearwell"
"""Owns the database: it migrates, and builds indexes. It is a superuser, so requests are never served with it."""
PROGRAM_LOGIN = "clearwell_program"
"""Serves requests. It may enter ``clearwell_app`` and nothing else."""
PORT = 5432  # only a part of the socket's name; given in the URL, or a client's PGPORT would count

MAX_CONNECTIONS = 200
"""Enough for sixteen processes of ``serve --workers``, each with a pool of ten, and for commands beside them."""

INITDB_OPTIONS = (
    "--locale-provider=builtin",
    "--locale=C.UTF-8",
    "--encoding=UTF8",
    "--auth-local=trust",  # the sockets' folder lets nobody else in
    "--auth-host=reject",
    f"--username={LOGIN}",
)

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "dynamic_shared_memory_type": "mmap",  # /dev/shm of a container has 64 MB
    "shared_buffers": "128MB",
    "max_connections": str(MAX_CONNECTIONS),
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # what agents said must not reach the log by way of a statement or a row that failed
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
} | ({"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {})


class EmbeddedPostgres(EmbeddedServer):
    """PostgreSQL with pgvector in ``data_dir``, at a Unix socket that only its user can reach.

    ``root_mode`` chooses how it is run for root, ``install`` another installation than the wheel's.
    """

    name: ClassVar[str] = "PostgreSQL"
    program: ClassVar[str] = "postgres"
    setting: ClassVar[str] = "DATABASE_URL"
    key: ClassVar[str] = "postgres"
    stop_signals: ClassVar[Sequence[tuple[str, float]]] = (("SIGINT", 30), ("SIGQUIT", 15))

    def __init__(
        self,
        data_dir: Path,
        *,
        start_seconds: float = 120.0,
        root_mode: RootMode | None = None,
        install: Path | None = None,
    ) -> None:
        super().__init__(data_dir, start_seconds=start_seconds)
        self._root_mode = root_mode
        self._given_install = install
        self._install = Path()
        self._placement = ServerPlacement(self.data.path, self.data.run, RunAs(), 0)
        self._sockets = Path()

    @property
    def folder(self) -> Path:
        return self._placement.folder

    @property
    def run_as(self) -> RunAs:
        return self._placement.run_as

    def _find_program(self) -> None:
        self._install = self._given_install or postgres_install()

    def _settle(self) -> None:
        self._placement = find_placement(self.data, self._install, self._root_mode)
        pointer = self.data.run / f"{self.key}.sockets"
        self._sockets = socket_folder(self.data, self._placement.sockets, pointer, self._placement.owner)

    def _prepare(self) -> None:
        self._install = reachable_install(self._placement, self._install)
        if (self.folder / "PG_VERSION").exists():
            self._check_data()
            self._remove_stale_pid_files()
        else:
            self._create_data()

    def _command(self) -> Sequence[str | Path]:
        # a list in PostgreSQL's syntax: quoted, a path may hold commas and spaces
        directories = '"' + str(self._sockets).replace('"', '""') + '"'
        settings = SETTINGS | {"unix_socket_directories": directories, "port": str(PORT)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [self._install / "bin" / "postgres", "-D", self.folder, *options]

    def _answer(self, pid: int, *, started: bool) -> RunningServer | None:
        try:
            with psycopg.connect(self._url("postgres"), autocommit=True, connect_timeout=5) as connection:
                row = connection.execute("SHOW data_directory").fetchone()
                if row is None or Path(row[0]) != self.folder:
                    return None
                _ensure_database(connection)
                _ensure_program_login(connection)
                version = connection.info.parameter_status("server_version") or ""
        except psycopg.OperationalError:
            return None
        return RunningServer(self.name, version, self._url(DATABASE), pid, self.folder, self.log, started)

    def _url(self, database: str) -> str:
        return f"postgresql://{LOGIN}@{quote(bytes(self._sockets), safe='')}:{PORT}/{database}"

    def _server_process(self) -> ServerProcess | None:
        """The postmaster. Children that outlive it cannot serve, but may hold the folder for a long time."""
        family = find_running(self.folder, self.program)
        children = [process for process in family if process.title.startswith("postgres:")]
        postmaster = find_parent(process for process in family if process not in children)
        if postmaster is None:
            for orphan in children:
                orphan.send(signal.SIGQUIT)
        return postmaster

    def _check_data(self) -> None:
        if self._placement.owner != self.folder.stat().st_uid:
            owner = self.folder.stat().st_uid
            raise EmbeddedStoreError("embedded_wrong_owner", path=self.folder, owner=owner, user=self._placement.owner)
        found = (self.folder / "PG_VERSION").read_text(encoding="ascii").strip()
        program = self._install / "bin" / "postgres"
        said = subprocess.run([program, "--version"], check=False, capture_output=True, text=True, env=environment())
        version = (said.stdout.split() or [found])[-1]  # a program that does not start says why in its log
        if version.split(".")[0] != found:
            raise EmbeddedStoreError("embedded_other_version", folder=self.folder, found=found, version=version)

    def _remove_stale_pid_files(self) -> None:
        """Remove pid files: PostgreSQL refuses to start if they name any live process of its user.

        The locks have shown that no server runs in this folder.
        """
        with translate_write_errors(self.folder):
            (self.folder / "postmaster.pid").unlink(missing_ok=True)
            (self._sockets / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)

    def adopt(self, source: Path) -> None:
        """Take a copy of a base backup as the data of this server, which must have none and must not run."""
        self._find_program()
        self.data.create()
        with self._alone():
            self._settle()
            unfinished = self._make_folder()
            with translate_write_errors(unfinished):
                shutil.copytree(source, unfinished, dirs_exist_ok=True)
                for path in (unfinished, *unfinished.rglob("*")):
                    os.chown(path, self._placement.owner, -1)
                unfinished.chmod(0o700)
            self._put_in_place(unfinished)

    def _create_data(self) -> None:
        """Run initdb in a temporary folder and rename it, so that the final folder is never incomplete."""
        unfinished = self._make_folder()
        self._run_initdb(unfinished)
        self._put_in_place(unfinished)

    def _make_folder(self) -> Path:
        if self.folder.exists() and any(self.folder.iterdir()):
            raise EmbeddedStoreError("embedded_foreign_files", folder=self.folder)
        with translate_write_errors(self._placement.home):
            for left_behind in self._placement.home.glob("postgres.new-*"):
                shutil.rmtree(left_behind)
            unfinished = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._placement.home))
            shutil.chown(unfinished, self._placement.owner)
        return unfinished

    def _put_in_place(self, unfinished: Path) -> None:
        with translate_write_errors(self.folder):
            unfinished.rename(self.folder)
            sync_folder(self._placement.home)

    def _run_initdb(self, folder: Path) -> None:
        child = self._launch([self._install / "bin" / "initdb", "-D", folder, *INITDB_OPTIONS], folder)
        try:
            child.wait(self.start_seconds)
        except subprocess.TimeoutExpired:
            raise self._make_error("embedded_start_slow", seconds=round(self.start_seconds)) from None
        finally:
            child.kill()  # nothing, once it has ended
            reap(child.pid)
        if child.returncode != 0:
            raise self._make_error("embedded_start_failed")


def _ensure_database(connection: psycopg.Connection[tuple[str, ...]]) -> None:
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _ensure_program_login(connection: psycopg.Connection[tuple[str, ...]]) -> None:
    """Create the plain login. Several processes may do so at once."""
    for role, options in (("clearwell_app", "NOLOGIN NOINHERIT"), (PROGRAM_LOGIN, "LOGIN NOINHERIT")):
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
            try:
                connection.execute(sql.SQL("CREATE ROLE {} ").format(sql.Identifier(role)) + sql.SQL(options))
            except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                continue
    member = "SELECT 1 WHERE pg_has_role(%s, 'clearwell_app', 'SET')"
    if connection.execute(member, (PROGRAM_LOGIN,)).fetchone() is None:
        grant = sql.SQL("GRANT clearwell_app TO {} WITH INHERIT FALSE, SET TRUE")
        connection.execute(grant.format(sql.Identifier(PROGRAM_LOGIN)))


def program_url(url: str) -> str:
    """The address of a bundled server with the login that serves requests."""
    return url.replace(f"://{LOGIN}@", f"://{PROGRAM_LOGIN}@", 1)
