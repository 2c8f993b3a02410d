"""A request that is repeated with the same Idempotency-Key is answered, and not done again."""

from collections.abc import Awaitable, Callable

from clearwell.ports import Claim, IdempotencyStore
from clearwell.records import IdempotencyKey, Json


async def once(store: IdempotencyStore, request: IdempotencyKey | None, act: Callable[[], Awaitable[Json]]) -> Json:
    """Do it and keep the answer, or give the answer that was kept.

    For acts that change nothing when they are done again: a crash between the act and the keeping is then harmless.
    """
    if request is None:
        return await act()
    claim = await store.claim(request)
    if not isinstance(claim, Claim):
        return claim
    try:
        answer = await act()
    except BaseException:
        await store.release(claim)
        raise
    await store.complete(claim, answer)
    return answer
