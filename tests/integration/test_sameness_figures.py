"""What the non-duplicate check reaches on the labelled pairs, with the bundled model."""

from collections import Counter

import pytest
from bench.sameness import AIMS, UNSEEN, Judged, figures, judged, labelled

from clearwell.models import OfflineEmbedder


@pytest.fixture(scope="module")
async def results() -> list[Judged]:
    embedder = OfflineEmbedder()
    try:
        return await judged(embedder, labelled())
    finally:
        await embedder.close()


def test_the_pairs_are_many_different_and_half_chinese() -> None:
    pairs = labelled()
    counts = Counter(pair.lang for pair in pairs)
    assert len({(pair.a, pair.b) for pair in pairs}) == len(pairs) >= 300
    assert abs(counts["en"] - counts["zh"]) <= len(pairs) * 0.02
    assert all(pair.a != pair.b for pair in pairs)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("split", ["held", "dev"])
def test_every_figure_is_reached(results: list[Judged], split: str, lang: str) -> None:
    reached = figures(one for one in results if (one.pair.split, one.pair.lang) == (split, lang))
    assert not {name: value for name, value in reached.items() if value < AIMS[name]}


async def test_every_figure_is_reached_on_pairs_that_nobody_had_seen(offline_embedder: OfflineEmbedder) -> None:
    reached = figures(await judged(offline_embedder, labelled(UNSEEN)))
    assert not {name: value for name, value in reached.items() if value < AIMS[name]}
