"""The rate of requests: each key has an allowance that refills while time passes."""

import asyncio
import math
from dataclasses import dataclass
from typing import Final

from clearwell.errors import TooManyRequests

BURST_SECONDS: Final = 10.0
"""An unused allowance grows for so long: a burst of as many requests is answered at once."""
MAX_KEYS: Final = 10_000


@dataclass(slots=True)
class _Allowance:
    left: float
    at: float


class RequestRates:
    """Counts the requests of each key in this process. A rate of 0 is no limit."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._most = max(1.0, per_minute / 60 * BURST_SECONDS)
        self._allowances: dict[bytes, _Allowance] = {}

    def spend(self, key: bytes) -> None:
        """Count one request of a key. Raises TooManyRequests with the time until the next one is allowed."""
        if not self._per_minute:
            return
        now = asyncio.get_running_loop().time()
        allowance = self._allowances.pop(key, None) or _Allowance(self._most, now)
        allowance.left = min(self._most, allowance.left + (now - allowance.at) * self._per_minute / 60)
        allowance.at = now
        self._allowances[key] = allowance
        if len(self._allowances) > MAX_KEYS:
            del self._allowances[next(iter(self._allowances))]
        if allowance.left < 1:
            seconds = math.ceil((1 - allowance.left) * 60 / self._per_minute)
            raise TooManyRequests("key_rate", retry_after=max(1, seconds), limit=self._per_minute)
        allowance.left -= 1
