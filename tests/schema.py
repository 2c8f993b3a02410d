"""A database's schema as text that can be compared."""

import subprocess
from pathlib import Path

from clearwell.embedded.install import postgres_install

SCHEMA_FILE = Path(__file__).resolve().parent.parent / "src/clearwell/stores/postgres/schema.sql"
HEADING = """\
-- The whole schema of Clearwell, as the migrations make it. Written by `make schema`, never by hand.
-- The roles it grants to belong to the whole server and are made by 0001_roles.sql.
"""
UNCHECKED = "SET check_function_bodies = false;"
"""Kept: functions come before the tables that they speak of."""
LEFT_OUT = ("--", "\\", "SET ", "SELECT pg_catalog.")


def dumped(url: str) -> str:
    """What pg_dump says of the schema, without what differs from run to run."""
    command = [str(postgres_install() / "bin" / "pg_dump"), "--schema-only", "--no-owner", f"--dbname={url}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line == UNCHECKED or (line and not line.startswith(LEFT_OUT))]
    return HEADING + "\n" + "\n".join(lines) + "\n"
