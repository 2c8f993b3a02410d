"""The worker builds the index of a group that has become large, and searches go on."""

import psycopg

from clearwell.models import OfflineEmbedder
from clearwell.records import NewMemory
from clearwell.settings import Settings
from clearwell.worker import worker
from tests.conftest import opened
from tests.path import PERSON
from tests.waiting import until


async def test_a_group_that_grows_large_is_indexed_in_the_background(
    settings: Settings, database_url: str, offline_embedder: OfflineEmbedder
) -> None:
    settings = settings.model_copy(update={"exact_scan_rows": 5})
    texts = [NewMemory(content=f"Room {number} has {number + 3} chairs and one table.") for number in range(8)]
    async with opened(settings, offline_embedder) as running:
        await running.memory.acting_as(PERSON).promote_many(texts, group="g")
        async with worker(running):

            async def indexed() -> bool:
                with psycopg.connect(database_url) as connection:
                    rows = connection.execute("SELECT model FROM group_indexes WHERE state = 'ready'").fetchall()
                return rows == [(offline_embedder.model,)]

            await until(indexed)
            found = await running.memory.acting_as(PERSON).retrieve("How many chairs are in room 6?", group="g")
    assert "Room 6" in found.items[0].content
    assert found.degraded == ()
