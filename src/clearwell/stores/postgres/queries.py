"""The named statements of ``queries.sql``, read once."""

import re
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    text = files("clearwell.stores.postgres").joinpath("queries.sql").read_text(encoding="utf-8")
    parts = _HEADING.split(text)
    return {name: _bare(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _bare(body: str) -> str:
    """Without comments and indentation: the driver remembers what it has parsed only up to a length."""
    lines = (line.strip() for line in body.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


def query(name: str) -> str:
    """The statement by that name."""
    return queries()[name]
