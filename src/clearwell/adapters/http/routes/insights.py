"""Review: what a digest offers, and what people decide on it."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi, review_answers
from clearwell.adapters.http import review_inputs as inputs
from clearwell.adapters.http.bodies import fitted, given
from clearwell.adapters.http.callers import Caller, group_in, group_of, names, running
from clearwell.adapters.http.inputs import RowParameters
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.review import DecidedAnswer, DecidedManyAnswer, DossierAnswer, InsightsAnswer
from clearwell.errors import ClearwellError
from clearwell.records import DecisionRequest

router = APIRouter(tags=["review"])
InsightId = Annotated[UUID, Path(alias="id")]
PERSON = "A person's decision: the scope review is needed. group_id may be left out."
DECIDED = {200: ("Done.", [DecidedAnswer])}
REFUSALS = (*openapi.WRITES, 404)


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
    return answers.page("insights", found, limit, lambda one: review_answers.insight(one, language))


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
    return answers.answer(review_answers.dossier(found, language_of(request), await names(request)))


@router.post(
    "/api/v1/insights/decide",
    summary="Decide on many insights at once",
    description="Each by itself, in order, with a result or a problem in its place. The scope review is needed.",
    responses=openapi.responses({200: ("One result each.", [DecidedManyAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(inputs.DecideInput, examples=inputs.EXAMPLES["decide"]),
)
async def decide(request: Request, caller: Caller) -> Response:
    items, key = await given(request, caller, inputs.DecideItems)
    read = [wanted_or_problem(one) for one in items.decisions]
    wanted = [one for one in read if isinstance(one, DecisionRequest)]
    results = await running(request).review.decide_many(group_in(items, caller), wanted, by=caller, request=key)
    decided_on, language = iter(results), language_of(request)
    answered = [next(decided_on) if isinstance(one, DecisionRequest) else one for one in read]
    return answers.answer({"results": [review_answers.decided_or_problem(one, language) for one in answered]})


def wanted_or_problem(item: dict[str, Any]) -> DecisionRequest | ClearwellError:
    try:
        return fitted(inputs.DecisionInput, item).wanted()
    except ClearwellError as problem:
        return problem


def decision(name: str, model: type[inputs.Choice], *, summary: str, description: str) -> None:
    """The route of one decision on an insight."""

    async def decided(request: Request, caller: Caller, insight_id: InsightId) -> Response:
        choice, key = await given(request, caller, model, may_be_empty=True)
        group_id = await group_of(request, caller, "insight", insight_id, choice.named_group)
        done = await running(request).review.decide(group_id, choice.wanted(insight_id), by=caller, request=key)
        return answers.answer(review_answers.decided(done), headers=answers.replay_mark([done]))

    router.add_api_route(
        f"/api/v1/insights/{{id}}/{name}",
        decided,
        methods=["POST"],
        name=name,
        summary=summary,
        description=f"{description} {PERSON}",
        responses=openapi.responses(DECIDED, REFUSALS),
        openapi_extra=openapi.body(model, examples=inputs.EXAMPLES[name]),
    )


decision(
    "promote",
    inputs.PromoteInput,
    summary="Promote an insight",
    description="It can be found when this answers, unless the status is promoting: then the model is down, and its "
    "chunks follow when it is back.",
)
decision(
    "reject",
    inputs.RejectInput,
    summary="Reject an insight",
    description="Its sources are judged, and its words are not promoted until that is undone or the tombstone lifted; "
    "the sources may be said again.",
)
decision(
    "merge",
    inputs.MergeInput,
    summary="Merge other insights into this one",
    description="It stays pending, with the sources of all.",
)
decision(
    "snooze",
    inputs.SnoozeInput,
    summary="Put an insight off",
    description="It is pending again when the time has come.",
)
decision(
    "undo",
    inputs.UndoInput,
    summary="Take back the last decision on an insight",
    description="As a new decision: what happened stays on record.",
)
