"""Short forms of ids, for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

SHORT_ID_LENGTH = 8
"""Length of a short id: the end of the id, which is random. The beginning is the time, which many ids share."""

_WHOLE = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def shorten_id(whole: UUID | str) -> str:
    """Return the short form of an id. The command line accepts it instead of the id."""
    return str(whole)[-SHORT_ID_LENGTH:]


def shorten_ids(text: str) -> str:
    """Return a text with every id in its short form. Use it only for text of the program."""
    return _WHOLE.sub(lambda found: shorten_id(found.group()), text)
