"""What a reader must be told of a text before reading it: the flags of its characters and words."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from clearwell.records import Metadata
from clearwell.text.hidden_text import has_hidden_text, readable
from clearwell.text.machine_address import speaks_to_machine
from clearwell.text.words import words

HIDDEN_TEXT: Final = "hidden_text"
INSTRUCTION_LIKE: Final = "instruction_like"
CLAIMS_AUTHORITY: Final = "claims_authority"
_AUTHORITY_KEYS: Final = frozenset(
    {"verified", "promoted", "human", "human_verified", "is_human", "approved", "label", "layer"}
)


def flags_of(content: str, metadata: Metadata) -> tuple[str, ...]:
    """Return the flags of a text: it hides characters, speaks to the machine, or claims to be verified."""
    found = {
        HIDDEN_TEXT: has_hidden_text(content),
        INSTRUCTION_LIKE: speaks_to_machine(content) is not None,
        CLAIMS_AUTHORITY: _names_authority(metadata) or _claims_authority(readable(content)),
    }
    return tuple(flag for flag, there in found.items() if there)


def _names_authority(metadata: Mapping[str, object]) -> bool:
    return any(key.casefold() in _AUTHORITY_KEYS and bool(value) for key, value in metadata.items())


def _claims_authority(seen: str) -> bool:
    return any(pattern.search(seen) for pattern in _patterns())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in words("authority")["patterns"])
