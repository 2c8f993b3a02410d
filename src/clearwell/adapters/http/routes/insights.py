"""Review: what a digest offers, and what people decide on it."""

from typing import Annotated, Any, Protocol
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi, review_answers
from clearwell.adapters.http import review_inputs as inputs
from clearwell.adapters.http.bodies import fitted, idempotency_key, object_or_nothing, parse_object, read_body
from clearwell.adapters.http.callers import Caller, group_in, running
from clearwell.adapters.http.inputs import RowParameters
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.review import DecidedAnswer, DecidedManyAnswer, DossierAnswer, InsightsAnswer
from clearwell.errors import ClearwellError
from clearwell.flow.review import Wanted
from clearwell.records import Principal

router = APIRouter(tags=["review"])
InsightId = Annotated[UUID, Path(alias="id")]
PERSON = "A person's decision: the scope review is needed. group_id may be left out."
DECIDED = {200: ("Done.", [DecidedAnswer])}
REFUSALS = (*openapi.WRITES, 404)


class Choice(Protocol):
    """A body that says what to do with one insight."""

    @property
    def named_group(self) -> str | None: ...
    def wanted(self, insight_id: UUID) -> Wanted: ...


@router.get(
    "/api/v1/insights",
    summary="List a group's insights",
    description="The newest digest first, the best of each first, a page at a time. The scope review or admin is "
    "needed.",
    responses=openapi.responses({200: ("A page.", [InsightsAnswer])}, openapi.READS),
)
async def listed(
    request: Request, caller: Caller, parameters: Annotated[inputs.InsightParameters, Query()]
) -> Response:
    language, limit = language_of(request), parameters.limit
    found = await running(request).review.insights(
        group_in(parameters, caller), by=caller, state=parameters.state, before=parameters.before, limit=limit + 1
    )
    page = [review_answers.insight(one, language) for one in found[:limit]]
    return answers.answer({"insights": page, "next": page[-1]["id"] if len(found) > limit else None})


@router.get(
    "/api/v1/insights/{id}",
    summary="Read one insight and all that stands beside it",
    description="Its sources with their verdicts, the nearest verified memories with a diff by words, what it "
    "duplicates, contradicts or would supersede, what like it was rejected, and what was decided. The scope review or "
    "admin is needed.",
    responses=openapi.responses({200: ("The insight.", [DossierAnswer])}, (*openapi.READS, 404)),
)
async def shown(
    request: Request, caller: Caller, insight_id: InsightId, parameters: Annotated[RowParameters, Query()]
) -> Response:
    group_id = await group_of(request, caller, "insight", insight_id, parameters.named_group)
    found = await running(request).review.insight(group_id, insight_id, by=caller)
    return answers.answer(review_answers.dossier(found, language_of(request)))


@router.post(
    "/api/v1/insights/decide",
    summary="Decide on many insights at once",
    description="Each by itself, in order, with a result or a problem in its place. The scope review is needed.",
    responses=openapi.responses({200: ("One result each.", [DecidedManyAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(inputs.DecideInput, examples=inputs.EXAMPLES["decide"]),
)
async def decide(request: Request, caller: Caller) -> Response:
    body = await read_body(request, max_bytes=running(request).settings.max_body_bytes)
    given, key = fitted(inputs.DecideItems, parse_object(body)), idempotency_key(request, caller, body)
    read = [wanted_or_problem(one) for one in given.decisions]
    wanted = [one for one in read if isinstance(one, Wanted)]
    results = await running(request).review.decide_many(group_in(given, caller), wanted, by=caller, request=key)
    decided_on, language = iter(results), language_of(request)
    answered = [next(decided_on) if isinstance(one, Wanted) else one for one in read]
    return answers.answer({"results": [review_answers.decided_or_problem(one, language) for one in answered]})


def wanted_or_problem(given: dict[str, Any]) -> Wanted | ClearwellError:
    try:
        return fitted(inputs.DecisionInput, given).wanted()
    except ClearwellError as problem:
        return problem


@router.post(
    "/api/v1/insights/{id}/promote",
    summary="Promote an insight",
    description=f"It can be found when this answers, unless the status is promoting: then the model is down, and its "
    f"chunks follow when it is back. {PERSON}",
    responses=openapi.responses(DECIDED, REFUSALS),
    openapi_extra=openapi.body(inputs.PromoteInput, examples=inputs.EXAMPLES["promote"]),
)
async def promote(request: Request, caller: Caller, insight_id: InsightId) -> Response:
    return await decided(request, caller, insight_id, inputs.PromoteInput)


@router.post(
    "/api/v1/insights/{id}/reject",
    summary="Reject an insight",
    description=f"Its sources are judged, and its words do not come back; the sources themselves may. {PERSON}",
    responses=openapi.responses(DECIDED, REFUSALS),
    openapi_extra=openapi.body(inputs.RejectInput, examples=inputs.EXAMPLES["reject"]),
)
async def reject(request: Request, caller: Caller, insight_id: InsightId) -> Response:
    return await decided(request, caller, insight_id, inputs.RejectInput)


@router.post(
    "/api/v1/insights/{id}/merge",
    summary="Merge other insights into this one",
    description=f"It stays pending, with the sources of all. {PERSON}",
    responses=openapi.responses(DECIDED, REFUSALS),
    openapi_extra=openapi.body(inputs.MergeInput, examples=inputs.EXAMPLES["merge"]),
)
async def merge(request: Request, caller: Caller, insight_id: InsightId) -> Response:
    return await decided(request, caller, insight_id, inputs.MergeInput)


@router.post(
    "/api/v1/insights/{id}/snooze",
    summary="Put an insight off",
    description=f"It is pending again when the time has come. {PERSON}",
    responses=openapi.responses(DECIDED, REFUSALS),
    openapi_extra=openapi.body(inputs.SnoozeInput, examples=inputs.EXAMPLES["snooze"]),
)
async def snooze(request: Request, caller: Caller, insight_id: InsightId) -> Response:
    return await decided(request, caller, insight_id, inputs.SnoozeInput)


@router.post(
    "/api/v1/insights/{id}/undo",
    summary="Take back the last decision on an insight",
    description=f"As a new decision: what happened stays on record. {PERSON}",
    responses=openapi.responses(DECIDED, REFUSALS),
    openapi_extra=openapi.body(inputs.UndoInput, examples=inputs.EXAMPLES["undo"]),
)
async def undo(request: Request, caller: Caller, insight_id: InsightId) -> Response:
    return await decided(request, caller, insight_id, inputs.UndoInput)


async def decided(request: Request, caller: Principal, insight_id: UUID, model: type[BaseModel]) -> Response:
    """Read the body as this model, find the group, decide."""
    body = await read_body(request, max_bytes=running(request).settings.max_body_bytes)
    given = fitted(model, object_or_nothing(body))
    assert isinstance(given, inputs.Chosen)  # noqa: S101 - every model of this file is one
    choice: Choice = given  # type: ignore[assignment]
    group_id = await group_of(request, caller, "insight", insight_id, choice.named_group)
    key = idempotency_key(request, caller, body)
    done = await running(request).review.decide(group_id, choice.wanted(insight_id), by=caller, request=key)
    return answers.answer(review_answers.decided(done), headers=answers.REPLAYED if done.replayed else {})


async def group_of(request: Request, caller: Principal, kind: str, one: UUID, named: str | None) -> str:
    return named if named is not None else await running(request).review.group_of(kind, one, by=caller)
