"""Find what a short id names."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupParameters
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.text.short_ids import SHORT_ID_LENGTH
from clearwell.views.ids import IdsView
from clearwell.vocabulary import IdKind

router = APIRouter(tags=["review"], route_class=ApiRoute)


class IdParameters(GroupParameters):
    """The end of an id, and what it names."""

    kind: IdKind = Field(description="what the id names; row for an output or a working entry")
    ending: str = Field(description=f"the last {SHORT_ID_LENGTH} or more characters of the id, in lower case")


@router.get(
    "/api/v1/ids",
    summary="Find ids by their last characters",
    description="People read and type the end of an id. This finds the whole ids in the group; if there is more than "
    "one, the ending is ambiguous. Requires the scope review or admin.",
    response_description="The ids; empty if no id of this kind ends with it.",
    responses=openapi.problems(*openapi.READS),
)
async def find_ids(request: ApiRequest, parameters: Annotated[IdParameters, Query()]) -> IdsView:
    group_id = request.group(parameters)
    found = await request.review.find_ids(parameters.ending, group=group_id, kind=parameters.kind)
    return IdsView(ids=tuple(found))
