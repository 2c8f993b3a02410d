"""Ends what a fault run has started and removes its folder, however the run ends.

A process of its own: it waits until its input ends, which the kernel sees to if the run is killed. Every process that
works in the folder is one that the run started.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

SECONDS = 30.0
DISK = "disk"
"""The name of the folder in which a file system of limited size is mounted, if it can be."""


@contextmanager
def swept_folder() -> Iterator[Path]:
    """A folder with a short path. When this ends, or this process does, so do the processes that work in it."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="cw-faults-"))
    janitor = subprocess.Popen(
        [sys.executable, __file__, folder], stdin=subprocess.PIPE, start_new_session=True, cwd="/"
    )
    assert janitor.stdin is not None
    try:
        yield folder
    finally:
        janitor.stdin.close()
        code = janitor.wait(2 * SECONDS)
        assert code == 0, "processes of the run could not be ended"


def main(folder: Path) -> int:
    sys.stdin.buffer.read()
    end = time.monotonic() + SECONDS
    while pids := find_pids(folder):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            return 1
        time.sleep(0.05)
    for disk in (folder / DISK, *folder.glob(f"*/{DISK}")):
        if os.path.ismount(disk):
            subprocess.run(["umount", disk], check=True)
    shutil.rmtree(folder)
    return 0


def find_pids(folder: Path) -> list[int]:
    """Live processes whose working folder is in ``folder``."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder):
                found.append(process.pid)
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
