"""Where tests keep the files of servers."""

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
"""Much more than the servers of a test process need, because there are several."""


def make_folder(prefix: str) -> Path:
    """Make a folder with a path that is short enough for sockets, in memory where there is room.

    A copy of the migrated database has five hundred files. In memory it takes 0.02 s of processor time, and ten times
    as much on a disk, even if nobody waits for it. Processes that are killed leave the same files in either place.
    """
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if _is_suitable(MEMORY) else None))


def _is_suitable(folder: Path) -> bool:
    """Whether it has room, and programs in it can be run: a server that root starts is copied into its folder."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC
