"""An embedder behind any OpenAI-compatible ``POST {base_url}/embeddings``."""

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from clearwell.errors import ConfigurationError, EmbedderUnavailable
from clearwell.models.calibration import Calibration, calibration_of
from clearwell.models.vectors import bounded, unit_rows
from clearwell.records import Json, Vector

BLANK: Final = "-"
"""Sent for a blank text: many servers refuse an empty input, or answer it with zeros."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 8.0
LONGEST_RETRY_AFTER: Final = 30.0
SAID_CHARS: Final = 300
PASSING_STATUS: Final = frozenset({408, 429})

Sleep = Callable[[float], Awaitable[None]]


class _Passing(EmbedderUnavailable):
    """A failure that may be gone at the next try, and how long the server asked to wait."""

    def __init__(self, code: str, *, retry_after: float | None = None, **params: object) -> None:
        super().__init__(code, **params)
        self.retry_after = retry_after


class OpenAIEmbedder:
    """Embeds by an API, in requests of ``batch`` texts. Failures that may pass are tried again with growing pauses."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        dimensions: int | None = None,
        timeout_seconds: float = 10.0,
        retries: int = 3,
        batch: int = 64,
        calibration: Calibration | None = None,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._url = _endpoint(base_url)
        self._where = self._url.netloc.decode("ascii") + self._url.path
        self._key = _checked_key(api_key)
        self._asked_model = model
        self._asked_dimensions = dimensions
        self._length = dimensions
        self._timeout = timeout_seconds
        self._retries = retries
        self._batch = batch
        self._calibration = calibration or calibration_of(self.model)
        self._sleep = sleep
        self._jitter = jitter
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=timeout_seconds)

    @property
    def model(self) -> str:
        """The model's name at the API, with the dimensions where some were asked for."""
        return self._asked_model if self._asked_dimensions is None else f"{self._asked_model}@{self._asked_dimensions}"

    def similarity(self, cosine: float) -> float:
        return self._calibration.similarity(cosine)

    def relevance(self, cosine: float) -> float:
        return self._calibration.relevance(cosine)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        inputs = [bounded(text) if text.strip() else BLANK for text in texts]
        vectors: list[Vector] = []
        for start in range(0, len(inputs), self._batch):
            vectors += await self._embed_batch(inputs[start : start + self._batch])
        return vectors

    async def close(self) -> None:
        await self._client.aclose()

    async def _embed_batch(self, inputs: list[str]) -> list[Vector]:
        for attempt in range(self._retries):
            try:
                return self._vectors(await self._ask(inputs), len(inputs))
            except _Passing as failure:
                if failure.retry_after is not None and failure.retry_after > LONGEST_RETRY_AFTER:
                    raise
                await self._sleep(self._pause(attempt, failure.retry_after))
        return self._vectors(await self._ask(inputs), len(inputs))

    def _pause(self, attempt: int, retry_after: float | None) -> float:
        if retry_after is not None:
            return retry_after
        longest = min(FIRST_PAUSE * 2.0**attempt, LONGEST_PAUSE)
        return longest * (0.5 + self._jitter() / 2)

    async def _ask(self, inputs: list[str]) -> bytes:
        """The body of a good answer."""
        if self._client.is_closed:
            raise EmbedderUnavailable("embedder_closed", model=self.model)
        body: dict[str, Json] = {"model": self._asked_model, "input": list(inputs)}
        if self._asked_dimensions is not None:
            body["dimensions"] = self._asked_dimensions
        try:
            # httpx limits each read; only this limits an answer that drips.
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(self._url, json=body)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _Passing("embedder_timeout", where=self._where, seconds=self._timeout) from error
        except httpx.RequestError as error:
            raise _Passing("embedder_unreachable", where=self._where, reason=type(error).__name__) from error
        if not response.is_success:
            raise self._failure(response)
        return response.content

    def _failure(self, response: httpx.Response) -> EmbedderUnavailable:
        status = response.status_code
        said = _said(response, secret=self._key)
        if status in PASSING_STATUS or status >= 500:
            code = "embedder_rate_limited" if status == 429 else "embedder_server_error"
            return _Passing(
                code, retry_after=_retry_after(response.headers), where=self._where, status=status, said=said
            )
        code = {401: "embedder_key_refused", 403: "embedder_key_refused", 404: "embedder_not_found"}.get(
            status, "embedder_refused"
        )
        return EmbedderUnavailable(code, where=self._where, status=status, said=said, model=self._asked_model)

    def _vectors(self, content: bytes, count: int) -> list[Vector]:
        rows = self._rows(content)
        if len(rows) != count:
            raise EmbedderUnavailable("embedder_answer_count", where=self._where, expected=count, found=len(rows))
        expected = self._length if self._length is not None else len(rows[0])
        if wrong := [len(row) for row in rows if len(row) != expected]:
            raise EmbedderUnavailable(
                "embedder_answer_dimensions", where=self._where, expected=expected, found=wrong[0]
            )
        try:
            matrix = unit_rows(rows)
        except (ValueError, OverflowError) as error:
            raise EmbedderUnavailable("embedder_answer_numbers", where=self._where) from error
        self._length = expected
        return [row.copy() for row in matrix]

    def _rows(self, content: bytes) -> list[list[float]]:
        """The embeddings of an answer in the order of its indexes."""
        try:
            return _ordered(json.loads(content))
        except (ValueError, RecursionError) as error:
            raise EmbedderUnavailable("embedder_answer_unreadable", where=self._where) from error


def _ordered(answer: object) -> list[list[float]]:
    """The rows of an answer of the API's form. Raises ValueError for anything else."""
    if not isinstance(answer, dict) or not isinstance(entries := answer.get("data"), list):
        raise ValueError("no list of data")
    found = dict(_row(entry, position) for position, entry in enumerate(entries))
    if found.keys() != set(range(len(entries))):
        raise ValueError("an index is missing or given twice")
    return [found[index] for index in range(len(entries))]


def _row(entry: object, position: int) -> tuple[int, list[float]]:
    """One embedding and its index. A server that gives no index is taken to keep the order."""
    if not isinstance(entry, dict):
        raise ValueError(f"data[{position}] is no object")
    index, row = entry.get("index", position), entry.get("embedding")
    if type(index) is not int:
        raise ValueError(f"data[{position}].index is no whole number")
    if not isinstance(row, list) or not row or not {int, float}.issuperset(map(type, row)):
        raise ValueError(f"data[{position}].embedding is no list of numbers")
    return index, row


def _endpoint(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise ConfigurationError("embedder_address_invalid") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigurationError("embedder_address_invalid")
    return url.copy_with(path=url.path.rstrip("/") + "/embeddings")


def _checked_key(api_key: str | None) -> str | None:
    """The key without the line end that files of secrets have; one that no header can carry is refused."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("embedder_key_invalid")
    return key or None


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait, from a number or from a date read against the server's own clock."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]*)?", value):
        return float(value)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers["Date"])
    except (ValueError, KeyError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def _said(response: httpx.Response, *, secret: str | None) -> str:
    """The server's own words in one short line. Of JSON only the message: the rest may repeat the input."""
    try:
        words = _message(json.loads(response.content))
    except (ValueError, RecursionError):
        words = response.content[: 4 * SAID_CHARS].decode("utf-8", "replace")
    line = " ".join("".join(char if char.isprintable() else " " for char in words).split())
    if secret:
        line = line.replace(secret, "***")
    return line[:SAID_CHARS] or response.reason_phrase


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
