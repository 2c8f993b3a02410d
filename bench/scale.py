"""Search by words and vectors against the bare vector query, as a group grows and as other groups do."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector

from bench.blocks import Step, interleaved, table
from bench.ground import FixedEmbedder, analyze, bare_connection, ground, memory, promote, vectors
from clearwell.app import Clearwell
from clearwell.flow.retrieval.bm25 import analyse_query
from clearwell.ports import SearchQuery
from clearwell.records import Memory, Promotion
from clearwell.stores.postgres.queries import query

SIZES = (1_000, 4_000, 10_000)
OTHERS = 40
LETTERS = np.array(list("bcdfglmnprst"))
WORDS_A_TURN, TURNS_A_SESSION, BATCH = 18, 25, 500


async def measure() -> list[str]:
    async with ground(pinned=True) as (clearwell, servers):
        lexicon = _lexicon_of_words()
        for size in SIZES:
            await _fill(clearwell, f"g{size}", size, lexicon)
        for number in range(OTHERS):
            await _fill(clearwell, f"other{number}", 50, lexicon)
        bare = await bare_connection(servers.database_url)
        await _plain_table(bare)
        await analyze(servers.database_url)
        lines = [line for size in SIZES for line in await _measured(clearwell, bare, size, lexicon)]
        await bare.close()
        return lines


async def _measured(clearwell: Clearwell, bare: Any, size: int, lexicon: list[str]) -> list[str]:
    group, store = f"g{size}", clearwell.stores.longterm
    vector = vectors(1, seed=7)[0]
    text = "What did Ann " + " ".join(lexicon[number] for number in (3, 40, 300, 700, 2000)) + "?"
    wanted = SearchQuery(
        group_id=group, embedding=vector, model=FixedEmbedder.model, limit=10, terms=analyse_query(text)
    )
    params = {"group_id": group, "embedding": HalfVector(vector), "model": FixedEmbedder.model, "agent_id": None}
    plain = query("search").replace("FROM memories", "FROM plain")

    async def floor() -> None:
        await (await bare.execute(plain, params | {"limit": 10})).fetchall()

    async def floor_here() -> None:
        await (await bare.execute(query("search"), params | {"limit": 10})).fetchall()

    async def ours() -> None:
        await store.search(wanted)

    steps: dict[str, Step] = {
        "bare vector query, table without words": floor,
        "bare vector query, same table": floor_here,
        "vectors and words, with role and row-level security": ours,
    }
    times = await interleaved(steps, rounds=20, block=10)
    names = list(steps)
    return table(f"{size:,} memories in the group (at most 1.6 ×)", times, {names[1]: names[0], names[2]: names[0]})


async def _plain_table(bare: psycopg.AsyncConnection[Any]) -> None:
    """The floor's own table: the same rows as they would be without words."""
    await bare.execute("CREATE TABLE plain (LIKE memories INCLUDING STORAGE)")
    await bare.execute("ALTER TABLE plain DROP COLUMN lexemes, DROP COLUMN position, DROP COLUMN tokenizer_version")
    columns = await bare.execute(
        "SELECT string_agg(quote_ident(attname), ', ') AS names FROM pg_attribute"
        " WHERE attrelid = 'plain'::regclass AND attnum > 0 AND NOT attisdropped"
    )
    names = (await columns.fetchone() or {})["names"]
    await bare.execute(f"INSERT INTO plain ({names}) SELECT {names} FROM memories")  # noqa: S608
    await bare.execute("ALTER TABLE plain ADD PRIMARY KEY (group_id, id, chunk_no)")


def _lexicon_of_words(count: int = 20_000) -> list[str]:
    drawn = np.random.default_rng(3).choice(LETTERS, size=(count, 4))
    return [f"{a}{b}a{c}o{d}i" for a, b, c, d in drawn]


async def _fill(clearwell: Clearwell, group: str, size: int, lexicon: list[str]) -> None:
    made = list(_memories(group, size, lexicon))
    for start in range(0, size, BATCH):
        await promote(clearwell, group, made[start : start + BATCH])


def _memories(group: str, size: int, lexicon: list[str]) -> Iterator[tuple[Promotion, list[Memory]]]:
    """Turns of two speakers, their words drawn as often as words are used (Zipf)."""
    rng = np.random.default_rng(size)
    share = 1 / np.arange(1, len(lexicon) + 1)
    drawn = rng.choice(len(lexicon), size=(size, WORDS_A_TURN), p=share / share.sum())
    for number, vector in enumerate(vectors(size, seed=size)):
        author = ("Ann", "Bob")[number % 2]
        said = " ".join(lexicon[word] for word in drawn[number])
        decided, (chunk,) = memory(group, vector)
        content = f"[1:56 pm on 8 May, 2023] {author}: {said}, and that was all there is to it."
        session = f"s{number // TURNS_A_SESSION}"
        yield decided, [replace(chunk, content=content, author=author, session_id=session)]
