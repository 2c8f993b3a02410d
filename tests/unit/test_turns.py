"""Turns: a key alone is never held up; with others, and while the process is behind, it has its share."""

import asyncio
import time

import pytest

from clearwell.errors import TooManyRequests
from clearwell.flow.access import turns as module
from clearwell.flow.access.turns import RequestTurns

BUSY, OTHER = b"busy", b"other"


class Requests:
    """Requests that take a turn and keep it until they are told to end."""

    def __init__(self, turns: RequestTurns) -> None:
        self._turns = turns
        self.started = 0

    def send(self, key: bytes) -> tuple["asyncio.Task[None]", asyncio.Event]:
        end = asyncio.Event()
        return asyncio.create_task(self._run(key, end)), end

    async def _run(self, key: bytes, end: asyncio.Event) -> None:
        async with self._turns.take(key):
            self.started += key == BUSY
            await end.wait()


@pytest.fixture
def always_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATE_SECONDS", -1.0)


async def pass_time() -> None:
    """Let the process find out whether it is behind."""
    await asyncio.sleep(3 * module.TICK_SECONDS)


@pytest.mark.usefixtures("always_late")
async def test_a_key_that_asks_alone_is_not_held_up() -> None:
    requests = Requests(RequestTurns(1))
    sent = [requests.send(BUSY) for _ in range(50)]
    await pass_time()
    assert requests.started == 50
    for task, end in sent:
        end.set()
        await task


async def test_two_keys_are_not_held_up_while_the_process_keeps_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATE_SECONDS", 60.0)
    requests = Requests(RequestTurns(1))
    sent = [requests.send(key) for key in (OTHER, *[BUSY] * 20)]
    await pass_time()
    assert requests.started == 20
    for task, end in sent:
        end.set()
        await task


async def test_a_late_event_loop_leaves_each_key_one_request_at_a_time() -> None:
    turns = RequestTurns(10)
    requests = Requests(turns)
    other, end_other = requests.send(OTHER)
    first, end_first = requests.send(BUSY)
    await asyncio.sleep(0)
    time.sleep(module.TICK_SECONDS + 5 * module.LATE_SECONDS)  # noqa: ASYNC251 - this makes the loop late
    await asyncio.sleep(0.001)
    assert turns.behind
    second, end_second = requests.send(BUSY)
    beside, end_beside = requests.send(b"a third key")
    end_beside.set()
    await beside
    assert requests.started == 1
    end_first.set()
    await first
    end_second.set()
    await second
    assert requests.started == 2
    end_other.set()
    await other


async def test_the_share_grows_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATE_SECONDS", -1.0)
    turns = RequestTurns(10)
    requests = Requests(turns)
    other, end_other = requests.send(OTHER)
    first, end_first = requests.send(BUSY)
    await pass_time()
    second, end_second = requests.send(BUSY)
    await pass_time()
    assert (requests.started, turns.behind) == (1, True)
    monkeypatch.setattr(module, "LATE_SECONDS", 60.0)
    async with asyncio.timeout(10):
        while requests.started < 2:
            await pass_time()
    for task, end in ((other, end_other), (first, end_first), (second, end_second)):
        end.set()
        await task


@pytest.mark.usefixtures("always_late")
async def test_too_many_waiting_requests_are_refused() -> None:
    turns = RequestTurns(1)
    requests = Requests(turns)
    sent = [requests.send(OTHER), requests.send(BUSY)]
    await pass_time()
    sent.append(requests.send(BUSY))
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests) as refused:
        async with turns.take(BUSY):
            pass
    assert refused.value.code == "key_turns_full"
    for task, end in sent:
        end.set()
        await task
    assert requests.started == 2


@pytest.mark.usefixtures("always_late")
async def test_a_turn_that_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT_SECONDS", 0.05)
    turns = RequestTurns(1)
    requests = Requests(turns)
    sent = [requests.send(OTHER), requests.send(BUSY)]
    await pass_time()
    with pytest.raises(TooManyRequests) as refused:
        async with turns.take(BUSY):
            pass
    assert refused.value.code == "key_turn_late"
    for task, end in sent:
        end.set()
        await task


@pytest.mark.usefixtures("always_late")
async def test_a_request_that_is_broken_off_gives_up_its_place() -> None:
    turns = RequestTurns(1)
    requests = Requests(turns)
    sent = [requests.send(OTHER), requests.send(BUSY)]
    await pass_time()
    broken, _ = requests.send(BUSY)
    await asyncio.sleep(0)
    broken.cancel()
    await asyncio.wait([broken])
    last, end_last = requests.send(BUSY)
    await asyncio.sleep(0)
    for task, end in [*sent, (last, end_last)]:
        end.set()
        await task
    assert requests.started == 2


async def test_a_request_above_the_rate_keeps_its_turn_for_a_moment() -> None:
    turns = RequestTurns(1)
    started = time.monotonic()
    with pytest.raises(TooManyRequests):
        async with turns.take(BUSY):
            raise TooManyRequests("key_rate", retry_after=1, limit=60)
    assert time.monotonic() - started >= module.REFUSED_SECONDS
