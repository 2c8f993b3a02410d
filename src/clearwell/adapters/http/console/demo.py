"""One click runs the demo meeting of ``clearwell demo`` in the background, in a new group that can be watched."""

import asyncio
from datetime import UTC, datetime

import structlog
from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.demo import hold_meetings
from clearwell.errors import ClearwellError, NotAllowed
from clearwell.flow.access.permissions import require_right
from clearwell.messages import Language
from clearwell.records import Right
from clearwell.servers import Servers
from clearwell.settings import Settings

log = structlog.get_logger(__name__)
router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)


class DemoRunner:
    """Holds the demo meetings, one at a time in this process."""

    def __init__(self, settings: Settings, servers: Servers) -> None:
        self._settings = settings
        self._servers = servers
        self._task: asyncio.Task[None] | None = None
        self._group = ""

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, language: Language) -> str:
        """Begin the meetings, or find those that are being held; returns their group."""
        if not self.is_running:
            self._group = f"demo-{datetime.now(UTC):%m%d-%H%M%S}"
            self._task = asyncio.create_task(self._hold(self._group, language), name="hold the demo meetings")
        return self._group

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _hold(self, group: str, language: Language) -> None:
        try:
            async for _ in hold_meetings(self._settings, self._servers, group=group, language=language, scripted=True):
                pass
        except ClearwellError as error:
            log.error("demo failed", code=error.code, reason=str(error))


@router.post("/demo")
async def start_demo(request: ConsoleRequest) -> Response:
    """It writes to a group of its own and promotes there, so it needs every group and the right to administer."""
    require_right(request.caller, Right.ADMIN)
    if request.caller.groups is not None:
        raise NotAllowed("console_demo_groups", name=request.caller.name)
    runner: DemoRunner = request.app.state.demo
    return request.redirect(page_url(runner.start(request.language), "overview"))
