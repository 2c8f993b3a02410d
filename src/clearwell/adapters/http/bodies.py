"""A request's body: read up to its limit, and as JSON.

JSON is read by Python's own parser, which takes NaN and Infinity: a confidence of NaN is the filter's to judge.
"""

import json
from hashlib import sha256
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from clearwell.adapters.http import flaws
from clearwell.adapters.http.callers import running
from clearwell.adapters.http.problems import Malformed, WrongContentType, shown
from clearwell.errors import InvalidInput, TooLarge
from clearwell.flow.limits import require_key, require_unicode
from clearwell.records import IdempotencyKey, Principal

JSON = "application/json"
BATCHES = ("captures", "items")
Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, *, max_bytes: int) -> bytes:
    """The whole body, whether its length was announced or not."""
    _require_json(request)
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > max_bytes:
        raise TooLarge("http_body_large", field="body", limit=max_bytes)
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > max_bytes:
                raise TooLarge("http_body_large", field="body", limit=max_bytes)
            parts.append(part)
    except ClientDisconnect as error:
        raise Malformed("http_body_broken_off") from error
    return b"".join(parts)


def _require_json(request: Request) -> None:
    found = request.headers.get("content-type", "")
    if found.partition(";")[0].strip().lower() != JSON:
        raise WrongContentType("http_body_type", found=shown(found) or "?")
    coding = request.headers.get("content-encoding", "identity")
    if coding.strip().lower() != "identity":
        raise WrongContentType("http_body_encoded", found=shown(coding))


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a body."""
    if not body.strip():
        raise Malformed("http_body_empty")
    try:
        value = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Malformed("http_body_not_utf8") from error
    except json.JSONDecodeError as error:
        raise Malformed("http_body_not_json", line=error.lineno, column=error.colno) from error
    except RecursionError as error:
        raise Malformed("http_body_deep") from error
    except ValueError as error:  # a number of more digits than Python reads
        raise Malformed("http_body_number") from error
    if not isinstance(value, dict):
        raise InvalidInput("http_body_not_object", field="body")
    return value


def fitted(model: type[Model], value: dict[str, Any]) -> Model:
    """The value as this model. Raises WrongStructure, or InvalidInput for what is no Unicode.

    The items of a batch are looked at one by one, where each has its problem in its place.
    """
    require_unicode({name: inner for name, inner in value.items() if name not in BATCHES})
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise flaws.of_body(error) from error


async def given(
    request: Request, caller: Principal, model: type[Model], *, may_be_empty: bool = False
) -> tuple[Model, IdempotencyKey | None]:
    """What a request says by this model, and by what name it may be repeated."""
    body = await read_body(request, max_bytes=running(request).settings.max_body_bytes)
    value = {} if may_be_empty and not body.strip() else parse_object(body)
    return fitted(model, value), idempotency_key(request, caller, body)


async def question(request: Request, model: type[Model]) -> Model:
    """The same of a request that changes nothing."""
    body = await read_body(request, max_bytes=running(request).settings.max_body_bytes)
    return fitted(model, parse_object(body))


def idempotency_key(request: Request, caller: Principal, body: bytes) -> IdempotencyKey | None:
    """The caller's promise that a repeated request is the same one, where it gave any."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    return IdempotencyKey(
        principal=caller.name,
        route=f"{request.method} {request.scope['path']}",
        key=require_key(key.strip()),
        request_hash=sha256(body).digest(),
    )
