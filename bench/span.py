"""Measure one digest of a large span, as the worker makes it: rows and vectors in PostgreSQL, one job. Prints JSON.

    python -m bench.span ROWS [marked]

The rows are those of long months, three in five of them noise; their statements and vectors are those that admission
would have stored.
A vector is the bundled model's for a text's words with other numbers, moved a little, so that no two are the same.
Where they are marked, each text ends with a word of its own: no two are alike, which is the most work there can be.
"""

import asyncio
import json
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from bench.ground import analyze, bare_connection, ground
from bench.month import FLOOD, STYLES, Planted, make_statements, month
from bench.sameness import row
from clearwell.app import Clearwell
from clearwell.flow.digest.drafting.texts import unit
from clearwell.models import OfflineEmbedder
from clearwell.records import Digest, DigestStatus, Principal, Statement, Vector
from clearwell.text.segments import SEGMENTER_VERSION, bare_text
from clearwell.worker import digest_worker

ROWS: Final = 100_000
MARKED: Final = "marked"
MARK: Final = re.compile(r" \(\w+\)(?=[.!?。！？]*$)")
STOPS: Final = ".!?。！？"
MOVED: Final = 0.2
GROUP: Final = "span"
COLUMNS: Final = {
    "quarantine_logs": "group_id, id, session_id, node_id, node_type, agent_id, content, raw_metadata, partial,"
    " occurred_at, created_at, captured_by",
    "admissions": "group_id, log_id, state, next_try_at, settled_at",
    "segmentations": "group_id, log_id, version, model",
    "statements": "group_id, log_id, number, span_start, span_end, kind, headings, lead_in, model, embedding",
}


async def in_a_process_of_its_own() -> list[str]:
    """Lines of Markdown: peak memory is that of a process that did nothing else."""
    found = []
    for more in ([], [MARKED]):
        command = [sys.executable, "-m", "bench.span", str(ROWS), *more]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        told, _ = await process.communicate()
        found.append(json.loads(told))
    return [
        "### One large span, from the request until the digest is done",
        "",
        row([*found[0]]),
        "|" + "---|" * len(found[0]),
        row({**dict.fromkeys(found[0], ""), "rows": "*must be under*", "seconds": 300, "peak MB": 2048}.values()),
        *(row(one.values()) for one in found),
        "",
    ]


async def measured(rows: int, *, marked: bool) -> dict[str, object]:
    embedder = OfflineEmbedder()
    async with ground(embedder) as (clearwell, servers):
        planted = long_months(rows)
        planted = [_marked(one, at) for at, one in enumerate(planted)] if marked else planted
        await _fill(servers.database_url, planted, embedder)
        await analyze(servers.database_url)
        topics = {one.row.log_id: one.topic for one in planted}
        del planted
        before, started = _peak(), time.perf_counter()
        async with digest_worker(clearwell, scheduled=False):
            digest = await _digest(clearwell)
        taken = time.perf_counter() - started
    found = [Counter(topics[one.log_id] for one in made.sources).most_common(1)[0][0] for made in digest.insights]
    return {
        "rows": digest.report["rows"],
        "texts": digest.report["texts"],
        "seconds": round(taken),
        "peak MB": round(_peak()),
        "MB before": round(before),
        "clusters": digest.report["clusters"],
        "insights": len(found),
        "of planted topics": sum(one not in (None, FLOOD) for one in found),
    }


def long_months(rows: int) -> list[Planted]:
    """This many rows of all styles, each with an id of its own, so that none can quote another."""
    made: list[Planted] = []
    for times in count(rows // 2000):
        made = [one for style in STYLES for one in month(style, 1, times) if one.quotes is None]
        if len(made) >= rows:
            break
    chosen = np.random.default_rng(1).permutation(len(made))[:rows]
    return [
        replace(made[at], row=replace(made[at].row, log_id=UUID(int=number + 1))) for number, at in enumerate(chosen)
    ]


def _marked(one: Planted, number: int) -> Planted:
    """Letters that no list of words has, inside the last sentence: its text is another one, and it says the same."""
    mark = "".join("lmnrstvz"[digit] + "aeiouaei"[digit] for digit in map(int, f"{number:07o}"))
    said = one.row.content.rstrip(STOPS)
    return replace(one, row=replace(one.row, content=f"{said} ({mark}){one.row.content[len(said) :]}"))


async def _fill(url: str, planted: Sequence[Planted], embedder: OfflineEmbedder) -> None:
    statements = [
        (statement, bare_text(one.row.content, statement.segment))
        for one in planted
        for statement in make_statements(one)
        if statement.segment.is_statement
    ]
    vectors = await _vectors([text for _, text in statements], embedder)
    owner = await bare_connection(url)
    tables: dict[str, Iterator[tuple[Any, ...]]] = {
        "quarantine_logs": map(_captured, planted),
        "admissions": map(_settled, planted),
        "segmentations": ((GROUP, one.row.log_id, SEGMENTER_VERSION, embedder.model) for one in planted),
        "statements": (
            _stated(one, embedder.model, vector) for (one, _), vector in zip(statements, vectors, strict=True)
        ),
    }
    for table, lines in tables.items():
        async with owner.cursor().copy(f"COPY {table} ({COLUMNS[table]}) FROM STDIN") as copy:
            for line in lines:
                await copy.write_row(line)
    await owner.close()


def _captured(one: Planted) -> tuple[Any, ...]:
    said = one.row
    told = Jsonb({} if said.confidence is None else {"confidence": said.confidence})
    where = (said.session_id, said.node_id, said.node_type, said.agent_id)
    return (GROUP, said.log_id, *where, said.content, told, False, said.occurred_at, said.occurred_at, "bench")


def _settled(one: Planted) -> tuple[Any, ...]:
    return (GROUP, one.row.log_id, one.row.admission.value, one.row.occurred_at, one.row.occurred_at)


def _stated(one: Statement, model: str, vector: Vector) -> tuple[Any, ...]:
    segment = one.segment
    place = (one.number, segment.start, segment.end, segment.kind.value, list(segment.headings), segment.lead_in)
    return (GROUP, one.log_id, *place, model, HalfVector(vector))


async def _vectors(texts: Sequence[str], embedder: OfflineEmbedder) -> Iterator[Vector]:
    plain = [re.sub(r"\d+", "7", MARK.sub("", text)) for text in texts]
    distinct = sorted(set(plain))
    known = dict(zip(distinct, await embedder.embed(distinct), strict=True))
    chance = np.random.default_rng(2)

    def moved(vector: Vector) -> Vector:
        away = chance.normal(size=vector.shape).astype(np.float32) * np.float32(MOVED / np.sqrt(len(vector)))
        made: Vector = unit([vector + away])[0]
        return made

    return (moved(known[text]) for text in plain)


async def _digest(clearwell: Clearwell) -> Digest:
    by = Principal.local()
    digest_id, _ = await clearwell.memory.acting_as(by).request_digest(group=GROUP)
    while True:
        digest = await clearwell.memory.acting_as(by).digest(digest_id, group=GROUP)
        if digest.status in (DigestStatus.DONE, DigestStatus.FAILED):
            break
        await asyncio.sleep(0.5)  # the worker makes it
    if digest.status is DigestStatus.FAILED:
        raise AssertionError(f"the digest failed: {digest.note} {digest.note_params}")
    return digest


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(int(sys.argv[1]), marked=MARKED in sys.argv))))
