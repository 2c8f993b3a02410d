"""Admission on real servers: rows that fail, small pools, several programs."""

from collections.abc import Iterator

import pytest

from clearwell.records import Admission, CaptureReceipt
from clearwell.settings import Settings
from clearwell.worker import worker
from tests.conftest import opened
from tests.path import AGENT, LONG, OTHER, PERSON, said
from tests.servers.embedding_api import EmbeddingApi, good
from tests.servers.scripted import Reply, Request, reply
from tests.waiting import until

POISON = "poison"


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
