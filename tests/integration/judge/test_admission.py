"""The judge on the path: off the caller's way, tried again, given up, put back."""

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from clearwell.app import Clearwell
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, CaptureReceipt, Outcome, Verdict
from clearwell.settings import Settings
from clearwell.worker import worker
from tests.conftest import opened
from tests.path import AGENT, LONG, OTHER, PERSON, said
from tests.servers.chat_api import TORN, ChatApi, cut, says, sound
from tests.servers.scripted import Behaviour, hang, reply
from tests.waiting import until


@pytest.fixture
async def judged(settings: Settings, offline_embedder: OfflineEmbedder, api: ChatApi) -> AsyncIterator[Clearwell]:
    """The whole path with a judge at a real HTTP server."""
    with_judge = settings.model_copy(
        update={
            "judge_base_url": api.base_url,
            "judge_model": "m",
            "judge_api_key": SecretStr("k"),
            "judge_timeout_seconds": 0.3,
            "judge_attempts": 3,
            "judge_retry_seconds": 0.2,
            "wait_seconds": 5.0,
        }
    )
    async with opened(with_judge, offline_embedder) as clearwell:
        yield clearwell


def last(receipt: CaptureReceipt) -> Verdict:
    return receipt.verdicts[-1]


async def test_what_the_judge_passes_is_admitted_without_the_flag(judged: Clearwell) -> None:
    receipt = await judged.memory.acting_as(AGENT).capture(said(), wait=True)
    assert (receipt.admission, last(receipt).outcome) == (Admission.ADMITTED, Outcome.PASS)
    (entry,) = await judged.memory.acting_as(AGENT).working_memory(group="g")
    assert entry.flags == ()


async def test_what_contradicts_itself_is_refused_with_the_place(judged: Clearwell, api: ChatApi) -> None:
    api.script.append(says(TORN))
    receipt = await judged.memory.acting_as(AGENT).capture(said(), wait=True)
    assert receipt.admission is Admission.REFUSED
    assert "the total is 5 / the total is 7" in last(receipt).explanation("zh")


async def test_what_is_refused_before_is_not_judged(judged: Clearwell, api: ChatApi) -> None:
    await judged.memory.acting_as(AGENT).capture(said(confidence=0.1), wait=True)
    await judged.memory.acting_as(AGENT).capture(said("short"), wait=True)
    assert api.requests == []


@pytest.mark.parametrize(
    "trouble",
    [reply(429, "slow down", **{"Retry-After": "1"}), reply(500, "oops"), hang, cut, says("maybe"), reply(401, "no")],
    ids=["rate limited", "server error", "hangs", "cut", "nonsense", "key refused"],
)
async def test_trouble_keeps_the_row_pending_with_its_reason(
    judged: Clearwell, api: ChatApi, trouble: Behaviour
) -> None:
    api.script.append(trouble)
    receipt = await judged.memory.acting_as(AGENT).capture(said(), wait=True)
    assert (receipt.admission, last(receipt).outcome) == (Admission.PENDING, Outcome.PENDING)
    assert last(receipt).value == 1
    assert "attempt 1 of 3" in last(receipt).explanation("en")
    assert await judged.memory.acting_as(AGENT).working_memory(group="g") == []
    async with worker(judged):
        await until(lambda: judged.memory.acting_as(AGENT).working_memory(group="g"))


async def test_after_the_last_try_it_is_refused_and_can_be_put_back(judged: Clearwell, api: ChatApi) -> None:
    api.script.extend([reply(500, "oops"), says("maybe"), cut])
    receipt = await judged.memory.acting_as(AGENT).capture(said(), wait=True)

    async def refused() -> bool:
        return (
            await judged.memory.acting_as(PERSON).quarantine_row(receipt.id, group="g")
        ).admission is Admission.REFUSED

    async with worker(judged):
        await until(refused)
    row = await judged.memory.acting_as(PERSON).quarantine_row(receipt.id, group="g")
    assert [one.check for one in row.verdicts] == list(judged.settings.ingress_checks)
    assert row.verdicts[-1].outcome is Outcome.FAIL
    assert row.attempts == 3
    assert row.next_try_at is None
    assert any("did not answer in 3 attempts" in one.explanation("en") for one in row.verdicts)
    await judged.memory.acting_as(PERSON).requeue(receipt.id, group="g")
    await judged.queue.join()
    assert len(await judged.memory.acting_as(AGENT).working_memory(group="g")) == 1


async def test_the_caller_and_the_other_rows_do_not_wait_for_the_judge(judged: Clearwell, api: ChatApi) -> None:
    api.script.append(hang)
    slow = await judged.memory.acting_as(AGENT).capture(said())
    assert slow.admission is Admission.PENDING
    await until(lambda: _asked(api))
    quick = await judged.memory.acting_as(AGENT).capture(said(OTHER), wait=True)
    assert quick.admission is Admission.ADMITTED
    assert [entry.content for entry in await judged.memory.acting_as(AGENT).working_memory(group="g")] == [OTHER]


async def _asked(api: ChatApi) -> bool:
    return bool(api.requests)


async def test_what_became_known_while_the_judge_thought_is_found_again(judged: Clearwell, api: ChatApi) -> None:
    """The same text twice: both are judged at the same time, and one of them is admitted."""
    api.script.extend([sound, sound])
    first, second = await judged.memory.acting_as(AGENT).capture_many([said(), said(LONG.upper())], wait=True)
    assert isinstance(first, CaptureReceipt)
    assert isinstance(second, CaptureReceipt)
    assert sorted([first.admission, second.admission]) == [Admission.ADMITTED, Admission.REFUSED]
    assert len(await judged.memory.acting_as(AGENT).working_memory(group="g")) == 1


async def test_a_dry_run_does_not_ask_the_judge(judged: Clearwell, api: ChatApi) -> None:
    told = await judged.memory.acting_as(AGENT).check(said())
    assert (told.admission, told.verdicts[-1].outcome) == (Admission.ADMITTED, Outcome.NOT_CHECKED)
    assert api.requests == []


async def test_a_spent_budget_is_no_try_and_says_so(
    settings: Settings, offline_embedder: OfflineEmbedder, api: ChatApi
) -> None:
    poor = {"judge_base_url": api.base_url, "judge_model": "m", "judge_budget_per_hour": 1}
    async with opened(settings.model_copy(update=poor), offline_embedder) as judged:
        await judged.memory.acting_as(AGENT).capture(said(), wait=True)
        receipt = await judged.memory.acting_as(AGENT).capture(said(OTHER), wait=True)
        row = await judged.memory.acting_as(PERSON).quarantine_row(receipt.id, group="g")
        health = await judged.health()
    assert (health.ready, list(health.problems)) == (True, ["judge"])
    assert "outputs wait for it until" in health.problems["judge"]
    assert last(receipt).explanation("en").startswith("The judge has not been asked yet: ")
    assert "attempt 0" not in last(receipt).explanation("en")
    assert row.attempts == 0
    assert row.next_try_at is not None
