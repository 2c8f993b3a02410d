"""The log files of the servers: plain files that are rotated at a start, never pipes."""

import os
from pathlib import Path

from clearwell.embedded.folders import translate_write_errors

TURN_OVER_BYTES = 8 * 1024 * 1024
TAIL_BYTES = 8 * 1024
TAIL_LINES = 15


def open_log(path: Path) -> int:
    """Return a descriptor to append to. A large log is first renamed to ``.1``."""
    with translate_write_errors(path):
        if path.exists() and path.stat().st_size > TURN_OVER_BYTES:
            path.replace(path.with_name(path.name + ".1"))
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def tail(path: Path, since: int) -> str:
    """The last lines after byte ``since``, indented, for a message about a start that failed."""
    with path.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(since, size - TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-TAIL_LINES:])
