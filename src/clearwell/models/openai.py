"""An embedder behind any OpenAI-compatible ``POST {base_url}/embeddings``."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from clearwell.errors import EmbedderUnavailable
from clearwell.models.calibration import Calibration, calibration_of
from clearwell.models.json_api import ApiFailure, Fault, JsonApi, checked_key, endpoint
from clearwell.models.vectors import bounded, unit_rows
from clearwell.records import Json, Vector

BLANK: Final = "-"
"""Sent for a blank text: many servers refuse an empty input, or answer it with zeros."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 8.0
LONGEST_RETRY_AFTER: Final = 30.0
SAID_CHARS: Final = 300
MAX_BYTES: Final = 256 * 1024 * 1024
"""Far above the largest batch that common APIs take, written out in full."""
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
        self._api = JsonApi(
            endpoint(base_url, "/embeddings", otherwise="embedder_address_invalid"),
            key=checked_key(api_key, otherwise="embedder_key_invalid"),
            timeout_seconds=timeout_seconds,
            max_bytes=MAX_BYTES,
            said_chars=SAID_CHARS,
        )
        self._where = self._api.where
        self._asked_model = model
        self._asked_dimensions = dimensions
        self._length = dimensions
        self._retries = retries
        self._batch = batch
        self._calibration = calibration or calibration_of(self.model)
        self._sleep = sleep
        self._jitter = jitter

    @property
    def model(self) -> str:
        """The model's name at the API, with the dimensions where some were asked for."""
        return self._asked_model if self._asked_dimensions is None else f"{self._asked_model}@{self._asked_dimensions}"

    def similarity(self, cosine: float) -> float:
        return self._calibration.similarity(cosine)

    def relevance(self, cosine: float) -> float:
        return self._calibration.relevance(cosine)

    async def load(self) -> None:
        """Nothing to load: the model is elsewhere."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        inputs = [bounded(text) if text.strip() else BLANK for text in texts]
        vectors: list[Vector] = []
        for start in range(0, len(inputs), self._batch):
            vectors += await self._embed_batch(inputs[start : start + self._batch])
        return vectors

    async def close(self) -> None:
        await self._api.close()

    async def _embed_batch(self, inputs: list[str]) -> list[Vector]:
        body: dict[str, Json] = {"model": self._asked_model, "input": list(inputs)}
        if self._asked_dimensions is not None:
            body["dimensions"] = self._asked_dimensions
        return self._vectors(await self._ask(body), len(inputs))

    async def _ask(self, body: dict[str, Json]) -> bytes:
        """The body of a good answer, tried again where that may help."""
        attempt = 0
        while True:
            try:
                return await self._api.post(body)
            except ApiFailure as failure:
                if attempt >= self._retries or not _worth_another_try(failure):
                    raise self._unavailable(failure) from failure
                pause = self._pause(attempt, failure.retry_after)
            await self._sleep(pause)
            attempt += 1

    def _pause(self, attempt: int, retry_after: float | None) -> float:
        if retry_after is not None:
            return retry_after
        longest = min(FIRST_PAUSE * 2.0**attempt, LONGEST_PAUSE)
        return longest * (0.5 + self._jitter() / 2)

    def _unavailable(self, failure: ApiFailure) -> EmbedderUnavailable:
        return EmbedderUnavailable(
            CODES[failure.fault],
            where=self._where,
            model=self._asked_model,
            seconds=self._api.timeout,
            status=failure.status,
            said=failure.said,
            reason=failure.said,
        )

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


def _worth_another_try(failure: ApiFailure) -> bool:
    """It may pass, and the server did not ask for a pause that nobody would wait for."""
    return failure.passing and (failure.retry_after or 0.0) <= LONGEST_RETRY_AFTER


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
