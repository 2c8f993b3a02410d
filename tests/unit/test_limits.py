"""What may come in at all."""

import math
from datetime import UTC, datetime

import pytest

from clearwell.errors import InvalidInput, TooLarge
from clearwell.flow import limits
from clearwell.records import Json
from clearwell.settings import Settings

SETTINGS = Settings()


@pytest.mark.parametrize("value", ["grp-123", "组 一", "x" * 200, "a{b}*", "שלום", "🙂"])
def test_ids_may_be_any_text_of_1_to_200_characters(value: str) -> None:
    assert limits.require_group(value) == value


@pytest.mark.parametrize(
    ("value", "code"),
    [("", "id_empty"), ("x" * 201, "id_long"), ("a\nb", "id_control"), ("a\x00", "id_control"), ("\x7f", "id_control"),
     ("\ud800", "id_control"), ("unassigned", "group_reserved")],
)  # fmt: skip
def test_ids_that_are_refused(value: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        limits.require_group(value)
    assert (caught.value.code, caught.value.field) == (code, "group_id")


@pytest.mark.parametrize(
    ("value", "code"),
    [("", "text_blank"), (" \n\t\u3000", "text_blank"), ("a\x00", "text_nul"), ("a\udc00", "text_surrogate")],
)
def test_text_that_cannot_be_kept(value: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        limits.require_text(value, "content", max_bytes=100)
    assert caught.value.code == code


def test_text_is_measured_in_bytes() -> None:
    assert limits.require_text("中" * 10, "content", max_bytes=30)
    for large in ("中" * 10, "a" * 31):
        with pytest.raises(TooLarge) as caught:
            limits.require_text(large, "content", max_bytes=29)
        assert caught.value.limit == 29


@pytest.mark.parametrize(
    "value", ["\u200b\u200b", "\x1b[31m \u202e", "\x1b]0;title\x07", "\u3164\u2800", "…?!", "\u0301", "\x9b1m\x7f"]
)
def test_text_for_people_has_something_to_read(value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        limits.require_readable(value, "text", max_bytes=100)
    assert caught.value.code == "text_unreadable"


@pytest.mark.parametrize("value", ["x", "\x1b[31m7", "中", "🙂", "\u202eא", "C++", "…?"[:1] + "a"])
def test_text_with_anything_to_read_is_taken_as_it_is(value: str) -> None:
    assert limits.require_readable(value, "text", max_bytes=100) == value


def test_reasons_are_short_readable_or_not_given() -> None:
    assert (limits.require_reason(None), limits.require_reason(" \n")) == (None, None)
    assert limits.require_reason("中" * 666) == "中" * 666
    for value, code in (
        ("a\x00b", "text_nul"),
        ("\ud800", "text_surrogate"),
        ("x" * 2001, "reason_large"),
        ("中" * 667, "reason_large"),
        ("\u200b", "text_unreadable"),
    ):
        with pytest.raises(InvalidInput) as caught:
            limits.require_reason(value)
        assert (caught.value.code, caught.value.field) == (code, "reason")
    with pytest.raises(InvalidInput):
        limits.require_nonblank_reason("")


def test_metadata_is_kept_as_it_is_but_for_numbers_that_json_lacks() -> None:
    given: dict[str, Json] = {"a": [1, 2.5, None, True, "é"], "nan": math.nan, "inf": -math.inf}
    kept = limits.require_metadata(given, SETTINGS)
    assert kept == {"a": [1, 2.5, None, True, "é"], "nan": "nan", "inf": "-inf"}


def deep(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"x": deep(100)}, "metadata_deep"),
        ({"x": "a" * 70_000}, "metadata_large"),
        ({"x": "\x00"}, "text_nul"),
        ({"\ud800": 1}, "text_surrogate"),
        ({"x": object()}, "metadata_type"),
        ({1: 2}, "metadata_type"),
        (["not", "an", "object"], "metadata_not_object"),
    ],
)
def test_metadata_that_is_refused(value: object, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        limits.require_metadata(value, SETTINGS)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert caught.value.text("zh")


def test_a_time_needs_its_zone() -> None:
    assert limits.require_moment(datetime(2026, 1, 1, tzinfo=UTC), "occurred_at")
    with pytest.raises(InvalidInput):
        limits.require_moment(datetime(2026, 1, 1), "occurred_at")  # noqa: DTZ001 - that is the point


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"x": "a\ud800"}, "x"),
        ({"a": [{"b": ["", {"c": "\udfff"}]}]}, "a.0.b.1.c"),
        ({"a": {"\ud800": 1}}, "a.\\ud800"),
    ],
)
def test_a_lone_surrogate_is_found_at_any_depth(value: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        limits.require_unicode(value)
    assert (caught.value.code, caught.value.field) == ("text_surrogate", field)
    str(caught.value).encode()


def test_whole_unicode_passes_at_any_depth() -> None:
    deep: object = "😀"
    for _ in range(50_000):
        deep = [deep]
    limits.require_unicode({"a": deep, "记忆": None, "b": 1.5})


def test_the_size_of_a_text_is_told_in_bytes() -> None:
    with pytest.raises(TooLarge) as refused:
        limits.require_text("记忆" * 10, "content", max_bytes=10)
    assert refused.value.params["size"] == 60
