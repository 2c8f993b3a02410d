"""The short form of an id, in which people read and type it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

SHORT_ID_LENGTH = 8
"""How many characters a short id has: the end of the id, which is random. Many ids share their beginning, the time."""

_WHOLE = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def shorten_id(whole: UUID | str) -> str:
    """The short form of an id, which the command line accepts wherever it takes an id."""
    return str(whole)[-SHORT_ID_LENGTH:]


def shorten_ids(text: str) -> str:
    """A text of ours with every id in it in its short form."""
    return _WHOLE.sub(lambda found: shorten_id(found.group()), text)
