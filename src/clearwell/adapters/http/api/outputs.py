"""Promotion of outputs from quarantine and of entries of working memory."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Response
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.api.insights import MAX_DECISIONS, PromoteOutputInput
from clearwell.adapters.http.fields import Acknowledge, GroupedBody, KeepInvisible
from clearwell.adapters.http.request import ApiRequest, ApiRoute, mark_replay
from clearwell.records import Origin
from clearwell.views.memories import PromotionBatchView, PromotionResultView

router = APIRouter(tags=["review"], route_class=ApiRoute)

PERSON = "Requires the scope review."
REFUSALS = openapi.problems(*openapi.WRITES, 404)
RowId = Annotated[UUID, Path(alias="id")]
PromoteOutputBody = Annotated[
    PromoteOutputInput,
    Body(
        openapi_examples=openapi.examples(
            **{"as it is": {"group_id": "grp-123"}, "in other words": {"text": "发布窗口定于每周二上午十点。"}}
        )
    ),
]


class PromoteManyInput(GroupedBody):
    """Outputs to promote as they are. The answer has a result or a problem for each."""

    ids: list[str] = Field(min_length=1, max_length=MAX_DECISIONS, description="ids of outputs")
    origin: Annotated[Origin, Field(strict=False)] = Field(
        Origin.QUARANTINE, description="quarantine, or working for entries that have not expired"
    )
    acknowledge: Acknowledge = Field(default_factory=list)
    keep_invisible: KeepInvisible = False


PROMOTE_MANY_EXAMPLES = openapi.examples(
    two={
        "group_id": "grp-123",
        "ids": ["01234567-89ab-7cde-8f01-23456789abcd", "01234567-89ab-7cde-8f01-23456789abce"],
    }
)


@router.post(
    "/api/v1/quarantine/{id}/promote",
    summary="Promote an output from quarantine",
    description=f"The memory keeps the session, agent and time of the output. group_id is optional. {PERSON}",
    response_description="Stored as verified memory.",
    responses=REFUSALS,
)
async def promote_row(
    request: ApiRequest, response: Response, row_id: RowId, wanted: PromoteOutputBody
) -> PromotionResultView:
    group_id = await request.group_of("row", row_id, wanted)
    result = await request.review.promote_row(
        row_id, wanted.to_record(), group=group_id, idempotency_key=request.idempotency_key
    )
    mark_replay(response, [result])
    return PromotionResultView.from_record(result)


@router.post(
    "/api/v1/quarantine/promote",
    summary="Promote many outputs at once",
    description="Promotes the outputs as they are; the answer has a result or a problem for each, in order. With "
    f"origin: working, only entries of working memory that have not expired. {PERSON}",
    response_description="One result for each.",
    responses=openapi.problems(*openapi.WRITES),
)
async def promote_outputs(
    request: ApiRequest, wanted: Annotated[PromoteManyInput, Body(openapi_examples=PROMOTE_MANY_EXAMPLES)]
) -> PromotionBatchView:
    results = await request.review.promote_outputs(
        wanted.ids,
        origin=wanted.origin,
        acknowledge=wanted.acknowledge,
        keep_invisible=wanted.keep_invisible,
        group=request.group(wanted),
        idempotency_key=request.idempotency_key,
    )
    return PromotionBatchView.from_records(results, request.language)


@router.post(
    "/api/v1/working/{group_id:text}/{id}/promote",
    summary="Promote an entry of working memory",
    description=f"The memory keeps the session, agent and time of the entry. {PERSON}",
    response_description="Stored as verified memory.",
    responses=REFUSALS,
)
async def promote_entry(
    request: ApiRequest, response: Response, group_id: str, entry_id: RowId, wanted: PromoteOutputBody
) -> PromotionResultView:
    result = await request.review.promote_entry(
        entry_id, wanted.to_record(), group=group_id, idempotency_key=request.idempotency_key
    )
    mark_replay(response, [result])
    return PromotionResultView.from_record(result)
