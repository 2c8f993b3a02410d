"""Polling with a limit, for every loop that waits for another process."""

from collections.abc import Iterator
from time import monotonic, sleep


def poll(seconds: float, pause: float = 0.02) -> Iterator[None]:
    """Yield at least once, and then after every ``pause`` until ``seconds`` have passed."""
    end = monotonic() + seconds
    while True:
        yield
        if monotonic() >= end:
            return
        sleep(pause)
