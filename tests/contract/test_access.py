"""Keys and idempotency."""

from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.errors import IdempotencyMismatch, RequestInProgress
from clearwell.ports import Claim, Stores
from clearwell.records import ApiKey, AuditEvent, Right
from clearwell.testing import ManualClock
from tests.contract.ports import START, request

KEY = ApiKey(
    id=UUID(int=1),
    name="bot",
    rights=frozenset({Right.READ, Right.CAPTURE}),
    groups=frozenset({"g", "组"}),
    agent_id="a1",
    created_at=START,
)
EVENT = AuditEvent(id=UUID(int=9), group_id="", at=START, actor="op", action="create key", subject="key")
REVOKED = AuditEvent(id=UUID(int=10), group_id="", at=START, actor="op", action="revoke key", subject="key")


async def test_a_key_is_found_by_its_hash_until_it_is_revoked(stores: Stores) -> None:
    assert not (await stores.keys.find(b"hash")).any_key_ever
    await stores.keys.add(KEY, b"hash", event=EVENT)
    assert (await stores.keys.find(b"hash")).key == KEY
    assert (await stores.keys.find(b"another")).key is None
    assert (await stores.keys.find(None)).key is None
    assert await stores.keys.revoke(KEY.id, at=START, event=REVOKED)
    lookup = await stores.keys.find(b"hash")
    assert lookup.key is None
    assert lookup.any_key_ever


async def test_revoking_twice_or_an_unknown_key_is_told(stores: Stores) -> None:
    await stores.keys.add(KEY, b"hash", event=EVENT)
    assert await stores.keys.revoke(KEY.id, at=START, event=REVOKED)
    second = AuditEvent(id=UUID(int=11), group_id="", at=START, actor="op", action="revoke key", subject="key")
    assert not await stores.keys.revoke(KEY.id, at=START, event=second)
    (listed,) = await stores.keys.all()
    assert listed.revoked_at == START


async def test_a_session_is_found_until_it_ends_or_its_key_is_revoked(stores: Stores) -> None:
    await stores.keys.add(KEY, b"hash", event=EVENT)
    end = START + timedelta(hours=1)
    await stores.keys.add_session(b"token", KEY.id, at=START, expires_at=end)
    assert (await stores.keys.find_session(b"token", at=START)).key == KEY
    assert (await stores.keys.find_session(b"another", at=START)).key is None
    assert (await stores.keys.find(b"token")).key is None, "a session is no key"
    assert (await stores.keys.find_session(b"token", at=end)).key is None
    assert await stores.keys.revoke(KEY.id, at=START, event=REVOKED)
    lookup = await stores.keys.find_session(b"token", at=START)
    assert lookup.key is None
    assert lookup.any_key_ever


async def test_a_removed_session_is_not_found_and_the_others_stay(stores: Stores) -> None:
    await stores.keys.add(KEY, b"hash", event=EVENT)
    for token in (b"one", b"two"):
        await stores.keys.add_session(token, KEY.id, at=START, expires_at=START + timedelta(hours=1))
    await stores.keys.remove_session(b"one")
    await stores.keys.remove_session(b"unknown")
    assert (await stores.keys.find_session(b"one", at=START)).key is None
    assert (await stores.keys.find_session(b"two", at=START)).key == KEY


async def test_a_claim_runs_once(stores: Stores) -> None:
    assert isinstance(await stores.idempotency.claim(request()), Claim)
    with pytest.raises(RequestInProgress):
        await stores.idempotency.claim(request())
    with pytest.raises(IdempotencyMismatch):
        await stores.idempotency.claim(request(body=b"other"))


async def test_a_released_claim_can_be_taken_again(stores: Stores) -> None:
    claim = await stores.idempotency.claim(request())
    assert isinstance(claim, Claim)
    await stores.idempotency.release(claim)
    assert isinstance(await stores.idempotency.claim(request()), Claim)


async def test_a_claim_of_a_dead_holder_can_be_taken_over(stores: Stores, clock: ManualClock) -> None:
    await stores.idempotency.claim(request())
    clock.forward(timedelta(minutes=3))
    assert isinstance(await stores.idempotency.claim(request()), Claim)


async def test_claims_of_different_callers_do_not_meet(stores: Stores) -> None:
    assert isinstance(await stores.idempotency.claim(request()), Claim)
    assert isinstance(await stores.idempotency.claim(request(principal="bob")), Claim)
