"""At least once, and once: whatever crashes, is lost or comes late, every capture ends settled and every admissible one
is in working memory once, for its 24 hours. Hypothesis thinks of the order; the servers are real, the clock is ours."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

import psycopg
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from clearwell.app import Clearwell, TimeOrderedIds, build, open_stores
from clearwell.errors import WorkingMemoryUnavailable
from clearwell.ports import AdmissionResult
from clearwell.records import Admission, Principal, WorkingEntry
from clearwell.settings import Settings
from clearwell.signing import SigningKey
from clearwell.stores.postgres import Database, open_database
from clearwell.stores.postgres.admissions import PostgresAdmissionBatch
from clearwell.stores.valkey import ValkeyWorkingStore
from clearwell.testing import ManualClock, WordEmbedder
from clearwell.worker import sweep
from tests.path import said

T = TypeVar("T")
PERSON = Principal.local()


class Crash(BaseException):
    """The process ends here."""


class Machine(RuleBasedStateMachine):
    """The program on real servers, beside a model of what the protocol promises."""

    database_url = ""
    redis_url = ""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.number = 0
        self.admissible: dict[UUID, bool] = {}
        self.redis = redis.Redis.from_url(self.redis_url)
        self.redis.flushdb()
        self.group = f"g{id(self)}-{datetime.now(UTC).timestamp()}"
        self.settings = Settings(working_size=20)
        self.database: Database = self.run(
            open_database(
                self.database_url, pool_min=1, pool_max=4, connect_seconds=5, statement_seconds=10, prepare=True
            )
        )
        self.start()

    def run(self, awaited: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaited

        return self.loop.run(wait())

    def start(self) -> None:
        ids = TimeOrderedIds()
        self.opened = open_stores(self.settings, self.database, self.redis_url, self.clock, ids)
        stores = self.run(self.opened.__aenter__())
        self.clearwell: Clearwell = build(
            self.settings,
            stores,
            self.clock,
            ids,
            embedder=WordEmbedder(),
            make_model=lambda _: WordEmbedder(),
            signer=SigningKey.generate(),
        )

    def text(self) -> str:
        self.number += 1
        return " ".join(f"w{self.number}x{place}{'abcdefgh'[place % 8]}" for place in range(14))

    @rule(confident=st.booleans())
    def capture(self, confident: bool) -> None:
        new = said(self.text(), self.group, confidence=0.9 if confident else 0.1)
        receipt = self.run(self.clearwell.memory.acting_as(PERSON).capture(new, wait=True))
        self.admissible[receipt.id] = confident

    @rule()
    def crash_after_the_commit(self) -> None:
        log_id = self.run(
            self.clearwell.memory.acting_as(PERSON).log_quarantine("s", "n", self.text(), group=self.group)
        )
        self.admissible[log_id] = True
        self.restart()

    @rule()
    def crash_between_push_and_settlement(self) -> None:
        log_id = self.run(
            self.clearwell.memory.acting_as(PERSON).log_quarantine("s", "n", self.text(), group=self.group)
        )
        self.admissible[log_id] = True
        settle = PostgresAdmissionBatch.settle

        async def dies(batch: PostgresAdmissionBatch, settled: Sequence[AdmissionResult], **_: object) -> None:
            raise Crash

        PostgresAdmissionBatch.settle = dies  # type: ignore[method-assign, assignment] # a crash has no port
        try:
            self.run(self.clearwell.admitter.admit_batch(self.group, [log_id]))
        except Crash:
            pass
        finally:
            PostgresAdmissionBatch.settle = settle  # type: ignore[method-assign]
        self.restart()

    @rule()
    def restart(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        """Close the program. Its background writers end first: a client that they open again would stay open."""
        self.run(self.clearwell.queue.close())
        self.run(self.clearwell.events.flush())
        self.run(self.clearwell.recalls.flush())
        self.run(self.clearwell.gate.flush())
        self.run(self.opened.__aexit__(None, None, None))

    @rule(hours=st.integers(min_value=1, max_value=13))
    def time_passes(self, hours: int) -> None:
        self.clock.forward(timedelta(hours=hours))

    @rule()
    def redis_loses_its_data(self) -> None:
        self.redis.flushdb()

    @rule()
    def redis_is_down_while_something_is_said(self) -> None:
        entries = ValkeyWorkingStore.entries

        async def down(working: ValkeyWorkingStore, group_id: str) -> list[WorkingEntry]:
            raise WorkingMemoryUnavailable("working_unavailable", problem="down")

        ValkeyWorkingStore.entries = down  # type: ignore[method-assign, assignment] # an outage has no port
        try:
            self.capture(confident=True)
        finally:
            ValkeyWorkingStore.entries = entries  # type: ignore[method-assign]

    @invariant()
    def everything_is_settled_and_there_once(self) -> None:
        self.clock.forward(timedelta(minutes=1))
        self.run(self._recover())
        rows = self.run(self.clearwell.memory.acting_as(PERSON).quarantine_rows(group=self.group, limit=500))
        assert {row.capture.id for row in rows} == set(self.admissible)
        states = {row.capture.id: row.admission for row in rows}
        assert states == {
            log_id: Admission.ADMITTED if good else Admission.REFUSED for log_id, good in self.admissible.items()
        }
        now, life = self.clock.now(), timedelta(seconds=self.settings.working_ttl_seconds)
        live = [row for row in rows if row.admission is Admission.ADMITTED and (row.settled_at or now) + life > now]
        live.sort(key=lambda row: (row.settled_at or now, row.capture.id), reverse=True)
        entries = self.run(self.clearwell.memory.acting_as(PERSON).working_memory(group=self.group))
        ids = [entry.id for entry in entries]
        assert len(ids) == len(set(ids)) == min(len(live), self.settings.working_size)
        assert set(ids) == {row.capture.id for row in live[: self.settings.working_size]}

    async def _recover(self) -> None:
        """What the worker does in its next rounds."""
        while await sweep(self.clearwell):
            await self.clearwell.queue.join()
        await self.clearwell.rebuilder.rebuild_after_loss()

    def teardown(self) -> None:
        self.stop()
        self.run(self.database.close())
        self.redis.close()
        self.loop.close()


def test_every_capture_ends_settled_and_every_admissible_one_is_there_once(database_url: str, redis_url: str) -> None:
    Machine.database_url, Machine.redis_url = database_url, redis_url
    limits = settings(max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Machine, settings=limits)
    with psycopg.connect(database_url) as owner:
        assert owner.execute("SELECT count(*) FROM admissions WHERE state = 'pending'").fetchone() == (0,)
