"""Locks that the kernel releases when their process ends, also by kill -9.

Each server has three files in the run folder:

``<key>.start``  exclusive, held by a program while it starts, attaches to or stops the server
``<key>.users``  shared, held by every program that uses the server; the one that gets it exclusively is the last
``<key>.life``   exclusive, inherited by the server and its children: as long as it is held, the folder is in use
"""

import os
import sys
from pathlib import Path

from clearwell.embedded.folders import translate_write_errors
from clearwell.embedded.polling import poll

if sys.platform != "win32":
    import fcntl


class Lock:
    """One flock on one file. Two objects exclude each other within one process, too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        return self._fd is not None

    def try_exclusive(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def wait_exclusive(self, seconds: float) -> bool:
        return any(self.try_exclusive() for _ in poll(seconds))

    def release(self) -> None:
        """Unlock by name, so that a forked copy of this program does not keep the lock without knowing it."""
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            self.hand_over()

    def hand_over(self) -> None:
        """Close only this descriptor: a child that inherited the lock continues to hold it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def fileno(self) -> int:
        if self._fd is None:
            raise ValueError(f"{self.path} is not locked")
        return self._fd

    def _try(self, kind: int) -> bool:
        with translate_write_errors(self.path):
            if self._fd is None:
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                self.release()
                return False
        return True
