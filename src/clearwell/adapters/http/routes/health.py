"""Whether the process lives, and whether it can serve. Both need no key and name parts only."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.callers import running
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.problems import Refused, problem_answer, problem_of
from clearwell.adapters.http.schemas.health import AliveAnswer, ReadyAnswer

router = APIRouter(tags=["health"])


@router.get(
    "/healthz",
    summary="Whether the process lives",
    responses=openapi.responses({200: ("It lives.", [AliveAnswer])}, ()),
)
async def alive() -> Response:
    return answers.answer({"status": "alive"})


@router.get(
    "/readyz",
    summary="Whether it can serve",
    description="Ready once PostgreSQL answers and the model embeds. Other parts that do not answer are in degraded.",
    responses=openapi.responses({200: ("It can.", [ReadyAnswer])}, (503,)),
)
async def ready(request: Request) -> Response:
    health, language = await running(request).health(), language_of(request)
    degraded = sorted(health.problems)
    if health.ready:
        return answers.answer({"status": "ready", "degraded": degraded})
    problem = problem_of(Refused("http_not_ready", 503, parts=", ".join(degraded)), language)
    return problem_answer({**problem, "degraded": degraded}, 503, language, {"Retry-After": "5"})
