"""Where knowledge comes from and what rests on it; promotion straight from the tiers below; decisions and numbers."""

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi, review_answers
from clearwell.adapters.http import review_inputs as inputs
from clearwell.adapters.http.bodies import given
from clearwell.adapters.http.callers import Caller, group_in, group_of, names, running
from clearwell.adapters.http.inputs import GroupParameters, RowParameters
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.memory import PromotedAnswer
from clearwell.adapters.http.schemas.provenance import CalibrationAnswer, ListedAnswer, NumbersAnswer, ProvenanceAnswer
from clearwell.adapters.http.schemas.review import DecidedAnswer, DecisionsAnswer, PromotedManyAnswer

router = APIRouter(tags=["review"])
Id = Annotated[UUID, Path(alias="id")]
PERSON = "A person's decision: the scope review is needed."
READER = "The scope review or admin is needed."
REFUSALS = (*openapi.WRITES, 404)


@router.post(
    "/api/v1/quarantine/{id}/promote",
    summary="Promote an output straight from quarantine",
    description=f"With its session, agent and time. group_id may be left out. {PERSON}",
    responses=openapi.responses({200: ("Stored as verified memory.", [PromotedAnswer])}, REFUSALS),
    openapi_extra=openapi.body(inputs.PromoteOutputInput, examples=inputs.EXAMPLES["promote_output"]),
)
async def promote_row(request: Request, caller: Caller, log_id: Id) -> Response:
    wanted, key = await given(request, caller, inputs.PromoteOutputInput, may_be_empty=True)
    group_id = await group_of(request, caller, "row", log_id, wanted.named_group)
    made = await running(request).review.promote_row(group_id, log_id, wanted.record(), by=caller, request=key)
    return answers.answer(answers.promotion(made, "promoted"), headers=answers.replay_mark([made]))


@router.post(
    "/api/v1/quarantine/promote",
    summary="Promote many outputs at once",
    description=f"As they are, each by itself, in order, with a result or a problem in its place. With origin: working "
    f"only live entries of working memory. {PERSON}",
    responses=openapi.responses({200: ("One result each.", [PromotedManyAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(inputs.PromoteManyInput, examples=inputs.EXAMPLES["promote_many"]),
)
async def promote_outputs(request: Request, caller: Caller) -> Response:
    wanted, key = await given(request, caller, inputs.PromoteManyInput)
    results = await running(request).review.promote_outputs(
        group_in(wanted, caller), wanted.ids, origin=wanted.origin, by=caller, request=key
    )
    language = language_of(request)
    return answers.answer({"results": [review_answers.promoted_or_problem(one, language) for one in results]})


@router.post(
    "/api/v1/working/{group_id:path}/{id}/promote",
    summary="Promote a live entry of working memory",
    description=f"With its session, agent and time. {PERSON}",
    responses=openapi.responses({200: ("Stored as verified memory.", [PromotedAnswer])}, REFUSALS),
    openapi_extra=openapi.body(inputs.PromoteOutputInput, examples=inputs.EXAMPLES["promote_output"]),
)
async def promote_entry(request: Request, caller: Caller, group_id: str, entry_id: Id) -> Response:
    wanted, key = await given(request, caller, inputs.PromoteOutputInput, may_be_empty=True)
    made = await running(request).review.promote_entry(group_id, entry_id, wanted.record(), by=caller, request=key)
    return answers.answer(answers.promotion(made, "promoted"), headers=answers.replay_mark([made]))


@router.get(
    "/api/v1/memories/{id}/origin",
    summary="Where a memory comes from",
    description=f"Its promotion, the decisions on it, the insights and the raw outputs that it rests on. {READER}",
    responses=openapi.responses({200: ("The origin.", [ProvenanceAnswer])}, (*openapi.READS, 404)),
)
async def origin(
    request: Request, caller: Caller, memory_id: Id, parameters: Annotated[RowParameters, Query()]
) -> Response:
    group_id = await group_of(request, caller, "memory", memory_id, parameters.named_group)
    found = await running(request).review.origin(group_id, memory_id, by=caller)
    return answers.answer(
        {"id": memory_id, **review_answers.provenance(found, language_of(request), await names(request))}
    )


@router.get(
    "/api/v1/quarantine/{id}/influence",
    summary="What rests on an output",
    description=f"The insights, promotions and memories that rest on it, and what it only said again. {READER}",
    responses=openapi.responses({200: ("The influence.", [ProvenanceAnswer])}, (*openapi.READS, 404)),
)
async def influence(
    request: Request, caller: Caller, log_id: Id, parameters: Annotated[RowParameters, Query()]
) -> Response:
    group_id = await group_of(request, caller, "row", log_id, parameters.named_group)
    found = await running(request).review.influence(group_id, log_id, by=caller)
    return answers.answer(
        {"id": log_id, **review_answers.provenance(found, language_of(request), await names(request))}
    )


@router.post(
    "/api/v1/memories/retract",
    summary="Withdraw what rests on one source, session or agent",
    description=f"Without a token it only lists what would be withdrawn. With the list's token exactly that is "
    f"withdrawn, in one step; where the list has changed since, nothing is (409). History is kept, and "
    f"POST /api/v1/decisions/{{id}}/undo brings it back. {PERSON}",
    responses=openapi.responses({200: ("Listed or withdrawn.", [ListedAnswer, DecidedAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(inputs.RetractInput, examples=inputs.EXAMPLES["retract"]),
)
async def retract(request: Request, caller: Caller) -> Response:
    wanted, key = await given(request, caller, inputs.RetractInput)
    review, group_id = running(request).review, group_in(wanted, caller)
    if wanted.token is None:
        listed = await review.preview_retraction(group_id, wanted.what(), by=caller)
        return answers.answer(review_answers.listed(listed, language_of(request), await names(request)))
    done = await review.retract(
        group_id, wanted.what(), token=wanted.token, reason=wanted.reason, by=caller, request=key
    )
    return answers.answer(review_answers.decided(done), headers=answers.replay_mark([done]))


@router.get(
    "/api/v1/decisions",
    summary="List a group's decisions",
    description=f"Newest first, a page at a time. {READER}",
    responses=openapi.responses({200: ("A page.", [DecisionsAnswer])}, openapi.READS),
)
async def decisions(
    request: Request, caller: Caller, parameters: Annotated[inputs.DecisionParameters, Query()]
) -> Response:
    limit = parameters.limit
    found = await running(request).review.decisions(
        group_in(parameters, caller), by=caller, before=parameters.before, limit=limit + 1
    )
    return answers.page("decisions", found, limit, partial(review_answers.decision, names=await names(request)))


@router.post(
    "/api/v1/decisions/{id}/undo",
    summary="Take back any decision",
    description=f"As a new decision: what happened stays on record. {PERSON}",
    responses=openapi.responses({200: ("Undone.", [DecidedAnswer])}, REFUSALS),
    openapi_extra=openapi.body(inputs.UndoInput, examples=inputs.EXAMPLES["undo"]),
)
async def undo(request: Request, caller: Caller, decision_id: Id) -> Response:
    wanted, key = await given(request, caller, inputs.UndoInput, may_be_empty=True)
    group_id = await group_of(request, caller, "decision", decision_id, wanted.named_group)
    done = await running(request).review.undo(group_id, decision_id, by=caller, reason=wanted.reason, request=key)
    return answers.answer(review_answers.decided(done), headers=answers.replay_mark([done]))


@router.get(
    "/api/v1/review/calibration",
    summary="Stated confidence against what became of it",
    description=f"By agent, in tenths. It informs reviewers and changes no threshold. {READER}",
    responses=openapi.responses({200: ("The table.", [CalibrationAnswer])}, openapi.READS),
)
async def calibration(request: Request, caller: Caller, parameters: Annotated[GroupParameters, Query()]) -> Response:
    found = await running(request).review.calibration(group_in(parameters, caller), by=caller)
    return answers.answer({"rows": [review_answers.calibration_row(one) for one in found]})


@router.get(
    "/api/v1/review/numbers",
    summary="How review goes",
    description=f"Lag, accept rates, the share of memories ever retrieved, the yield of digests. {READER}",
    responses=openapi.responses({200: ("The numbers.", [NumbersAnswer])}, openapi.READS),
)
async def numbers(request: Request, caller: Caller, parameters: Annotated[GroupParameters, Query()]) -> Response:
    found = await running(request).review.statistics(group_in(parameters, caller), by=caller)
    return answers.answer(review_answers.numbers(found))
