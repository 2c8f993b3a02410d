"""A request that is repeated with the same Idempotency-Key gets the first answer and is not executed again."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from clearwell.errors import ClearwellError
from clearwell.ports import Claim, IdempotencyStore
from clearwell.records import IdempotencyKey, Json

T = TypeVar("T")


async def run_with_claim(
    store: IdempotencyStore,
    request: IdempotencyKey | None,
    act: Callable[[Claim | None], Awaitable[T]],
    *,
    replay: Callable[[Json], T],
) -> T:
    """Run ``act``, or return the stored answer of an earlier run as ``replay`` reads it.

    ``act`` stores the answer for its claim itself, in the transaction of what it changes.
    """
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


async def run_once(store: IdempotencyStore, request: IdempotencyKey | None, act: Callable[[], Awaitable[Json]]) -> Json:
    """Run ``act`` and store its answer, or return the stored answer of an earlier run.

    For acts that can be repeated without effect: a crash after the act and before its answer is stored does no harm.
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


async def run_each_once(
    store: IdempotencyStore,
    request: IdempotencyKey | None,
    acts: Sequence[Callable[[], Awaitable[T]]],
    *,
    keep: Callable[[T], Json],
    replay: Callable[[Json], T | ClearwellError],
) -> list[T | ClearwellError]:
    """Run several acts in order; a result or an error in the place of each.

    ``keep`` turns a result into what is stored, ``replay`` turns that into a result again. Of an error only its code
    is stored.
    """
    problems: dict[int, ClearwellError] = {}

    async def run_all() -> Json:
        answers: list[Json] = []
        for number, act in enumerate(acts):
            try:
                answers.append(keep(await act()))
            except ClearwellError as problem:
                problems[number] = problem
                answers.append({"problem": problem.code})
        return answers

    stored = await run_once(store, request, run_all)
    answers = stored if isinstance(stored, list) else []
    return [problems.get(number) or replay(answer) for number, answer in enumerate(answers)]
