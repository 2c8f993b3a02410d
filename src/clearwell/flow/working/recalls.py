"""What retrieval gave to whom, written down off the callers' path: all of a moment together.

A moment is far shorter than any agent takes to answer, and whoever reads here sees what is not yet written, too: an
echo is known however soon it comes.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.ports import RecallStore

MOMENT: Final = 0.05
"""Seconds for which what was given is gathered before it is written."""

log = structlog.get_logger(__name__)


class RecallLog:
    """Recalls for those who give and for those who ask what was given."""

    def __init__(self, recalls: RecallStore) -> None:
        self._recalls = recalls
        self._given: dict[tuple[str, str | None], dict[UUID, None]] = {}
        self._soon: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def note(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None) -> None:
        """Remember this. Returns at once."""
        self._given.setdefault((group_id, agent_id), {}).update(dict.fromkeys(ids))
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(MOMENT, self._write)

    async def noted(self) -> None:
        """Wait until what was given so far is written."""
        if self._soon is not None:
            self._soon.cancel()
            self._write()
        if self._writing:
            await asyncio.wait(self._writing)

    async def recalled(self, group_id: str, *, agent_id: str | None) -> frozenset[UUID]:
        await self.noted()
        return await self._recalls.recalled(group_id, agent_id=agent_id)

    async def given_since(self, moment: datetime) -> Mapping[str, frozenset[UUID]]:
        await self.noted()
        return await self._recalls.given_since(moment)

    def _write(self) -> None:
        self._soon = None
        given, self._given = self._given, {}
        task = asyncio.create_task(self._written(given), name="recalled")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _written(self, given: Mapping[tuple[str, str | None], Mapping[UUID, None]]) -> None:
        for (group_id, agent_id), ids in given.items():
            try:
                await self._recalls.note(group_id, list(ids), agent_id=agent_id)
            except Unavailable as error:
                log.warning("recall not noted", reason=error.code)
