"""Tier 1, the agent's side: take outputs of nodes into quarantine."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.bodies import fitted, idempotency_key, parse_object, read_body
from clearwell.adapters.http.callers import Caller, running
from clearwell.adapters.http.inputs import CaptureBatch, CaptureInput, CaptureParameters
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.quarantine import CaptureAnswer, CaptureBatchAnswer
from clearwell.records import Admission

router = APIRouter(tags=["captures"])

EXAMPLES = {
    "one": {
        "group_id": "grp-123",
        "session_id": "s-1",
        "node_id": "n-7",
        "node_type": "agent",
        "agent_id": "risk-auditor",
        "content": "评审发现：支付网关在并发超过五百时出现超时，建议上线前扩容并补充压测报告。",
        "metadata": {"confidence": 0.92},
    },
    "many": {
        "captures": [
            {
                "group_id": "grp-123",
                "content": "The vendor confirmed delivery of all forty sensors before the first of March.",
                "metadata": {"confidence": 0.9},
            },
            {"group_id": "grp-123", "content": "好的"},
        ]
    },
}


@router.post(
    "/api/v1/captures",
    summary="Keep an output of a node",
    description="Committed to quarantine when this answers. The ingress filter then decides whether it enters working "
    "memory. With captures: [...] up to 1,000 at once; each is kept, or has its problem in its place.",
    status_code=201,
    responses=openapi.responses(
        {
            201: ("Kept.", [CaptureAnswer]),
            202: ("Kept; with wait=true, its admission has not ended yet.", [CaptureAnswer]),
            200: ("A batch, with one result for each capture.", [CaptureBatchAnswer]),
        },
        openapi.WRITES,
    ),
    openapi_extra=openapi.body(CaptureInput, CaptureBatch, examples=EXAMPLES),
)
async def capture(request: Request, caller: Caller, parameters: Annotated[CaptureParameters, Query()]) -> Response:
    memory, settings = running(request).memory, running(request).settings
    body = await read_body(request, max_bytes=settings.max_body_bytes)
    value, language = parse_object(body), language_of(request)
    key = idempotency_key(request, caller, body)
    if "captures" in value:
        news = [one.record() for one in fitted(CaptureBatch, value).captures]
        results = await memory.capture_many(news, by=caller, wait=parameters.wait, request=key)
        rendered = [answers.receipt_or_problem(one, language) for one in results]
        return answers.answer({"results": rendered}, headers=answers.replay_mark(results))
    new = fitted(CaptureInput, value).record()
    receipt = await memory.capture(new, by=caller, wait=parameters.wait, request=key)
    unsettled = parameters.wait and receipt.admission is Admission.PENDING
    return answers.answer(answers.receipt(receipt, language), 202 if unsettled else 201, answers.replay_mark([receipt]))
