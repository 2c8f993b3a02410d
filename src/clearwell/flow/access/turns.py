"""Turns: while several keys ask and the process is behind, none of them has more requests under way than its share.

A key that asks alone is never held up, and neither are requests that only wait for somebody else, such as a language
model: the process is behind when its event loop runs late. The share falls to one request at once and grows again step
by step, so that a flood from one key costs the others no more than one request beside theirs.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from clearwell.errors import TooManyRequests

LATE_SECONDS: Final = 0.01
"""The process is behind when its event loop runs so much later than it was asked to."""
TICK_SECONDS: Final = 0.02
GROWTH_SECONDS: Final = 0.5
"""The share grows by one request in this time while the process is not behind."""
BEHIND_SHARE: Final = 2.0
MAX_SHARE: Final = 32.0
CONTESTED_SECONDS: Final = 1.0
"""Several keys ask as long as the requests of two of them are not longer apart."""
LONGEST_WAIT_SECONDS: Final = 10.0
REFUSED_SECONDS: Final = 0.1
"""A request above the rate of its key keeps its turn for so long, so that refusing a flood of them costs little."""


class RequestTurns:
    """The requests under way in this process, by key, and those that wait for their turn."""

    def __init__(self, most_waiting: int) -> None:
        self._most_waiting = most_waiting
        self._share = MAX_SHARE
        self._under_way: Counter[bytes] = Counter()
        self._waiting: defaultdict[bytes, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._asked: dict[bytes, float] = {}
        self._ticking = False

    @asynccontextmanager
    async def take(self, key: bytes) -> AsyncIterator[None]:
        """Wait for the turn of a request. Raises TooManyRequests if too many wait already, or after a long wait."""
        self._note(key)
        if self._waiting.get(key) or not self._may_start(key):
            await self._wait(key)
        else:
            self._under_way[key] += 1
        try:
            yield
        except TooManyRequests:
            await asyncio.sleep(REFUSED_SECONDS)
            raise
        finally:
            self._end(key)

    @property
    def behind(self) -> bool:
        """Whether several keys ask and the process was behind a moment ago: work that can wait should."""
        return self._share < BEHIND_SHARE

    def _note(self, key: bytes) -> None:
        loop = asyncio.get_running_loop()
        self._asked[key] = loop.time()
        if len(self._asked) > 1 and not self._ticking:
            self._ticking = True
            loop.call_later(TICK_SECONDS, self._tick, loop, loop.time() + TICK_SECONDS)

    def _may_start(self, key: bytes) -> bool:
        return len(self._asked) < 2 or self._under_way[key] < self._share

    async def _wait(self, key: bytes) -> None:
        waiting = self._waiting[key]
        if len(waiting) >= self._most_waiting:
            raise TooManyRequests("key_turns_full", retry_after=1, limit=self._most_waiting)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            async with asyncio.timeout(LONGEST_WAIT_SECONDS):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # it was given a turn that it cannot use
                self._end(key)
            else:
                waiting.remove(turn)
                self._let_in(key)
            if isinstance(error, TimeoutError):
                raise TooManyRequests("key_turn_late", retry_after=1, seconds=f"{LONGEST_WAIT_SECONDS:g}") from error
            raise

    def _end(self, key: bytes) -> None:
        self._under_way[key] -= 1
        if not self._under_way[key]:
            del self._under_way[key]
        self._let_in(key)

    def _let_in(self, key: bytes) -> None:
        waiting = self._waiting.get(key)
        while waiting and self._may_start(key):
            turn = waiting.popleft()
            if not turn.done():
                self._under_way[key] += 1
                turn.set_result(None)
        if not waiting:
            self._waiting.pop(key, None)

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        """Adapt the share to how late this call is, as long as several keys ask."""
        now = loop.time()
        if now - due > LATE_SECONDS:
            self._share = 1.0
        else:
            self._share = min(MAX_SHARE, self._share + TICK_SECONDS / GROWTH_SECONDS)
        recently = now - CONTESTED_SECONDS
        self._asked = {key: at for key, at in self._asked.items() if at > recently or key in self._under_way}
        self._ticking = len(self._asked) > 1
        if self._ticking:
            loop.call_later(TICK_SECONDS, self._tick, loop, now + TICK_SECONDS)
        else:
            self._share = MAX_SHARE
        for key in list(self._waiting):
            self._let_in(key)
