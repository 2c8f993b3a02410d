"""Whether the process lives and can serve, for anybody and by names of parts only; and numbers for Prometheus."""

import structlog
from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, generate_latest
from starlette.responses import Response

from clearwell.adapters.http import openapi
from clearwell.adapters.http.metrics import ProgramCollector, Statistics
from clearwell.adapters.http.problems import NotReady
from clearwell.adapters.http.request import ApiRequest, ApiRoute, PlainRoute, get_program
from clearwell.app import Clearwell
from clearwell.errors import Unavailable
from clearwell.views.health import AliveView, ReadyView

log = structlog.get_logger(__name__)
router = APIRouter(tags=["health"], route_class=PlainRoute)
metrics_router = APIRouter(tags=["health"], route_class=ApiRoute)
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", summary="Whether the process is alive", response_description="The process is alive.")
async def alive() -> AliveView:
    return AliveView()


@router.get(
    "/readyz",
    summary="Whether requests can be served",
    description="Ready when PostgreSQL and the embedding model respond. Other components that do not respond are "
    "listed in degraded.",
    response_description="The service is ready.",
    responses=openapi.problems(503),
)
async def ready(request: Request) -> ReadyView:
    health = await get_program(request).health()
    degraded = sorted(health.problems)
    if not health.ready:
        raise NotReady(degraded)
    return ReadyView(degraded=tuple(degraded))


@metrics_router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    description="Counts of this process since it started, and statistics of review, which are read once a minute."
    " Requires the scope admin in every group.",
    response_class=Response,
    responses={
        200: {"description": "The statistics.", "content": {METRICS_TYPE: {"schema": {"type": "string"}}}},
        **openapi.problems(401, 403),
    },
)
async def metrics(request: ApiRequest) -> Response:
    await request.clearwell.keys.require_operator(request.caller, "read metrics")
    registry = CollectorRegistry()
    registry.register(ProgramCollector(request.clearwell, await _read_statistics(request.clearwell)))
    return Response(generate_latest(registry), media_type=METRICS_TYPE)


async def _read_statistics(clearwell: Clearwell) -> Statistics | None:
    """Return None if the database does not respond; the counts of this process are shown in any case."""
    try:
        return await clearwell.statistics.read()
    except Unavailable as error:
        log.warning("review statistics unavailable", reason=error.code)
        return None
