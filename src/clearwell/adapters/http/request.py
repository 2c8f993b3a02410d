"""A request of the API as its route receives it: who asks, in which language, and the body up to its limit.

FastAPI reads every body itself, by the model that the route names. It reads it from an ``ApiRequest``, which refuses
what FastAPI has no words for: a body of another type or above its limit, text that is not JSON, a name that occurs
twice in an object, a lone surrogate. JSON is read by Python's own parser, which accepts NaN and Infinity: the
ingress pipeline judges a confidence of NaN.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cached_property, partial
from hashlib import sha256
from typing import Annotated, Any, Final, cast, get_args, get_origin, get_type_hints
from uuid import UUID

from fastapi import Request
from fastapi.params import Query as QueryMark
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response

from clearwell.adapters.http.callers import identify, read_turn_key
from clearwell.adapters.http.fields import GroupedBody
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.problems import HttpRefusal, Malformed, WrongContentType
from clearwell.app import Clearwell
from clearwell.errors import (
    ClearwellError,
    Flaw,
    InvalidInput,
    NotAllowed,
    TooLarge,
    Unauthenticated,
    WrongStructure,
)
from clearwell.flow.limits import require_key, require_unicode
from clearwell.flow.review import ReviewService
from clearwell.messages import Language
from clearwell.records import CaptureReceipt, DecisionResult, IdempotencyKey, Principal, PromotionResult
from clearwell.service import MemoryManager
from clearwell.views.flaws import make_printable

JSON = "application/json"
BATCHES = ("captures", "items")
"""Fields whose items are checked one by one, so that each one can have its own problem."""
STANDING_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
REPLAYED = "Idempotency-Replayed"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class TextConvertor(Convertor[str]):
    """A part of an address that may be any text. Starlette's ``path`` does not match a line break."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


MAX_VALUES: Final = 100_000
"""Values in one body. The largest batch has a hundred texts, each with at most 64 KiB of metadata."""
_BEFORE_VALUES: Final = (b",", b"{", b"[")
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')

register_url_convertor("text", TextConvertor())


def get_program(request: HTTPConnection) -> Clearwell:
    """Everything that the lifespan opened."""
    return cast(Clearwell, request.app.state.clearwell)


class ApiRequest(Request):
    """A request whose caller is known and whose body was read."""

    caller: Principal
    _received: bytes = b""
    _content: bytes = b""
    _value: object = None

    @cached_property
    def clearwell(self) -> Clearwell:
        return get_program(self)

    @cached_property
    def memory(self) -> MemoryManager:
        """The memory manager of the caller."""
        return self.clearwell.memory.acting_as(self.caller)

    @cached_property
    def review(self) -> ReviewService:
        """The review service of the caller."""
        return self.memory.review

    @cached_property
    def language(self) -> Language:
        return language_of(self)

    async def body(self) -> bytes:
        return self._content

    async def json(self) -> Any:
        return self._value

    async def authenticate(self, *, again: bool = False) -> None:
        """Identify the caller. Raises Unauthenticated or NotAllowed."""
        self.caller = await identify(self, self.clearwell, counts=not again)

    async def read(self, *, may_be_blank: bool) -> None:
        """Read the body as a JSON object, a blank one as ``{}`` where it may be blank."""
        _require_json(self)
        self._received = await self.receive_all()
        self._content = b"{}" if may_be_blank and not self._received.strip() else self._received
        self._value = parse_object(self._content)

    async def receive_all(self) -> bytes:
        """The whole body. A caller whose body came in several parts is identified again: a key may be revoked since."""
        settings = self.clearwell.settings
        try:
            async with asyncio.timeout(settings.body_seconds):
                parts = await self._receive_parts(settings.max_body_bytes)
        except TimeoutError as error:
            raise HttpRefusal("http_body_slow", 408, {"Connection": "close"}, seconds=settings.body_seconds) from error
        if len(parts) > 1 and self.caller.rights:
            await self.authenticate(again=True)
        return b"".join(parts)

    async def _receive_parts(self, max_bytes: int) -> list[bytes]:
        """The parts of the body, whether its length was announced or not."""
        announced = self.headers.get("content-length", "")
        if announced.isascii() and announced.isdigit() and int(announced[:20]) > max_bytes:
            raise TooLarge("http_body_large", field="body", limit=max_bytes)
        parts: list[bytes] = []
        size = 0
        try:
            async for part in self.stream():
                size += len(part)
                if size > max_bytes:
                    raise TooLarge("http_body_large", field="body", limit=max_bytes)
                if part:
                    parts.append(part)
        except ClientDisconnect as error:
            raise Malformed("http_body_broken_off") from error
        return parts

    @property
    def idempotency_key(self) -> IdempotencyKey | None:
        """The Idempotency-Key of the request, if it has one."""
        key = self.headers.get("idempotency-key")
        if key is None:
            return None
        return IdempotencyKey(
            principal=self.caller.name,
            route=f"{self.method} {self.scope['path']}",
            key=require_key(key.strip()),
            request_hash=sha256(self._received).digest(),
        )

    def group(self, named: GroupedBody) -> str:
        """The group that was named, or the only one of the key. Raises WrongStructure if there is neither."""
        group = named.named_group if named.named_group is not None else self._only_group()
        if group is None:
            raise WrongStructure([Flaw("http_group_which", "group_id")])
        return group

    def group_or_installation(self, named: GroupedBody) -> str | None:
        """The group that was named, or the only one of the key; None, which is the whole installation, without both."""
        return named.named_group if named.named_group is not None else self._only_group()

    async def group_of(self, kind: str, row_id: UUID, named: GroupedBody) -> str:
        """The group of something that is named by its id; looked up if it was omitted."""
        if named.named_group is not None:
            return named.named_group
        return await self.review.group_of(kind, row_id)

    async def key_names(self) -> Mapping[str, str]:
        """What keys are called, by how their holders are recorded."""
        return await self.clearwell.keys.list_names()

    def _only_group(self) -> str | None:
        groups = self.caller.groups or frozenset()
        return next(iter(groups)) if len(groups) == 1 else None


def mark_replay(
    response: Response, results: Sequence[CaptureReceipt | PromotionResult | DecisionResult | ClearwellError]
) -> None:
    """Say in a header that all of this was done by an earlier request with the same key."""
    done = [result for result in results if not isinstance(result, ClearwellError)]
    if done and all(result.replayed for result in done):
        response.headers[REPLAYED] = "true"


class PlainRoute(APIRoute):
    """A route that needs no key and whose answers are not cached."""

    def get_route_handler(self) -> Handler:
        return partial(self.answer, super().get_route_handler())

    async def answer(self, handler: Handler, request: Request) -> Response:
        """Have FastAPI validate the request, call the endpoint and write its view as JSON."""
        response = await handler(request)
        response.headers.raw.extend(STANDING_HEADERS)
        return response


class ApiRoute(PlainRoute):
    """A route of the API: a request waits for its turn, then the caller is identified, then the body is read."""

    async def answer(self, handler: Handler, request: Request) -> Response:
        received = ApiRequest(request.scope, request.receive)
        async with received.clearwell.turns.take(read_turn_key(received)):
            return await self._answer(handler, received)

    @cached_property
    def repeatable(self) -> frozenset[str]:
        """The query parameters that are lists, and may occur several times."""
        return find_lists(self.endpoint)

    async def _answer(self, handler: Handler, received: ApiRequest) -> Response:
        try:
            await received.authenticate()
        except (Unauthenticated, NotAllowed) as refusal:
            received.clearwell.gate.record_stranger(refusal)
            raise
        _require_single(received, self.repeatable)
        if self.body_field is not None:
            model = self.body_field.field_info.annotation
            await received.read(may_be_blank=getattr(model, "may_be_blank", False))
        return await super().answer(handler, received)


def find_lists(endpoint: Callable[..., object]) -> frozenset[str]:
    """The names of the query parameters of an endpoint that are lists, in its models of query strings."""
    found: set[str] = set()
    for hint in get_type_hints(endpoint, include_extras=True).values():
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if any(isinstance(mark, QueryMark) for mark in marks) and issubclass(kind, BaseModel):
            fields = kind.model_fields.items()
            found |= {field.alias or name for name, field in fields if _is_list(field.annotation)}
    return frozenset(found)


def _is_list(kind: object) -> bool:
    return get_origin(kind) is list or any(map(_is_list, get_args(kind)))


def _require_single(request: Request, repeatable: frozenset[str]) -> None:
    """Refuse a query parameter that occurs twice and is no list: which value was meant cannot be known."""
    counted = Counter(name for name, _ in request.query_params.multi_items())
    for name, times in counted.items():
        if times > 1 and name not in repeatable:
            raise InvalidInput("http_query_name_twice", field=make_printable(name), name=make_printable(name))


def _require_json(request: Request) -> None:
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != JSON:
        raise WrongContentType("http_body_type", found=make_printable(kind) or "?")
    coding = request.headers.get("content-encoding", "identity")
    if coding.strip().lower() != "identity":
        raise WrongContentType("http_body_encoded", found=make_printable(coding))


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises Malformed for a name that occurs twice: which value was meant cannot be known."""
    made = dict(pairs)
    if len(made) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise Malformed("http_body_name_twice", name=make_printable(twice))
    return made


def _require_few_values(body: bytes) -> None:
    """Refuse a body of very many values: nothing else runs while it is parsed. Raises TooLarge."""
    if sum(map(body.count, _BEFORE_VALUES)) <= MAX_VALUES:
        return
    if sum(map(_STRING.sub(b"", body).count, _BEFORE_VALUES)) > MAX_VALUES:
        raise TooLarge("http_body_values", field="body", limit=MAX_VALUES)


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse the JSON object of a body. Raises Malformed, TooLarge, or InvalidInput if it is no object or no Unicode."""
    if not body.strip():
        raise Malformed("http_body_empty")
    _require_few_values(body)
    try:
        value = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_make_object)
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
    if b"\\u" in body:  # no other way leads to a lone surrogate
        require_unicode({name: inner for name, inner in value.items() if name not in BATCHES})
    return value
