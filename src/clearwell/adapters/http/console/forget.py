"""Forget: a preview of everything that is erased, a confirmation by the number of things, and the receipt."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Optional
from clearwell.adapters.http.console.inbox import read_id
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.errors import InvalidInput
from clearwell.records import ForgetSelector
from clearwell.views.erasure import ForgetPreviewView, ForgetReceiptView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

KINDS = ("subject", "session", "agent", "quarantine", "memory", "group")
Kind = Literal["subject", "session", "agent", "quarantine", "memory", "group"]


class Target(BaseModel):
    """What to forget, as the form of the page names it."""

    model_config = ConfigDict(frozen=True)

    kind: Kind = "subject"
    value: Optional[str] = None

    def to_selector(self, group: str) -> ForgetSelector:
        """Raises InvalidInput where the value does not fit. A whole group is named once more, as its confirmation."""
        value = (self.value or "").strip()
        match self.kind:
            case "quarantine":
                return ForgetSelector(log_id=_require_id(value))
            case "memory":
                return ForgetSelector(memory_id=_require_id(value))
            case "session":
                return ForgetSelector(session_id=value)
            case "agent":
                return ForgetSelector(agent_id=value)
            case "subject":
                return ForgetSelector(subject=value)
            case "group":
                if value != group:
                    raise InvalidInput("console_forget_group", field="value", group=group)
                return ForgetSelector(everything=True)


@router.get("/g/{group:path}/forget")
async def forget(request: ConsoleRequest, group: str, target: Annotated[Target, Query()]) -> Response:
    """The form. The value is not in the address: it may be the name of a person."""
    await request.clearwell.gate.require_administrator(request.caller, group, "forget")
    return request.page("forget.html", group=group, target=target, kinds=KINDS, preview=None, problem=None)


@router.post("/g/{group:path}/forget/preview")
async def preview(request: ConsoleRequest, group: str) -> Response:
    target = Target.model_validate({"kind": request.sent.get("kind"), "value": request.sent.get("value")})
    plan = await request.memory.preview_forget(target.to_selector(group), group=group)
    return _show_preview(request, group, target, ForgetPreviewView.from_record(plan), None)


@router.post("/g/{group:path}/forget")
async def carry_out(request: ConsoleRequest, group: str) -> Response:
    """Erase what was previewed, if the number of things was typed. Sent again, it shows the same receipt."""
    target = Target.model_validate({"kind": request.sent.get("kind"), "value": request.sent.get("value")})
    selector = target.to_selector(group)
    typed = request.sent.get("things", "").strip()
    if not typed or typed != request.sent.get("expected"):
        plan = ForgetPreviewView.from_record(await request.memory.preview_forget(selector, group=group))
        return _show_preview(request, group, target, plan, typed)
    receipt = await request.memory.forget(selector, group=group, token=request.sent.get("token", ""))
    return request.page("forget_receipt.html", group=group, receipt=ForgetReceiptView.from_record(receipt))


def _show_preview(
    request: ConsoleRequest, group: str, target: Target, plan: ForgetPreviewView, typed: str | None
) -> Response:
    return request.page(
        "forget.html",
        group=group,
        status=200 if typed is None else 422,
        target=target,
        kinds=KINDS,
        preview=plan,
        problem=typed,
    )


def _require_id(value: str) -> UUID:
    found = read_id(value)
    if found is None:
        raise InvalidInput("console_forget_id", field="value", id=value)
    return found
