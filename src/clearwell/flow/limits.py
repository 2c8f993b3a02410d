"""Limits of input: which ids, texts, times and metadata are accepted from Python, HTTP and the command line.

Each function returns the accepted value and raises InvalidInput or TooLarge with the field and its limit.
"""

import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime

from clearwell.errors import InvalidInput, TooLarge
from clearwell.records import UNASSIGNED, Json, Metadata, Scope
from clearwell.settings import Settings
from clearwell.text.expansion import count_expanded
from clearwell.text.hidden_text import can_be_read

ID_LENGTH = 200
KEY_LENGTH = 255
REASON_BYTES = 2000
EARLIEST, LATEST = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)
"""In every time zone these times have a year of one to four digits, so that a stored time can be read again."""
MAX_QUERY_CHARS = 2_000
"""Characters of a longer text that are searched for, where a text is not a query by itself."""
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of invisible characters, which make two group names look alike."""


def require_id(value: str | None, field: str) -> str | None:
    """An id: 1 to 200 characters without control characters."""
    if value is None:
        return None
    if not value:
        raise InvalidInput("id_empty", field=field, limit=ID_LENGTH)
    if len(value) > ID_LENGTH:
        raise InvalidInput("id_long", field=field, limit=ID_LENGTH, length=len(value))
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise InvalidInput("id_control", field=field)
    return value


def require_owner(scope: Scope | None, agent_id: str | None) -> str | None:
    """The agent whose memory a text becomes; None for a memory of the group. The scope is optional, but must agree."""
    if scope is Scope.AGENT and agent_id is None:
        raise InvalidInput("http_field_missing", field="agent_id")
    if scope is Scope.GROUP and agent_id is not None:
        raise InvalidInput("scope_with_agent", field="agent_id")
    return agent_id


def require_group(value: str, field: str = "group_id") -> str:
    """A group name of a caller: visible, and not the reserved one."""
    require_id(value, field)
    if any(unicodedata.category(character) in INVISIBLE for character in value) or not value.strip():
        raise InvalidInput("group_invisible", field=field)
    if value == UNASSIGNED:
        raise InvalidInput("group_reserved", field=field, group=UNASSIGNED)
    return value


def require_text(value: str, field: str, *, max_bytes: int) -> str:
    """Text that is not blank and can be stored unchanged."""
    size = len(value.encode(errors="surrogatepass"))
    if size > max_bytes:
        raise TooLarge("text_large", field=field, limit=max_bytes, size=size)
    if not value.strip():
        raise InvalidInput("text_blank", field=field)
    require_storable(value, field)
    expanded = count_expanded(value)
    if expanded > max_bytes:
        raise TooLarge("text_expands", field=field, limit=max_bytes, size=expanded)
    return value


def cut_query(text: str) -> str:
    """The beginning of a text to search for, short enough also when it is normalised."""
    query = text[:MAX_QUERY_CHARS]
    while count_expanded(query) > 2 * MAX_QUERY_CHARS:
        query = query[: len(query) // 2]
    return query


def require_readable(value: str, field: str, *, max_bytes: int) -> str:
    """Text for people: it must contain visible characters."""
    require_text(value, field, max_bytes=max_bytes)
    if not can_be_read(value):
        raise InvalidInput("text_unreadable", field=field)
    return value


def require_reason(value: str | None, field: str = "reason") -> str | None:
    """The optional reason of a decision: short and readable; None if it is blank."""
    if value is None or not value.strip():
        return None
    require_storable(value, field)
    size = len(value.encode())
    if size > REASON_BYTES:
        raise InvalidInput("reason_large", field=field, limit=REASON_BYTES, size=size)
    return require_readable(value, field, max_bytes=REASON_BYTES)


def require_nonblank_reason(value: str | None, field: str = "reason") -> str:
    """A reason that must not be blank."""
    reason = require_reason(value, field)
    if reason is None:
        raise InvalidInput("text_blank", field=field)
    return reason


def require_prompt(value: str, field: str, *, max_bytes: int) -> str:
    """Text that becomes part of every prompt. It has a limit of its own, and too much of it is InvalidInput."""
    require_storable(value, field)
    size = len(value.encode())
    if size > max_bytes:
        raise InvalidInput("prompt_large", field=field, limit=max_bytes, size=size)
    return value


def require_storable(value: str, field: str) -> None:
    """Text without NUL and lone surrogates, which PostgreSQL cannot store."""
    if "\x00" in value:
        raise InvalidInput("text_nul", field=field)
    _require_encodable(value, field)


def require_unicode(value: object, field: str = "") -> None:
    """A JSON value without lone surrogates, also in names. The error names the path to the first one found."""
    waiting = [(value, field)]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, str):
            _require_encodable(value, place)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                path = _join_path(place, key)
                _require_encodable(str(key), path)
                waiting.append((inner, path))
        elif isinstance(value, list | tuple):
            waiting.extend((inner, _join_path(place, number)) for number, inner in enumerate(value))


def _join_path(place: str, step: object) -> str:
    """Append a step to a path. A path that is too long to be useful is not extended."""
    if len(place) > ID_LENGTH:
        return place
    return f"{place}.{make_printable(str(step))}" if place else make_printable(str(step))


def _require_encodable(value: str, field: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(value[error.start]):04X}"
        raise InvalidInput("text_surrogate", field=field, code_point=found) from None


def make_printable(text: str) -> str:
    """A name of the caller in a form that a message can contain."""
    return text[:ID_LENGTH].encode(errors="backslashreplace").decode()


def require_moment(value: datetime | None, field: str) -> datetime | None:
    """An aware time, converted to UTC."""
    if value is None:
        return None
    if value.utcoffset() is None:
        raise InvalidInput("time_naive", field=field)
    if not EARLIEST <= value <= LATEST:
        raise InvalidInput("time_range", field=field, limit=f"{EARLIEST:%Y-%m-%d}/{LATEST:%Y-%m-%d}")
    return value.astimezone(UTC)


def require_key(value: str, field: str = "Idempotency-Key") -> str:
    """An Idempotency-Key: 1 to 255 printable ASCII characters."""
    if not 1 <= len(value) <= KEY_LENGTH or not value.isascii() or not value.isprintable():
        raise InvalidInput("key_form", field=field, limit=KEY_LENGTH)
    return value


def require_metadata(value: Metadata, settings: Settings, field: str = "metadata") -> Metadata:
    """Metadata that can be stored. A number that JSON cannot express, such as NaN, becomes text."""
    if not isinstance(value, Mapping):
        raise InvalidInput("metadata_not_object", field=field)
    clean = _clean(dict(value), field, settings.max_metadata_depth, settings.max_metadata_depth)
    assert isinstance(clean, dict)  # noqa: S101 - _clean keeps the type
    size = len(json.dumps(clean, ensure_ascii=False).encode())
    if size > settings.max_metadata_bytes:
        raise InvalidInput("metadata_large", field=field, limit=settings.max_metadata_bytes, size=size)
    return clean


def _clean(value: object, field: str, depth: int, most: int) -> Json:
    if depth < 0:
        raise InvalidInput("metadata_deep", field=field, limit=most)
    match value:
        case str():
            require_storable(value, field)
            return value
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {_clean_key(key, field): _clean(inner, field, depth - 1, most) for key, inner in value.items()}
        case list() | tuple():
            return [_clean(inner, field, depth - 1, most) for inner in value]
        case _:
            raise InvalidInput("metadata_type", field=field, type=type(value).__name__)


def _clean_key(key: object, field: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput("metadata_type", field=field, type=type(key).__name__)
    require_storable(key, field)
    return key
