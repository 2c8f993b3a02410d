"""Workers that make digests: killed, several at once, cut off from the database, and late."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from clearwell.app import Clearwell
from clearwell.errors import DatabaseUnavailable
from clearwell.models import OfflineEmbedder
from clearwell.records import Digest, DigestStatus, GroupChange, NewCapture
from clearwell.settings import Settings
from clearwell.worker import worker
from tests.conftest import opened
from tests.integration.cli.program import Program
from tests.path import PERSON
from tests.servers.chat_api import ChatApi
from tests.servers.scripted import hang

SAID = (
    ("a1", "Nightly backups of the billing database now take eleven minutes instead of forty minutes."),
    ("a2", "Backups of the billing database finish in eleven minutes every night since the move."),
    ("a3", "计费数据库的夜间备份现在只需十一分钟，而不是之前的四十分钟。"),
)


async def keep(clearwell: Clearwell, group_id: str = "g") -> None:
    for agent, content in SAID:
        new = NewCapture(content=content, group_id=group_id, agent_id=agent, session_id=f"s-{agent}", node_id="n")
        await clearwell.memory.acting_as(PERSON).capture(new, wait=True)


async def until(clearwell: Clearwell, digest_id: UUID, *statuses: DigestStatus, note: str | None = None) -> Digest:
    async with asyncio.timeout(60):
        while True:
            found = await clearwell.memory.acting_as(PERSON).digest(digest_id)
            if found.status in statuses and note in (None, found.note):
                return found
            await asyncio.sleep(0.05)


@pytest.fixture
def quick(settings: Settings) -> Settings:
    """A worker that is gone is missed after a second."""
    return settings.model_copy(update={"digest_stalled_seconds": 1.0})


@pytest.fixture
def hanging() -> Iterator[ChatApi]:
    with ChatApi() as api:
        api.usually = hang
        yield api


async def test_the_digest_of_a_killed_worker_is_taken_up_again(
    quick: Settings, hanging: ChatApi, offline_embedder: OfflineEmbedder, tmp_path: Path
) -> None:
    assert quick.database_url is not None
    assert quick.redis_url is not None
    program = Program(
        tmp_path,
        {
            "DATABASE_URL": quick.database_url.get_secret_value(),
            "REDIS_URL": quick.redis_url.get_secret_value(),
            "CLEARWELL_DIGEST_STALLED_SECONDS": "1",
            "CLEARWELL_DIGEST_LLM_BASE_URL": hanging.base_url,
            "CLEARWELL_DIGEST_LLM_MODEL": "m",
        },
    )
    async with opened(quick, offline_embedder) as clearwell:
        await keep(clearwell)
        asked, _ = await clearwell.memory.acting_as(PERSON).request_digest(group="g")
        running = program.start("worker")
        try:
            await until(clearwell, asked, DigestStatus.RUNNING, note="digest_stage_writing")
        finally:
            running.kill()
        assert (await clearwell.memory.acting_as(PERSON).digest(asked)).status is DigestStatus.RUNNING
        async with worker(clearwell):
            done = await until(clearwell, asked, DigestStatus.DONE, DigestStatus.FAILED)
    assert (done.status, done.attempts) == (DigestStatus.DONE, 2)
    assert len(done.insights) == 1
    assert len(done.insights[0].sources) >= 2


async def test_a_worker_that_is_asked_to_stop_leaves_its_digest_to_the_next(
    quick: Settings, hanging: ChatApi, offline_embedder: OfflineEmbedder
) -> None:
    slow = quick.model_copy(update={"digest_llm_base_url": hanging.base_url, "digest_llm_model": "m"})
    async with opened(slow, offline_embedder) as clearwell:
        await keep(clearwell)
        asked, _ = await clearwell.memory.acting_as(PERSON).request_digest(group="g")
        async with worker(clearwell):
            await until(clearwell, asked, DigestStatus.RUNNING, note="digest_stage_writing")
    async with opened(quick, offline_embedder) as clearwell, worker(clearwell):
        done = await until(clearwell, asked, DigestStatus.DONE, DigestStatus.FAILED)
    assert (done.status, done.attempts) == (DigestStatus.DONE, 2)


async def test_two_workers_make_one_digest_of_a_missed_week(quick: Settings, offline_embedder: OfflineEmbedder) -> None:
    async with opened(quick, offline_embedder) as first, opened(quick, offline_embedder) as second:
        await keep(first)
        await keep(first, "other")
        _long_ago(quick)
        made = await asyncio.gather(
            *(one.digests.scheduler.add_due_digests() for one in (first, second, first, second))
        )
        assert sum(map(len, made)) == 2
        async with worker(first), worker(second):
            for group in ("g", "other"):
                (only,) = await first.memory.acting_as(PERSON).digests(group=group)
                done = await until(first, only.id, DigestStatus.DONE, DigestStatus.FAILED)
                assert (done.status, done.attempts, done.requested_by) == (DigestStatus.DONE, 1, "schedule")
                assert done.due_at is not None
                assert datetime.now(UTC) - done.due_at < timedelta(days=7, minutes=5)
        assert await first.digests.scheduler.add_due_digests() == []
        assert [len(await first.memory.acting_as(PERSON).digests(group=group)) for group in ("g", "other")] == [1, 1]


async def test_a_group_with_a_schedule_of_its_own_is_due_by_that(
    quick: Settings, offline_embedder: OfflineEmbedder
) -> None:
    async with opened(quick, offline_embedder) as clearwell:
        await keep(clearwell, "own")
        await keep(clearwell, "weekly")
        change = GroupChange(digest_cron="* * * * *", digest_zone="Asia/Shanghai")
        await clearwell.memory.acting_as(PERSON).change_group(change, group="own")
        _run(quick, "UPDATE working_groups SET first_settled_at = first_settled_at - interval '2 minutes'")
        _run(quick, "UPDATE groups SET scheduled_at = scheduled_at - interval '2 minutes'")
        found = {one.group_id: (one.cron, one.zone) for one in await clearwell.stores.digest_runs.list_schedules()}
        assert found == {"own": ("* * * * *", "Asia/Shanghai"), "weekly": (None, None)}
        now = datetime.now(UTC)
        await clearwell.digests.scheduler.add_due_digests()
        (made,) = await clearwell.memory.acting_as(PERSON).digests(group="own")
    assert made.due_at is not None
    assert timedelta(0) <= now - made.due_at < timedelta(minutes=1, seconds=5)


async def test_a_digest_begins_within_a_second_in_another_process(
    quick: Settings, offline_embedder: OfflineEmbedder
) -> None:
    async with opened(quick, offline_embedder) as asker, opened(quick, offline_embedder) as maker, worker(maker):
        asked, _ = await asker.memory.acting_as(PERSON).request_digest(group="g")
        done = await until(asker, asked, DigestStatus.DONE)
    assert done.started_at is not None
    assert done.started_at - done.created_at < timedelta(seconds=2)
    assert done.attempts == 1


async def test_a_worker_outlives_its_connections(quick: Settings, offline_embedder: OfflineEmbedder) -> None:
    async with opened(quick, offline_embedder) as clearwell, worker(clearwell):
        await keep(clearwell)
        first, _ = await clearwell.memory.acting_as(PERSON).request_digest(group="g")
        await until(clearwell, first, DigestStatus.DONE)
        _run(
            quick,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        second = await _asked(clearwell)
        assert (await until(clearwell, second, DigestStatus.DONE)).note == "digest_nothing_new"


async def _asked(clearwell: Clearwell) -> UUID:
    """The pool replaces its dead connections one by one."""
    async with asyncio.timeout(30):
        while True:
            try:
                return (await clearwell.memory.acting_as(PERSON).request_digest(group="g"))[0]
            except DatabaseUnavailable:
                await asyncio.sleep(0.05)


def _long_ago(settings: Settings) -> None:
    _run(settings, "UPDATE working_groups SET first_settled_at = first_settled_at - interval '30 days'")


def _run(settings: Settings, statement: str) -> None:
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        connection.execute(statement.encode())
