"""How often something may be done in any stretch of time."""

from collections import deque
from collections.abc import Callable
from typing import Final

HOUR: Final = 3600.0


class Budget:
    """At most ``calls`` in any window of ``seconds``: a sliding window, so nothing is saved up for a full hour."""

    def __init__(self, calls: int, *, monotonic: Callable[[], float], seconds: float = HOUR) -> None:
        self.calls: Final = calls
        self._seconds = seconds
        self._monotonic = monotonic
        self._spent: deque[float] = deque()

    def wait(self) -> float:
        """Seconds until the next call is allowed: 0 where it is now."""
        now = self._monotonic()
        while self._spent and self._spent[0] <= now - self._seconds:
            self._spent.popleft()
        return 0.0 if len(self._spent) < self.calls else self._spent[0] + self._seconds - now

    def spend(self) -> float:
        """Count a call; when it was."""
        now = self._monotonic()
        self._spent.append(now)
        return now

    def give_back(self, spent: float) -> None:
        """A call that was counted cost nothing after all."""
        if spent in self._spent:
            self._spent.remove(spent)
