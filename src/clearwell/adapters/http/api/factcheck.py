"""Fact checks, and the fact-check node of a workflow."""

from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.api.context import LabelLanguage
from clearwell.adapters.http.fields import MAX_RESULTS, GroupedBody, RequestBody
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.flow.factcheck.checker import FactCheckOptions
from clearwell.views.context import NodeRunView
from clearwell.views.factcheck import FactCheckView

router = APIRouter(tags=["context"], route_class=ApiRoute)

MaxResults = Annotated[
    int | None,
    Field(ge=1, le=MAX_RESULTS, description="the largest number of memories to compare a claim with; 10 by default"),
]
Days = Annotated[float | None, Field(description="only what was said within this number of days")]
AgentId = Annotated[str | None, Field(description="include the memories of this agent")]
SessionId = Annotated[
    str | None,
    Field(description="the session that the claim comes from: what it said itself does not support the claim"),
]
TextLanguage = Annotated[
    LabelLanguage | None, Field(strict=False, description="language of the text; from Accept-Language by default")
]


class FactCheckOptionsInput(RequestBody):
    """The options of a fact check."""

    max_results: MaxResults = None
    time_range_days: Days = None
    agent_id: AgentId = None
    session_id: SessionId = None

    def to_options(self) -> FactCheckOptions:
        return FactCheckOptions(
            max_results=self.max_results,
            time_range_days=self.time_range_days,
            agent_id=self.agent_id,
            session_id=self.session_id,
        )


class FactCheckInput(GroupedBody, FactCheckOptionsInput):
    """A claim, several claims, or a text whose statements are claims."""

    claim: str | list[str] = Field(description="the claim or the claims; the first ten statements are checked")
    language: TextLanguage = None


class FactCheckNodeInput(GroupedBody):
    """A state of a workflow for the fact-check node."""

    input: dict[str, Any] = Field(
        description="the state; its claim (a text or a list), or else topic, content or document is checked"
    )
    options: FactCheckOptionsInput = Field(default_factory=FactCheckOptionsInput)
    language: TextLanguage = None


CLAIM_EXAMPLES = openapi.examples(
    one={"group_id": "grp-123", "claim": "支付网关每次停机不得超过三十分钟。", "session_id": "s-9", "language": "zh"}
)
NODE_EXAMPLES = openapi.examples(
    one={
        "group_id": "grp-123",
        "input": {"claim": ["支付网关每次停机不得超过三十分钟。"], "session_id": "s-9"},
        "options": {"max_results": 5},
    }
)


@router.post(
    "/api/v1/memory/fact_check",
    summary="Rate claims by what memory says",
    description="Each claim is rated supported, contradicted or unknown, with the memories cited. Verified memories "
    "outrank unverified ones. The language model of the judge rates the claims, or the comparison rules without one "
    "(method). If the model fails, the rating is unknown and the reason says why. Requires the scope read.",
    response_description="The rated claims.",
    responses=openapi.problems(*openapi.QUERIES),
)
async def fact_check(
    request: ApiRequest, wanted: Annotated[FactCheckInput, Body(openapi_examples=CLAIM_EXAMPLES)]
) -> FactCheckView:
    language = request.language if wanted.language is None else wanted.language.value
    check = await request.memory.fact_check(
        wanted.claim, group=request.group(wanted), options=wanted.to_options(), language=language
    )
    return FactCheckView.from_record(check, language)


@router.post(
    "/api/v1/nodes/fact_check",
    summary="Run the fact-check node",
    description="Returns the state with fact_check, a text, and fact_check_result added. If the check fails, the "
    "rating is unknown and the event fact_check_error has the reason. The output is not captured: capture the text "
    "with the node type fact_check. Requires the scope read.",
    response_description="The state and the events.",
    responses=openapi.problems(*openapi.QUERIES),
)
async def fact_check_node(
    request: ApiRequest, wanted: Annotated[FactCheckNodeInput, Body(openapi_examples=NODE_EXAMPLES)]
) -> NodeRunView:
    language = request.language if wanted.language is None else wanted.language.value
    node = request.memory.fact_check_node(
        group=request.group(wanted), options=wanted.options.to_options(), language=language
    )
    return NodeRunView.from_record(await node.run(wanted.input))
