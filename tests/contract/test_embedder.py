"""What every embedder promises."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from clearwell.errors import EmbedderUnavailable
from clearwell.models import OfflineEmbedder, OpenAIEmbedder
from clearwell.ports import Embedder
from tests.servers.embedding_api import EmbeddingApi

ENGLISH = "The payment gateway was down for twelve minutes because its certificate had expired."
CHINESE = "支付网关因为证书过期中断了十二分钟，现在已经恢复。"


def make(kind: str, api: EmbeddingApi) -> Embedder:
    if kind == "offline":
        return OfflineEmbedder()
    return OpenAIEmbedder(base_url=api.base_url, model="hashed-words", batch=4)


@pytest.fixture(scope="module", params=["offline", "api"])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    with EmbeddingApi() as api:
        made = make(request.param, api)
        yield made
        await made.close()


async def test_gives_one_unit_vector_a_text(embedder: Embedder) -> None:
    vectors = await embedder.embed([ENGLISH, CHINESE, "third"])
    assert len(vectors) == 3
    assert {vector.dtype for vector in vectors} == {np.dtype(np.float32)}
    assert len({vector.shape for vector in vectors}) == 1
    np.testing.assert_allclose([np.linalg.norm(vector) for vector in vectors], 1.0, atol=1e-5)


async def test_gives_nothing_for_nothing(embedder: Embedder) -> None:
    assert await embedder.embed([]) == []


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t\u3000", "\x00", "。", "\ud800 lone", "😀" * 50, "\u0301", "长" * 5_000]
)
async def test_any_text_has_a_direction(embedder: Embedder, text: str) -> None:
    (vector,) = await embedder.embed([text])
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


async def test_a_text_has_the_same_vector_in_any_company(embedder: Embedder) -> None:
    (alone,) = await embedder.embed([CHINESE])
    among = await embedder.embed([*(f"text {number}" for number in range(70)), CHINESE, ENGLISH])
    np.testing.assert_allclose(among[70], alone, atol=1e-5)


async def test_each_of_many_callers_gets_its_own(embedder: Embedder) -> None:
    texts = [f"report {number} of the {kind} team" for number in range(20) for kind in ("red", "blue")]
    expected = await embedder.embed(texts)
    answers = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    for answer, vector in zip(answers, expected, strict=True):
        np.testing.assert_allclose(answer[0], vector, atol=1e-5)


async def test_like_texts_are_nearer_than_others(embedder: Embedder) -> None:
    text, like, other = await embedder.embed(
        [ENGLISH, "Note: the payment gateway was down, its certificate had expired.", "Lunch is served at noon."]
    )
    assert text @ like > text @ other


async def test_reads_a_cosine_as_zero_to_one(embedder: Embedder) -> None:
    cosines = np.linspace(-1, 1, 201)
    for read in (embedder.similarity, embedder.relevance):
        values = [read(float(cosine)) for cosine in cosines]
        assert values == sorted(values)
        assert values[0] == 0.0
        assert values[-1] == 1.0


async def test_names_its_model(embedder: Embedder) -> None:
    assert embedder.model.strip() == embedder.model != ""


@pytest.mark.parametrize("kind", ["offline", "api"])
async def test_a_closed_embedder_says_so(kind: str) -> None:
    with EmbeddingApi() as api:
        embedder = make(kind, api)
        await embedder.close()
        await embedder.close()
        with pytest.raises(EmbedderUnavailable) as caught:
            await embedder.embed([ENGLISH])
    assert caught.value.code == "embedder_closed"
