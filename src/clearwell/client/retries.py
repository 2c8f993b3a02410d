"""Which failed requests are sent again, and when.

A request is sent again after a connection error, and after an answer that says "not now", if repeating it is safe: it
changes nothing on the server, or it has an Idempotency-Key, or it was never sent. A server that was found by its file
is looked for again, because a new start may have given it another address and another token.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx

from clearwell.client.discovery import ServerAddress

KEY_HEADER: Final = "Idempotency-Key"
CHANGES_NOTHING: Final = "changes_nothing"
"""The extension of a request that only reads, although it has a body."""
REPEATED_STATUSES: Final = frozenset({429, 502, 503, 504})
STILL_RUNNING: Final = b"urn:clearwell:problem:idempotency_running"
"""In the answer to a request whose first attempt the server is still working on."""
NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and for how long a request is tried.

    ``total_seconds`` bounds a call with all its attempts and pauses. Pauses grow from ``first_pause`` to
    ``longest_pause``; each is shortened by a random part, so that many clients do not come back at the same moment.
    """

    total_seconds: float = 30.0
    retries: int = 4
    first_pause: float = 0.25
    longest_pause: float = 4.0

    def pause_after(self, attempt: int, answer: httpx.Response | None) -> float:
        """How many seconds to wait after a failed attempt, at least as long as the server asks for."""
        pause: float = min(self.longest_pause, self.first_pause * 2 ** (attempt - 1))
        return max(read_retry_after(answer), pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret


class RetryingTransport(httpx.AsyncBaseTransport):
    """Sends requests through another transport, again where the policy and the request allow it.

    ``locate`` finds the server of each request; without it requests go to the address that they name.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        policy: RetryPolicy,
        *,
        locate: Callable[[], ServerAddress] | None = None,
    ) -> None:
        self._inner = inner
        self._policy = policy
        self._locate = locate
        self._address: ServerAddress | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        for attempt in range(1, self._policy.retries + 1):
            self._direct(request)
            answer = None
            try:
                answer = await self._inner.handle_async_request(request)
            except NEVER_SENT:
                pass
            except httpx.TransportError:
                if not _may_repeat(request):
                    raise
            if answer is not None:
                if not await self._is_repeated(request, answer, attempt):
                    return answer
                await answer.aclose()
            self._address = None
            await asyncio.sleep(self._policy.pause_after(attempt, answer))
        self._direct(request)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _direct(self, request: httpx.Request) -> None:
        """Send the request to the server that was found."""
        if self._locate is None:
            return
        if self._address is None:
            self._address = self._locate()
        request.url = httpx.URL(self._address.url).copy_with(raw_path=request.url.raw_path)
        request.headers["Host"] = request.url.netloc.decode("ascii")
        if self._address.secret is not None:
            request.headers["Authorization"] = f"Bearer {self._address.secret}"

    async def _is_repeated(self, request: httpx.Request, answer: httpx.Response, attempt: int) -> bool:
        """Whether another attempt can get another answer."""
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            return self._locate is not None and self._locate() != self._address
        if answer.status_code == httpx.codes.CONFLICT and attempt > 1:
            return STILL_RUNNING in await answer.aread()
        return answer.status_code in REPEATED_STATUSES and _may_repeat(request)


def read_retry_after(answer: httpx.Response | None) -> float:
    """The seconds in the Retry-After header of an answer, or 0 if it has none or names a date."""
    value = "" if answer is None else answer.headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() else 0.0


def _may_repeat(request: httpx.Request) -> bool:
    return request.method == "GET" or KEY_HEADER in request.headers or CHANGES_NOTHING in request.extensions
