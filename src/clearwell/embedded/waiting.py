"""Bounded waiting: every loop that waits for another process has an end."""

from collections.abc import Iterator
from time import monotonic, sleep


def looks(seconds: float, pause: float = 0.02) -> Iterator[None]:
    """Moments to look whether something has happened, at least one, until ``seconds`` have passed."""
    end = monotonic() + seconds
    while True:
        yield
        if monotonic() >= end:
            return
        sleep(pause)
