"""The named statements of ``queries.sql``, read once. Statements and parts can include shared parts."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^-- (name|part): (\w+)$", re.MULTILINE)
_INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    text = files("clearwell.stores.postgres").joinpath("queries.sql").read_text(encoding="utf-8")
    pieces = _HEADING.split(text)[1:]
    found = list(zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True))
    parts = {name: body for kind, name, body in found if kind == "part"}
    return {name: _bare(_include(body, parts)) for kind, name, body in found if kind == "name"}


def _include(body: str, parts: Mapping[str, str]) -> str:
    return _INCLUDE.sub(lambda wanted: _include(parts[wanted[1]], parts), body)


def _bare(body: str) -> str:
    """Remove comments and indentation, which every connection would send to the server."""
    lines = (line.strip() for line in body.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


def query(name: str) -> str:
    """Return the statement with this name."""
    return queries()[name]
