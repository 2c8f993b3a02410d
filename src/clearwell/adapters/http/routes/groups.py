"""What a group and its agents are told. The context builder reads it; an administrator writes it."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.bodies import given, idempotency_key
from clearwell.adapters.http.callers import Caller, running
from clearwell.adapters.http.inputs import AgentInput, GroupInput
from clearwell.adapters.http.schemas.groups import AgentAnswer, AgentNameAnswer, AgentsAnswer, GroupAnswer, GroupsAnswer

router = APIRouter(tags=["groups and agents"])

GROUP = {
    "one": {
        "system_prompt": "你们是支付平台的架构评审组。结论须有依据，意见不一致时写明分歧。",
        "digest_cron": "0 6 * * 1",
        "digest_zone": "Asia/Shanghai",
    }
}
AGENT = {"one": {"persona": "你是风险审计员，先找会出错的地方，再谈收益。"}}


@router.get(
    "/api/v1/groups",
    summary="List groups",
    description="The described groups that the key covers. The scope read, review or admin is needed.",
    responses=openapi.responses({200: ("The groups.", [GroupsAnswer])}, openapi.READS),
)
async def groups(request: Request, caller: Caller) -> Response:
    found = await running(request).memory.groups(by=caller)
    return answers.answer({"groups": [answers.group(one) for one in found]})


@router.get(
    "/api/v1/groups/{group_id:path}/agents",
    summary="List a group's agents",
    description="With a key that is bound to an agent: that one only. The scope read or admin is needed.",
    responses=openapi.responses({200: ("The agents.", [AgentsAnswer])}, openapi.READS),
)
async def agents(request: Request, caller: Caller, group_id: str) -> Response:
    found = await running(request).memory.agents(group_id, by=caller)
    return answers.answer({"agents": [answers.agent(one) for one in found]})


@router.get(
    "/api/v1/groups/{group_id:path}/agents/{agent_id:path}",
    summary="Read an agent's persona",
    description="The scope read or admin is needed.",
    responses=openapi.responses({200: ("The agent.", [AgentAnswer])}, (*openapi.READS, 404)),
)
async def agent(request: Request, caller: Caller, group_id: str, agent_id: str) -> Response:
    return answers.answer(answers.agent(await running(request).memory.agent(group_id, agent_id, by=caller)))


@router.put(
    "/api/v1/groups/{group_id:path}/agents/{agent_id:path}",
    summary="Say who an agent is to be",
    description="The scope admin is needed.",
    responses=openapi.responses({200: ("The agent.", [AgentAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(AgentInput, examples=AGENT),
)
async def put_agent(request: Request, caller: Caller, group_id: str, agent_id: str) -> Response:
    wanted, key = await given(request, caller, AgentInput)
    put = await running(request).memory.put_agent(group_id, agent_id, wanted.persona, by=caller, request=key)
    return answers.answer(answers.agent(put))


@router.delete(
    "/api/v1/groups/{group_id:path}/agents/{agent_id:path}",
    summary="Remove an agent's persona",
    description="What the agent said and learnt stays. The scope admin is needed.",
    responses=openapi.responses({200: ("It is gone.", [AgentNameAnswer])}, (*openapi.READS, 404, 409)),
)
async def remove_agent(request: Request, caller: Caller, group_id: str, agent_id: str) -> Response:
    key = idempotency_key(request, caller, b"")
    await running(request).memory.remove_agent(group_id, agent_id, by=caller, request=key)
    return answers.answer({"group_id": group_id, "agent_id": agent_id})


@router.get(
    "/api/v1/groups/{group_id:path}",
    summary="Read a group's prompt and schedule",
    description="A group that nobody has described has an empty prompt. The scope read or admin is needed.",
    responses=openapi.responses({200: ("The group.", [GroupAnswer])}, openapi.READS),
)
async def group(request: Request, caller: Caller, group_id: str) -> Response:
    return answers.answer(answers.group(await running(request).memory.group(group_id, by=caller)))


@router.put(
    "/api/v1/groups/{group_id:path}",
    summary="Describe a group",
    description="A field that is left out stays as it is; null empties it. The scope admin is needed.",
    responses=openapi.responses({200: ("The group.", [GroupAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(GroupInput, examples=GROUP),
)
async def change(request: Request, caller: Caller, group_id: str) -> Response:
    wanted, key = await given(request, caller, GroupInput)
    changed = await running(request).memory.change_group(group_id, wanted.change(), by=caller, request=key)
    return answers.answer(answers.group(changed))
