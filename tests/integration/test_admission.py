"""Admission on real servers: rows that fail, small pools, several programs."""

from collections.abc import Iterator

import pytest

from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, CaptureReceipt
from clearwell.settings import Settings
from clearwell.worker import worker
from tests.conftest import opened
from tests.path import AGENT, LONG, OTHER, PERSON, said
from tests.servers.chat_api import ChatApi
from tests.servers.embedding_api import EmbeddingApi, good
from tests.servers.scripted import Reply, Request, reply
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
        receipts = await clearwell.memory.capture_many([said(), said(bad), said(OTHER)], by=AGENT, wait=True)
        states = [receipt.admission for receipt in receipts if isinstance(receipt, CaptureReceipt)]
        assert states == [Admission.ADMITTED, Admission.PENDING, Admission.ADMITTED]
        assert isinstance(receipts[1], CaptureReceipt)
        log_id = receipts[1].id

        async def refused() -> bool:
            row = await clearwell.memory.quarantine_row("g", log_id, by=PERSON)
            return row.admission is Admission.REFUSED

        async with worker(clearwell):
            await until(refused)
        row = await clearwell.memory.quarantine_row("g", log_id, by=PERSON)
        assert "2 times (embedder_refused)" in row.verdicts[0].explanation("en")


async def test_a_pool_of_one_connection_is_enough(settings: Settings, offline_embedder: OfflineEmbedder) -> None:
    small = settings.model_copy(update={"postgres_pool_min": 1, "postgres_pool_max": 1, "postgres_connect_seconds": 2})
    async with opened(small, offline_embedder) as clearwell:
        await clearwell.memory.promote("g", CHINESE, by=PERSON)
        receipts = await clearwell.memory.capture_many([said(), said(OTHER), said(CHINESE)], by=AGENT, wait=True)
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
            receipts = await clearwell.memory.capture_many(news, by=AGENT, wait=True)
    verdicts = [receipt.verdicts[-1] for receipt in receipts if isinstance(receipt, CaptureReceipt)]
    assert [verdict.reason for verdict in verdicts] == ["verdict_judge_gave_up"] * 30
