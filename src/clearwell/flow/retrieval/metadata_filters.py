"""Conditions on metadata: read from what a caller wrote, and held against an entry.

Two forms say the same. An object names paths, with dots between the steps: a plain value means ``eq``, an object
holds operators. A list of ``{"key", "op", "value"}`` is for keys that have dots themselves: there a key may be a list.

    {"source": "minutes", "review.score": {"gte": 3, "lt": 5}, "tags": {"contains": "billing"}}
    [{"key": ["review", "score.v2"], "op": "exists", "value": true}]

Comparing is by JSON type: 3 is not "3" and true is not 1. ``ne`` and ``nin`` also hold where the value is absent.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.flow.limits import require_storable, require_unicode
from clearwell.records import Condition, Json, Metadata, Operator

MOST_CONDITIONS: Final = 20
MOST_STEPS: Final = 8
LONGEST_KEY: Final = 200
MOST_VALUES: Final = 100
LONGEST_VALUE: Final = 1000
FIELD: Final = "filters"
EXAMPLE: Final = '{"source": "minutes", "score": {"gte": 3}}'
ROW: Final = '{"key": "source", "op": "eq", "value": "minutes"}'
_ORDERS: Final = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
_ABSENT: Final = object()


def read_filters(given: object, field: str = FIELD) -> tuple[Condition, ...]:
    """The conditions as they are searched with. Raises InvalidInput for what is no filter."""
    if given is None:
        return ()
    require_unicode(given, field)
    if isinstance(given, Mapping):
        found = list(_of_object(given, field))
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        found = [_of_row(row, f"{field}.{number}") for number, row in enumerate(given)]
    else:
        raise InvalidInput("filters_form", field=field, example=EXAMPLE)
    if len(found) > MOST_CONDITIONS:
        raise InvalidInput("filters_many", field=field, limit=MOST_CONDITIONS, count=len(found))
    return tuple(found)


def _of_object(given: Mapping[object, object], field: str) -> Iterator[Condition]:
    for key, wanted in given.items():
        place = f"{field}.{key}"
        path = _path(key, place)
        if not isinstance(wanted, Mapping):
            yield Condition(path, Operator.EQ, _value(Operator.EQ, wanted, place))
            continue
        if not wanted:
            raise InvalidInput("filters_operator", field=place, limit=_operators(), operator="{}")
        for name, value in wanted.items():
            operator = _operator(name, place)
            yield Condition(path, operator, _value(operator, value, f"{place}.{operator}"))


def _of_row(row: object, field: str) -> Condition:
    if not isinstance(row, Mapping) or not {"key"} <= set(row) <= {"key", "op", "value"}:
        raise InvalidInput("filters_form", field=field, example=ROW)
    operator = _operator(row.get("op", Operator.EQ), field)
    if "value" not in row:
        raise InvalidInput("filters_form", field=f"{field}.value", example=ROW)
    return Condition(_path(row["key"], f"{field}.key"), operator, _value(operator, row.get("value"), f"{field}.value"))


def _operator(name: object, field: str) -> Operator:
    try:
        return Operator(str(name))
    except ValueError:
        raise InvalidInput("filters_operator", field=field, limit=_operators(), operator=str(name)[:40]) from None


def _operators() -> str:
    return ", ".join(Operator)


def _path(key: object, field: str) -> tuple[str, ...]:
    steps = tuple(key.split(".")) if isinstance(key, str) else tuple(key) if isinstance(key, list | tuple) else ()
    if not 1 <= len(steps) <= MOST_STEPS:
        raise InvalidInput("filters_key", field=field, limit=MOST_STEPS, longest=LONGEST_KEY)
    for step in steps:
        if not isinstance(step, str) or not 1 <= len(step) <= LONGEST_KEY:
            raise InvalidInput("filters_key", field=field, limit=MOST_STEPS, longest=LONGEST_KEY)
        require_storable(step, field)
    return steps


def _value(operator: Operator, value: object, field: str) -> Json:
    """The value, where the operator can take it."""
    if operator in (Operator.IN, Operator.NIN):
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_VALUES:
            raise InvalidInput("filters_list", field=field, limit=MOST_VALUES)
        return [_plain(one, field) for one in value]
    if operator is Operator.EXISTS:
        if not isinstance(value, bool):
            raise InvalidInput("filters_bool", field=field)
        return value
    if operator in _ORDERS and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise InvalidInput("filters_order", field=field)
    return _plain(value, field)


def _plain(value: object, field: str) -> Json:
    """A value that is neither list nor object."""
    if isinstance(value, str):
        require_storable(value, field)
        if len(value) > LONGEST_VALUE:
            raise InvalidInput("filters_value", field=field, limit=LONGEST_VALUE)
        return value
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidInput("filters_value", field=field, limit=LONGEST_VALUE)


def meets(metadata: Metadata, conditions: Sequence[Condition]) -> bool:
    """Whether all conditions hold, as the database decides it."""
    return all(_holds(_at(metadata, one.path), one.operator, one.value) for one in conditions)


def _at(found: object, path: Sequence[str]) -> object:
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


def _holds(found: object, operator: Operator, wanted: Json) -> bool:
    match operator:
        case Operator.EXISTS:
            return (found is not _ABSENT) == wanted
        case Operator.EQ:
            return _same(found, wanted)
        case Operator.NE:
            return not _same(found, wanted)
        case Operator.IN | Operator.NIN:
            among = isinstance(wanted, list) and any(_same(found, one) for one in wanted)
            return among == (operator is Operator.IN)
        case Operator.CONTAINS:
            return _contains(found, wanted)
        case _:
            return _ordered(found, operator, wanted)


def _same(found: object, wanted: Json) -> bool:
    return _kind(found) == _kind(wanted) and found == wanted


def _kind(value: object) -> str:
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


def _contains(found: object, wanted: Json) -> bool:
    if isinstance(found, str):
        return isinstance(wanted, str) and wanted in found
    return isinstance(found, list) and any(_same(one, wanted) for one in found)


def _ordered(found: object, operator: Operator, wanted: Json) -> bool:
    if isinstance(found, str) and isinstance(wanted, str):
        order = (found > wanted) - (found < wanted)
    elif _kind(found) == _kind(wanted) == "number":
        order = (found > wanted) - (found < wanted)  # type: ignore[operator]
    else:
        return False
    return {
        Operator.GT: order > 0,
        Operator.GTE: order >= 0,
        Operator.LT: order < 0,
        Operator.LTE: order <= 0,
    }[operator]
