"""The worker's duties run on their own time, whatever the admission queue is doing."""

from collections.abc import Iterator

import pytest

from clearwell.models import OfflineEmbedder
from clearwell.records import Admission
from clearwell.settings import Settings
from clearwell.worker import worker
from tests.conftest import opened
from tests.path import AGENT, PERSON, said
from tests.servers.chat_api import ChatApi
from tests.servers.scripted import hang
from tests.waiting import until


@pytest.fixture
def hanging_judge() -> Iterator[ChatApi]:
    with ChatApi() as api:
        api.usually = hang
        yield api


async def test_the_sweep_runs_while_a_row_waits_for_the_judge(
    settings: Settings, offline_embedder: OfflineEmbedder, hanging_judge: ChatApi
) -> None:
    judged = settings.model_copy(
        update={
            "judge_base_url": hanging_judge.base_url,
            "judge_model": "m",
            "judge_timeout_seconds": 600.0,
        }
    )
    async with opened(judged, offline_embedder) as clearwell, worker(clearwell):
        waiting = await clearwell.memory.acting_as(AGENT).capture(said())

        async def asked() -> bool:
            return bool(hanging_judge.requests)

        await until(asked)
        left_behind = await clearwell.memory.acting_as(AGENT).log_quarantine("s", "n", "too short", group="g")

        async def refused() -> bool:
            row = await clearwell.memory.acting_as(PERSON).quarantine_row(left_behind, group="g")
            return row.admission is Admission.REFUSED

        await until(refused)
        row = await clearwell.memory.acting_as(PERSON).quarantine_row(waiting.id, group="g")
        assert row.admission is Admission.PENDING
        assert len(hanging_judge.requests) == 1


async def test_the_worker_makes_the_vectors_of_refused_outputs(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    async with opened(settings, offline_embedder) as clearwell, worker(clearwell):
        refused = (await clearwell.memory.acting_as(AGENT).capture(said(confidence=0.1), wait=True)).id

        async def embedded() -> bool:
            statements = (await clearwell.stores.statements.read("g", [refused]))[refused]
            return [one.embedding_model for one in statements] == [offline_embedder.model]

        await until(embedded)
