"""Metadata filters: read what a caller wrote into conditions, and match them against the metadata of an entry.

There are two forms. An object names paths, with dots between the steps: a scalar value means ``eq``, an object holds
operators. A list of ``{"key", "op", "value"}`` is for keys that contain dots: there a key may be a list.

    {"source": "minutes", "review.score": {"gte": 3, "lt": 5}, "tags": {"contains": "billing"}}
    [{"key": ["review", "score.v2"], "op": "exists", "value": true}]

Values are compared with their JSON type: 3 is not "3" and true is not 1. ``ne`` and ``nin`` also match if the value is
absent.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.flow.limits import require_storable, require_unicode
from clearwell.records import Condition, Json, Metadata, Operator

MAX_CONDITIONS: Final = 20
MAX_STEPS: Final = 8
LONGEST_KEY: Final = 200
MAX_VALUES: Final = 100
LONGEST_VALUE: Final = 1000
FIELD: Final = "filters"
EXAMPLE: Final = '{"source": "minutes", "score": {"gte": 3}}'
ROW: Final = '{"key": "source", "op": "eq", "value": "minutes"}'
_ORDERS: Final = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
_ABSENT: Final = object()


def read_filters(filters: object, field: str = FIELD) -> tuple[Condition, ...]:
    """Read filters in either form. Raises InvalidInput if they are not valid."""
    if filters is None:
        return ()
    require_unicode(filters, field)
    if isinstance(filters, Mapping):
        conditions = list(_read_object(filters, field))
    elif isinstance(filters, Sequence) and not isinstance(filters, str | bytes):
        conditions = [_read_row(row, f"{field}.{number}") for number, row in enumerate(filters)]
    else:
        raise InvalidInput("filters_form", field=field, example=EXAMPLE)
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidInput("filters_many", field=field, limit=MAX_CONDITIONS, count=len(conditions))
    return tuple(conditions)


def _read_object(filters: Mapping[object, object], field: str) -> Iterator[Condition]:
    for key, expected in filters.items():
        place = f"{field}.{key}"
        path = _read_path(key, place)
        if not isinstance(expected, Mapping):
            yield Condition(path, Operator.EQ, _read_value(Operator.EQ, expected, place))
            continue
        if not expected:
            raise InvalidInput("filters_operator", field=place, limit=_list_operators(), operator="{}")
        for name, value in expected.items():
            operator = _read_operator(name, place)
            yield Condition(path, operator, _read_value(operator, value, f"{place}.{operator}"))


def _read_row(row: object, field: str) -> Condition:
    if not isinstance(row, Mapping) or not {"key"} <= set(row) <= {"key", "op", "value"}:
        raise InvalidInput("filters_form", field=field, example=ROW)
    operator = _read_operator(row.get("op", Operator.EQ), field)
    if "value" not in row:
        raise InvalidInput("filters_form", field=f"{field}.value", example=ROW)
    return Condition(
        _read_path(row["key"], f"{field}.key"), operator, _read_value(operator, row.get("value"), f"{field}.value")
    )


def _read_operator(name: object, field: str) -> Operator:
    try:
        return Operator(str(name))
    except ValueError:
        raise InvalidInput("filters_operator", field=field, limit=_list_operators(), operator=str(name)[:40]) from None


def _list_operators() -> str:
    return ", ".join(Operator)


def _read_path(key: object, field: str) -> tuple[str, ...]:
    steps = tuple(key.split(".")) if isinstance(key, str) else tuple(key) if isinstance(key, list | tuple) else ()
    if not 1 <= len(steps) <= MAX_STEPS:
        raise InvalidInput("filters_key", field=field, limit=MAX_STEPS, longest=LONGEST_KEY)
    for step in steps:
        if not isinstance(step, str) or not 1 <= len(step) <= LONGEST_KEY:
            raise InvalidInput("filters_key", field=field, limit=MAX_STEPS, longest=LONGEST_KEY)
        require_storable(step, field)
    return steps


def _read_value(operator: Operator, value: object, field: str) -> Json:
    """Read a value that the operator accepts. Raises InvalidInput."""
    if operator in (Operator.IN, Operator.NIN):
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= MAX_VALUES:
            raise InvalidInput("filters_list", field=field, limit=MAX_VALUES)
        return [_read_scalar(element, field) for element in value]
    if operator is Operator.EXISTS:
        if not isinstance(value, bool):
            raise InvalidInput("filters_bool", field=field)
        return value
    if operator in _ORDERS and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise InvalidInput("filters_order", field=field)
    return _read_scalar(value, field)


def _read_scalar(value: object, field: str) -> Json:
    """Read a value that is neither a list nor an object. Raises InvalidInput."""
    if isinstance(value, str):
        require_storable(value, field)
        if len(value) > LONGEST_VALUE:
            raise InvalidInput("filters_value", field=field, limit=LONGEST_VALUE)
        return value
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidInput("filters_value", field=field, limit=LONGEST_VALUE)


def matches_all(metadata: Metadata, conditions: Sequence[Condition]) -> bool:
    """Whether all conditions match, decided as the database does."""
    return all(
        _matches(_find_value(metadata, condition.path), condition.operator, condition.value) for condition in conditions
    )


def _find_value(found: object, path: Sequence[str]) -> object:
    for step in path:
        if isinstance(found, Mapping):
            found = found.get(step, _ABSENT)
        elif isinstance(found, list) and _is_index(step, len(found)):
            found = found[int(step)]
        else:
            return _ABSENT
    return found


def _is_index(step: str, length: int) -> bool:
    return step.isascii() and step.removeprefix("-").isdecimal() and -length <= int(step) < length


def _matches(found: object, operator: Operator, expected: Json) -> bool:
    match operator:
        case Operator.EXISTS:
            return (found is not _ABSENT) == expected
        case Operator.EQ:
            return _is_equal(found, expected)
        case Operator.NE:
            return not _is_equal(found, expected)
        case Operator.IN | Operator.NIN:
            among = isinstance(expected, list) and any(_is_equal(found, value) for value in expected)
            return among == (operator is Operator.IN)
        case Operator.CONTAINS:
            return _contains(found, expected)
        case _:
            return _compare(found, operator, expected)


def _is_equal(found: object, expected: Json) -> bool:
    return _json_type(found) == _json_type(expected) and found == expected


def _json_type(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case None:
            return "null"
        case _:
            return "other"


def _contains(found: object, expected: Json) -> bool:
    if isinstance(found, str):
        return isinstance(expected, str) and expected in found
    return isinstance(found, list) and any(_is_equal(element, expected) for element in found)


def _compare(found: object, operator: Operator, expected: Json) -> bool:
    if isinstance(found, str) and isinstance(expected, str):
        order = (found > expected) - (found < expected)
    elif _json_type(found) == _json_type(expected) == "number":
        order = (found > expected) - (found < expected)  # type: ignore[operator]
    else:
        return False
    return {
        Operator.GT: order > 0,
        Operator.GTE: order >= 0,
        Operator.LT: order < 0,
        Operator.LTE: order <= 0,
    }[operator]
