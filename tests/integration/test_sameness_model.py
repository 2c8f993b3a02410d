"""The model that ships is the one that its script fits on the labelled pairs."""

import pytest
from bench.same_model import MAX_WRONG, Fit, as_toml, collect_examples, fit_model

from clearwell.comparison.sameness import load_sameness_model
from clearwell.models import OfflineEmbedder


@pytest.fixture(scope="module")
async def fit() -> Fit:
    embedder = OfflineEmbedder()
    try:
        return fit_model(await collect_examples(embedder))
    finally:
        await embedder.close()


def test_fitting_again_gives_the_model_that_ships(fit: Fit) -> None:
    shipped = load_sameness_model()
    assert shipped.version == fit.model.version
    assert [shipped.bias, *shipped.weights] == pytest.approx([fit.model.bias, *fit.model.weights], abs=0.01)
    assert shipped.threshold == pytest.approx(fit.model.threshold, abs=0.005)


def test_few_pairs_of_a_group_left_out_are_wrongly_taken_for_the_same(fit: Fit) -> None:
    assert fit.wrong <= MAX_WRONG * fit.others
    assert fit.found >= 0.85 * fit.same


def test_the_file_names_every_measure(fit: Fit) -> None:
    assert as_toml(fit.model).count(" = ") == 3 + len(fit.model.weights)
