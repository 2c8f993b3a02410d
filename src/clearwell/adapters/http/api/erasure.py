"""Forget: preview and erase."""

from typing import Annotated

from fastapi import APIRouter, Body
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, Id
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.records import ForgetSelector
from clearwell.views.erasure import ForgetPreviewView, ForgetReceiptView

router = APIRouter(route_class=ApiRoute)

FORGET = "forget"
RIGHT = "Requires the scope admin; never with the key of an agent."


class ForgetPreviewInput(GroupedBody):
    """What to forget: exactly one of these."""

    log_id: Id | None = Field(None, description="an output, by its id in quarantine")
    session_id: str | None = Field(None, description="every output of a session")
    agent_id: str | None = Field(None, description="every output of an agent, and its persona")
    memory_id: Id | None = Field(None, description="a memory, with what it was made from")
    subject: str | None = Field(None, description="everything that contains this text, in any spelling")
    everything: bool = Field(False, description="the whole group")

    def to_selector(self) -> ForgetSelector:
        return ForgetSelector(
            log_id=self.log_id,
            session_id=self.session_id,
            agent_id=self.agent_id,
            memory_id=self.memory_id,
            subject=self.subject,
            everything=self.everything,
        )


class ForgetInput(ForgetPreviewInput):
    """What to forget, and the token of its preview."""

    token: str = Field(description="the token of the preview")


EXAMPLE = {"group_id": "grp-123", "session_id": "meeting-2026-11-03"}
PREVIEW_EXAMPLES = openapi.examples(one=EXAMPLE)
FORGET_EXAMPLES = openapi.examples(one={**EXAMPLE, "token": "4c1f7d…"})


@router.post(
    "/api/v1/forget/preview",
    tags=[FORGET],
    summary="Preview what forgetting would touch",
    description=f"Reads every text of the group and changes nothing. {RIGHT}",
    response_description="Everything that would be removed or emptied, by ids, and the token to do so.",
    responses=openapi.problems(*openapi.QUERIES),
)
async def preview_forget(
    request: ApiRequest, wanted: Annotated[ForgetPreviewInput, Body(openapi_examples=PREVIEW_EXAMPLES)]
) -> ForgetPreviewView:
    plan = await request.memory.preview_forget(wanted.to_selector(), group=request.group(wanted))
    return ForgetPreviewView.from_record(plan)


@router.post(
    "/api/v1/forget",
    tags=[FORGET],
    summary="Forget what was previewed",
    description="Erases it for good, in one transaction, and keeps its values from coming back. Outputs that "
    "came after the preview and match are erased with it. 409 if memories, insights, decisions or older outputs were "
    f"added; a repeated request gets the same receipt. {RIGHT}",
    response_description="The signed receipt, without anything of what was forgotten.",
    responses=openapi.problems(*openapi.WRITES),
)
async def forget(
    request: ApiRequest, wanted: Annotated[ForgetInput, Body(openapi_examples=FORGET_EXAMPLES)]
) -> ForgetReceiptView:
    receipt = await request.memory.forget(wanted.to_selector(), group=request.group(wanted), token=wanted.token)
    return ForgetReceiptView.from_record(receipt)
