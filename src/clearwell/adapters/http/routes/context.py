"""What an agent is told before it speaks: the whole context, or the history that a workflow's node adds."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.bodies import question
from clearwell.adapters.http.callers import Caller, group_in, running
from clearwell.adapters.http.inputs import ContextInput, Format, NodeInput
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.context import ContextAnswer, NodeAnswer

router = APIRouter(tags=["context"])

CONTEXTS = {
    "one": {
        "group_id": "grp-123",
        "agent_id": "risk-auditor",
        "proposal": "提案：把支付网关迁移到新集群，周五晚上切换。请评估风险。",
        "max_tokens": 2000,
        "language": "zh",
    }
}
NODES = {
    "one": {
        "group_id": "grp-123",
        "input": {"topic": "支付网关的迁移", "session_id": "s-9"},
        "options": {"max_results": 5, "relevance_threshold": 0.7, "include_verdicts": True},
    }
}


@router.post(
    "/api/v1/context",
    summary="Build the context of an agent",
    description="Five sections in the protocol's order: the group's system prompt, the persona, group memory, the "
    "agent's own experience, the proposal. Memories stand in fences as data and never in the system message. The "
    "report says what was included, cut and left out. The scope read is needed.",
    responses=openapi.responses({200: ("The context.", [ContextAnswer])}, openapi.QUERIES),
    openapi_extra=openapi.body(ContextInput, examples=CONTEXTS),
)
async def build(request: Request, caller: Caller) -> Response:
    asked = await question(request, ContextInput)
    wanted = asked.request(language_of(request))
    built = await running(request).memory.build_context(group_in(asked, caller), wanted, by=caller)
    text, messages = asked.format is not Format.MESSAGES, asked.format is not Format.TEXT
    return answers.answer(answers.context(built, wanted.language, text=text, messages=messages))


@router.post(
    "/api/v1/nodes/memory_retrieval",
    summary="Run the memory-retrieval node",
    description="The state comes back with history_context added. Where memory cannot be asked the history is empty, "
    "and the event memory_retrieval_error says why. The output is not captured. The scope read is needed.",
    responses=openapi.responses({200: ("The state, and what happened.", [NodeAnswer])}, openapi.QUERIES),
    openapi_extra=openapi.body(NodeInput, examples=NODES),
)
async def retrieval_node(request: Request, caller: Caller) -> Response:
    asked = await question(request, NodeInput)
    language = language_of(request) if asked.language is None else asked.language.value
    node = running(request).memory.retrieval_node(
        group_in(asked, caller), by=caller, options=asked.options.record(), language=language
    )
    return answers.answer(answers.node_run(await node.run(asked.input)))
