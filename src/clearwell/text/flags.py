"""Flags that warn the reader of a text: hidden characters, injection, and claims of authority."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from clearwell.records import Metadata
from clearwell.text.hidden_markup import find_hidden_markup
from clearwell.text.hidden_text import has_hidden_text, make_readable
from clearwell.text.injection import detect_injection
from clearwell.text.words import words
from clearwell.vocabulary import Flag

_AUTHORITY_KEYS: Final = frozenset(
    {"verified", "promoted", "human", "human_verified", "is_human", "approved", "label", "layer"}
)


def find_flags(content: str, metadata: Metadata) -> tuple[str, ...]:
    """Return the flags of a text: it has hidden text, it is an injection, or it claims to be verified."""
    found = {
        Flag.HIDDEN_TEXT: has_hidden_text(content) or bool(find_hidden_markup(content)),
        Flag.INSTRUCTION_LIKE: detect_injection(content) is not None,
        Flag.CLAIMS_AUTHORITY: _names_authority(metadata) or _claims_authority(make_readable(content)),
    }
    return tuple(flag for flag, there in found.items() if there)


def _names_authority(metadata: Mapping[str, object]) -> bool:
    return any(key.casefold() in _AUTHORITY_KEYS and bool(value) for key, value in metadata.items())


def _claims_authority(seen: str) -> bool:
    return any(pattern.search(seen) for pattern in _patterns())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in words("authority")["patterns"])
