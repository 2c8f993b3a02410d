"""Whose a memory is: ``user_id`` is the group, ``agent_id`` the agent and ``run_id`` the session."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from clearwell.errors import InvalidInput

IDS: Final = ("user_id", "agent_id", "run_id")
SEPARATOR: Final = ":"
ANY: Final = "*"
LOGICAL: Final = ("OR", "NOT")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOwner:
    """The group, and the agent and the session if the caller named them."""

    group: str
    agent_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a search is limited to: an owner, and conditions on metadata."""

    owner: MemoryOwner
    conditions: list[Mapping[str, object]] | None


def read_owner(ids: Mapping[str, object], *, group: str, example: str) -> MemoryOwner:
    """Read the ids of a call. Without ``user_id`` the group is ``group``. Raises InvalidInput if there is no id."""
    named = {name: str(value).strip() for name, value in ids.items() if value is not None}
    if not named:
        raise InvalidInput("mem0_no_scope", field="user_id", example=example)
    return MemoryOwner(
        group=named.get("user_id", group), agent_id=named.get("agent_id"), session_id=named.get("run_id")
    )


def read_selection(
    filters: Mapping[str, Any] | None, ids: Mapping[str, object], *, group: str, method: str
) -> Selection:
    """Read the filters of a call: the ids in them or beside them, and conditions on metadata."""
    conditions = list(_flatten(filters or {}))
    given = {name: value for name, value in conditions if name in IDS}
    named = {**given, **{name: value for name, value in ids.items() if value is not None}}
    owner = read_owner(named, group=group, example=f'{method}(…, filters={{"user_id": "alice"}})')
    rows = [row for name, value in conditions if name not in IDS for row in _read_rows(name, value)]
    return Selection(owner=owner, conditions=rows or None)


def make_id(group: str, entry_id: UUID) -> str:
    """The id of a result. It has the group in it, because ``get`` and ``delete`` have no other way to know it."""
    return f"{group}{SEPARATOR}{entry_id}"


def read_id(memory_id: str, *, group: str) -> tuple[str, UUID]:
    """The group and the id in the id of a result; an id alone is one of ``group``. Raises InvalidInput."""
    found, _, entry_id = str(memory_id).rpartition(SEPARATOR)
    try:
        return found or group, UUID(entry_id)
    except ValueError:
        raise InvalidInput("mem0_id", field="memory_id", id=memory_id) from None


def _flatten(filters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The conditions that all have to hold. Raises InvalidInput for alternatives and negations."""
    for name, value in filters.items():
        if name in LOGICAL:
            raise InvalidInput("mem0_filter", field="filters", operator=name)
        if name == "AND":
            for part in value:
                yield from _flatten(part)
        else:
            yield name, value


def _read_rows(name: str, value: object) -> Iterator[Mapping[str, object]]:
    if isinstance(value, Mapping):
        yield from ({"key": [name], "op": operator, "value": limit} for operator, limit in value.items())
    elif value == ANY:
        yield {"key": [name], "op": "exists", "value": True}
    else:
        yield {"key": [name], "op": "eq", "value": value}
