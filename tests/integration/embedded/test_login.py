"""The bundled PostgreSQL serves requests with a plain login, from which nothing leads to the owner's rights."""

from pathlib import Path

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from clearwell.app import open_clearwell
from clearwell.embedded import EmbeddedPostgres, program_url
from clearwell.records import NewCapture, Principal
from clearwell.servers import Servers
from clearwell.settings import Settings

LONG = "The payment service was moved to the new cluster on Monday without any downtime at all."
FORBIDDEN = (
    "CREATE TEMPORARY TABLE memories (id int)",
    "CREATE TABLE mine (id int)",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'x')",
    "SET ROLE clearwell",
    "SELECT * FROM quarantine_logs",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT pg_read_file('PG_VERSION')",
)


async def test_requests_are_served_with_a_plain_login(folder: Path, valkey_server: str) -> None:
    with EmbeddedPostgres(folder) as running:
        servers = Servers(database_url=running.url, redis_url=valkey_server, embedded=(running,))
        async with open_clearwell(Settings(data_dir=folder), servers) as clearwell:
            memory = clearwell.memory.acting_as(Principal.local())
            await memory.capture(NewCapture(content=LONG, group_id="g"), wait=True)
            await memory.promote(LONG, group="g")
            assert (await memory.retrieve("payment service", group="g")).items
        with psycopg.connect(program_url(running.url), autocommit=True) as program:
            program.execute("SET ROLE clearwell_app")
            program.execute("RESET ROLE")
            row = program.execute("SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
            assert row == ("clearwell_program", False)
            assert program.execute("SHOW search_path").fetchone() == ("public, pg_temp",)
            for role in ("clearwell_program", "clearwell_app"):
                program.execute(psycopg.sql.SQL("SET ROLE {}").format(psycopg.sql.Identifier(role)))
                for statement in FORBIDDEN:
                    with pytest.raises(InsufficientPrivilege):
                        program.execute(statement.encode())


def test_a_folder_of_an_earlier_version_gets_the_login(folder: Path) -> None:
    with EmbeddedPostgres(folder) as running, psycopg.connect(running.url, autocommit=True) as owner:
        owner.execute("DROP ROLE clearwell_program")
    with EmbeddedPostgres(folder) as running, psycopg.connect(program_url(running.url)) as program:
        assert program.execute("SELECT pg_has_role('clearwell_app', 'SET')").fetchone() == (True,)
