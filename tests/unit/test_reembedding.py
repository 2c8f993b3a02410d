"""Two embedding models at once: their scales, the search by both, and the re-embedding from one to the other."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest

from clearwell.errors import EmbedderUnavailable, InvalidInput
from clearwell.flow.reembedding.models import EmbeddingModels, MultiModelSearch
from clearwell.flow.reembedding.reembedder import Reembedder
from clearwell.flow.reembedding.scale import measure_scale, rescale_fusion, translate_cosine
from clearwell.flow.retrieval.bm25 import Bm25, analyse_query
from clearwell.models.calibration import load_calibration
from clearwell.ports import Fusion, SearchQuery
from clearwell.records import ModelChoice, NewReembedding, Reembedding, Vector
from clearwell.testing import ManualClock, MemoryLongTerm, MemoryReembeddings
from tests.contract.ports import START, promotion, unit

OLD, NEW = ModelChoice(embedder="offline", model="m"), ModelChoice(embedder="openai", model="n", base_url="http://x/v1")


class Tilted:
    """Knows one axis a text; another model has other axes and another curve."""

    def __init__(self, model: str, shift: int, curve: str) -> None:
        self.model = model
        self._shift = shift
        self._curves = load_calibration(curve)
        self.loads = 0
        self.works = True

    async def load(self) -> None:
        self.loads += 1
        if not self.works:
            raise EmbedderUnavailable("embedder_closed", model=self.model)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        numbers = [text.split()[-1] for text in texts]
        return [unit(self._shift + (int(number) if number.isdigit() else 0)) for number in numbers]

    def similarity(self, cosine: float) -> float:
        return self._curves.similarity(cosine)

    def relevance(self, cosine: float) -> float:
        return self._curves.relevance(cosine)

    async def close(self) -> None:
        """Nothing to close."""


def models() -> tuple[Tilted, Tilted]:
    return Tilted("m", 0, "use-multilingual-v3"), Tilted("n", 3, "text-embedding-ada-002")


@pytest.mark.parametrize("cosine", np.linspace(-1, 1, 41))
def test_a_cosine_on_the_other_scale_is_read_alike(cosine: float) -> None:
    old, new = models()
    there = translate_cosine(float(cosine), measure_scale(new), measure_scale(old), "relevance")
    assert -1 <= there <= 1
    assert old.relevance(there) == pytest.approx(new.relevance(float(cosine)), abs=0.02)


def test_the_order_stays_on_the_other_scale() -> None:
    old, new = (measure_scale(one) for one in models())
    read = [translate_cosine(float(cosine), new, old, "similarity") for cosine in np.linspace(-1, 1, 200)]
    assert read == sorted(read)


def test_ranks_of_both_models_begin_and_end_alike() -> None:
    old, new = (measure_scale(one) for one in models())
    fusion, shift = rescale_fusion(Fusion(), old, new)
    assert fusion.dense * new.low + shift == pytest.approx(Fusion().dense * old.low)
    assert fusion.dense * new.high + shift == pytest.approx(Fusion().dense * old.high)


class Ground:
    """Memories of the old model, and a re-embedding that can be run."""

    def __init__(self) -> None:
        self.old, self.new = models()
        self.longterm = MemoryLongTerm(Bm25())
        self.reembeddings = MemoryReembeddings(self.longterm)
        self.models = EmbeddingModels(
            self.old, self.reembeddings, lambda choice: self.new if choice == NEW else self.old
        )
        self.search = MultiModelSearch(self.longterm, self.models)
        self.slept: list[float] = []
        self.reembedding = Reembedder(
            self.reembeddings, ManualClock(), loading_seconds=5, search_seconds=2, sleep=self._sleep
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def fill(self) -> None:
        made = []
        for number in range(1, 7):
            decided, (chunk,) = promotion(number, vectors=[unit(number)])
            made.append((decided, [replace(chunk, content=f"memory {number}")]))
        self.longterm.hold(made)

    async def plan(self, to: ModelChoice = NEW, configured: ModelChoice = OLD) -> NewReembedding | Reembedding | None:
        return await self.reembedding.plan((configured.model, configured), (to.model, to), by="ann")

    async def found(self, number: int, *, words: bool) -> list[int]:
        text = f"memory {number}"
        (vector,) = await self.old.embed([text])
        query = SearchQuery(group_id="g", embedding=vector, model="m", limit=6, text=text)
        query = replace(query, terms=analyse_query(text)) if words else query
        return [one.memory.id.int - 1000 for one in await self.search.search(query)]


@pytest.mark.parametrize("words", [True, False])
async def test_nothing_is_missing_at_any_step_of_a_reembedding(words: bool) -> None:
    ground = Ground()
    await ground.fill()
    seen: list[list[int]] = [await ground.found(4, words=words)]
    begun = await ground.reembeddings.begin(await _new(ground))
    seen.append(await ground.found(4, words=words))
    await ground.models.wait_until_loaded()
    assert ground.new.loads == 1, "it is loaded before the first vector is replaced"
    await ground.reembeddings.set_off(begun.id, at=START)
    while page := await ground.reembeddings.texts("g", "n", after=None, limit=2):
        vectors = await ground.new.embed([one.content for one in page])
        await ground.reembeddings.put("g", "n", list(zip(page, vectors, strict=True)), at=START)
        seen.append(await ground.found(4, words=words))
    await ground.reembeddings.finish(begun.id, at=START)
    await ground.models.refresh()
    seen.append(await ground.found(4, words=words))
    assert all(sorted(one) == [1, 2, 3, 4, 5, 6] and one[0] == 4 for one in seen)
    assert (await ground.models.fetch_current()).model == "n"
    await ground.models.close()


async def _new(ground: Ground) -> NewReembedding:
    planned = await ground.plan()
    assert isinstance(planned, NewReembedding)
    return planned


async def test_a_reembedding_is_announced_before_vectors_change_and_says_how_far_it_is() -> None:
    ground, told = Ground(), list[tuple[int, int]]()
    await ground.fill()
    done = await ground.reembedding.run(await ground.plan(), ground.new, lambda *step: told.append(step))
    assert ground.slept == [5, 2]
    assert done.chunks == 6
    assert told[0] == (0, 6)
    assert told[-1] == (6, 6)
    last = await ground.reembeddings.last()
    assert last is not None
    assert last.finished_at is not None
    again = await ground.reembedding.run(await ground.plan(), ground.new, lambda *_: None)
    assert again.chunks == 0


async def test_a_reembedding_can_be_taken_back_and_a_third_model_has_to_wait() -> None:
    ground = Ground()
    await ground.fill()
    begun = await ground.reembeddings.begin(await _new(ground))
    await ground.reembeddings.set_off(begun.id, at=START)
    with pytest.raises(InvalidInput, match="--model n"):
        await ground.plan(ModelChoice(embedder="openai", model="third", base_url="http://x/v1"))
    back = await ground.plan(OLD)
    assert isinstance(back, NewReembedding)
    assert (back.from_model, back.to_model, back.to_choice, back.at_once) == ("n", "m", OLD, True)


async def test_a_reembedding_is_resumed_at_its_own_address_and_with_its_own_dimensions() -> None:
    ground = Ground()
    await ground.fill()
    to = ModelChoice(embedder="openai", model="fake-emb", base_url="http://x/v1", dimensions=256)
    assert await ground.reembedding.complete_choice(ModelChoice(embedder="openai", model="fake-emb")) != to
    planned = await ground.reembedding.plan(("m", OLD), (to.stored_name, to), by="ann")
    assert isinstance(planned, NewReembedding)
    begun = await ground.reembeddings.begin(planned)
    for named in ("fake-emb", "fake-emb@256"):
        assert await ground.reembedding.complete_choice(ModelChoice(embedder="openai", model=named)) == to
    assert await ground.reembedding.complete_choice(replace(to, base_url="http://x/v1/")) == to
    assert await ground.reembedding.complete_choice(OLD) == OLD
    finish = "clearwell reembed --model fake-emb --base-url http://x/v1 --dimensions 256"
    for other in (replace(to, base_url="http://y/v1"), replace(to, dimensions=128)):
        with pytest.raises(InvalidInput) as caught:
            await ground.reembedding.complete_choice(other)
        assert f"({finish})" in str(caught.value)
    await ground.reembeddings.finish(begun.id, at=START)
    assert await ground.reembedding.complete_choice(replace(to, base_url="http://y/v1")) == replace(
        to, base_url="http://y/v1"
    )


@pytest.mark.parametrize(
    ("stored", "settings"),
    [
        ("use-multilingual-v3", "CLEARWELL_EMBEDDER=offline"),
        (
            "fake-emb@256",
            "CLEARWELL_EMBEDDER=openai CLEARWELL_EMBEDDING_MODEL=fake-emb CLEARWELL_EMBEDDING_DIMENSIONS=256",
        ),
        ("org@x", "CLEARWELL_EMBEDDER=openai CLEARWELL_EMBEDDING_MODEL=org@x"),
    ],
)
def test_a_stored_name_tells_the_settings_of_its_model(stored: str, settings: str) -> None:
    choice = ModelChoice.parse(stored)
    assert choice.stored_name == stored
    assert choice.assignments() == settings


async def test_parts_and_rank_are_on_one_scale_while_two_models_are_live() -> None:
    ground = Ground()
    await ground.fill()
    await ground.reembedding.run(await ground.plan(), ground.new, lambda *_: None)
    await ground.models.refresh()
    (vector,) = await ground.old.embed(["memory 4"])
    asked_for = SearchQuery(
        group_id="g",
        embedding=vector,
        model="m",
        limit=6,
        text="memory 4",
        terms=analyse_query("memory 4"),
        explain=True,
    )
    found = await ground.search.search(asked_for)
    assert len(found) == 6
    for one in found:
        assert one.parts is not None
        assert sum(asdict(one.parts).values()) == pytest.approx(one.rank)


async def test_the_settings_must_name_the_stored_model_and_an_empty_database_has_nothing_to_reembed() -> None:
    ground = Ground()
    assert await ground.plan() is None
    await ground.fill()
    assert await ground.plan(OLD) is None
    with pytest.raises(InvalidInput, match="vectors of m"):
        await ground.plan(replace(NEW, model="third"), configured=NEW)


async def test_another_model_that_cannot_be_loaded_stops_nobody() -> None:
    ground = Ground()
    await ground.fill()
    ground.new.works = False
    await ground.reembeddings.begin(await _new(ground))
    assert len(await ground.found(4, words=True)) == 6
    await ground.models.wait_until_loaded()
    assert len(await ground.found(4, words=True)) == 6
