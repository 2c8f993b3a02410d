"""Curves from cosine to 0..1."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearwell.models.calibration import load_calibration
from clearwell.models.offline import MODEL
from clearwell.records import Curve

SHIPPED = sorted(file.name.removesuffix(".toml") for file in files("clearwell.models").joinpath("curves").iterdir())


def test_a_curve_is_straight_between_points_and_flat_beyond() -> None:
    curve = Curve(((0.2, 0.0), (0.4, 0.5), (0.8, 0.9)))
    assert [curve(x) for x in (-1.0, 0.2, 0.8, 1.0)] == [0.0, 0.0, 0.9, 0.9]
    assert curve(0.3) == pytest.approx(0.25)
    assert curve(0.6) == pytest.approx(0.7)


def test_what_is_no_number_is_like_nothing() -> None:
    assert Curve(((0.0, 0.0), (1.0, 1.0)))(float("nan")) == 0.0


@pytest.mark.parametrize(
    "points",
    [
        (),
        ((0.0, 0.0),),
        ((0.0, 0.5), (1.0, 0.4)),
        ((0.5, 0.0), (0.5, 1.0)),
        ((0.0, -0.1), (1.0, 1.0)),
        ((0.0, 0.0), (1.0, 1.1)),
    ],
)
def test_a_curve_that_does_not_rise_within_bounds_is_refused(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError):
        Curve(points)


@pytest.mark.parametrize("model", SHIPPED)
@given(st.floats(-1.1, 1.1), st.floats(-1.1, 1.1))
def test_shipped_curves_are_monotone_and_cover_0_to_1(model: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    for curve in (load_calibration(model).similarity, load_calibration(model).relevance):
        assert 0.0 <= curve(low) <= curve(high) <= 1.0
        assert (curve(-1.0), curve(1.0)) == (0.0, 1.0)


def test_each_model_has_its_own_curves_and_others_the_generic_ones() -> None:
    generic = load_calibration("generic")
    assert {MODEL, "generic", "text-embedding-ada-002"} <= set(SHIPPED)
    assert load_calibration(MODEL) != generic
    assert load_calibration("text-embedding-ada-002@512") == load_calibration("text-embedding-ada-002") != generic
    for unknown in ("BAAI/bge-m3", "../generic", "", "@512"):
        assert load_calibration(unknown) == generic
