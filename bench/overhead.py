"""What roles, row-level security and the audit cost on capture and retrieve: the same program with and without them.

Two databases of one server are filled alike. The program that is measured runs on the first. The other one has no
row-level security, and the program on it enters no role and no group, stores no audit event and signs none: this module
gives it a ``Database`` of its own, and the product has no setting for it. Both have their turn in every round.
"""

import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import sql
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool
from pydantic_core import from_json

from bench.blocks import Step, Times, interleaved, table
from bench.ground import FixedEmbedder, analyze, fill, ground, vectors
from bench.paths import recorder
from bench.purify import english
from clearwell.app import Clearwell, SystemClock, TimeOrderedIds, build
from clearwell.app.stores import open_stores
from clearwell.flow.capture.intake import CaptureRecorder
from clearwell.ports import Embedder
from clearwell.records import ModelChoice, NewCapture, Principal, Right, Vector
from clearwell.settings import Settings
from clearwell.signing import SigningKey
from clearwell.stores.postgres import Database, Role, migrate
from clearwell.stores.postgres.connection import PooledConnection, SqlStatement, StatementRunner
from clearwell.stores.postgres.queries import query

AGENT: Final = Principal(name="bench", rights=frozenset({Right.CAPTURE, Right.READ}))
GROUP: Final = "g"
MEMORIES, LIVE = 4000, 10
LIMIT: Final = 1.2
WITH, WITHOUT = "with", "without"
AUDITS: Final = frozenset({query("add_event"), query("add_events")})
NOT_STORED: Final[list[DictRow]] = [{"rowcount": 1}]
UNGUARDED: Final = "unguarded"


class HashedEmbedder(FixedEmbedder):
    """A vector of its own for every text, without a model: what is measured is not the model."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [vectors(1, seed=int.from_bytes(blake2b(text.encode(), digest_size=4).digest()))[0] for text in texts]


class UnauditedRunner(StatementRunner):
    """Leaves out statements that store audit events."""

    async def run(self, statements: Sequence[SqlStatement]) -> list[list[DictRow]]:
        answers = iter(await super().run([one for one in statements if one[0] not in AUDITS]))
        return [NOT_STORED if text in AUDITS else next(answers) for text, _ in statements]


class BareConnection(PooledConnection):
    """A connection whose statements are run in the role of its login."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__dict__["runner"] = UnauditedRunner(self)


class UnguardedDatabase(Database):
    """Enters neither a role nor a group."""

    async def run_all(
        self,
        role: Role | None,  # noqa: ARG002
        group_id: str | None,
        statements: Sequence[SqlStatement],
        *,
        entry: str = "enter",
    ) -> list[list[DictRow]]:
        return await super().run_all(None, group_id, statements, entry=entry)

    @asynccontextmanager
    async def transaction(self, role: Role, group_id: str) -> AsyncIterator[StatementRunner]:  # noqa: ARG002
        async with self._pool.connection() as connection, connection.transaction():
            yield connection.runner


async def measure() -> list[str]:
    async with ground(HashedEmbedder(), pinned=True) as (guarded, servers):
        url = await _make_unguarded(servers.database_url)
        async with _open_unguarded(guarded.settings, url, servers.redis_url) as bare:
            programs = {WITH: guarded, WITHOUT: bare}
            for clearwell in programs.values():
                await fill(clearwell, GROUP, MEMORIES, live=LIVE)
            await analyze(servers.database_url)
            await analyze(url)
            lines = [*await _captures(programs), *await _admissions(programs), *await _retrievals(programs)]
            events = [await _count_events(one) for one in (servers.database_url, url)]
            if not events[0] or events[1]:
                raise AssertionError(f"audit events with and without: {events}")
            return lines


async def _make_unguarded(database_url: str) -> str:
    """A second database of the same server, without row-level security."""
    url = urlunsplit(urlsplit(database_url)._replace(path=f"/{UNGUARDED}"))
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(UNGUARDED)))
    await migrate(url)
    async with await psycopg.AsyncConnection.connect(url) as owner:
        found = await owner.execute("SELECT relname FROM pg_class WHERE relrowsecurity")
        for (name,) in await found.fetchall():
            table_name = sql.Identifier(name)
            await owner.execute(sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(table_name))
            await owner.execute(sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(table_name))
    return url


@asynccontextmanager
async def _open_unguarded(settings: Settings, url: str, redis_url: str) -> AsyncIterator[Clearwell]:
    async def configure(connection: BareConnection) -> None:
        connection.prepare_threshold = None
        await register_vector_async(connection)
        set_json_loads(from_json, connection)

    pool: AsyncConnectionPool[BareConnection] = AsyncConnectionPool(
        url,
        connection_class=BareConnection,
        min_size=settings.postgres_pool_min,
        max_size=settings.postgres_pool_max,
        configure=configure,
        kwargs={"autocommit": True, "row_factory": dict_row, "application_name": UNGUARDED},
        open=False,
    )
    await pool.open(wait=True)
    clock, ids = SystemClock(), TimeOrderedIds()
    database = UnguardedDatabase(pool, url=url)  # type: ignore[arg-type]
    try:
        # Another database of the Valkey server: the groups have the same names.
        async with open_stores(settings, database, f"{redis_url}?db=1", clock, ids) as stores:
            clearwell = build(
                settings,
                stores,
                clock,
                ids,
                embedder=HashedEmbedder(),
                make_model=_make_no_model,
                signer=SigningKey.generate(),
            )
            yield clearwell
            await clearwell.queue.close()
            await clearwell.recalls.flush()
            await clearwell.events.flush()
    finally:
        await database.close()


def _make_no_model(choice: ModelChoice) -> Embedder:
    raise AssertionError(f"nothing migrates to {choice.model}")


async def _count_events(url: str) -> int:
    async with await psycopg.AsyncConnection.connect(url) as owner:
        (number,) = await (await owner.execute("SELECT count(*) FROM audit_events")).fetchone() or (0,)
    return int(number)


def _new(text: str) -> NewCapture:
    return NewCapture(content=text, group_id=GROUP, session_id="s", agent_id="a", metadata={"confidence": 0.9})


async def _captures(programs: Mapping[str, Clearwell]) -> list[str]:
    """The commit to quarantine alone: what stands between an agent and its answer."""

    async def capture(recorder: CaptureRecorder, dice: random.Random) -> None:
        await recorder.store([recorder.accept(_new(english(dice)), by=AGENT)])

    steps = {name: partial(capture, recorder(one), random.Random(name)) for name, one in programs.items()}
    return _write("Capture, committed to quarantine", await interleaved(steps, rounds=20, block=25))


async def _admissions(programs: Mapping[str, Clearwell]) -> list[str]:
    """With the ingress pipeline and the audit event of its outcome."""

    async def admit(clearwell: Clearwell, dice: random.Random) -> None:
        await clearwell.memory.acting_as(AGENT).capture(_new(english(dice)), wait=True)

    steps = {name: partial(admit, one, random.Random(name)) for name, one in programs.items()}
    return _write("Capture until it is in working memory", await interleaved(steps, rounds=15, block=8))


async def _retrievals(programs: Mapping[str, Clearwell]) -> list[str]:
    async def retrieve(clearwell: Clearwell) -> None:
        await clearwell.memory.acting_as(AGENT).retrieve("what happened to the billing in Porto", group=GROUP)

    steps: dict[str, Step] = {name: partial(retrieve, one) for name, one in programs.items()}
    title = f"Retrieve, embedding excluded, {MEMORIES} memories"
    return _write(title, await interleaved(steps, rounds=20, block=10))


def _write(title: str, times: Mapping[str, Times]) -> list[str]:
    return table(f"{title} (at most {LIMIT} ×)", times, {WITH: WITHOUT})
