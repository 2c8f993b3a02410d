"""What pydantic says about a request that it refuses, as flaws with sentences of our own, in both languages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clearwell.errors import Flaw, InvalidInput, WrongStructure

MAX_CHARS = 200
"""How much of what the caller wrote is said back."""

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
"""Our message for each kind of error that pydantic reports."""

LIMITS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "greater_than_equal": lambda context: context["ge"],
    "less_than_equal": lambda context: context["le"],
    "too_long": lambda context: context["max_length"],
    "too_short": lambda context: context["min_length"],
    "enum": lambda context: str(context["expected"]).replace("'", ""),
}


def invalid_structure(errors: Sequence[Mapping[str, Any]]) -> InvalidInput:
    """What a model of pydantic found wrong with a value."""
    for error in errors:
        if error["type"] == "many_flaws":
            return InvalidInput("http_many_problems", field="body", count=error["ctx"]["count"])
    return WrongStructure([_flaw(error["type"], error["loc"], error.get("ctx", {})) for error in errors])


def _flaw(kind: str, place: Sequence[int | str], context: Mapping[str, Any]) -> Flaw:
    field = ".".join(str(step) for step in place)
    if kind in {"group_twice", "group_missing"}:
        field = f"{field}.group_id" if field else "group_id"
    limit = LIMITS[kind](context) if kind in LIMITS else None
    return Flaw(CODES.get(kind, "http_field_invalid"), make_printable(field) or "body", limit)


def make_printable(text: str) -> str:
    """Something that a caller wrote, as it can be said back: valid Unicode, and not too long."""
    printable = text[:MAX_CHARS].encode("utf-8", "backslashreplace").decode()
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in printable)
