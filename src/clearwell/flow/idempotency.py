"""A request that is repeated with the same Idempotency-Key is answered, and not done again."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from clearwell.errors import ClearwellError
from clearwell.ports import Claim, IdempotencyStore
from clearwell.records import IdempotencyKey, Json

T = TypeVar("T")


async def claimed(
    store: IdempotencyStore,
    request: IdempotencyKey | None,
    act: Callable[[Claim | None], Awaitable[T]],
    *,
    replay: Callable[[Json], T],
) -> T:
    """Do it, or give the answer that was kept. What is done keeps its answer itself, in its own transaction."""
    if request is None:
        return await act(None)
    claim = await store.claim(request)
    if not isinstance(claim, Claim):
        return replay(claim)
    try:
        return await act(claim)
    except BaseException:
        await store.release(claim)
        raise


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


async def each_once(
    store: IdempotencyStore,
    request: IdempotencyKey | None,
    acts: Sequence[Callable[[], Awaitable[T]]],
    *,
    keep: Callable[[T], Json],
    replay: Callable[[Json], T | ClearwellError],
) -> list[T | ClearwellError]:
    """Each by itself, in order: a result or a problem in its place. Of a problem only its name is kept."""
    problems: dict[int, ClearwellError] = {}

    async def act() -> Json:
        answers: list[Json] = []
        for number, one in enumerate(acts):
            try:
                answers.append(keep(await one()))
            except ClearwellError as problem:
                problems[number] = problem
                answers.append({"problem": problem.code})
        return answers

    stored = await once(store, request, act)
    found = stored if isinstance(stored, list) else []
    return [problems.get(number) or replay(one) for number, one in enumerate(found)]
