"""Admission on real servers: rows that fail, small pools, several programs."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clearwell.app import Clearwell
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, CaptureReceipt
from clearwell.settings import Settings
from clearwell.worker import sweep, worker
from tests.conftest import opened
from tests.integration.cli.program import Program
from tests.path import AGENT, LONG, OTHER, PERSON, said
from tests.servers.chat_api import ChatApi, Crowd
from tests.servers.embedding_api import EmbeddingApi, good
from tests.servers.scripted import Reply, Request, hang, reply
from tests.waiting import until

POISON = "poison"
CHINESE = "支付服务已于周一迁移到新集群，期间没有任何停机，所有请求均正常处理完成。"


@pytest.fixture
def embedding_api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as api:
        yield api


def refuse_poison(request: Request) -> Reply | None:
    """As servers with a content filter, or with a lower limit on tokens, do."""
    refused = any(POISON in text for text in request.body["input"])
    return reply(400, "invalid input")(request) if refused else good(request)


async def test_a_text_that_the_embedding_api_refuses_holds_up_no_other(
    settings: Settings, embedding_api: EmbeddingApi
) -> None:
    embedding_api.usually = refuse_poison
    by_api = settings.model_copy(
        update={"embedder": "openai", "embedding_base_url": embedding_api.base_url, "admission_attempts": 2}
    )
    bad = f"{LONG} It was said to be {POISON}."
    async with opened(by_api) as clearwell:
        receipts = await clearwell.memory.acting_as(AGENT).capture_many([said(), said(bad), said(OTHER)], wait=True)
        states = [receipt.admission for receipt in receipts if isinstance(receipt, CaptureReceipt)]
        assert states == [Admission.ADMITTED, Admission.PENDING, Admission.ADMITTED]
        assert isinstance(receipts[1], CaptureReceipt)
        log_id = receipts[1].id

        async def refused() -> bool:
            row = await clearwell.memory.acting_as(PERSON).quarantine_row(log_id, group="g")
            return row.admission is Admission.REFUSED

        async with worker(clearwell):
            await until(refused)
        row = await clearwell.memory.acting_as(PERSON).quarantine_row(log_id, group="g")
        assert "2 times (embedder_refused)" in row.verdicts[0].explanation("en")


async def test_a_pool_of_one_connection_is_enough(settings: Settings, offline_embedder: OfflineEmbedder) -> None:
    small = settings.model_copy(update={"postgres_pool_min": 1, "postgres_pool_max": 1, "postgres_connect_seconds": 2})
    async with opened(small, offline_embedder) as clearwell:
        await clearwell.memory.acting_as(PERSON).promote(CHINESE, group="g")
        receipts = await clearwell.memory.acting_as(AGENT).capture_many([said(), said(OTHER), said(CHINESE)], wait=True)
        states = [receipt.admission for receipt in receipts if isinstance(receipt, CaptureReceipt)]
        assert states == [Admission.ADMITTED, Admission.ADMITTED, Admission.REFUSED]


async def test_a_judge_that_gives_up_on_many_rows_exhausts_no_pool(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    with ChatApi() as judge:
        judge.usually = reply(500, "oops")
        judged = settings.model_copy(
            update={
                "judge_base_url": judge.base_url,
                "judge_model": "m",
                "judge_attempts": 1,
                "judge_concurrency": 30,
                "postgres_pool_min": 1,
                "postgres_pool_max": 2,
                "postgres_connect_seconds": 2,
                "wait_seconds": 30.0,
            }
        )
        async with opened(judged, offline_embedder) as clearwell:
            news = [said(f"{LONG} This is report number {number} of the week.") for number in range(30)]
            receipts = await clearwell.memory.acting_as(AGENT).capture_many(news, wait=True)
    verdicts = [receipt.verdicts[-1] for receipt in receipts if isinstance(receipt, CaptureReceipt)]
    assert [verdict.reason for verdict in verdicts] == ["verdict_judge_gave_up"] * 30


def by_judge(settings: Settings, judge: ChatApi, **more: object) -> Settings:
    asked = {"judge_base_url": judge.base_url, "judge_model": "m", "judge_concurrency": 10}
    return settings.model_copy(update={**asked, "judge_timeout_seconds": 60.0, **more})


REPORTS = [said(f"{text} This is the report of {day}.") for text in (LONG, OTHER) for day in ("Monday", "Friday")]


async def test_two_programs_ask_the_judge_once_about_each_row(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    with ChatApi() as judge:
        judged = by_judge(settings, judge, duplicate_similarity=1.0)
        async with opened(judged, offline_embedder) as first, opened(judged, offline_embedder) as second:
            for report in REPORTS:
                await first.memory.acting_as(AGENT).log_quarantine("s", "n", report.content, group="g")
            async with worker(first), worker(second):
                await until(lambda: _settled(first))
        assert len(judge.requests) == len(REPORTS)


async def _settled(clearwell: Clearwell) -> bool:
    rows = await clearwell.memory.acting_as(PERSON).quarantine_rows(group="g")
    return all(row.admission is not Admission.PENDING for row in rows)


async def test_a_row_that_waits_for_the_judge_is_not_swept_by_another_program(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    with ChatApi() as judge:
        judge.usually = crowd = Crowd(lambda: None)
        judged = by_judge(settings, judge, admission_lease_seconds=1.0)
        async with opened(judged, offline_embedder) as first, opened(judged, offline_embedder) as second:
            receipt = await first.memory.acting_as(AGENT).capture(said())

            async def is_due_and_judged() -> bool:
                row = await first.memory.acting_as(PERSON).quarantine_row(receipt.id, group="g")
                lease_ends = row.capture.created_at + timedelta(seconds=3)
                return bool(judge.requests) and datetime.now(UTC) > lease_ends

            await until(is_due_and_judged)
            swept = await sweep(second)
            waiting = asyncio.create_task(
                second.memory.acting_as(AGENT).update_working_memory(group="g", log_id=receipt.id)
            )
            crowd.let_go(10)
            assert swept == 0, "the lease is renewed while the judge thinks"
            assert (await waiting).admission is Admission.ADMITTED, "who waits elsewhere gets the same answer"
        assert len(judge.requests) == 1


async def test_the_rows_of_a_killed_program_are_taken_over(
    settings: Settings, offline_embedder: OfflineEmbedder, tmp_path: Path
) -> None:
    with ChatApi() as judge:
        judge.script.append(hang)
        assert settings.database_url is not None
        assert settings.redis_url is not None
        program = Program(
            tmp_path,
            {
                "DATABASE_URL": settings.database_url.get_secret_value(),
                "REDIS_URL": settings.redis_url.get_secret_value(),
                "CLEARWELL_JUDGE_BASE_URL": judge.base_url,
                "CLEARWELL_JUDGE_MODEL": "m",
                "CLEARWELL_JUDGE_TIMEOUT_SECONDS": "60",
                "CLEARWELL_ADMISSION_LEASE_SECONDS": "1",
            },
        )
        async with opened(by_judge(settings, judge), offline_embedder) as clearwell:
            log_id = await clearwell.memory.acting_as(AGENT).log_quarantine("s", "n", LONG, group="g")
            running = program.start("worker")

            async def asked() -> bool:
                return bool(judge.requests)

            try:
                await until(asked, seconds=60)
            finally:
                running.kill()
            async with worker(clearwell):
                await until(lambda: _settled(clearwell))
            row = await clearwell.memory.acting_as(PERSON).quarantine_row(log_id, group="g")
        assert row.admission is Admission.ADMITTED
        assert len(judge.requests) == 2


async def test_a_program_that_stops_leaves_its_rows_to_others_at_once(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    with ChatApi() as judge:
        judge.script.append(hang)
        judged = by_judge(settings, judge, admission_lease_seconds=3600.0)
        async with opened(judged, offline_embedder) as first:
            await first.memory.acting_as(AGENT).capture(said())

            async def asked() -> bool:
                return bool(judge.requests)

            await until(asked)
        async with opened(judged, offline_embedder) as second, worker(second):
            await until(lambda: second.memory.acting_as(AGENT).working_memory(group="g"))
