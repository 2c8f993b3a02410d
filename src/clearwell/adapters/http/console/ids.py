"""Ids that people type or paste: whole, or in the short form that the console and the command line show."""

import re
from uuid import UUID

from clearwell.adapters.http.console.inbox import read_id
from clearwell.adapters.http.console.request import ConsoleRequest
from clearwell.text.short_ids import SHORT_ID_LENGTH
from clearwell.vocabulary import IdKind

SHORT = re.compile(rf"…?([0-9a-f]{{{SHORT_ID_LENGTH}}})")


async def find_id(request: ConsoleRequest, group: str, text: str, kind: IdKind) -> UUID | None:
    """The only id of this kind that a text names in the group; None if it names none, or more than one."""
    wanted = text.strip().lower()
    named, short = read_id(wanted), SHORT.fullmatch(wanted)
    if named is None and short is None:
        return None
    ending = str(named) if short is None else short[1]
    found = await request.review.find_ids(ending, group=group, kind=kind)
    return found[0] if len(found) == 1 else None
