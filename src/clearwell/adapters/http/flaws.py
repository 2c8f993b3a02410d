"""What pydantic says about a body or a query, as flaws with sentences of our own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from clearwell.adapters.http.problems import Flaw, WrongStructure, shown
from clearwell.errors import InvalidInput

MANY_ERRORS = 1_000
"""Beyond this a body is of another form altogether, and its errors are only counted."""

CODES: Mapping[str, str] = {
    "missing": "http_field_missing",
    "extra_forbidden": "http_field_unknown",
    "string_type": "http_field_text",
    "bool_type": "http_field_bool",
    "bool_parsing": "http_field_bool",
    "int_type": "http_field_integer",
    "int_parsing": "http_field_integer",
    "int_parsing_size": "http_field_integer",
    "int_from_float": "http_field_integer",
    "float_type": "http_field_number",
    "float_parsing": "http_field_number",
    "finite_number": "http_field_number",
    "list_type": "http_field_list",
    "dict_type": "http_field_object",
    "model_type": "http_field_object",
    "model_attributes_type": "http_field_object",
    "greater_than_equal": "http_field_low",
    "less_than_equal": "http_field_high",
    "enum": "http_field_choice",
    "uuid_type": "http_field_uuid",
    "uuid_parsing": "http_field_uuid",
    "moment": "http_field_moment",
    "too_long": "http_list_long",
    "too_short": "http_list_short",
    "group_twice": "http_group_twice",
    "group_missing": "http_field_missing",
}

LIMITS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "greater_than_equal": lambda context: context["ge"],
    "less_than_equal": lambda context: context["le"],
    "too_long": lambda context: context["max_length"],
    "too_short": lambda context: context["min_length"],
    "enum": lambda context: str(context["expected"]).replace("'", ""),
}


def of_body(error: ValidationError) -> InvalidInput:
    """A body that its model refuses."""
    count = error.error_count()
    if count > MANY_ERRORS:
        return InvalidInput("http_many_problems", field="body", count=count)
    found = error.errors(include_url=False, include_input=False)
    return WrongStructure([_flaw(one["type"], one["loc"], one.get("ctx", {})) for one in found])


def of_parameters(errors: Sequence[Mapping[str, Any]]) -> InvalidInput:
    """A path or a query that its route refuses. FastAPI puts "path" or "query" before each name."""
    return WrongStructure([_flaw(one["type"], one["loc"][1:], one.get("ctx", {})) for one in errors])


def _flaw(kind: str, place: Sequence[int | str], context: Mapping[str, Any]) -> Flaw:
    field = ".".join(str(step) for step in place)
    if kind in {"group_twice", "group_missing"}:
        field = f"{field}.group_id" if field else "group_id"
    limit = LIMITS[kind](context) if kind in LIMITS else None
    return Flaw(CODES.get(kind, "http_field_invalid"), shown(field) or "body", limit)
