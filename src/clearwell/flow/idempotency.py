"""A request that is repeated with the same Idempotency-Key gets the first answer and is not executed again."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from typing import TypeAlias

from clearwell.flow.limits import require_key
from clearwell.ports import Claim, IdempotencyStore
from clearwell.records import IdempotencyKey, Json, Principal

CallKey: TypeAlias = str | IdempotencyKey | None
"""The key of a call that may be repeated: a text of the caller's. The HTTP adapter, which hashes the body as it was
received, identifies the request itself."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer that the first run of a repeated request stored."""

    value: Json


@asynccontextmanager
async def claim_key(
    store: IdempotencyStore, request: IdempotencyKey | None
) -> AsyncIterator[Claim | StoredAnswer | None]:
    """Hold the key of a request while it runs; a request that raises releases its key.

    Yields None for a request without a key, the stored answer for one that was answered before, and a claim for a
    new one. Who holds the claim stores the answer: in the transaction of what is done, or with ``complete`` where
    doing it again would change nothing.
    """
    if request is None:
        yield None
        return
    claim = await store.claim(request)
    if not isinstance(claim, Claim):
        yield StoredAnswer(claim)
        return
    try:
        yield claim
    except BaseException:
        await store.release(claim)
        raise


async def run_once(store: IdempotencyStore, request: IdempotencyKey | None, act: Callable[[], Awaitable[Json]]) -> Json:
    """Run ``act`` and store its answer, or return the stored answer of an earlier run.

    For acts that can be repeated without effect: a crash after the act and before its answer is stored does no harm.
    """
    async with claim_key(store, request) as claim:
        if isinstance(claim, StoredAnswer):
            return claim.value
        answer = await act()
        if claim is not None:
            await store.complete(claim, answer)
        return answer


def identify_call(key: CallKey, *, by: Principal, method: str, arguments: Sequence[object]) -> IdempotencyKey | None:
    """Identify a call of a method by its caller, its key and a hash of its arguments. Raises InvalidInput."""
    if key is None or isinstance(key, IdempotencyKey):
        return key
    return IdempotencyKey(
        principal=by.name,
        route=method,
        key=require_key(key, "idempotency_key"),
        request_hash=sha256(json.dumps(_make_canonical(arguments)).encode()).digest(),
    )


def _make_canonical(value: object) -> object:
    """Reduce a value to lists and texts, so that equal arguments have equal hashes in any process."""
    if is_dataclass(value):
        return [[field.name, _make_canonical(getattr(value, field.name))] for field in fields(value)]
    if isinstance(value, Mapping):
        return sorted(
            ([str(name), _make_canonical(inner)] for name, inner in value.items()), key=lambda pair: str(pair[0])
        )
    if isinstance(value, list | tuple):
        return [_make_canonical(inner) for inner in value]
    return str(value) if isinstance(value, str) else repr(value)
