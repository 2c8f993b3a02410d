"""Decisions on record, and their undo."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.api.insights import UNDO_EXAMPLES, UndoInput
from clearwell.adapters.http.fields import PageParameters
from clearwell.adapters.http.request import ApiRequest, ApiRoute, mark_replay
from clearwell.records import Action
from clearwell.views.decisions import DecisionPageView, DecisionResultView

router = APIRouter(tags=["review"], route_class=ApiRoute)

DecisionId = Annotated[UUID, Path(alias="id")]


class UndoDecisionInput(UndoInput):
    """Undo a decision by its id."""

    only: Annotated[Action | None, Field(strict=False)] = Field(
        None, description="refuse a decision of another kind, such as retract"
    )


@router.get(
    "/api/v1/decisions",
    summary="List the decisions of a group",
    description="Newest first, in pages. Requires the scope review or admin.",
    response_description="One page.",
    responses=openapi.problems(*openapi.READS),
)
async def decisions(request: ApiRequest, parameters: Annotated[PageParameters, Query()]) -> DecisionPageView:
    found = await request.review.decisions(
        group=request.group(parameters), before=parameters.before, limit=parameters.limit + 1
    )
    return DecisionPageView.from_records(found, parameters.limit, await request.key_names())


@router.post(
    "/api/v1/decisions/{id}/undo",
    summary="Undo a decision",
    description="The undo is a new decision; the earlier one stays on record. Requires the scope review.",
    response_description="Undone.",
    responses=openapi.problems(*openapi.WRITES, 404),
)
async def undo(
    request: ApiRequest,
    response: Response,
    decision_id: DecisionId,
    wanted: Annotated[UndoDecisionInput, Body(openapi_examples=UNDO_EXAMPLES)],
) -> DecisionResultView:
    group_id = await request.group_of("decision", decision_id, wanted)
    result = await request.review.undo(
        decision_id,
        group=group_id,
        reason=wanted.reason,
        only=wanted.only,
        idempotency_key=request.idempotency_key,
    )
    mark_replay(response, [result])
    return DecisionResultView.from_record(result)
