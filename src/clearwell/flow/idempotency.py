"""A request that is repeated with the same Idempotency-Key gets the first answer and is not executed again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from clearwell.ports import Claim, IdempotencyStore
from clearwell.records import IdempotencyKey, Json


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
