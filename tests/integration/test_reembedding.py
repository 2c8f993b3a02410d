"""A live database is re-embedded and back: killed midway, queried all the time, and no answer is shorter."""

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest
from pydantic import SecretStr

from clearwell.adapters.cli.status import open_overview_of
from clearwell.app import Clearwell
from clearwell.errors import ModelMismatch
from clearwell.flow.reembedding.models import list_startable
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OFFLINE_MODEL, OfflineEmbedder
from clearwell.records import NewMemory
from clearwell.settings import Settings
from tests.conftest import opened
from tests.integration.cli.program import Program, Running
from tests.path import PERSON, said
from tests.servers.embedding_api import EmbeddingApi, good
from tests.servers.scripted import Reply, Request
from tests.waiting import until

PLACES = ("cellar", "harbour", "library", "market", "station", "garden", "workshop", "archive")
THINGS = ("copper kettle", "blue ledger", "spare keys", "old map", "first invoice", "water pump", "blank forms")
QUERIES = ("Where is the copper kettle?", "What is kept in the harbour?", "old map", "Who has the spare keys?")
WANTED, API_MODEL = 12, "words-64"


class Gate:
    """Lets this many pages of texts pass, then holds the next one until it is opened. Single texts always pass."""

    def __init__(self, pages: int) -> None:
        self._left = pages
        self._open = threading.Event()

    def __call__(self, request: Request) -> Reply:
        if len(request.body["input"]) > 1:
            self._left -= 1
            if self._left < 0:
                self._open.wait(60)
        return good(request)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as running:
        yield running


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"cold_limit": WANTED, "max_results": 50})


async def fill(running: Clearwell) -> None:
    texts = [
        NewMemory(content=f"The {thing} of team {number} is kept in the {place}.", session_id=place)
        for number, (place, thing) in enumerate((place, thing) for place in PLACES for thing in THINGS)
    ]
    for group in ("g", "h"):
        await running.memory.acting_as(PERSON).promote_many(texts, group=group)


async def answers(running: Clearwell, query: str, group: str = "g") -> list[str]:
    found = await running.memory.acting_as(PERSON).retrieve(
        query, group=group, options=RetrieveOptions(cold_limit=WANTED)
    )
    assert found.degraded == ()
    assert all(item.relevance is not None and 0 <= item.relevance <= 1 for item in found.items)
    return [item.content for item in found.items]


@asynccontextmanager
async def asked_all_the_time(running: Clearwell) -> AsyncIterator[list[int]]:
    """How many results each query had, as long as this lasts."""
    counts: list[int] = []

    async def ask() -> None:
        while True:
            for query in QUERIES:
                counts.append(len(await answers(running, query)))

    task = asyncio.create_task(ask())
    try:
        yield counts
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


def models(url: str) -> dict[str, int]:
    with psycopg.connect(url) as owner:
        rows = owner.execute("SELECT embedding_model, count(*) FROM memories GROUP BY 1").fetchall()
        return {str(model): int(count) for model, count in rows}


def url_of(settings: Settings) -> str:
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()


def reembed(settings: Settings, *words: str, **more: str) -> Running:
    program = Program(
        settings.data_dir,
        {
            "DATABASE_URL": url_of(settings),
            "CLEARWELL_SWEEP_SECONDS": "0.1",
            "CLEARWELL_RETRIEVE_TIMEOUT_SECONDS": "0.5",
            **more,
        },
    )
    return program.start("reembed", "--json", "--wait", "2", *words)


async def ended(running: Running) -> tuple[int, str, str]:
    ran = await asyncio.to_thread(running.wait, 90)
    return ran.code, ran.out, ran.err


def by_api(settings: Settings, api: EmbeddingApi) -> Settings:
    return settings.model_copy(
        update={"embedder": "openai", "embedding_model": API_MODEL, "embedding_base_url": api.base_url}
    )


async def test_a_killed_reembedding_goes_on_and_no_answer_is_ever_shorter(
    clearwell: Clearwell, settings: Settings, api: EmbeddingApi, offline_embedder: OfflineEmbedder
) -> None:
    await fill(clearwell)
    url, chunks = url_of(settings), 2 * len(PLACES) * len(THINGS)
    before = {query: await answers(clearwell, query) for query in QUERIES}
    to_api = ("--model", API_MODEL, "--base-url", api.base_url)
    api.usually = gate = Gate(pages=2)
    async with asked_all_the_time(clearwell) as counts:
        killed = reembed(settings, *to_api)
        await until(lambda: _is_mixed(url))
        some = len(counts)
        await until(lambda: _reached(counts, some + 3 * len(QUERIES)))
        killed.kill()
        gate.open()
        half = models(url)
        assert set(half) == {OFFLINE_MODEL, API_MODEL}
        promoted = await clearwell.memory.acting_as(PERSON).promote(
            "The brass bell of team 99 hangs in the tower.", group="g"
        )
        code, out, err = await ended(reembed(settings, *to_api))
        assert code == 0, err
        assert models(url) == {API_MODEL: chunks + 1}
        assert json.loads(out)["chunks"] == chunks - half[API_MODEL]
        some = len(counts)
        await until(lambda: _reached(counts, some + 2 * len(QUERIES)))
    assert set(counts) == {WANTED}
    for query in QUERIES:
        assert before[query][0] in (await answers(clearwell, query))[:5], "and what answers best still does"
    assert "brass bell" in (await answers(clearwell, "Where does the brass bell hang?"))[0]
    assert promoted.chunks == 1
    told = f"CLEARWELL_EMBEDDING_MODEL={API_MODEL} CLEARWELL_EMBEDDING_BASE_URL={api.base_url}"
    with pytest.raises(ModelMismatch, match=re.escape(told)):
        async with opened(settings, offline_embedder):
            pass
    async with open_overview_of(settings, url) as overview:
        known, last = await overview.read_models(), await overview.read_last_reembedding()
    assert OFFLINE_MODEL in known
    assert [*list_startable(known, last)] == [API_MODEL], "doctor judges by the same rule as serve"
    async with opened(by_api(settings, api)) as anew:
        assert len(await answers(anew, QUERIES[0])) == WANTED


async def test_and_back_again(settings: Settings, api: EmbeddingApi) -> None:
    there = by_api(settings, api)
    async with opened(there) as running:
        await fill(running)
        assert len(await answers(running, QUERIES[0])) == WANTED
        told = {
            "CLEARWELL_EMBEDDER": "openai",
            "CLEARWELL_EMBEDDING_MODEL": API_MODEL,
            "CLEARWELL_EMBEDDING_BASE_URL": api.base_url,
        }
        async with asked_all_the_time(running) as counts:
            code, out, err = await ended(reembed(settings, "--model", "offline", **told))
            assert code == 0, err
        assert json.loads(out)["settings"] == {"CLEARWELL_EMBEDDER": "offline"}
        assert set(counts) == {WANTED}
        assert "copper kettle" in (await answers(running, QUERIES[0]))[0]
    assert set(models(url_of(settings))) == {OFFLINE_MODEL}


async def test_a_program_started_midway_finds_the_rows_of_both_models(
    clearwell: Clearwell, settings: Settings, api: EmbeddingApi, offline_embedder: OfflineEmbedder
) -> None:
    await fill(clearwell)
    api.usually = gate = Gate(pages=2)
    killed = reembed(settings, "--model", API_MODEL, "--base-url", api.base_url)
    await until(lambda: _is_mixed(url_of(settings)))
    killed.kill()
    gate.open()
    async with opened(settings, offline_embedder) as old, opened(by_api(settings, api)) as new:
        for running in (old, new):
            assert {len(await answers(running, query)) for query in QUERIES} == {WANTED}
            assert "copper kettle" in (await answers(running, QUERIES[0]))[0]
    elsewhere = by_api(settings, api).model_copy(update={"embedding_model": "third"})
    with pytest.raises(ModelMismatch, match=API_MODEL):
        async with opened(elsewhere):
            pass
    code, _, err = await ended(reembed(settings, "--model", "third", "--base-url", api.base_url))
    assert code == 1
    assert f"--model {API_MODEL}" in err
    code, _, err = await ended(reembed(settings, "--model", "offline"))
    assert code == 0, err
    assert set(models(url_of(settings))) == {OFFLINE_MODEL}


async def test_a_server_that_does_not_answer_changes_nothing(clearwell: Clearwell, settings: Settings) -> None:
    await fill(clearwell)
    nobody = ("--model", API_MODEL, "--base-url", "http://127.0.0.1:9/v1")
    code, _, err = await ended(reembed(settings, *nobody, CLEARWELL_EMBEDDING_RETRIES="0"))
    assert code == 1
    assert "127.0.0.1:9" in err
    assert set(models(url_of(settings))) == {OFFLINE_MODEL}
    assert len(await answers(clearwell, QUERIES[0])) == WANTED


async def test_an_empty_database_has_nothing_to_reembed(settings: Settings, api: EmbeddingApi) -> None:
    code, out, _ = await ended(reembed(settings, "--model", API_MODEL, "--base-url", api.base_url))
    assert code == 0
    assert json.loads(out)["chunks"] == 0


async def test_duplicates_are_still_seen_during_a_reembedding(
    clearwell: Clearwell, settings: Settings, api: EmbeddingApi
) -> None:
    text = "The payment service was moved to the new cluster on Monday without any downtime at all."
    await clearwell.memory.acting_as(PERSON).promote(text, group="g")
    other = settings.model_copy(update={"other_embedding_api_key": SecretStr("k")})
    code, _, err = await ended(reembed(other, "--model", API_MODEL, "--base-url", api.base_url))
    assert code == 0, err
    receipt = await clearwell.memory.acting_as(PERSON).capture(said(text, "g", confidence=0.9), wait=True)
    assert receipt.admission == "refused"


async def _is_mixed(url: str) -> bool:
    return len(await asyncio.to_thread(models, url)) == 2


async def _reached(counts: list[int], number: int) -> bool:
    return len(counts) >= number
