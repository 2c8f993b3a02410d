"""Values of the store: a text, which is captured and searched, and other fields, which are its metadata."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, cast

from langgraph.store.base import Item, SearchItem

from clearwell.adapters.langgraph.namespaces import Tier
from clearwell.errors import InvalidInput
from clearwell.records import ContextItem, Json, NewCapture, VerifiedMemory

TEXT_FIELDS: Final = ("content", "text", "memory", "data")
"""The fields of a value that can hold its text, in the order in which they are tried."""
KEY: Final = "store_key"
FIELD: Final = "store_field"
"""In the metadata of an output that the store captured: its key, and the field that held its text."""
OPERATORS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")


def make_capture(
    group: str, key: str, value: Mapping[str, Any], *, session_id: str | None, agent_id: str | None
) -> NewCapture:
    """The capture of a value. Without a text field, the whole value is the text, as JSON."""
    field = next((name for name in TEXT_FIELDS if isinstance(value.get(name), str) and value[name].strip()), None)
    fields = {name: part for name, part in value.items() if name != field}
    content = json.dumps(value, ensure_ascii=False) if field is None else value[field]
    metadata = cast(dict[str, Json], {**fields, KEY: key, **({} if field is None else {FIELD: field})})
    return NewCapture(
        content=content,
        group_id=group,
        session_id=session_id,
        node_id="store",
        agent_id=agent_id,
        metadata=metadata,
    )


def make_item(found: ContextItem, *, scored: bool) -> SearchItem:
    """An item of the store. Its value is what was put, with ``tier``, ``verified``, ``id`` and ``expires_at``."""
    tier = Tier.VERIFIED if found.verified else Tier.WORKING
    key = found.metadata.get(KEY)
    return SearchItem(
        namespace=(found.group_id, str(tier)),
        key=str(key) if key is not None and not found.verified else str(found.id),
        value={
            **_read_value(found),
            "tier": str(tier),
            "verified": found.verified,
            "id": str(found.id),
            "expires_at": None if found.expires_at is None else found.expires_at.isoformat(),
        },
        created_at=found.created_at,
        updated_at=found.promoted_at or found.created_at,
        score=found.score if scored else None,
    )


def make_verified_item(found: VerifiedMemory) -> Item:
    """A verified memory as ``get`` returns it."""
    promoted_at = cast(datetime, found.promoted_at)  # a valid memory has one
    fields: dict[str, Any] = {name: part for name, part in found.metadata.items() if name not in (KEY, FIELD)}
    return Item(
        namespace=(found.group_id, str(Tier.VERIFIED)),
        key=str(found.id),
        value={
            "content": found.content,
            **fields,
            "tier": str(Tier.VERIFIED),
            "verified": True,
            "id": str(found.id),
            "expires_at": None,
        },
        created_at=promoted_at,
        updated_at=promoted_at,
    )


def drop_score(item: SearchItem) -> Item:
    """The item as ``get`` returns it."""
    return Item(
        value=item.value,
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def read_filter(wanted: Mapping[str, Any] | None) -> list[Mapping[str, object]] | None:
    """The filter of a search as conditions on metadata. Raises InvalidInput for an unknown operator."""
    return list(_read_conditions((), wanted)) if wanted else None


def _read_conditions(path: tuple[str, ...], wanted: Mapping[str, Any]) -> Iterator[Mapping[str, object]]:
    for name, value in wanted.items():
        if name.startswith("$"):
            if name not in OPERATORS:
                raise InvalidInput("store_filter", field="filter", operator=name, limit=", ".join(OPERATORS))
            yield {"key": list(path), "op": name.removeprefix("$"), "value": value}
        elif isinstance(value, Mapping):
            yield from _read_conditions((*path, name), value)
        else:
            yield {"key": [*path, name], "op": "eq", "value": value}


def _read_value(found: ContextItem) -> dict[str, Any]:
    fields: dict[str, Any] = {name: part for name, part in found.metadata.items() if name not in (KEY, FIELD)}
    field = found.metadata.get(FIELD)
    if isinstance(field, str):
        return {field: found.content, **fields}
    return fields if KEY in found.metadata else {"content": found.content, **fields}
