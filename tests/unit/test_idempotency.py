"""Calls of the library that are repeated with the same idempotency key."""

from dataclasses import replace

import pytest

from clearwell.errors import IdempotencyMismatch, InvalidInput
from clearwell.records import NewMemory
from tests.path import AGENT, LONG, OTHER, Path, said


async def test_a_capture_is_stored_once() -> None:
    path = Path()
    first = await path.memory.capture(said(confidence=0.9), idempotency_key="k")
    again = await path.memory.capture(said(confidence=0.9), wait=True, idempotency_key="k")
    assert (first.id, first.replayed, again.replayed) == (again.id, False, True)
    assert len(path.quarantine.rows["g"]) == 1


async def test_another_call_with_the_key_is_refused() -> None:
    path = Path()
    await path.memory.capture(said(), idempotency_key="k")
    for other in (said(OTHER), said(confidence=0.5), replace(said(), partial=True)):
        with pytest.raises(IdempotencyMismatch):
            await path.memory.capture(other, idempotency_key="k")


async def test_callers_and_methods_have_keys_of_their_own() -> None:
    path = Path()
    receipt = await path.memory.capture(said(), idempotency_key="k")
    other = await path.memory.acting_as(AGENT).capture(said(), idempotency_key="k")
    promoted = await path.memory.promote(LONG, group="g", idempotency_key="k")
    assert receipt.id != other.id
    again = await path.memory.promote(LONG, group="g", idempotency_key="k")
    assert (again.decision_id, again.replayed) == (promoted.decision_id, True)
    with pytest.raises(IdempotencyMismatch):
        await path.memory.promote(LONG, group="other", idempotency_key="k")


async def test_a_batch_is_done_once() -> None:
    path = Path()
    texts = [NewMemory(content=LONG, metadata={"b": 1, "a": [2]}), NewMemory(content=OTHER)]
    same = [NewMemory(content=LONG, metadata={"a": [2], "b": 1}), NewMemory(content=OTHER)]
    first = await path.memory.promote_many(texts, group="g", idempotency_key="k")
    again = await path.memory.promote_many(same, group="g", idempotency_key="k")
    assert [one.id for one in first if not isinstance(one, Exception)] == [
        one.id for one in again if not isinstance(one, Exception)
    ]


async def test_a_key_that_no_header_can_hold_is_refused() -> None:
    for key in ("", "ключ", "k" * 256):
        with pytest.raises(InvalidInput, match="idempotency_key"):
            await Path().memory.capture(said(), idempotency_key=key)
