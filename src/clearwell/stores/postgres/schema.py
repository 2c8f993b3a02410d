"""Numbered SQL migrations, applied once each, in order, under a lock, with checksums.

Programs may read and write meanwhile. A migration first locks all tables. If one of them stays in use, it releases
those that it has and tries again: so no statement waits for long behind a migration that waits itself, and the two
never wait for each other.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

import psycopg
import structlog

from clearwell.errors import SchemaError
from clearwell.stores.postgres.connection import open_connection
from clearwell.stores.postgres.database import first_line, translate_errors, translate_refused_rights
from clearwell.stores.postgres.queries import query

log = structlog.get_logger(__name__)
LOCK = 0x_C1EA_7E11
LOCK_MILLISECONDS = 500
"""Shorter than PostgreSQL's ``deadlock_timeout``: the migration gives way before a statement of a program is ended."""
REPORTED_ATTEMPTS = 20
OLDEST_SERVER = 160000
OLDEST_PGVECTOR = (0, 8, 2)


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return the migrations of this version of the program, in order."""
    folder = files("clearwell.stores.postgres").joinpath("migrations")
    found = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted(
        (Migration(int(file.name[:4]), file.name[5:-4], file.read_text(encoding="utf-8")) for file in found),
        key=lambda migration: migration.version,
    )


async def migrate(url: str, *, up_to: int | None = None) -> list[Migration]:
    """Apply the missing migrations and return them."""
    with translate_errors(), translate_refused_rights():
        async with open_connection(url, autocommit=True) as connection:
            _require_server(connection)
            await connection.execute(query("lock_schema"), {"lock": LOCK})
            try:
                return await _apply_missing(connection, up_to)
            finally:
                await connection.execute(query("unlock_schema"), {"lock": LOCK})


async def require_schema(url: str) -> None:
    """Raise SchemaError if the schema is older or newer than this program expects, or was changed."""
    with translate_errors(), translate_refused_rights():
        async with open_connection(url, autocommit=True) as connection:
            _require_server(connection)
            await connection.execute(query("enter_to_read_schema"))
            missing = await _missing(connection)
    if missing:
        raise SchemaError("schema_behind", count=len(missing), first=f"{missing[0].version:04}_{missing[0].name}")


async def _apply_missing(connection: psycopg.AsyncConnection, up_to: int | None) -> list[Migration]:
    await connection.execute(query("create_schema_migrations"))
    missing = [m for m in await _missing(connection) if up_to is None or m.version <= up_to]
    for migration in missing:
        await _apply(connection, migration)
    await _require_pgvector(connection)
    return missing


async def _missing(connection: psycopg.AsyncConnection) -> list[Migration]:
    applied = await _read_applied(connection)
    known = {migration.version: migration for migration in migrations()}
    for version, (name, checksum) in applied.items():
        if version not in known:
            raise SchemaError("schema_ahead", migration=f"{version:04}_{name}")
        if known[version].checksum != checksum:
            raise SchemaError("schema_changed", migration=f"{version:04}_{name}")
    return [migration for version, migration in known.items() if version not in applied]


async def _read_applied(connection: psycopg.AsyncConnection) -> dict[int, tuple[str, str]]:
    exists = await connection.execute(query("has_schema"))
    if (await exists.fetchone() or (False,))[0] is False:
        return {}
    rows = await connection.execute(query("schema_versions"))
    return {version: (name, checksum) for version, name, checksum in await rows.fetchall()}


async def _apply(connection: psycopg.AsyncConnection, migration: Migration) -> None:
    try:
        attempts = 1
        while not await _apply_alone(connection, migration):
            if attempts % REPORTED_ATTEMPTS == 0:
                log.warning("migration waits for tables in use", migration=migration.name, attempts=attempts)
            attempts += 1
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFile) as error:
        name = f"{migration.version:04}_{migration.name}"
        raise SchemaError("schema_not_allowed", migration=name, problem=first_line(error)) from error


async def _apply_alone(connection: psycopg.AsyncConnection, migration: Migration) -> bool:
    """Lock all tables and apply the migration in one transaction. Returns False if a table stayed in use."""
    try:
        async with connection.transaction():
            await connection.execute(query("limit_lock_wait"), {"milliseconds": str(LOCK_MILLISECONDS)})
            await connection.execute(query("lock_tables"))
            await connection.execute(query("limit_lock_wait"), {"milliseconds": "0"})
            await connection.execute(migration.sql.encode())
            await connection.execute(
                query("record_migration"),
                {"version": migration.version, "name": migration.name, "checksum": migration.checksum},
            )
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def _require_server(connection: psycopg.AsyncConnection) -> None:
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise SchemaError("schema_old_server", version=f"{version // 10000}.{version % 10000}")


async def _require_pgvector(connection: psycopg.AsyncConnection) -> None:
    rows = await connection.execute(query("pgvector_version"))
    row = await rows.fetchone()
    if row is not None and tuple(int(part) for part in row[0].split(".")) < OLDEST_PGVECTOR:
        raise SchemaError("schema_old_pgvector", version=row[0])
