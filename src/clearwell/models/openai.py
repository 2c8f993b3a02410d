"""An embedder behind any OpenAI-compatible ``POST {base_url}/embeddings``."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic_core import from_json

from clearwell.errors import EmbedderUnavailable
from clearwell.models.calibration import Calibration, load_calibration
from clearwell.models.json_api import ApiFailure, Fault, JsonApi, build_url, validate_key
from clearwell.models.usage import report_usage
from clearwell.models.vectors import normalise_rows, truncate
from clearwell.ports import TokenMeter
from clearwell.records import Json, Vector

BLANK: Final = "-"
"""Sent instead of a blank text: many servers refuse an empty input, or return zeros for it."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 8.0
LONGEST_RETRY_AFTER: Final = 30.0
SAID_CHARS: Final = 300
LONGEST_WAIT: Final = 0.02
"""Maximum time in seconds that a single text waits for the request before it."""
SHARED_WAIT: Final = 0.005
"""Time in seconds to collect texts if the request before was shared, because its callers are likely to ask again."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""Far above the size of the answer to the largest batch that common APIs accept."""
CODES: Final = {
    Fault.TIMEOUT: "embedder_timeout",
    Fault.UNREACHABLE: "embedder_unreachable",
    Fault.BROKEN_OFF: "embedder_unreachable",
    Fault.RATE_LIMITED: "embedder_rate_limited",
    Fault.SERVER_ERROR: "embedder_server_error",
    Fault.KEY_REFUSED: "embedder_key_refused",
    Fault.NOT_FOUND: "embedder_not_found",
    Fault.REFUSED: "embedder_refused",
    Fault.TOO_LARGE: "embedder_answer_unreadable",
    Fault.CLOSED: "embedder_closed",
}

Sleep = Callable[[float], Awaitable[None]]


class OpenAIEmbedder:
    """Embeds by an API, in requests of ``batch`` texts. Transient failures are retried after growing pauses."""

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
        meter: TokenMeter | None = None,
    ) -> None:
        self._api = JsonApi(
            build_url(base_url, "/embeddings", otherwise="embedder_address_invalid"),
            key=validate_key(api_key, otherwise="embedder_key_invalid"),
            timeout_seconds=timeout_seconds,
            max_bytes=MAX_BYTES,
            said_chars=SAID_CHARS,
        )
        self._where = self._api.where
        self._api_model = model
        self._dimensions = dimensions
        self._vector_length = dimensions
        self._retries = retries
        self._batch = batch
        self._calibration = calibration or load_calibration(self.model)
        self._sleep = sleep
        self._jitter = jitter
        self._meter = meter
        self._single_texts = TextBatcher(
            self._embed_batch, batch=batch, closed=self._translate_failure(ApiFailure(Fault.CLOSED)), sleep=sleep
        )

    @property
    def model(self) -> str:
        """The model's name at the API, with the dimensions if they are configured."""
        return self._api_model if self._dimensions is None else f"{self._api_model}@{self._dimensions}"

    def similarity(self, cosine: float) -> float:
        return self._calibration.similarity(cosine)

    def relevance(self, cosine: float) -> float:
        return self._calibration.relevance(cosine)

    async def load(self) -> None:
        """Do nothing: the model runs on a server."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        inputs = [truncate(text) if text.strip() else BLANK for text in texts]
        if len(inputs) == 1:
            return [await self._single_texts.embed(inputs[0])]
        vectors: list[Vector] = []
        for start in range(0, len(inputs), self._batch):
            vectors += await self._embed_batch(inputs[start : start + self._batch])
        return vectors

    async def close(self) -> None:
        await self._single_texts.close()
        await self._api.close()

    async def _embed_batch(self, inputs: list[str]) -> list[Vector]:
        body: dict[str, Json] = {"model": self._api_model, "input": list(inputs)}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        return self._parse_vectors(await self._post_with_retries(body), len(inputs))

    async def _post_with_retries(self, body: dict[str, Json]) -> bytes:
        """Return the body of a successful answer, after retries if the failures are transient."""
        attempt = 0
        while True:
            try:
                return await self._api.post(body)
            except ApiFailure as failure:
                if attempt >= self._retries or not _is_retryable(failure):
                    raise self._translate_failure(failure) from failure
                pause = self._choose_pause(attempt, failure.retry_after)
            await self._sleep(pause)
            attempt += 1

    def _choose_pause(self, attempt: int, retry_after: float | None) -> float:
        if retry_after is not None:
            return retry_after
        longest = min(FIRST_PAUSE * 2.0**attempt, LONGEST_PAUSE)
        return longest * (0.5 + self._jitter() / 2)

    def _translate_failure(self, failure: ApiFailure) -> EmbedderUnavailable:
        return EmbedderUnavailable(
            CODES[failure.fault],
            where=self._where,
            model=self._api_model,
            seconds=self._api.timeout,
            status=failure.status,
            said=failure.said,
            reason=failure.said,
        )

    def _parse_vectors(self, content: bytes, count: int) -> list[Vector]:
        rows = self._parse_rows(content)
        if len(rows) != count:
            raise EmbedderUnavailable("embedder_answer_count", where=self._where, expected=count, found=len(rows))
        expected = self._vector_length if self._vector_length is not None else len(rows[0])
        if wrong := [len(row) for row in rows if len(row) != expected]:
            raise EmbedderUnavailable(
                "embedder_answer_dimensions", where=self._where, expected=expected, found=wrong[0]
            )
        try:
            matrix = normalise_rows(rows)
        except (ValueError, OverflowError) as error:
            raise EmbedderUnavailable("embedder_answer_numbers", where=self._where) from error
        self._vector_length = expected
        return [row.copy() for row in matrix]

    def _parse_rows(self, content: bytes) -> list[list[float]]:
        """Return the embeddings of an answer in the order of their indexes."""
        try:
            answer = from_json(content)
            report_usage(answer, self._meter)
            return _read_rows(answer)
        except (ValueError, RecursionError) as error:
            raise EmbedderUnavailable("embedder_answer_unreadable", where=self._where) from error


@dataclass(slots=True)
class _WaitingText:
    text: str
    vector: asyncio.Future[Vector]
    shared: bool = False


class TextBatcher:
    """Sends single texts that arrive while a request is under way together in the next request.

    An HTTP request costs more CPU time than the search for which a query is embedded, so concurrent queries share one.
    No text waits longer than ``LONGEST_WAIT`` for a request that was sent before it, and after a request that was
    shared ``SHARED_WAIT`` for others to share the next one with. A text of a caller that is alone is sent at once.
    """

    def __init__(
        self,
        embed_batch: Callable[[list[str]], Awaitable[list[Vector]]],
        *,
        batch: int,
        closed: EmbedderUnavailable,
        sleep: Sleep,
    ) -> None:
        self._embed_batch = embed_batch
        self._sleep = sleep
        self._closed = closed
        self._batch = batch
        self._waiting: list[_WaitingText] = []
        self._last_was_shared = False
        self._sender: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[None]] = set()

    async def embed(self, text: str) -> Vector:
        waiting = _WaitingText(text, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all(), name="embed single texts")
        try:
            return await waiting.vector
        except EmbedderUnavailable as error:
            if waiting.shared and error.code == CODES[Fault.REFUSED]:
                # The server may have refused the text of another caller.
                return (await self._embed_batch([text]))[0]
            raise

    async def close(self) -> None:
        """Cancel the requests under way. Their callers get ``closed``."""
        tasks = [*self._requests, *([] if self._sender is None else [self._sender])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._fail(self._waiting, self._closed)

    async def _send_all(self) -> None:
        while self._waiting:
            if self._last_was_shared and len(self._waiting) < self._batch:
                await self._sleep(SHARED_WAIT)
            taken, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
            self._last_was_shared = len(taken) > 1
            request = asyncio.create_task(self._send([one for one in taken if not one.vector.done()]))
            self._requests.add(request)
            request.add_done_callback(self._requests.discard)
            await asyncio.wait({request}, timeout=LONGEST_WAIT)

    async def _send(self, batch: list[_WaitingText]) -> None:
        if not batch:
            return
        for one in batch:
            one.shared = len(batch) > 1
        try:
            vectors = await self._embed_batch([one.text for one in batch])
        except EmbedderUnavailable as error:
            self._fail(batch, error)
            return
        except asyncio.CancelledError:
            self._fail(batch, self._closed)
            raise
        for one, vector in zip(batch, vectors, strict=True):
            if not one.vector.done():
                one.vector.set_result(vector)

    @staticmethod
    def _fail(batch: Sequence[_WaitingText], error: EmbedderUnavailable) -> None:
        for one in batch:
            if not one.vector.done():
                one.vector.set_exception(error)


def _is_retryable(failure: ApiFailure) -> bool:
    """Return whether the failure is transient and the server did not request too long a pause."""
    return failure.is_transient and (failure.retry_after or 0.0) <= LONGEST_RETRY_AFTER


def _read_rows(answer: object) -> list[list[float]]:
    """Read the rows of an answer. Raises ValueError if it does not have the form of the API."""
    if not isinstance(answer, dict) or not isinstance(entries := answer.get("data"), list):
        raise ValueError("no list of data")
    found = dict(_read_row(entry, position) for position, entry in enumerate(entries))
    if found.keys() != set(range(len(entries))):
        raise ValueError("an index is missing or given twice")
    return [found[index] for index in range(len(entries))]


def _read_row(entry: object, position: int) -> tuple[int, list[float]]:
    """Read one embedding and its index. Without an index the order of the answer counts."""
    if not isinstance(entry, dict):
        raise ValueError(f"data[{position}] is not an object")
    index, row = entry.get("index", position), entry.get("embedding")
    if type(index) is not int:
        raise ValueError(f"data[{position}].index is not an integer")
    if not isinstance(row, list) or not row or not {int, float}.issuperset(map(type, row)):
        raise ValueError(f"data[{position}].embedding is not a list of numbers")
    return index, row
