"""The context of an agent, and the memory-retrieval node of a workflow."""

from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.api.memory import RetrievalInput
from clearwell.adapters.http.fields import MAX_RESULTS, GroupedBody, RequestBody, Share
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.flow.context.budget import MIN_TOKENS
from clearwell.flow.context.builder import MAX_TOKENS, ContextRequest
from clearwell.flow.context.retrieval_node import NodeOptions
from clearwell.messages import Language
from clearwell.views.context import ContextView, NodeRunView

router = APIRouter(tags=["context"], route_class=ApiRoute)


class Format(StrEnum):
    """The formats of a context."""

    TEXT = "text"
    MESSAGES = "messages"
    BOTH = "both"


class LabelLanguage(StrEnum):
    """The languages of headings and labels."""

    EN = "en"
    ZH = "zh"


class ContextInput(RetrievalInput):
    """What to build a context for."""

    proposal: str = Field(description="what the agent is asked about, up to 1 MiB")
    query: str | None = Field(None, description="what to search for in memory; the proposal by default")
    max_tokens: int | None = Field(None, ge=MIN_TOKENS, le=MAX_TOKENS, description="the token budget; 4000 by default")
    format: Format = Field(Format.BOTH, strict=False, description="the format of the answer")
    language: LabelLanguage | None = Field(
        None, strict=False, description="language of headings and labels; from Accept-Language by default"
    )

    def to_request(self, language: Language) -> ContextRequest:
        return ContextRequest(
            proposal=self.proposal,
            query=self.query,
            max_tokens=self.max_tokens,
            language=language if self.language is None else self.language.value,
            options=self.to_options(),
        )


class NodeOptionsInput(RequestBody):
    """The properties of a memory-retrieval node."""

    max_results: int | None = Field(
        None, ge=1, le=MAX_RESULTS, description="the largest number of items; 15 by default"
    )
    time_range_days: float | None = Field(None, description="only what was said within this number of days")
    relevance_threshold: Share | None = Field(
        None, description="exclude verified items with a lower relevance; 0.7 by default"
    )
    hot_threshold: Share | None = Field(
        None, description="exclude unverified items with a lower relevance; 0.35 by default"
    )
    recent: int | None = Field(
        None, ge=1, le=MAX_RESULTS, description="the newest entries of working memory, whatever they say"
    )
    include_verdicts: bool = Field(
        True, description="include the conclusions of chair and verdict nodes in earlier meetings"
    )
    agent_id: str | None = Field(None, description="include the memories of this agent")

    def to_options(self) -> NodeOptions:
        return NodeOptions(
            max_results=self.max_results,
            time_range_days=self.time_range_days,
            relevance_threshold=self.relevance_threshold,
            hot_threshold=self.hot_threshold,
            recent=self.recent,
            include_verdicts=self.include_verdicts,
            agent_id=self.agent_id,
        )


class NodeInput(GroupedBody):
    """A state of a workflow for the memory-retrieval node."""

    input: dict[str, Any] = Field(description="the state; its topic, or else content, or else document is the query")
    options: NodeOptionsInput = Field(default_factory=NodeOptionsInput)
    language: LabelLanguage | None = Field(
        None, strict=False, description="language of labels; from Accept-Language by default"
    )


CONTEXT_EXAMPLES = openapi.examples(
    one={
        "group_id": "grp-123",
        "agent_id": "risk-auditor",
        "proposal": "提案：把支付网关迁移到新集群，周五晚上切换。请评估风险。",
        "max_tokens": 2000,
        "language": "zh",
    }
)
NODE_EXAMPLES = openapi.examples(
    one={
        "group_id": "grp-123",
        "input": {"topic": "支付网关的迁移", "session_id": "s-9"},
        "options": {"max_results": 5, "relevance_threshold": 0.7, "include_verdicts": True},
    }
)


@router.post(
    "/api/v1/context",
    summary="Build the context of an agent",
    description="Five sections in the order of the protocol: system prompt of the group, persona, group memory, "
    "memory of the agent, proposal. Memories are fenced as data and never part of the system message."
    " The report lists what was included, shortened and omitted. Requires the scope read.",
    response_description="The context.",
    responses=openapi.problems(*openapi.QUERIES),
)
async def build(
    request: ApiRequest, wanted: Annotated[ContextInput, Body(openapi_examples=CONTEXT_EXAMPLES)]
) -> ContextView:
    asked = wanted.to_request(request.language)
    built = await request.memory.build_context(asked, group=request.group(wanted))
    text, messages = wanted.format is not Format.MESSAGES, wanted.format is not Format.TEXT
    return ContextView.from_record(built, asked.language, text=text, messages=messages)


@router.post(
    "/api/v1/nodes/memory_retrieval",
    summary="Run the memory-retrieval node",
    description="Returns the state with history_context added. If retrieval fails, the history is empty and the "
    "event memory_retrieval_error has the reason. The output is not captured. Requires the scope "
    "read.",
    response_description="The state and the events.",
    responses=openapi.problems(*openapi.QUERIES),
)
async def retrieval_node(
    request: ApiRequest, wanted: Annotated[NodeInput, Body(openapi_examples=NODE_EXAMPLES)]
) -> NodeRunView:
    language = request.language if wanted.language is None else wanted.language.value
    node = request.memory.retrieval_node(
        group=request.group(wanted), options=wanted.options.to_options(), language=language
    )
    return NodeRunView.from_record(await node.run(wanted.input))
