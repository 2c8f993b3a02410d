"""Holds the demo meeting of ``clearwell demo`` in the background, in a new group that can be watched."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import structlog

from clearwell.demo import hold_meetings
from clearwell.demo.steps import MeetingStep
from clearwell.errors import ClearwellError
from clearwell.messages import Language
from clearwell.servers import Servers
from clearwell.settings import Settings

log = structlog.get_logger(__name__)


class DemoRunner:
    """Holds the demo meetings, one at a time in this process."""

    def __init__(self, settings: Settings, servers: Servers) -> None:
        self._settings = settings
        self._servers = servers
        self._task: asyncio.Task[None] | None = None
        self._group = ""
        self._sessions: list[str] = []

    @property
    def group(self) -> str:
        """The group of the last meetings; empty before there are any."""
        return self._group

    @property
    def sessions(self) -> Sequence[str]:
        """The meetings that have begun, in their order."""
        return tuple(self._sessions)

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, language: Language) -> str:
        """Begin the meetings, or find those that are being held; returns their group."""
        if not self.is_running:
            self._group = f"demo-{datetime.now(UTC):%m%d-%H%M%S}"
            self._sessions.clear()
            self._task = asyncio.create_task(self._hold(self._group, language), name="hold the demo meetings")
        return self._group

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _hold(self, group: str, language: Language) -> None:
        try:
            meetings = hold_meetings(self._settings, self._servers, group=group, language=language, scripted=True)
            async for step in meetings:
                if isinstance(step, MeetingStep):
                    self._sessions.append(step.session_id)
        except ClearwellError as error:
            log.error("demo failed", code=error.code, reason=str(error))
