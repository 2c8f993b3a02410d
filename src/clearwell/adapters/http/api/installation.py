"""The installation: keys, settings, and the demo meeting. Only an operator of every group may ask."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.demo import DemoRunner
from clearwell.adapters.http.fields import RequestBody
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.records import Right
from clearwell.views.groups import IdView
from clearwell.views.installation import DemoView, KeysView, NewKeyView, SettingsView

router = APIRouter(route_class=ApiRoute)

KEYS, INSTALLATION = "keys", "installation"
OPERATOR = "Requires the scope admin in every group; never with the key of an agent."


class KeyInput(RequestBody):
    """What a new key may do, and where."""

    scopes: list[Annotated[Right, Field(strict=False)]] = Field(description="capture, read, review, admin")
    groups: list[str] | None = Field(description="the groups that the key covers; null: every group")
    agent_id: str | None = Field(None, description="bind the key to this agent; not with review or admin")
    name: str | None = Field(None, description="a name for people; the scopes by default")


KEY_EXAMPLES = openapi.examples(one={"scopes": ["capture", "read"], "groups": ["grp-123"], "agent_id": "risk-auditor"})


@router.get(
    "/api/v1/keys",
    tags=[KEYS],
    summary="List the keys",
    description=f"All keys without their secrets, the revoked ones included. {OPERATOR}",
    response_description="The keys.",
    responses=openapi.problems(*openapi.READS),
)
async def keys(request: ApiRequest) -> KeysView:
    return KeysView.from_records(await request.clearwell.keys.read_all(by=request.caller))


@router.post(
    "/api/v1/keys",
    tags=[KEYS],
    summary="Create a key",
    description="Its secret is in this answer and nowhere else. The first key ends local mode: give it the scopes "
    f"read, review and admin. {OPERATOR}",
    status_code=201,
    response_description="The key with its secret.",
    responses=openapi.problems(*openapi.WRITES),
)
async def create_key(
    request: ApiRequest, wanted: Annotated[KeyInput, Body(openapi_examples=KEY_EXAMPLES)]
) -> NewKeyView:
    rights = frozenset(wanted.scopes)
    key, secret = await request.clearwell.keys.create(
        name=wanted.name or "+".join(sorted(rights)),
        rights=rights,
        groups=None if wanted.groups is None else frozenset(wanted.groups),
        agent_id=wanted.agent_id,
        by=request.caller,
    )
    return NewKeyView.from_record(key, secret)


@router.post(
    "/api/v1/keys/{id}/revoke",
    tags=[KEYS],
    summary="Revoke a key",
    description=f"It is refused from now on, and cannot be restored. {OPERATOR}",
    response_description="The key is revoked.",
    responses=openapi.problems(*openapi.WRITES, 404),
)
async def revoke_key(request: ApiRequest, key_id: Annotated[UUID, Path(alias="id")]) -> IdView:
    await request.clearwell.keys.revoke(key_id, by=request.caller)
    return IdView(id=key_id)


@router.get(
    "/api/v1/settings",
    tags=[INSTALLATION],
    summary="Read the settings in force",
    description=f"Without passwords and keys. {OPERATOR}",
    response_description="The settings.",
    responses=openapi.problems(*openapi.READS),
)
async def settings(request: ApiRequest) -> SettingsView:
    await request.clearwell.keys.require_operator(request.caller, "read settings")
    return SettingsView.from_settings(request.clearwell.settings)


@router.post(
    "/api/v1/demo",
    tags=[INSTALLATION],
    summary="Run the demo meeting",
    description="The meeting of clearwell demo, in the background and in a new group. If one is being held, the answer "
    f"has its group. {OPERATOR}",
    status_code=202,
    response_description="The group of the meeting, which can be followed.",
    responses=openapi.problems(*openapi.WRITES),
)
async def run_demo(request: ApiRequest) -> DemoView:
    await request.clearwell.keys.require_operator(request.caller, "run demo")
    runner: DemoRunner = request.app.state.demo
    return DemoView(group_id=runner.start(request.language))
