"""One POST of JSON to an OpenAI-compatible API: one try, an answer of bounded size, failures sorted by kind."""

import asyncio
import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

import httpx

from clearwell.errors import ConfigurationError
from clearwell.records import Json


class Fault(StrEnum):
    """What went wrong with a request."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    BROKEN_OFF = "broken_off"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    KEY_REFUSED = "key_refused"
    NOT_FOUND = "not_found"
    REFUSED = "refused"
    TOO_LARGE = "too_large"
    CLOSED = "closed"


KEY_LIKE: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][\w*.-]{3,}|\bAIza[\w-]{6,}|\bbearer\s+\S+|\b[\w+/-]{32,}=*", re.IGNORECASE
)
"""Servers repeat keys, whole or in part, in what they say of them."""
PASSING: Final = frozenset({Fault.TIMEOUT, Fault.UNREACHABLE, Fault.BROKEN_OFF, Fault.RATE_LIMITED, Fault.SERVER_ERROR})
"""Faults that may be gone at the next try."""
FAULT_OF_STATUS: Final = {
    401: Fault.KEY_REFUSED,
    403: Fault.KEY_REFUSED,
    404: Fault.NOT_FOUND,
    408: Fault.SERVER_ERROR,
    429: Fault.RATE_LIMITED,
}


class ApiFailure(Exception):
    """A request without a good answer. The caller says it in its own words; ``body`` may repeat what was sent."""

    def __init__(
        self,
        fault: Fault,
        *,
        status: int = 0,
        said: str = "",
        retry_after: float | None = None,
        body: bytes = b"",
    ) -> None:
        super().__init__(str(fault), status)
        self.fault = fault
        self.status = status
        self.said = said
        self.retry_after = retry_after
        self.body = body

    @property
    def passing(self) -> bool:
        return self.fault in PASSING


class JsonApi:
    """One address of an API, with its key, its time limit and the most bytes that are read of an answer."""

    def __init__(
        self, url: httpx.URL, *, key: str | None, timeout_seconds: float, max_bytes: int, said_chars: int
    ) -> None:
        self.where: Final = url.netloc.decode("ascii") + url.path
        self.timeout: Final = timeout_seconds
        self._url = url
        self._key = key
        self._max_bytes = max_bytes
        self._said_chars = said_chars
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=timeout_seconds)

    async def post(self, body: Mapping[str, Json]) -> bytes:
        """The body of a good answer. Raises ApiFailure for anything else."""
        if self._client.is_closed:
            raise ApiFailure(Fault.CLOSED)
        try:
            # httpx limits each read; only this limits an answer that drips.
            async with asyncio.timeout(self.timeout):
                return await self._answer(body)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ApiFailure(Fault.TIMEOUT) from error
        except (httpx.ConnectError, httpx.ProxyError) as error:
            raise ApiFailure(Fault.UNREACHABLE, said=type(error).__name__) from error
        except httpx.RequestError as error:
            raise ApiFailure(Fault.BROKEN_OFF, said=type(error).__name__) from error

    async def close(self) -> None:
        await self._client.aclose()

    async def _answer(self, body: Mapping[str, Json]) -> bytes:
        async with self._client.stream("POST", self._url, json=body) as response:
            content = await self._read(response)
        if not response.is_success:
            raise self._failure(response, content[: self._max_bytes])
        if len(content) > self._max_bytes:
            raise ApiFailure(Fault.TOO_LARGE, status=response.status_code)
        return content

    async def _read(self, response: httpx.Response) -> bytes:
        """The whole body, or its beginning where it is larger than is read."""
        content = bytearray()
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > self._max_bytes:
                break
        return bytes(content)

    def _failure(self, response: httpx.Response, content: bytes) -> ApiFailure:
        status = response.status_code
        fault = Fault.SERVER_ERROR if status >= 500 else FAULT_OF_STATUS.get(status, Fault.REFUSED)
        words = spoken(content, secret=self._key, limit=self._said_chars) or response.reason_phrase
        return ApiFailure(fault, status=status, said=words, retry_after=retry_after(response.headers), body=content)


def endpoint(base_url: str, path: str, *, otherwise: str) -> httpx.URL:
    """The address of one call. Raises ConfigurationError with the code ``otherwise``."""
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise ConfigurationError(otherwise) from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigurationError(otherwise)
    return url.copy_with(path=url.path.rstrip("/") + path)


def checked_key(api_key: str | None, *, otherwise: str) -> str | None:
    """The key without the line end that files of secrets have; one that no header can carry is refused."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(otherwise)
    return key or None


def retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait, from a number or from a date read against the server's own clock."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]*)?", value):
        return float(value)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers["Date"])
    except (ValueError, KeyError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def spoken(content: bytes, *, secret: str | None, limit: int) -> str:
    """The server's own words in one short line. Of JSON only the message: the rest may repeat the input."""
    try:
        words = _message(json.loads(content))
    except (ValueError, RecursionError):
        words = content.decode("utf-8", "replace")
    if secret:  # before any cut, which could leave half of it
        words = words.replace(secret, "***")
    return one_line(KEY_LIKE.sub("***", words[: 8 * limit])[: 4 * limit])[:limit]


def one_line(words: str) -> str:
    """The words without line ends and without anything that does not print."""
    return " ".join("".join(char if char.isprintable() else " " for char in words).split())


def _message(answer: object) -> str:
    match answer:
        case {"error": {"message": str(words)}} | {"error": str(words)} | {"message": str(words)}:
            return words
        case {"detail": str(words)}:
            return words
        case {"detail": [{"msg": str(words)}, *_]}:
            return words
        case _:
            return ""
