"""Short ids: the end of an id, which every command prints and accepts. ``--json`` has whole ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from clearwell.adapters.cli.command import UsageProblem
from clearwell.errors import NotFound
from clearwell.text.short_ids import SHORT_ID_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearwell.client.routes import ApiClient
    from clearwell.vocabulary import IdKind

SHORT = re.compile(rf"[0-9a-f-]{{{SHORT_ID_LENGTH},36}}")


@dataclass(frozen=True, slots=True)
class TypedId:
    """An id as a person typed it: a whole one, or the end of one in a group.

    ``missing`` is the message of the error that nothing is named so.
    """

    text: str
    kinds: tuple[IdKind, ...]
    group: str
    missing: str

    async def find(self, client: ApiClient) -> UUID:
        """The whole id. Raises NotFound if nothing in the group ends so, and UsageProblem if several things do."""
        whole = parse_whole(self.text)
        if whole is not None:
            return whole
        found = [one for kind in self.kinds for one in (await client.review.find_ids(self.group, kind, self.text)).ids]
        return choose(self.text, found, self.missing, group=self.group)


def read_id(text: str, *kinds: IdKind, group: str, missing: str | None = None) -> TypedId:
    """Read an id of one of these kinds. A text that cannot be one names nothing: raises NotFound, before any work."""
    missing, ending = missing or f"{kinds[0]}_not_found", text.strip().lower()
    if parse_whole(ending) is None and not SHORT.fullmatch(ending):
        raise NotFound(missing, id=text, group=group)
    return TypedId(ending, kinds, group, missing)


def parse_whole(text: str) -> UUID | None:
    """A text as a whole id, or None if it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def choose(text: str, found: Iterable[UUID], missing: str, **params: object) -> UUID:
    """The only id among those that were found for a text."""
    candidates = sorted(set(found))
    if not candidates:
        raise NotFound(missing, id=text, **params)
    if len(candidates) > 1:
        listed = "\n".join(f"  {candidate}" for candidate in candidates)
        raise UsageProblem("cli_id_ambiguous", field="ID", id=text, candidates=listed)
    return candidates[0]
