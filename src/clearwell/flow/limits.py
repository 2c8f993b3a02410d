"""What may come in at all. One set of rules for Python, HTTP and the command line."""

import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime

from clearwell.errors import InvalidInput, TooLarge
from clearwell.records import UNASSIGNED, Json, Metadata
from clearwell.settings import Settings
from clearwell.text.hidden_text import can_be_read

ID_LENGTH = 200
KEY_LENGTH = 255
REASON_BYTES = 2000
EARLIEST, LATEST = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)
"""In every time zone these have a year of one to four digits, so what is stored can be read again."""
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that make two groups look alike."""


def require_id(value: str | None, field: str) -> str | None:
    """An id of ours or of the caller's: 1 to 200 characters, none of them a control character."""
    if value is None:
        return None
    if not value:
        raise InvalidInput("id_empty", field=field, limit=ID_LENGTH)
    if len(value) > ID_LENGTH:
        raise InvalidInput("id_long", field=field, limit=ID_LENGTH, length=len(value))
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise InvalidInput("id_control", field=field)
    return value


def require_group(value: str, field: str = "group_id") -> str:
    """A group that a caller may name."""
    require_id(value, field)
    if any(unicodedata.category(character) in INVISIBLE for character in value) or not value.strip():
        raise InvalidInput("group_invisible", field=field)
    if value == UNASSIGNED:
        raise InvalidInput("group_reserved", field=field, group=UNASSIGNED)
    return value


def require_text(value: str, field: str, *, max_bytes: int) -> str:
    """Text that can be stored byte for byte."""
    if len(value) > max_bytes:
        raise TooLarge("text_large", field=field, limit=max_bytes, size=len(value))
    if not value.strip():
        raise InvalidInput("text_blank", field=field)
    require_storable(value, field)
    size = len(value.encode())
    if size > max_bytes:
        raise TooLarge("text_large", field=field, limit=max_bytes, size=size)
    return value


def require_readable(value: str, field: str, *, max_bytes: int) -> str:
    """Text that people are to read: something of it must be there to see."""
    require_text(value, field, max_bytes=max_bytes)
    if not can_be_read(value):
        raise InvalidInput("text_unreadable", field=field)
    return value


def require_reason(value: str | None, field: str = "reason") -> str | None:
    """Why somebody decided, where that is said: short, and something that can be read."""
    if value is None or not value.strip():
        return None
    require_storable(value, field)
    size = len(value.encode())
    if size > REASON_BYTES:
        raise InvalidInput("reason_large", field=field, limit=REASON_BYTES, size=size)
    return require_readable(value, field, max_bytes=REASON_BYTES)


def require_a_reason(value: str | None, field: str = "reason") -> str:
    """The same, where it must be said."""
    given = require_reason(value, field)
    if given is None:
        raise InvalidInput("text_blank", field=field)
    return given


def require_prompt(value: str, field: str, *, max_bytes: int) -> str:
    """Text that is not sent on its own but goes into every prompt: a limit of its own, and a value, not a body."""
    require_storable(value, field)
    size = len(value.encode())
    if size > max_bytes:
        raise InvalidInput("prompt_large", field=field, limit=max_bytes, size=size)
    return value


def require_storable(value: str, field: str) -> None:
    if "\x00" in value:
        raise InvalidInput("text_nul", field=field)
    _require_whole(value, field)


def require_unicode(value: object, field: str = "") -> None:
    """No lone surrogate anywhere in a value of JSON, names of fields included. The problem has the path to it."""
    waiting = [(value, field)]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, str):
            _require_whole(value, place)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                path = _inside(place, key)
                _require_whole(str(key), path)
                waiting.append((inner, path))
        elif isinstance(value, list | tuple):
            waiting.extend((inner, _inside(place, number)) for number, inner in enumerate(value))


def _inside(place: str, step: object) -> str:
    """A path that would be longer than anybody reads ends where it is."""
    if len(place) > ID_LENGTH:
        return place
    return f"{place}.{sayable(str(step))}" if place else sayable(str(step))


def _require_whole(value: str, field: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(value[error.start]):04X}"
        raise InvalidInput("text_surrogate", field=field, code_point=found) from None


def sayable(text: str) -> str:
    """Something that a caller wrote, as a message can name it."""
    return text[:ID_LENGTH].encode(errors="backslashreplace").decode()


def require_moment(value: datetime | None, field: str) -> datetime | None:
    """A time, in UTC."""
    if value is None:
        return None
    if value.utcoffset() is None:
        raise InvalidInput("time_naive", field=field)
    if not EARLIEST <= value <= LATEST:
        raise InvalidInput("time_range", field=field, limit=f"{EARLIEST:%Y-%m-%d}/{LATEST:%Y-%m-%d}")
    return value.astimezone(UTC)


def require_key(value: str, field: str = "Idempotency-Key") -> str:
    """A caller's name for a request: 1 to 255 printable ASCII characters."""
    if not 1 <= len(value) <= KEY_LENGTH or not value.isascii() or not value.isprintable():
        raise InvalidInput("key_form", field=field, limit=KEY_LENGTH)
    return value


def require_metadata(value: Metadata, settings: Settings, field: str = "metadata") -> Metadata:
    """Metadata as it can be stored. A number that JSON has no word for (NaN) is kept as text."""
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
