"""The model that decides on statements in which the rules find no change."""

from collections.abc import Sequence

import pytest

from clearwell.comparison import DUPLICATE_SIMILARITY, read_features
from clearwell.comparison.rule_comparison import Limits, Undecided, decide_by_rules
from clearwell.comparison.sameness import MEASURES, SamenessModel, load_sameness_model
from clearwell.records import Comparison, Relation

KNOWN = "The night porter keeps the spare keys in a drawer."
NEW = "Spare keys are in the night porter's drawer."


def open_measures(new: str, known: str, similarity: float, limits: Limits | None = None) -> Sequence[float]:
    outcome = decide_by_rules(read_features(new), read_features(known), similarity, limits or Limits())
    assert isinstance(outcome, Undecided)
    return outcome.measures


def test_the_model_that_ships_has_a_weight_for_every_measure() -> None:
    model = load_sameness_model()
    assert len(model.weights) == len(MEASURES)
    assert 0.5 < model.threshold < 1
    assert model.version >= 1


def test_more_similarity_makes_the_same_more_likely() -> None:
    model = load_sameness_model()
    low, high = (model.probability(open_measures(NEW, KNOWN, similarity)) for similarity in (0.5, 0.9))
    assert 0 < low < model.threshold < high < 1


def test_a_higher_threshold_of_duplicates_counts_as_less_similarity() -> None:
    stricter = Limits(duplicate=DUPLICATE_SIMILARITY + 0.1)
    assert open_measures(NEW, KNOWN, 0.9, stricter)[0] == pytest.approx(0.8)


def test_extreme_measures_have_a_probability() -> None:
    model = SamenessModel(version=1, threshold=0.5, bias=0.0, weights=(1.0,))
    assert model.probability([1e9]) == pytest.approx(1.0)
    assert model.probability([-1e9]) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The porter keeps the keys.", "The porter does not keep the keys at all, the guard does."),
        ("The vault opens at nine with two keys.", "Two keys open the vault at eleven."),
        ("门卫保管备用钥匙。", "备用钥匙不由门卫保管，而是放在值班室。"),
    ],
)
def test_what_a_rule_finds_is_never_left_to_the_model(known: str, new: str) -> None:
    for similarity in (0.5, 0.99):
        outcome = decide_by_rules(read_features(new), read_features(known), similarity, Limits())
        assert isinstance(outcome, Comparison)
        assert outcome.relation is not Relation.SAME
