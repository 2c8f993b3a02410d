"""Lost chunks are made again from the promotions: the same memories, as valid and as old as the decisions say."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest

from clearwell.app import Clearwell, open_rebuild
from clearwell.errors import EmbedderUnavailable
from clearwell.flow.promotion.rebuild import PAGE, Progress, RebuildResult
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OfflineEmbedder
from clearwell.ports import RebuildCounts
from clearwell.records import ForgetSelector, NewCapture, NewMemory, PromotionResult, SourceSelector, Vector
from clearwell.servers import Servers
from clearwell.settings import Settings
from tests.conftest import opened
from tests.integration.cli.program import Program, Ran
from tests.path import PERSON

STORED = """
    SELECT id, chunk_no, promotion_id, scope, agent_id, content, embedding_model, session_id, author, metadata::text,
        promoted_at, valid_to, disputed, tokenizer_version, CASE WHEN valid_to IS NULL THEN position END,
        CASE WHEN valid_to IS NULL THEN lexemes::text END
    FROM memories ORDER BY id, chunk_no
"""
COUNTED = "SELECT group_id, reader, dimension, chunks FROM group_terms WHERE chunks > 0 ORDER BY 1, 2, 3"
AUTHORS = "SELECT group_id, reader, author, chunks FROM group_authors WHERE chunks > 0 ORDER BY 1, 2, 3"
KETTLE, LEDGER, PUMP = (
    "The copper kettle is kept in the cellar.",
    "The blue ledger is kept in the harbour office.",
    "The water pump was repaired by the workshop in March.",
)


class Weak(OfflineEmbedder):
    """A model that can be switched off."""

    down = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailable("embedder_unavailable", problem="down")
        return await super().embed(texts)


@dataclass(frozen=True)
class Installation:
    """The running program, with the words of these tests."""

    clearwell: Clearwell
    model: Weak
    url: str

    async def promote(self, text: str, **more: Any) -> PromotionResult:
        return await self.clearwell.memory.acting_as(PERSON).promote(text, group="g", **more)

    async def withdraw(self, memory_id: UUID) -> UUID:
        selector, review = SourceSelector(memory_id=memory_id), self.clearwell.review.acting_as(PERSON)
        preview = await review.preview_retraction(selector, group="g")
        return known((await review.retract(selector, token=preview.token, group="g")).decision_id)

    async def undo(self, decision_id: UUID | None) -> None:
        await self.clearwell.review.acting_as(PERSON).undo(known(decision_id), group="g")

    async def wait_for_model(self, text: str, **more: Any) -> PromotionResult:
        self.model.down = True
        result = await self.promote(text, **more)
        self.model.down = False
        assert result.waiting
        return result

    async def ask(self, query: str, as_of: datetime | None = None) -> list[tuple[UUID, str]]:
        options = RetrieveOptions(as_of=as_of)
        found = await self.clearwell.memory.acting_as(PERSON).retrieve(query, group="g", options=options)
        assert found.degraded == ()
        return [(item.id, item.content) for item in found.items]

    def rows(self, statement: LiteralString) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as owner:
            return owner.execute(statement).fetchall()

    def read_all(self) -> list[list[tuple[Any, ...]]]:
        return [self.rows(statement) for statement in (STORED, COUNTED, AUTHORS)]

    def lose(self, statement: LiteralString = "DELETE FROM memories") -> None:
        with psycopg.connect(self.url) as owner:
            owner.execute(statement)

    async def rebuild(self, progress: Progress | None = None) -> RebuildResult:
        settings = self.clearwell.settings
        assert settings.redis_url is not None
        servers = Servers(self.url, settings.redis_url.get_secret_value(), ())
        async with open_rebuild(settings, servers) as rebuilder:
            return await rebuilder.run(progress or ignore, by=PERSON)

    async def run(self, *words: str) -> Ran:
        settings = self.clearwell.settings
        assert settings.redis_url is not None
        environment = {"DATABASE_URL": self.url, "REDIS_URL": settings.redis_url.get_secret_value()}
        return await asyncio.to_thread(Program(settings.data_dir, environment).run, *words)


def ignore(_done: int, _total: int) -> None:
    """For those who do not look at the progress."""


def known(given: UUID | None) -> UUID:
    assert given is not None
    return given


def find_check(ran: Ran, name: str) -> dict[str, Any] | None:
    return next((one for one in ran.json["checks"] if one["check"] == name), None)


@pytest.fixture
async def installation(settings: Settings, database_url: str) -> AsyncIterator[Installation]:
    model = Weak()
    async with opened(settings, model) as clearwell:
        yield Installation(clearwell, model, database_url)
    await model.close()


async def test_doctor_finds_the_loss_and_rebuild_repairs_it(installation: Installation) -> None:
    old = await installation.promote(KETTLE, session_id="s1", author="Ann")
    await installation.promote("The spare keys hang beside the door.", session_id="s1", author="Ben")
    ledger = await installation.promote(LEDGER, metadata={"team": 3})
    pump = await installation.promote(PUMP)
    before_changes = datetime.now(UTC)
    await installation.promote("The copper kettle is kept in the library now.", session_id="s1", supersedes=old.id)
    await installation.withdraw(ledger.id)
    rejecter = installation.clearwell.memory.acting_as(PERSON)
    tombstone = await rejecter.add_tombstone(PUMP, group="g", reason="wrong", withdraw=False)
    stored, queries = installation.rows(STORED), ("Where is the copper kettle?", "blue ledger", "spare keys")
    answers = [await installation.ask(query) for query in queries]
    past = [await installation.ask(query, before_changes) for query in queries]
    assert any(one == old.id for one, _ in past[0])

    installation.lose()
    assert await installation.ask(queries[0]) == []
    ill = await installation.run("doctor", "--json")
    lost = find_check(ill, "chunks")
    assert ill.code == 1
    assert lost is not None
    assert (lost["status"], "rebuild" in lost["advice"]) == ("problem", True)
    assert ": 3, in 1 group (for example g)" in lost["text"]

    ran = await installation.run("rebuild", "--json")
    assert ran.code == 0, ran.err
    assert ran.json == {"memories": 4, "chunks": 4, "refused": 1, "reindexed": ["g"]}
    assert "5 of 5 memories" in ran.err
    assert installation.rows(STORED) == [row for row in stored if row[0] != pump.id]
    assert [[one for one in found if one[0] != pump.id] for found in answers] == [
        await installation.ask(query) for query in queries
    ]
    assert [sorted(found) for found in past] == [
        sorted(await installation.ask(query, before_changes)) for query in queries
    ]
    well = await installation.run("doctor", "--json", "--group", "g")
    assert (well.code, find_check(well, "terms")) == (0, None)
    found = find_check(well, "chunks")
    assert found is not None
    assert found["status"] == "ok"
    assert "There is nothing to do" in (await installation.run("rebuild")).out

    await rejecter.lift_tombstone(tombstone.id, group="g")
    assert await installation.clearwell.promotion_completer.complete_due() == 1
    assert (await installation.ask("Who repaired the water pump?"))[0] == (pump.id, PUMP)


async def test_every_turn_of_the_decisions_is_kept(installation: Installation) -> None:
    promote, undo = installation.promote, installation.undo
    complete = installation.clearwell.promotion_completer.complete_due
    for number in range(6):
        await promote(f"Step {number} of the tour is the tower number {number}.", session_id="tour", author="Ann")
    undone = await promote("The bell rings at noon.")
    await undo(undone.decision_id)
    restored = await promote("The market opens at seven.")
    await undo(await installation.withdraw(restored.id))
    old = await promote("The archive closes at five.")
    replacing = await promote("The archive closes at six.", supersedes=old.id)
    await undo(replacing.decision_id)
    again = await promote("The old map hangs in the station.")
    retraction = await installation.withdraw(again.id)
    await promote("The old map hangs in the station.")
    await undo(retraction)
    outdated = await promote("The ferry leaves from pier one.")
    await installation.wait_for_model("The ferry leaves from pier nine.", supersedes=outdated.id)
    assert await complete() == 1
    kept = await promote("The gate is painted green.")
    given_up = await installation.wait_for_model("The gate is painted red.", supersedes=kept.id)
    await undo(given_up.decision_id)
    later = await installation.wait_for_model("The fountain runs until ten.")
    await undo(await installation.withdraw(later.id))
    assert await complete() == 1
    before = installation.read_all()
    valid = {row[5] for row in before[0] if row[11] is None}
    assert {"The archive closes at five.", "The gate is painted green.", "The fountain runs until ten."} <= valid

    installation.lose()
    done = await installation.rebuild()
    assert (done.counts.memories, done.counts.refused) == (len(before[0]), 0)
    assert installation.read_all() == before

    installation.lose("DELETE FROM memories WHERE position = 3 OR valid_to IS NOT NULL")
    await installation.rebuild()
    assert installation.read_all() == before
    nothing = await installation.rebuild()
    assert (nothing.counts, nothing.reindexed) == (RebuildCounts(), [])


async def test_what_is_withdrawn_and_rejected_or_forgotten_is_never_written(installation: Installation) -> None:
    memory = installation.clearwell.memory.acting_as(PERSON)
    await installation.promote(KETTLE)
    await installation.promote(LEDGER)
    rejected = await memory.add_tombstone(KETTLE, group="g", reason="wrong", withdraw=True)
    assert len(rejected.memories) == 1
    forgotten = await installation.promote(PUMP)
    wanted = ForgetSelector(memory_id=forgotten.id)
    preview = await memory.preview_forget(wanted, group="g")
    await memory.forget(wanted, group="g", token=preview.token)
    installation.lose()
    done = await installation.rebuild()
    assert (done.counts.memories, done.counts.refused) == (1, 1)
    assert [row[5] for row in installation.rows(STORED)] == [LEDGER]
    assert installation.rows("SELECT * FROM promotion_work") == []
    assert find_check(await installation.run("doctor", "--json"), "chunks") == {
        "check": "chunks",
        "status": "ok",
        "text": "Every memory in force has its chunks, and they say what was promoted.",
        "advice": None,
    }


LONG = " ".join(f"Shelf {number} of the archive holds the maps of the year {1800 + number}." for number in range(60))
CHANGES: dict[str, LiteralString] = {
    "text": "UPDATE memories SET content = 'TAMPERED' WHERE content = %(kettle)s",
    "part of a text": "UPDATE memories SET content = 'The copper kettle is kept' WHERE content = %(kettle)s",
    "a chunk of several": "UPDATE memories SET content = replace(content, 'maps', 'keys') WHERE chunk_no = 2",
    "a chunk that is cut": "UPDATE memories SET content = left(content, 60) WHERE chunk_no = 3",
    "a chunk that is gone": "DELETE FROM memories WHERE chunk_no = 2",
    "the last chunk": "DELETE FROM memories WHERE chunk_no = (SELECT max(chunk_no) FROM memories)",
    "author": "UPDATE memories SET author = 'Somebody else' WHERE author = 'Ann'",
    "metadata": """UPDATE memories SET metadata = '{"team": 4}' WHERE metadata <> '{}'""",
    "flags": "UPDATE memories SET flags = '{instruction_like}' WHERE content = %(kettle)s",
    "a chunk that is added": """
        INSERT INTO memories
            (group_id, id, chunk_no, promotion_id, scope, content, embedding, embedding_model, metadata, promoted_at)
        SELECT group_id, id, 1, promotion_id, scope, 'TAMPERED', embedding, embedding_model, metadata, promoted_at
        FROM memories WHERE metadata <> '{}'""",
    "a withdrawn one": "UPDATE memories SET content = 'TAMPERED' WHERE valid_to IS NOT NULL",
}


async def test_doctor_finds_a_change_and_rebuild_repairs_it(installation: Installation) -> None:
    await installation.promote(KETTLE, session_id="s1", author="Ann")
    await installation.promote(LEDGER, metadata={"team": 3})
    await installation.promote(f"\n  {LONG}\n\n\u3000 " + "The sea is blue. " * 90 + "\n")
    await installation.withdraw((await installation.promote(PUMP)).id)
    before = installation.read_all()
    assert len(before[0]) > 10
    for name, statement in CHANGES.items():
        with psycopg.connect(installation.url) as owner:
            assert owner.execute(statement, {"kettle": KETTLE}).rowcount == 1, name
        ill = await installation.run("doctor", "--json")
        changed = find_check(ill, "chunks")
        assert changed is not None
        assert (ill.code, changed["status"], "rebuild" in changed["advice"]) == (1, "problem", True), name
        assert ": 1, in 1 group (for example g)" in changed["text"], name
        done = await installation.rebuild()
        assert (done.counts.memories, done.counts.refused) == (1, 0), name
        assert installation.read_all() == before, name
    assert (await installation.rebuild()).counts == RebuildCounts()
    well = find_check(await installation.run("doctor", "--json", "--group", "g"), "chunks")
    assert well is not None
    assert well["status"] == "ok"
    events = installation.rows("SELECT detail ->> 'changed' FROM audit_events WHERE action = 'rebuild memories'")
    assert events == [("1",)] * len(CHANGES)


async def test_the_changed_text_of_a_rejected_value_is_removed(installation: Installation) -> None:
    await installation.promote(KETTLE)
    rejecter = installation.clearwell.memory.acting_as(PERSON)
    await rejecter.add_tombstone(KETTLE, group="g", reason="wrong", withdraw=False)
    installation.lose("UPDATE memories SET content = 'TAMPERED'")
    assert (await installation.rebuild()).counts == RebuildCounts(0, 0, 1)
    assert installation.rows(STORED) == []


async def test_an_interrupted_rebuild_continues_while_people_promote(installation: Installation) -> None:
    texts = [NewMemory(content=f"Room {number} has {number + 3} chairs.") for number in range(PAGE + 5)]
    await installation.clearwell.memory.acting_as(PERSON).promote_many(texts, group="g")
    before = installation.read_all()
    installation.lose()

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done:
            assert (done, total) == (PAGE, PAGE + 5)
            raise Stopped

    with pytest.raises(Stopped):
        await installation.rebuild(stop)
    assert len(installation.rows(STORED)) == PAGE
    added, done = await asyncio.gather(installation.promote(KETTLE), installation.rebuild())
    assert done.counts == RebuildCounts(5, 5, 0)
    assert [row for row in installation.rows(STORED) if row[0] != added.id] == before[0]
    assert (await installation.rebuild()).counts == RebuildCounts()
    assert find_check(await installation.run("doctor", "--json"), "terms") is None
    events = installation.rows("SELECT detail ->> 'memories' FROM audit_events WHERE action = 'rebuild memories'")
    assert events == [(str(PAGE),), ("5",)]


async def test_doctor_names_terms_of_another_tokenizer_and_rebuild_makes_them_anew(installation: Installation) -> None:
    await installation.promote(KETTLE)
    before = installation.read_all()
    with psycopg.connect(installation.url) as owner:
        owner.execute("UPDATE memories SET lexemes = '{}/1048576', tokenizer_version = 0")
    found = find_check(await installation.run("doctor", "--json"), "terms")
    assert found is not None
    assert (found["status"], "rebuild" in found["advice"]) == ("warning", True)
    assert (await installation.rebuild()).reindexed == ["g"]
    assert installation.read_all() == before


async def test_lost_statements_are_made_again_by_the_worker(installation: Installation) -> None:
    memory = installation.clearwell.memory.acting_as(PERSON)
    said = NewCapture(content=f"{PUMP} {LEDGER}", group_id="g", agent_id="a1")
    await memory.capture(said, wait=True)
    read = "SELECT log_id, number, span_start, span_end, kind, model, embedding::text FROM statements ORDER BY 1, 2"
    before = installation.rows(read)
    assert len(before) == 2
    installation.lose("DELETE FROM statements")
    installation.lose("DELETE FROM segmentations")
    assert await installation.clearwell.statement_updater.update_outdated() == 0
    await installation.rebuild()
    assert await installation.clearwell.statement_updater.update_outdated() == 1
    assert installation.rows(read) == before
    await memory.rebuild_working_memory(group="g")
    assert (await installation.ask("Who repaired the water pump?"))[0][1] == said.content
