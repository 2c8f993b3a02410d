"""What happened in a group, what it has now, and how reliable agents and reviews are."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupParameters
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.flow.review.service import MAX_DAYS
from clearwell.views.statistics import ActivityView, CalibrationView, ReviewCountsView, ReviewStatisticsView

router = APIRouter(tags=["review"], route_class=ApiRoute)

READER = "Requires the scope review or admin."


class ActivityParameters(GroupParameters):
    """How many days to show."""

    days: int = Field(30, ge=1, le=MAX_DAYS, description="the number of days, today included")


@router.get(
    "/api/v1/review/calibration",
    summary="How reliable the confidence of agents is",
    description=f"By agent, in steps of 0.1. It informs reviewers and changes no threshold. {READER}",
    response_description="The table.",
    responses=openapi.problems(*openapi.READS),
)
async def calibration(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> CalibrationView:
    return CalibrationView.from_records(await request.review.calibration(group=request.group(parameters)))


@router.get(
    "/api/v1/review/activity",
    summary="What happened in a group, day by day",
    description="Outputs that were admitted, and refused by each check, decisions, and the median time to a decision, "
    f"for each of the last days in UTC. {READER}",
    response_description="The days, the oldest first.",
    responses=openapi.problems(*openapi.READS),
)
async def activity(request: ApiRequest, parameters: Annotated[ActivityParameters, Query()]) -> ActivityView:
    days = await request.review.activity(group=request.group(parameters), days=parameters.days)
    return ActivityView.from_records(days)


@router.get(
    "/api/v1/review/counts",
    summary="What a group has now",
    description="How many insights wait for a decision, how many memories are valid, and how many promotions are still "
    f"to be written. {READER}",
    response_description="The counts.",
    responses=openapi.problems(*openapi.READS),
)
async def counts(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> ReviewCountsView:
    return ReviewCountsView.read(await request.review.counts(group=request.group(parameters)))


@router.get(
    "/api/v1/review/numbers",
    summary="Review statistics",
    description="Time to decision, accept rates, the share of memories that were retrieved, and the yield of digests. "
    f"{READER}",
    response_description="The statistics.",
    responses=openapi.problems(*openapi.READS),
)
async def statistics(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> ReviewStatisticsView:
    return ReviewStatisticsView.from_record(await request.review.statistics(group=request.group(parameters)))
