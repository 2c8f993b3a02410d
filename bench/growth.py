"""What growth costs: a group that grows, with and without indexes of its own, and other groups that grow beside it."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pgvector import HalfVector

from bench.ground import FixedEmbedder, alike_vectors, analyze, bare_connection, ground, promote
from bench.plot import svg
from bench.scale import BATCH, _lexicon_of_words, _memories
from clearwell.app import Clearwell, open_postgres
from clearwell.flow.retrieval.bm25 import analyse_query
from clearwell.ports import LongTermSearch, SearchQuery
from clearwell.records import Vector
from clearwell.stores.postgres import PostgresLongTerm
from clearwell.stores.postgres.longterm import SPARE_CHUNKS, word_params
from clearwell.stores.postgres.queries import query

STEPS = (500, 1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000)
OTHERS = (0, 20_000, 60_000, 100_000)
GROUP_SIZE, TEMPLATES, QUESTIONS, TOP = 500, 10, 40, 10
LIMIT_MS = 25
RESULTS = Path(__file__).parent / "results"
COPIED = ("promotions", "memories", "group_terms", "group_authors", "indexed_groups")


async def measure() -> list[str]:
    async with ground() as (clearwell, servers):
        lexicon = _lexicon_of_words()
        bare = await bare_connection(servers.database_url)
        async with open_postgres(clearwell.settings, servers.database_url) as database:
            exact = PostgresLongTerm(database)
            lines = await _in_the_group(clearwell, exact, lexicon, servers.database_url)
        lines += await _in_other_groups(clearwell, lexicon, bare, servers.database_url)
        lines += await _every_group(clearwell, lexicon, bare)
        await bare.close()
        return lines


def questions(group: str, count: int, lexicon: list[str], *, words: bool = True) -> list[SearchQuery]:
    """As often as words are used: most queries have common words and rare ones."""
    rng, share = np.random.default_rng(11), 1 / np.arange(1, len(lexicon) + 1)
    made = []
    for vector in alike_vectors(count, seed=77):
        drawn = rng.choice(len(lexicon), size=6, p=share / share.sum())
        text = "What did Ann " + " ".join(lexicon[number] for number in drawn) + "?"
        made.append(
            SearchQuery(
                group_id=group,
                embedding=vector,
                model=FixedEmbedder.model,
                limit=TOP,
                terms=analyse_query(text) if words else None,
            )
        )
    return made


async def _fill(clearwell: Clearwell, group: str, size: int, lexicon: list[str], *, seed: int) -> None:
    made = [
        (decided, [replace(chunk, embedding=vector, session_id=f"{seed}-{chunk.session_id}")])
        for (decided, (chunk,)), vector in zip(
            _memories(group, size, lexicon), alike_vectors(size, seed=seed), strict=True
        )
    ]
    for start in range(0, size, BATCH):
        await promote(clearwell, group, made[start : start + BATCH])


async def _timed(store: LongTermSearch, asking: Sequence[SearchQuery]) -> tuple[float, list[list[Any]]]:
    """The median in milliseconds after one round to warm up, and what was found."""
    times, found = [], []
    for one in asking:
        await store.search(one)
    for one in asking:
        start = time.perf_counter()
        results = await store.search(one)
        times.append((time.perf_counter() - start) * 1000)
        found.append([result.memory.id for result in results])
    return statistics.median(times), found


def _recall(found: Sequence[Sequence[Any]], expected: Sequence[Sequence[Any]]) -> float:
    return float(
        np.mean([len({*one} & {*other}) / max(len(other), 1) for one, other in zip(found, expected, strict=True)])
    )


async def _in_the_group(clearwell: Clearwell, exact: LongTermSearch, lexicon: list[str], url: str) -> list[str]:
    by_index = clearwell.stores.longterm
    times: dict[str, list[tuple[float, float]]] = {"every row compared": [], "by the group's indexes": []}
    rows, limit = [], clearwell.settings.exact_scan_rows
    asking, near = questions("g", QUESTIONS, lexicon), questions("g", QUESTIONS, lexicon, words=False)
    for before, size in pairwise((0, *STEPS)):
        await _fill(clearwell, "g", size - before, lexicon, seed=size)
        await analyze(url)
        took, expected = await _timed(exact, asking)
        times["every row compared"].append((size, took))
        start = time.perf_counter()
        await clearwell.stores.vector_indexes.maintain(FixedEmbedder.model)
        built = time.perf_counter() - start
        if size <= limit:
            rows.append(f"| {size:,} | {took:.1f} | – | – | – | – |")
            continue
        indexed, found = await _timed(by_index, asking)
        times["by the group's indexes"].append((size, indexed))
        nearest = _recall((await _timed(by_index, near))[1], (await _timed(exact, near))[1])
        building = f"{built:.0f} s" if size == next(step for step in STEPS if step > limit) else "kept up"
        recall = _recall(found, expected)
        rows.append(f"| {size:,} | {took:.1f} | {indexed:.1f} | {recall:.4f} | {nearest:.4f} | {building} |")
    plot = svg("Time of a query as its group grows", "chunks in the group", "median ms", times)
    (RESULTS / "growth-group.svg").write_text(plot, encoding="utf-8")
    passed = next((int(size) for size, took in times["every row compared"] if took > LIMIT_MS), None)
    border = f"first passed at {passed:,} chunks" if passed else "not reached"
    return [
        "### A group that grows (recall of the indexes against comparing every row: at least 0.99)",
        "",
        f"Search by vector and words with role and row-level security, the best {TOP} of {QUESTIONS} queries; vectors"
        f" made without a model, in topics as a model's are. {LIMIT_MS} ms were {border}. A group gets indexes above"
        f" {limit:,} chunks (`exact_scan_rows`).",
        "",
        "| chunks | every row compared, ms | by the indexes, ms | recall, words and vectors | recall, vectors alone"
        " | built in |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
        "![Time of a query as its group grows](growth-group.svg)",
        "",
    ]


async def _in_other_groups(clearwell: Clearwell, lexicon: list[str], bare: Any, url: str) -> list[str]:
    """Other groups are filled by the path once and then copied: only their number is new."""
    store = clearwell.stores.longterm
    await _fill(clearwell, "own", 1_000, lexicon, seed=1)
    for number in range(TEMPLATES):
        await _fill(clearwell, f"template{number}", GROUP_SIZE, lexicon, seed=100 + number)
    asking, copies, points, rows = questions("own", QUESTIONS, lexicon), 0, [], []
    for others in OTHERS:
        while copies * GROUP_SIZE < others:
            await _copy(bare, f"template{copies % TEMPLATES}", f"many{copies}")
            copies += 1
        await analyze(url)
        took, _ = await _timed(store, asking)
        points.append((float(others), took))
        rows.append(f"| {others:,} | {copies} | {took:.2f} |")
    plot = svg(
        "Time of a query in a group of 1,000 chunks as other groups grow",
        "chunks in other groups",
        "median ms",
        {"every row of the group compared": points},
    )
    (RESULTS / "growth-others.svg").write_text(plot, encoding="utf-8")
    return [
        "### Other groups that grow (their rows should cost nothing)",
        "",
        "A group of 1,000 chunks, beside one of 40,000 with indexes of its own and groups of 500.",
        "",
        "| chunks in other small groups | groups | median ms |",
        "|---|---|---|",
        *rows,
        "",
        "![Time of a query as other groups grow](growth-others.svg)",
        "",
    ]


async def _copy(bare: Any, template: str, group: str) -> None:
    for table in COPIED:
        found = await bare.execute(
            "SELECT string_agg(quote_ident(attname), ', ') AS names FROM pg_attribute WHERE attrelid = %s::regclass"
            " AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> 'group_id'",
            (table,),
        )
        names = (await found.fetchone())["names"]
        await bare.execute(
            f"INSERT INTO {table} (group_id, {names}) SELECT %s, {names} FROM {table} WHERE group_id = %s",  # noqa: S608
            (group, template),
        )


async def _every_group(clearwell: Clearwell, lexicon: list[str], bare: Any) -> list[str]:
    """What the path finds against the same order computed over every row of the group, without role or index."""
    store = clearwell.stores.longterm
    groups = max(OTHERS) // GROUP_SIZE
    shares, foreign = [], 0
    await bare.execute("SET enable_indexscan = off")
    await bare.execute("SET enable_bitmapscan = off")
    truth: dict[str, list[dict[str, Any]]] = {}
    for number in range(groups):
        template, group = f"template{number % TEMPLATES}", f"many{number}"
        if template not in truth:
            rows = await bare.execute(
                "SELECT id, embedding FROM memories WHERE group_id = %s AND valid_to IS NULL", (template,)
            )
            truth[template] = await rows.fetchall()
        known = truth[template]
        matrix = np.stack([np.asarray(row["embedding"].to_numpy(), dtype=np.float64) for row in known])
        for one in questions(group, 3, lexicon, words=False):
            found = await store.search(one)
            asking = np.asarray(HalfVector(_vector(one)).to_numpy(), dtype=np.float64)
            cosines = matrix @ asking / np.linalg.norm(matrix, axis=1)
            best = {known[place]["id"] for place in np.argsort(-cosines, kind="stable")[:TOP]}
            shares.append(len(best & {result.memory.id for result in found}) / TOP)
            foreign += sum(result.memory.group_id != group for result in found)
    words = await _with_words(store, lexicon, bare, groups)
    return [
        f"### {max(OTHERS):,} chunks in {groups} groups (recall against exact: 1.0)",
        "",
        "| | recall of the best 10 | results of another group |",
        "|---|---|---|",
        f"| vectors, against cosines computed by numpy, {len(shares)} queries | {np.mean(shares):.4f} | {foreign} |",
        f"| vectors and words, against the owner's scan of every row, {groups} queries | {words:.4f} | – |",
        "",
    ]


def _vector(one: SearchQuery) -> Vector:
    assert one.embedding is not None
    return one.embedding


async def _with_words(store: LongTermSearch, lexicon: list[str], bare: Any, groups: int) -> float:
    shares = []
    for number in range(groups):
        (one,) = questions(f"many{number}", 1, lexicon)
        params = {
            "group_id": one.group_id,
            "embedding": HalfVector(_vector(one)),
            "model": one.model,
            "agent_id": None,
            "limit": TOP + SPARE_CHUNKS,
            **word_params(one, TOP + SPARE_CHUNKS),
        }
        rows = await (await bare.execute(query("search_with_words"), params)).fetchall()
        expected = {row["id"] for row in rows[:TOP]}
        shares.append(len(expected & {result.memory.id for result in await store.search(one)}) / len(expected))
    return float(np.mean(shares))
