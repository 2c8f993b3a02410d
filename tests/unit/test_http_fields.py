"""Bodies of requests: what their models refuse, and how it is said."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from clearwell.adapters.http.api.captures import CaptureBatch, CaptureBody
from clearwell.adapters.http.api.memory import QueryInput
from clearwell.adapters.http.problems import invalid_request
from clearwell.errors import InvalidInput, WrongStructure
from clearwell.views.flaws import invalid_structure

CAPTURE: TypeAdapter[Any] = TypeAdapter(CaptureBody)


def refused(model: TypeAdapter[Any], body: dict[str, Any]) -> InvalidInput:
    with pytest.raises(ValidationError) as caught:
        model.validate_python(body)
    return invalid_request([{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()])


def fields(problem: InvalidInput) -> list[tuple[str, str]]:
    assert isinstance(problem, WrongStructure)
    return [(flaw.field, flaw.code) for flaw in problem.flaws]


def test_a_field_is_named_as_the_caller_wrote_it_in_one_capture_and_in_a_batch() -> None:
    assert fields(refused(CAPTURE, {"content": 7, "colour": "blue"})) == [
        ("content", "http_field_text"),
        ("colour", "http_field_unknown"),
    ]
    batch = {"captures": [{"content": "x"}, {"content": "x", "partial": 1}]}
    assert fields(refused(CAPTURE, batch)) == [("captures.1.partial", "http_field_bool")]


def test_two_names_of_one_group_must_agree() -> None:
    same = CAPTURE.validate_python({"content": "x", "group_id": "g", "project_id": "g"})
    assert same.named_group == "g"
    assert CAPTURE.validate_python({"content": "x", "project_id": "g"}).named_group == "g"
    assert CAPTURE.validate_python({"content": "x"}).named_group is None
    other = {"content": "x", "group_id": "g", "project_id": "h"}
    assert fields(refused(CAPTURE, other)) == [("group_id", "http_group_twice")]
    assert fields(refused(CAPTURE, {"captures": [other]})) == [("captures.0.group_id", "http_group_twice")]


@pytest.mark.parametrize(
    ("value", "code", "limit"),
    [
        ({"max_results": 0}, "http_field_low", 1),
        ({"max_results": 101}, "http_field_high", 100),
        ({"max_results": "5"}, "http_field_integer", None),
        ({"from": "yesterday"}, "http_field_moment", None),
        ({"relevance_threshold": float("nan")}, "http_field_number", None),
    ],
)
def test_a_value_beyond_its_limit_names_the_limit(value: dict[str, Any], code: str, limit: object) -> None:
    with pytest.raises(ValidationError) as caught:
        QueryInput.model_validate({"query": "x", **value})
    problem = invalid_structure(caught.value.errors())
    assert isinstance(problem, WrongStructure)
    (flaw,) = problem.flaws
    assert (flaw.field, flaw.code, flaw.limit) == (next(iter(value)), code, limit)


def test_the_flaws_of_a_body_of_another_form_are_only_counted() -> None:
    for body in ({f"x{number}": 1 for number in range(2_000)}, {"captures": [{"a": 1, "b": 2}] * 999}):
        with pytest.raises(ValidationError) as caught:
            CAPTURE.validate_python(body)
        assert caught.value.error_count() == 1
        problem = refused(CAPTURE, body)
        assert (problem.code, problem.field) == ("http_many_problems", "body")


def test_a_batch_has_from_one_to_a_thousand_captures() -> None:
    assert len(CaptureBatch.model_validate({"captures": [{"content": "x"}] * 1000}).captures) == 1000
    assert fields(refused(CAPTURE, {"captures": []})) == [("captures", "http_list_short")]
    assert fields(refused(CAPTURE, {"captures": [{"content": "x"}] * 1001})) == [("captures", "http_list_long")]
