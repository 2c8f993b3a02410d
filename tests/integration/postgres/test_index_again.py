"""The words of a group made again: what is gone moves the rank of nothing."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

import psycopg
import pytest

from clearwell.app import Clearwell, SystemClock
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.stores.postgres import PostgresDecisions, PostgresLexicalIndex, PostgresLongTerm, open_database
from clearwell.testing import MemoryLongTerm
from clearwell.worker import rebuild_lexical_index, worker
from tests.contract.ports import START
from tests.contract.test_search_with_words import QUESTIONS, query, said
from tests.path import OTHER, PERSON
from tests.waiting import until

COUNTS = "SELECT dimension, chunks FROM group_terms WHERE group_id = 'g' ORDER BY dimension"
STALE = "SELECT count(*) FROM indexed_groups WHERE tokenizer_version <> %s"
OLD = """
    UPDATE memories SET lexemes = '{}/1048576', position = NULL, tokenizer_version = 0;
    UPDATE indexed_groups SET tokenizer_version = 0;
    DELETE FROM group_terms;
    DELETE FROM group_authors
"""


class WatchedBm25(Bm25):
    """Remembers in which threads it read texts."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def dimensions(self, text: str) -> frozenset[int]:
        self.threads.add(threading.get_ident())
        return super().dimensions(text)

    def lexemes(self, text: str, near: Sequence[str]) -> Mapping[int, float]:
        self.threads.add(threading.get_ident())
        return super().lexemes(text, near)


async def test_the_words_of_large_texts_are_read_off_the_event_loop(database_url: str) -> None:
    database = await open_database(
        database_url, pool_min=1, pool_max=2, connect_seconds=5, statement_seconds=10, prepare=True
    )
    lexicon = WatchedBm25()
    decisions = PostgresDecisions(database, lexicon, SystemClock())
    small, chunks = said(0)
    large = [replace(chunk, content="Backups take eleven minutes. " * 400) for chunk in chunks]
    async with decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(small, large)])
        await transaction.withdraw_memories([small.memory_id], at=START)
        await transaction.restore_memories([small.memory_id], at=START)
    assert lexicon.threads
    assert threading.get_ident() not in lexicon.threads
    await database.close()


async def test_what_was_superseded_is_no_neighbour_and_is_not_counted(database_url: str) -> None:
    database = await open_database(
        database_url, pool_min=1, pool_max=2, connect_seconds=5, statement_seconds=10, prepare=True
    )
    decisions, plain = PostgresDecisions(database, Bm25(), SystemClock()), MemoryLongTerm(Bm25())
    async with decisions.transaction("g") as transaction:
        await transaction.insert_promotions([said(number) for number in range(7)])
    plain.hold([said(number) for number in range(7) if number != 1])
    with psycopg.connect(database_url, autocommit=True) as owner:
        before = owner.execute(COUNTS).fetchall()
        assert await PostgresLexicalIndex(database, Bm25()).rebuild_group("g") == 7
        assert owner.execute(COUNTS).fetchall() == before
        owner.execute("UPDATE memories SET valid_to = %s WHERE id = %s", (START, said(1)[0].memory_id))
        assert await PostgresLexicalIndex(database, Bm25()).rebuild_group("g") == 6
        assert owner.execute(COUNTS).fetchall()[0] == (0, 6)
    for text in QUESTIONS:
        expected = {one.memory.id: one.rank for one in await plain.search(query(text))}
        found = {one.memory.id: one.rank for one in await PostgresLongTerm(database).search(query(text))}
        assert found == pytest.approx(expected, abs=2e-3)
    await database.close()


async def test_the_worker_makes_words_of_an_older_tokenizer_anew(clearwell: Clearwell) -> None:
    """As after an upgrade: every group gets its words in the background, and is then left alone."""
    for group in ("g", "h"):
        await clearwell.memory.acting_as(PERSON).promote(OTHER, group=group, session_id="s", author="Ann")
        await clearwell.memory.acting_as(PERSON).promote("Only for the auditor.", group=group, agent_id="auditor")
    assert await rebuild_lexical_index(clearwell) == 0
    assert clearwell.settings.database_url is not None
    with psycopg.connect(clearwell.settings.database_url.get_secret_value(), autocommit=True) as owner:
        before = owner.execute("SELECT * FROM group_terms ORDER BY group_id, dimension, reader").fetchall()
        owner.execute(OLD)

        async def done() -> bool:
            return owner.execute(STALE, (Bm25.version,)).fetchone() == (0,)

        async with worker(clearwell):
            await until(done)
        assert owner.execute("SELECT * FROM group_terms ORDER BY group_id, dimension, reader").fetchall() == before
        versions = owner.execute("SELECT DISTINCT tokenizer_version FROM memories").fetchall()
    assert versions == [(Bm25.version,)]
    assert await rebuild_lexical_index(clearwell) == 0
