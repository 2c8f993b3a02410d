"""The path on real servers: what survives outages, crashes and bad moments."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr

from clearwell.app import Clearwell
from clearwell.embedded import EmbeddedValkey
from clearwell.errors import DatabaseUnavailable, ModelMismatch, SchemaError
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, CaptureReceipt, NewMemory, Principal, PromotionResult, Right, Source
from clearwell.settings import Settings
from clearwell.worker import sweep, worker
from tests.conftest import opened
from tests.path import AGENT, LONG, OTHER, PERSON, said
from tests.waiting import until

CHINESE = "项目最终决定采用微服务架构，以提高可扩展性和部署灵活性，迁移将在第三季度完成。"


async def test_the_whole_path_in_both_languages(clearwell: Clearwell) -> None:
    memory = clearwell.memory
    admitted = await memory.acting_as(AGENT).capture(said(CHINESE, confidence=0.9), wait=True)
    assert admitted.admission is Admission.ADMITTED
    await memory.acting_as(PERSON).promote(OTHER, group="g", author="Ann", metadata={"ref": "x"})
    items = (await memory.acting_as(AGENT).retrieve("项目的架构决策是什么？", group="g")).items
    hot, cold = sorted(items, key=lambda item: item.verified)
    assert (hot.content, hot.source, hot.id) == (CHINESE, Source.HOT, admitted.id)
    assert (cold.content, cold.source, cold.author, cold.metadata) == (OTHER, Source.COLD, "Ann", {"ref": "x"})
    assert hot.expires_at is not None
    assert cold.promoted_at is not None
    assert hot.relevance is not None
    assert cold.relevance is not None
    assert hot.relevance > cold.relevance


async def test_text_of_any_kind_is_kept_byte_for_byte(clearwell: Clearwell) -> None:
    hostile = f"\u202e{LONG}\u200b\u200d🙂 שלום عربى \U000e0041 e\u0301 ﷽ \\u0041 %s {{}} '; SELECT 1; --\r\n\t"
    receipt = await clearwell.memory.acting_as(AGENT).capture(said(hostile), wait=True)
    row = await clearwell.memory.acting_as(PERSON).quarantine_row(receipt.id, group="g")
    assert row.capture.content == hostile
    (entry,) = await clearwell.memory.acting_as(AGENT).working_memory(group="g")
    assert entry.content == hostile
    await clearwell.memory.acting_as(PERSON).promote(
        hostile, group="h", acknowledge=["hidden_text"], keep_invisible=True
    )
    (item,) = (await clearwell.memory.acting_as(PERSON).retrieve(hostile, group="h")).items
    assert item.content == hostile


async def test_long_text_is_cut_in_working_memory_and_whole_in_quarantine(clearwell: Clearwell) -> None:
    long = "".join(f"Sentence number {number} says that all is well. " for number in range(2000))
    receipt = await clearwell.memory.acting_as(AGENT).capture(said(long), wait=True)
    (entry,) = await clearwell.memory.acting_as(AGENT).working_memory(group="g")
    assert entry.cut
    assert entry.content.endswith(".")
    assert len(entry.content.encode()) <= 16 * 1024
    assert (await clearwell.memory.acting_as(PERSON).quarantine_row(receipt.id, group="g")).capture.content == long


async def test_a_long_promotion_is_found_by_any_of_its_parts(clearwell: Clearwell) -> None:
    parts = [f"{LONG} Part {number}." for number in range(30)]
    result = await clearwell.memory.acting_as(PERSON).promote("\n\n".join([*parts, CHINESE]), group="g")
    assert result.chunks > 5
    (item,) = (await clearwell.memory.acting_as(AGENT).retrieve("微服务架构", group="g")).items
    assert CHINESE in item.content
    assert item.chunk_no == result.chunks - 1


async def test_fifty_is_exactly_fifty(clearwell: Clearwell) -> None:
    words = ["payments", "backups", "latency", "hiring", "billing", "search", "login", "logging", "cooking", "travel"]
    texts = [
        f"The {one} review about {other} number {number} ended with {number * 7} open points and a plan for {one}."
        for number, (one, other) in enumerate((one, other) for one in words for other in words)
    ]
    settings = clearwell.settings.model_copy(update={"duplicate_similarity": 1.0})
    async with opened(settings, clearwell.embedder) as lenient:
        results = await lenient.memory.acting_as(AGENT).capture_many([said(text) for text in texts[:60]], wait=True)
        admitted = [
            one.id for one in results if isinstance(one, CaptureReceipt) and one.admission is Admission.ADMITTED
        ]
        assert len(admitted) == 60
        entries = await lenient.memory.acting_as(AGENT).working_memory(group="g")
        assert [entry.id for entry in entries] == admitted[:9:-1]


async def test_a_row_left_behind_is_taken_up_by_the_sweep(clearwell: Clearwell) -> None:
    """What a crash between the commit and the admission leaves: a pending row that nobody works on."""
    log_id = await clearwell.memory.acting_as(AGENT).log_quarantine("s", "n", LONG, group="g")
    async with worker(clearwell):
        await until(lambda: clearwell.memory.acting_as(AGENT).working_memory(group="g"))
        await clearwell.queue.join()
    assert (await clearwell.memory.acting_as(PERSON).quarantine_row(log_id, group="g")).admission is Admission.ADMITTED


async def test_a_crash_after_the_push_admits_it_once(clearwell: Clearwell) -> None:
    log_id = await clearwell.memory.acting_as(AGENT).log_quarantine("s", "n", LONG, group="g")
    await clearwell.memory.acting_as(AGENT).update_working_memory(group="g", log_id=log_id)
    async with await psycopg.AsyncConnection.connect(_url(clearwell.settings), autocommit=True) as owner:
        await owner.execute("UPDATE admissions SET state = 'pending', settled_at = NULL")
    receipt = await clearwell.memory.acting_as(AGENT).update_working_memory(group="g", log_id=log_id)
    assert receipt.admission is Admission.ADMITTED
    assert [entry.id for entry in await clearwell.memory.acting_as(AGENT).working_memory(group="g")] == [log_id]


async def test_two_programs_admit_the_same_rows_once(clearwell: Clearwell) -> None:
    ids = [
        await clearwell.memory.acting_as(AGENT).log_quarantine("s", "n", f"{text} {text}", group="g")
        for text in (LONG, OTHER, CHINESE)
    ]
    async with opened(clearwell.settings, clearwell.embedder) as second:
        await asyncio.gather(
            *(
                one.memory.acting_as(AGENT).update_working_memory(group="g", log_id=log_id)
                for one in (clearwell, second)
                for log_id in ids
            )
        )
    entries = await clearwell.memory.acting_as(AGENT).working_memory(group="g")
    assert sorted(entry.id for entry in entries) == sorted(ids)


async def test_with_working_memory_down_nothing_is_lost(
    settings: Settings, tmp_path: Path, offline_embedder: OfflineEmbedder
) -> None:
    valkey = EmbeddedValkey(tmp_path)
    url = valkey.start().url
    settings = settings.model_copy(update={"redis_url": SecretStr(url)})
    async with opened(settings, offline_embedder) as clearwell:
        await clearwell.memory.acting_as(PERSON).promote(OTHER, group="g")
        valkey.stop()
        receipt = await clearwell.memory.acting_as(AGENT).capture(said(), wait=True)
        assert receipt.admission is Admission.PENDING
        found = await clearwell.memory.acting_as(AGENT).retrieve("backups", group="g")
        assert ([item.source for item in found.items], found.degraded) == ([Source.COLD], ("working_memory",))
        health = await clearwell.health()
        assert health.ready
        assert list(health.problems) == ["working_memory"]
        valkey.start()
        async with worker(clearwell):
            await until(lambda: clearwell.memory.acting_as(AGENT).working_memory(group="g"))
    valkey.stop()


async def test_with_the_database_down_working_memory_answers(clearwell: Clearwell) -> None:
    await clearwell.memory.acting_as(AGENT).capture(said(), wait=True)
    name = _url(clearwell.settings).rpartition("/")[2]
    with psycopg.connect(_url(clearwell.settings).replace(name, "clearwell"), autocommit=True) as owner:
        owner.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        found = await clearwell.memory.acting_as(AGENT).retrieve("payment", group="g")
        assert ([item.source for item in found.items], found.degraded) == ([Source.HOT], ("long_term_memory",))
        with pytest.raises(DatabaseUnavailable):
            await clearwell.memory.acting_as(AGENT).capture(said(OTHER))
        assert not (await clearwell.health()).ready
        owner.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    await until(lambda: _ready(clearwell))
    assert (await clearwell.memory.acting_as(AGENT).capture(said(OTHER), wait=True)).admission is Admission.ADMITTED


async def test_a_failure_in_the_middle_of_a_promotion_leaves_nothing(clearwell: Clearwell) -> None:
    with psycopg.connect(_url(clearwell.settings), autocommit=True) as owner:
        owner.execute("ALTER TABLE memories ADD CONSTRAINT no_third CHECK (chunk_no < 2)")
        with pytest.raises(psycopg.errors.CheckViolation):
            await clearwell.memory.acting_as(PERSON).promote("\n\n".join([LONG] * 30), group="g")
        counts = owner.execute(
            "SELECT (SELECT count(*) FROM promotions), (SELECT count(*) FROM memories),"
            " (SELECT count(*) FROM audit_events)"
        ).fetchone()
    assert counts == (0, 0, 0)


async def test_a_promotion_is_audited_with_who_did_it(clearwell: Clearwell) -> None:
    reviewer = Principal(name="key:ann", rights=frozenset({Right.REVIEW}), groups=frozenset({"g"}))
    texts = [NewMemory(content=LONG), NewMemory(content=CHINESE)]
    results = await clearwell.memory.acting_as(reviewer).promote_many(texts, group="g")
    with psycopg.connect(_url(clearwell.settings)) as owner:
        events = owner.execute("SELECT actor, action, subject, detail::text FROM audit_events ORDER BY id").fetchall()
    promoted = [one for one in results if isinstance(one, PromotionResult)]
    assert [(actor, action, subject) for actor, action, subject, _ in events] == [
        ("key:ann", "promote", f"memory {one.id}") for one in promoted
    ]
    assert not any(LONG in detail or CHINESE in detail for *_, detail in events)


async def test_another_model_than_the_stored_one_is_refused_at_start(clearwell: Clearwell) -> None:
    await clearwell.memory.acting_as(PERSON).promote(LONG, group="g")
    other = clearwell.settings.model_copy(update={"embedder": "openai", "embedding_base_url": "http://127.0.0.1:9/v1"})
    with pytest.raises(ModelMismatch, match="CLEARWELL_EMBEDDER"):
        async with opened(other):
            pass


async def test_a_database_that_was_not_migrated_is_refused_at_start(
    empty_database_url: str, settings: Settings
) -> None:
    fresh = settings.model_copy(update={"database_url": SecretStr(empty_database_url)})
    with pytest.raises(SchemaError, match="clearwell migrate"):
        async with opened(fresh):
            pass


async def test_a_group_sees_only_its_own(clearwell: Clearwell) -> None:
    for group_id in ("g", "h"):
        await clearwell.memory.acting_as(PERSON).capture(said(f"{LONG} In {group_id}.", group_id), wait=True)
        await clearwell.memory.acting_as(PERSON).promote(f"{OTHER} In {group_id}.", group=group_id)
    for group_id in ("g", "h"):
        options = RetrieveOptions(hot_threshold=0)
        items = (await clearwell.memory.acting_as(PERSON).retrieve("in", group=group_id, options=options)).items
        assert sorted(item.content for item in items) == [f"{OTHER} In {group_id}.", f"{LONG} In {group_id}."]
    assert (await clearwell.memory.acting_as(PERSON).retrieve("in", group=f"x{uuid4()}")).items == ()


async def test_nothing_is_left_for_the_sweep_after_an_ordinary_day(clearwell: Clearwell) -> None:
    news = [said(), said(OTHER, confidence=0.2), replace(said(CHINESE), group_id=None)]
    await clearwell.memory.acting_as(AGENT).capture_many(news, wait=True)
    assert await sweep(clearwell) == 0
    options = RetrieveOptions(relevance_threshold=0.99, hot_threshold=0)
    assert len((await clearwell.memory.acting_as(AGENT).retrieve("x", group="g", options=options)).items) == 1
    assert await clearwell.memory.acting_as(PERSON).cleanup_working_memory() == 0
    assert clearwell.settings.working_ttl_seconds == timedelta(hours=24).total_seconds()


async def _ready(clearwell: Clearwell) -> bool:
    return (await clearwell.health()).ready


def _url(settings: Settings) -> str:
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()


async def test_what_has_the_very_words_is_relevant_whatever_the_model_makes_of_them(clearwell: Clearwell) -> None:
    """A threshold of 0.7 keeps the one that names the ticket, in which the model sees nothing of the query."""
    named = "The nightly job of the cluster in Frankfurt was moved to the morning; see OPS-48213 for the reasons."
    for text in (named, LONG, OTHER, CHINESE):
        await clearwell.memory.acting_as(PERSON).promote(text, group="g")
    options = RetrieveOptions(relevance_threshold=0.7, explain=True)
    (item,) = (await clearwell.memory.acting_as(AGENT).retrieve("OPS-48213", group="g", options=options)).items
    assert item.content == named
    assert item.explanation is not None
    cosine = item.explanation.cosine
    assert cosine is not None
    assert item.score == max(0.0, cosine)
    assert clearwell.embedder.relevance(cosine) < 0.7
    assert item.relevance is not None
    assert item.relevance > 0.9
