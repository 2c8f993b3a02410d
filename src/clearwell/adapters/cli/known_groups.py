"""Whether a group exists: a mistyped name is refused where the command would succeed without doing anything."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from clearwell.errors import NotAllowed, NotFound
from clearwell.records import UNASSIGNED

if TYPE_CHECKING:
    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.client.routes import ApiClient

SIMILAR = 3
"""This many similar names are shown."""


def find_similar(group: str, groups: Iterable[str]) -> list[str]:
    """The names that ``group`` may be a slip of."""
    return get_close_matches(group, list(groups), n=SIMILAR)


async def require_group(client: ApiClient, group: str, terminal: Terminal) -> None:
    """Raise NotFound if there is no such group. Who may not list groups is not told."""
    try:
        known = [one.group_id for one in (await client.groups()).groups]
        if group in known or group == UNASSIGNED or (await client.agents(group)).agents:
            return
    except NotAllowed:
        return
    similar = find_similar(group, known)
    code = "cli_group_unknown_similar" if similar else "cli_group_unknown"
    raise NotFound(code, group=group, similar=terminal.join_names(similar))
