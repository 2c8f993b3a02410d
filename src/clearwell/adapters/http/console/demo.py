"""One click runs the demo meeting in the background, in a new group that can be watched."""

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.adapters.http.demo import DemoRunner

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)


@router.post("/demo")
async def start_demo(request: ConsoleRequest) -> Response:
    """It writes to a group of its own and promotes there, so it needs an operator of every group."""
    await request.clearwell.keys.require_operator(request.caller, "run demo")
    runner: DemoRunner = request.app.state.demo
    return request.redirect(page_url(runner.start(request.language), "overview"))
