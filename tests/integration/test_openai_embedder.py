"""The API embedder against a real HTTP server that misbehaves."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

from clearwell.errors import ConfigurationError, EmbedderUnavailable
from clearwell.models import OpenAIEmbedder
from clearwell.models.openai import SHARED_WAIT
from tests.servers.embedding_api import EmbeddingApi, cut, embeddings, good, hashed_words, reversed_order
from tests.servers.scripted import Behaviour, Reply, Request, answer, hang, reply

KEY = "sk-test-0123456789abcdef"
TEXTS = ["first text", "second text", "第三段"]


class Pauses(list[float]):
    """Stands for asyncio.sleep and remembers how long it should have slept."""

    async def sleep(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as running:
        yield running


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def embedder(api: EmbeddingApi, pauses: Pauses) -> AsyncIterator[OpenAIEmbedder]:
    made = OpenAIEmbedder(
        base_url=api.base_url,
        model="hashed-words",
        api_key=f"{KEY}\n",
        timeout_seconds=5,
        retries=2,
        sleep=pauses.sleep,
        jitter=lambda: 1.0,
    )
    yield made
    await made.close()


async def failure(embedder: OpenAIEmbedder) -> EmbedderUnavailable:
    with pytest.raises(EmbedderUnavailable) as caught:
        await embedder.embed(TEXTS)
    assert KEY not in caught.value.text("en") + caught.value.text("zh") + repr(caught.value)
    return caught.value


async def test_asks_as_the_api_wants_it(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    await embedder.embed(TEXTS)
    (request,) = api.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "hashed-words", "input": TEXTS}


async def test_normalises_and_keeps_the_order_of_the_indexes(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    api.script.append(reversed_order)
    for vector, text in zip(await embedder.embed(TEXTS), TEXTS, strict=True):
        raw = np.array(hashed_words(text))
        np.testing.assert_allclose(vector, raw / np.linalg.norm(raw), atol=1e-6)


async def test_dimensions_are_asked_for_and_named(api: EmbeddingApi) -> None:
    embedder = OpenAIEmbedder(base_url=f"{api.base_url}/", model="small", dimensions=16)
    (vector,) = await embedder.embed(["text"])
    await embedder.close()
    assert embedder.model == "small@16"
    assert vector.shape == (16,)
    assert api.requests[0].body["dimensions"] == 16
    assert "Authorization" not in api.requests[0].headers


async def test_many_texts_go_in_batches(api: EmbeddingApi) -> None:
    embedder = OpenAIEmbedder(base_url=api.base_url, model="hashed-words", batch=4)
    vectors = await embedder.embed([f"text {number}" for number in range(10)])
    await embedder.close()
    assert len(vectors) == 10
    assert [len(request.body["input"]) for request in api.requests] == [4, 4, 2]


@pytest.mark.parametrize(
    "fault", [reply(500, "oops"), reply(503), reply(429), reply(408), cut], ids=["500", "503", "429", "408", "cut"]
)
async def test_what_may_pass_is_tried_again_with_growing_pauses(
    api: EmbeddingApi, embedder: OpenAIEmbedder, pauses: Pauses, fault: Behaviour
) -> None:
    api.script.extend([fault, fault])
    assert len(await embedder.embed(TEXTS)) == 3
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "1.5"}, 1.5),
        ({"Retry_After": "Sun, 15 Nov 2026 10:00:09 GMT", "Date": "Sun, 15 Nov 2026 10:00:00 GMT"}, 9.0),
        ({"Retry_After": "Sun, 15 Nov 2026 10:00:00 GMT", "Date": "Sun, 15 Nov 2026 10:00:09 GMT"}, 0.0),
        ({"Retry_After": "Sun, 15 Nov 2026 10:00:09 GMT"}, 0.5),
        ({"Retry_After": "soon"}, 0.5),
        ({"Retry_After": "-3"}, 0.5),
    ],
)
async def test_retry_after_is_honoured(
    api: EmbeddingApi, embedder: OpenAIEmbedder, pauses: Pauses, headers: dict[str, str], pause: float
) -> None:
    api.script.append(reply(429, **headers))
    await embedder.embed(TEXTS)
    assert pauses == [pause]


async def test_a_server_that_asks_for_a_long_pause_is_not_waited_for(
    api: EmbeddingApi, embedder: OpenAIEmbedder, pauses: Pauses
) -> None:
    api.script.append(reply(429, {"error": {"message": "quota used up"}}, Retry_After="3600"))
    error = await failure(embedder)
    assert error.code == "embedder_rate_limited"
    assert "quota used up" in error.text()
    assert (len(api.requests), pauses) == (1, [])


@pytest.mark.parametrize(
    ("fault", "code"), [(reply(429), "embedder_rate_limited"), (reply(502), "embedder_server_error")]
)
async def test_gives_up_after_the_last_try(
    api: EmbeddingApi, embedder: OpenAIEmbedder, fault: Behaviour, code: str
) -> None:
    api.script.extend([fault] * 3)
    assert (await failure(embedder)).code == code
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (301, "embedder_refused"),
        (400, "embedder_refused"),
        (401, "embedder_key_refused"),
        (403, "embedder_key_refused"),
        (404, "embedder_not_found"),
        (422, "embedder_refused"),
    ],
)
async def test_a_refusal_is_not_tried_again(
    api: EmbeddingApi, embedder: OpenAIEmbedder, status: int, code: str
) -> None:
    api.script.append(reply(status, {"error": {"message": f"no: {KEY} will not do"}}))
    error = await failure(embedder)
    assert error.code == code
    assert "no: *** will not do" in error.text("zh")
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("no " * 10_000, "no " * 100),
        ("two\nlines\x1b[31m", "two lines [31m"),
        ({"error": "plain"}, "plain"),
        ({"message": "short"}, "short"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"msg": "too long", "input": "what an agent said"}]}, "too long"),
        ({"unknown": "what an agent said"}, "Bad Request"),
        ("[" * 100_000, "[" * 300),
        ("", "Bad Request"),
    ],
)
async def test_what_the_server_said_is_one_short_line(
    api: EmbeddingApi, embedder: OpenAIEmbedder, body: object, said: str
) -> None:
    api.script.append(reply(400, body))
    assert (await failure(embedder)).params["said"] == said


ROW = [0.5, 0.5, 0.1]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (reply(200, "<html>welcome</html>"), "embedder_answer_unreadable"),
        (reply(200, ""), "embedder_answer_unreadable"),
        (reply(200, b"\xff\xfe".decode("latin-1")), "embedder_answer_unreadable"),
        (reply(200, "[" * 100_000), "embedder_answer_unreadable"),
        (reply(200, []), "embedder_answer_unreadable"),
        (reply(200, {"data": "text"}), "embedder_answer_unreadable"),
        (reply(200, {"data": ["text"]}), "embedder_answer_unreadable"),
        (reply(200, {"data": [{"index": 0, "embedding": ROW}] * 3}), "embedder_answer_unreadable"),
        (reply(200, {"data": [{"index": i + 1, "embedding": ROW} for i in range(3)]}), "embedder_answer_unreadable"),
        (reply(200, {"data": [{"index": "0", "embedding": ROW}]}), "embedder_answer_unreadable"),
        (lambda _: embeddings(ROW, ROW, "AACAPw=="), "embedder_answer_unreadable"),
        (lambda _: embeddings(ROW, ROW, ["1", "2", "3"]), "embedder_answer_unreadable"),
        (lambda _: embeddings(ROW, ROW, [True, 0.5, 0.1]), "embedder_answer_unreadable"),
        (lambda _: embeddings(ROW, ROW, []), "embedder_answer_unreadable"),
        (lambda _: embeddings(), "embedder_answer_count"),
        (lambda _: embeddings(ROW, ROW), "embedder_answer_count"),
        (lambda _: embeddings(ROW, ROW, ROW, ROW), "embedder_answer_count"),
        (lambda _: embeddings(ROW, ROW, [*ROW, 1.0]), "embedder_answer_dimensions"),
        (lambda _: embeddings(ROW, ROW, [float("nan"), 0.5, 0.1]), "embedder_answer_numbers"),
        (lambda _: embeddings(ROW, ROW, [float("inf"), 0.5, 0.1]), "embedder_answer_numbers"),
        (lambda _: embeddings(ROW, ROW, [10**400, 0.5, 0.1]), "embedder_answer_numbers"),
        (lambda _: embeddings(ROW, ROW, [0.0, 0, 0.0]), "embedder_answer_numbers"),
    ],
)
async def test_an_answer_that_is_no_embedding_is_refused(
    api: EmbeddingApi, embedder: OpenAIEmbedder, fault: Behaviour, code: str
) -> None:
    api.script.append(fault)
    assert (await failure(embedder)).code == code
    assert len(api.requests) == 1
    assert len(await embedder.embed(TEXTS)) == 3, "a bad answer leaves nothing behind"


async def test_indexes_may_be_left_out(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    api.script.append(lambda _: answer({"data": [{"embedding": ROW}, {"embedding": ROW}, {"embedding": ROW}]}))
    assert len(await embedder.embed(TEXTS)) == 3


async def test_huge_and_tiny_numbers_are_normalised(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    api.script.append(lambda _: embeddings([1e300, 1e300], [1e-300, 0.0], [3, 4]))
    vectors = await embedder.embed(TEXTS)
    np.testing.assert_allclose(vectors, [[0.5**0.5, 0.5**0.5], [1.0, 0.0], [0.6, 0.8]], atol=1e-6)


async def test_a_model_that_changes_its_dimensions_is_noticed(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    await embedder.embed(TEXTS)
    api.script.append(lambda _: embeddings(ROW, ROW, ROW))
    error = await failure(embedder)
    assert (error.code, error.params["expected"], error.params["found"]) == ("embedder_answer_dimensions", 64, 3)


async def test_a_server_that_hangs_is_left(api: EmbeddingApi, pauses: Pauses) -> None:
    embedder = OpenAIEmbedder(base_url=api.base_url, model="m", timeout_seconds=0.1, retries=1, sleep=pauses.sleep)
    api.script.extend([hang, hang])
    assert (await failure(embedder)).code == "embedder_timeout"
    await embedder.close()
    assert len(api.requests) == 2


async def test_nobody_listening(pauses: Pauses) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        embedder = OpenAIEmbedder(
            base_url=f"http://127.0.0.1:{unused.getsockname()[1]}", model="m", retries=1, sleep=pauses.sleep
        )
        error = await failure(embedder)
    await embedder.close()
    assert error.code == "embedder_unreachable"
    assert len(pauses) == 1


async def test_a_cancelled_caller_does_not_hurt_the_others(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang_and_tell(request: object) -> None:
        loop.call_soon_threadsafe(arrived.set)

    api.script.append(hang_and_tell)
    waiting = asyncio.create_task(embedder.embed(["never"]))
    await arrived.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(await embedder.embed(TEXTS)) == 3


async def test_concurrent_single_texts_share_requests(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    texts = [f"text number {number}" for number in range(40)]
    vectors = [one for (one,) in await asyncio.gather(*(embedder.embed([text]) for text in texts))]
    assert len(api.requests) < 10
    for text, vector in zip(texts, vectors, strict=True):
        expected = np.asarray(hashed_words(text))
        assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)


async def test_callers_that_shared_a_request_share_the_next_one(api: EmbeddingApi) -> None:
    collected = asyncio.Event()

    async def wait_for_others(_: float) -> None:
        await collected.wait()

    embedder = OpenAIEmbedder(base_url=api.base_url, model="m", sleep=wait_for_others)
    await asyncio.gather(embedder.embed(["one"]), embedder.embed(["two"]))
    first = asyncio.create_task(embedder.embed(["three"]))
    await asyncio.sleep(0)
    second = asyncio.create_task(embedder.embed(["four"]))
    await asyncio.sleep(0)
    collected.set()
    await asyncio.gather(first, second)
    await embedder.close()
    assert [request.body["input"] for request in api.requests] == [["one", "two"], ["three", "four"]]


async def test_a_caller_that_is_alone_does_not_wait_for_others(embedder: OpenAIEmbedder, pauses: Pauses) -> None:
    await embedder.embed(["one"])
    await embedder.embed(["two"])
    assert pauses == []
    await asyncio.gather(embedder.embed(["three"]), embedder.embed(["four"]))
    await embedder.embed(["five"])
    assert pauses == [SHARED_WAIT]
    await embedder.embed(["six"])
    assert pauses == [SHARED_WAIT]


async def test_a_refused_text_does_not_hurt_those_that_shared_its_request(
    api: EmbeddingApi, embedder: OpenAIEmbedder
) -> None:
    def refuse_bad(request: Request) -> Reply:
        return Reply(status=400) if "bad" in request.body["input"] else good(request)

    api.usually = refuse_bad
    answers = await asyncio.gather(*(embedder.embed([text]) for text in ("one", "bad", "two")), return_exceptions=True)
    assert [isinstance(one, EmbedderUnavailable) for one in answers] == [False, True, False]


async def test_a_hanging_request_does_not_hold_up_later_texts(api: EmbeddingApi, embedder: OpenAIEmbedder) -> None:
    arrived, loop = asyncio.Event(), asyncio.get_running_loop()

    def hang_and_tell(request: object) -> None:
        loop.call_soon_threadsafe(arrived.set)

    api.script.append(hang_and_tell)
    waiting = asyncio.create_task(embedder.embed(["never"]))
    await arrived.wait()
    assert len(await asyncio.wait_for(embedder.embed(["later"]), 4)) == 1
    waiting.cancel()
    await asyncio.wait([waiting])


@pytest.mark.parametrize("address", ["", "localhost:11434/v1", "ftp://host/v1", "http://", "http://host:port/v1"])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIEmbedder(base_url=address, model="m")
    assert caught.value.code == "embedder_address_invalid"


@pytest.mark.parametrize("key", ["sk-密钥", "sk-a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIEmbedder(base_url="http://localhost/v1", model="m", api_key=key)
    assert caught.value.code == "embedder_key_invalid"
    assert key not in str(caught.value)


async def test_a_query_in_the_address_is_kept(api: EmbeddingApi) -> None:
    embedder = OpenAIEmbedder(base_url=f"{api.base_url}/?api-version=1", model="m")
    api.script.append(good)
    await embedder.embed(["text"])
    await embedder.close()
    assert api.requests[0].path == "/v1/embeddings?api-version=1"
