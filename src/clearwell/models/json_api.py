"""A POST of JSON to an OpenAI-compatible API: one attempt, an answer of limited size, classified failures."""

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
    """The reason why a request failed."""

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
"""Matches what looks like a key: servers repeat keys, whole or in part, in their error messages."""
TRANSIENT: Final = frozenset(
    {Fault.TIMEOUT, Fault.UNREACHABLE, Fault.BROKEN_OFF, Fault.RATE_LIMITED, Fault.SERVER_ERROR}
)
"""Faults that may not occur again at the next attempt."""
FAULT_OF_STATUS: Final = {
    401: Fault.KEY_REFUSED,
    403: Fault.KEY_REFUSED,
    404: Fault.NOT_FOUND,
    408: Fault.SERVER_ERROR,
    429: Fault.RATE_LIMITED,
}


class ApiFailure(Exception):
    """A request without a successful answer. Callers translate it; ``body`` may repeat what was sent."""

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
    def is_transient(self) -> bool:
        return self.fault in TRANSIENT


class JsonApi:
    """One address of an API, with its key, its time limit and the largest answer that is read."""

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
        """Send the body once; returns the body of a successful answer. Raises ApiFailure."""
        if self._client.is_closed:
            raise ApiFailure(Fault.CLOSED)
        try:
            # httpx limits each read; only this limits the total time of a slow answer.
            async with asyncio.timeout(self.timeout):
                return await self._send(body)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ApiFailure(Fault.TIMEOUT) from error
        except (httpx.ConnectError, httpx.ProxyError) as error:
            raise ApiFailure(Fault.UNREACHABLE, said=type(error).__name__) from error
        except httpx.RequestError as error:
            raise ApiFailure(Fault.BROKEN_OFF, said=type(error).__name__) from error

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(self, body: Mapping[str, Json]) -> bytes:
        async with self._client.stream("POST", self._url, json=body) as response:
            content = await self._read(response)
        if not response.is_success:
            raise self._make_failure(response, content[: self._max_bytes])
        if len(content) > self._max_bytes:
            raise ApiFailure(Fault.TOO_LARGE, status=response.status_code)
        return content

    async def _read(self, response: httpx.Response) -> bytes:
        """Read the body, or its beginning if it is too large."""
        content = bytearray()
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > self._max_bytes:
                break
        return bytes(content)

    def _make_failure(self, response: httpx.Response, content: bytes) -> ApiFailure:
        status = response.status_code
        fault = Fault.SERVER_ERROR if status >= 500 else FAULT_OF_STATUS.get(status, Fault.REFUSED)
        words = extract_message(content, secret=self._key, limit=self._said_chars) or response.reason_phrase
        return ApiFailure(
            fault, status=status, said=words, retry_after=read_retry_after(response.headers), body=content
        )


def build_url(base_url: str, path: str, *, otherwise: str) -> httpx.URL:
    """Build the address of one call. Raises ConfigurationError with the code ``otherwise``."""
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise ConfigurationError(otherwise) from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigurationError(otherwise)
    return url.copy_with(path=url.path.rstrip("/") + path)


def validate_key(api_key: str | None, *, otherwise: str) -> str | None:
    """Strip the line end that secret files have. Raises ConfigurationError for a key that no header can contain."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(otherwise)
    return key or None


def read_retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds to wait, from a number or from a date relative to the clock of the server, or None."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]*)?", value):
        return float(value)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers["Date"])
    except (ValueError, KeyError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def extract_message(content: bytes, *, secret: str | None, limit: int) -> str:
    """Return the error message of a server in one short line. Other parts of JSON may repeat the input."""
    try:
        words = _find_message(json.loads(content))
    except (ValueError, RecursionError):
        words = content.decode("utf-8", "replace")
    if secret:  # before the text is cut, which could leave half of the secret
        words = words.replace(secret, "***")
    return join_lines(KEY_LIKE.sub("***", words[: 8 * limit])[: 4 * limit])[:limit]


def join_lines(words: str) -> str:
    """Return the text in one line, without unprintable characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in words).split())


def _find_message(answer: object) -> str:
    match answer:
        case {"error": {"message": str(words)}} | {"error": str(words)} | {"message": str(words)}:
            return words
        case {"detail": str(words)}:
            return words
        case {"detail": [{"msg": str(words)}, *_]}:
            return words
        case _:
            return ""
