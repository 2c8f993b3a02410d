"""What the ingress pipeline costs, whether it keeps up, how soon an entry is there, and what a million rows change."""

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import psycopg

from bench.blocks import Step, interleaved, table
from bench.ground import analyze, fill, ground
from bench.paths import recorder
from clearwell.app import Clearwell
from clearwell.comparison import RuleComparison
from clearwell.flow.ingress import checks
from clearwell.flow.ingress.known_texts import KnownTextReader
from clearwell.flow.ingress.pipeline import IngressPipeline
from clearwell.models import OfflineEmbedder
from clearwell.records import NewCapture, Principal

PERSON = Principal.local()
SUBJECTS = "payments backups search login billing reporting inventory scheduling exports alerts quotas".split()
VERBS = "slowed stopped doubled improved failed recovered moved shrank grew changed started ended".split()
PLACES = "Lyon Osaka Leeds Quito Turin Perth Tunis Varna Split Cadiz Bergen Porto".split()
AREAS = "支付 备份 搜索 登录 计费 报表 库存 排程 导出 导入 告警 配额".split()
EVENTS = "变慢 停止 翻倍 改善 失败 恢复 迁移 缩小 增长 调整 启动 结束".split()
CITIES = "里昂 大阪 利兹 基多 都灵 珀斯 突尼斯 瓦尔纳 斯普利特 加的斯 卑尔根 波尔图".split()


def english_clause(dice: random.Random) -> str:
    subject, verb, place = dice.choice(SUBJECTS), dice.choice(VERBS), dice.choice(PLACES)
    return f"in {place} the {subject} {verb} on day {dice.randrange(900)} by {dice.randrange(99)} percent"


def chinese_clause(dice: random.Random) -> str:
    area, event, city = dice.choice(AREAS), dice.choice(EVENTS), dice.choice(CITIES)
    return f"{city}的{area}模块在第{dice.randrange(900)}天{event}了百分之{dice.randrange(99)}"


def english(dice: random.Random, length: int = 300) -> str:
    text = ""
    while len(text) < length:
        clause = english_clause(dice)
        text += f"{clause[0].upper()}{clause[1:]}. "
    return text[:length]


def chinese(dice: random.Random, length: int = 300) -> str:
    text = ""
    while len(text) < length:
        text += f"{chinese_clause(dice)}。"
    return text[:length]


Write: TypeAlias = Callable[..., str]
LANGUAGES: dict[str, Write] = {"English": english, "Chinese": chinese}


def said(content: str, group_id: str = "g") -> NewCapture:
    return NewCapture(content=content, group_id=group_id, agent_id="a", metadata={"confidence": 0.9})


async def measure() -> list[str]:
    embedder = OfflineEmbedder()
    await embedder.embed(["warm"])
    try:
        async with ground(embedder) as (clearwell, servers):
            dice = random.Random(1)
            await fill(clearwell, "g", 4000, live=0)
            for number in range(50):
                text = (english if number % 2 else chinese)(dice)
                await clearwell.memory.acting_as(PERSON).capture(said(text), wait=True)
            await analyze(servers.database_url)
            lines = [
                *await _cost(clearwell, embedder, dice),
                *await _keeps_up(clearwell, dice),
                *await _soon(clearwell, dice),
            ]
        return [*lines, *await _million(embedder, dice)]
    finally:
        await embedder.close()


@contextmanager
def _cpu(shares: dict[str, list[float]], name: str) -> Iterator[None]:
    started = time.process_time()
    yield
    shares.setdefault(name, []).append((time.process_time() - started) * 1000)


def sentence(write: Write, dice: random.Random) -> str:
    """One sentence of about 110 characters, or 50 Chinese ones: as long as those that agents write in reports."""
    if write is chinese:
        return f"{chinese_clause(dice)}，{chinese_clause(dice)}。"
    return f"While {english_clause(dice)}, {english_clause(dice)}."


def report(write: Write, dice: random.Random, length: int = 3000) -> str:
    """A Markdown report: headings, paragraphs, lists and thanks."""
    text = ""
    while len(text) < length:
        lines = "".join(f"- {sentence(write, dice)}\n" for _ in range(6))
        text += f"## {dice.choice(PLACES)}\n\n{sentence(write, dice)} {sentence(write, dice)}\n\n{lines}\nThanks!\n\n"
    return text[:length]


async def _cost(clearwell: Clearwell, embedder: OfflineEmbedder, dice: random.Random) -> list[str]:
    """CPU of this process for one output, by part."""
    kinds = {"one sentence": sentence, "300 characters": _plain, "report of 3,000 characters": report}
    cases = {f"{kind}, {name}": (of, write) for kind, of in kinds.items() for name, write in LANGUAGES.items()}
    shares = {case: await _shares(clearwell, embedder, partial(of, write, dice)) for case, (of, write) in cases.items()}
    lines = [
        "### Filter without a judge: median CPU of one output, in ms (one sentence under 25, a report under 120)",
        "",
        f"| part | {' | '.join(cases)} |",
        f"|---|{'---|' * len(cases)}",
    ]
    for part in next(iter(shares.values())):
        lines.append(f"| {part} | {' | '.join(f'{statistics.median(one[part]):.2f}' for one in shares.values())} |")
    totals = [statistics.median(map(sum, zip(*one.values(), strict=True))) for one in shares.values()]
    lines.append(f"| **all** | {' | '.join(f'**{total:.2f}**' for total in totals)} |")
    return [*lines, "", *await _stored(clearwell, dice)]


def _plain(write: Write, dice: random.Random) -> str:
    return write(dice)


async def _shares(clearwell: Clearwell, embedder: OfflineEmbedder, text: Callable[[], str]) -> dict[str, list[float]]:
    known_texts: KnownTextReader = clearwell.admitter._known_texts
    settings, comparison = clearwell.settings, RuleComparison()
    pipeline = IngressPipeline(known_texts, comparison, embedder, settings, judged=False)
    shares: dict[str, list[float]] = {}
    for _ in range(40):
        capture = recorder(clearwell).accept(said(text()), by=PERSON)
        with _cpu(shares, "segments, flags and text checks"):
            candidate = await pipeline.check_text(capture)
        with _cpu(shares, "embedding"):
            (candidate,) = await pipeline.embed([candidate])
        with _cpu(shares, "reading what the group knows"):
            live = await known_texts.read_entries("g")
            known = await known_texts.look_up(candidate, await known_texts.gather(candidate, live), live)
        for name, compare in checks.GROUP_CHECKS.items():
            with _cpu(shares, name):
                compare(candidate, known, comparison, settings)
        with _cpu(shares, "self_consistency"):
            pipeline.conclude(candidate)
    return shares


async def _stored(clearwell: Clearwell, dice: random.Random) -> list[str]:
    """Bytes of the statements of one report, in a group of its own."""
    for write in LANGUAGES.values():
        await clearwell.memory.acting_as(PERSON).capture(said(report(write, dice), "reports"), wait=True)
    rows = await clearwell.memory.acting_as(PERSON).quarantine_rows(group="reports")
    statements = await clearwell.stores.statements.read("reports", [row.capture.id for row in rows])
    segments = [one for each in statements.values() for one in each]
    vectors = [one.embedding.nbytes // 2 for one in segments if one.embedding is not None]
    return [
        f"A report of 3,000 characters has {len(segments) / len(rows):.0f} segments, "
        f"{len(vectors) / len(rows):.0f} of them with vectors, which take {sum(vectors) / len(rows) / 1024:.0f} KiB.",
        "",
    ]


async def _keeps_up(clearwell: Clearwell, dice: random.Random, *, rate: int = 40, seconds: int = 15) -> list[str]:
    """Captures at a steady rate; how many admissions are under way meanwhile and at the end."""
    backlog: list[int] = []
    started = time.perf_counter()
    for number in range(rate * seconds):
        await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
        await clearwell.memory.acting_as(PERSON).capture(said((english if number % 2 else chinese)(dice), "busy"))
        backlog.append(clearwell.queue.length)
    taken = time.perf_counter() - started
    await clearwell.queue.join()
    half = len(backlog) // 2
    return [
        f"### {rate} captures a second for {seconds} seconds (the backlog must not grow)",
        "",
        "| | measured |",
        "|---|---|",
        f"| captures a second | {rate * seconds / taken:.1f} |",
        f"| mean backlog in the first half | {statistics.mean(backlog[:half]):.1f} |",
        f"| mean backlog in the second half | {statistics.mean(backlog[half:]):.1f} |",
        f"| largest backlog | {max(backlog)} |",
        f"| time to finish the rest | {time.perf_counter() - started - taken:.2f} s |",
        "",
    ]


async def _soon(clearwell: Clearwell, dice: random.Random) -> list[str]:
    """From the capture's answer until the entry can be retrieved."""
    waits = [await _until_found(clearwell, dice) for _ in range(100)]
    return [
        "### From the capture's answer until the entry can be retrieved (median under 100 ms)",
        "",
        f"Median {statistics.median(waits):.1f} ms, p95 {statistics.quantiles(waits, n=20)[-1]:.1f} ms, of 100.",
        "",
    ]


async def _until_found(clearwell: Clearwell, dice: random.Random) -> float:
    group = f"soon-{dice.randrange(10)}"
    receipt = await clearwell.memory.acting_as(PERSON).capture(said(english(dice), group))
    answered = time.perf_counter()
    while receipt.id not in {one.id for one in await clearwell.memory.acting_as(PERSON).working_memory(group=group)}:  # noqa: ASYNC110
        await asyncio.sleep(0.001)  # another task admits it
    return (time.perf_counter() - answered) * 1000


FILL = """
WITH kept AS (
    INSERT INTO quarantine_logs (group_id, id, session_id, node_type, agent_id, content, raw_metadata, partial,
        occurred_at, created_at, captured_by)
    SELECT 'g', gen_random_uuid(), 's', 'agent', 'a', repeat('It was said and refused. ', 6) || n, '{}', false,
        now(), now(), 'bench'
    FROM generate_series(1, %s) AS n RETURNING group_id, id
), settled AS (
    INSERT INTO admissions (group_id, log_id, state, next_try_at, settled_at)
    SELECT group_id, id, 'refused', now(), now() FROM kept
)
INSERT INTO ingress_verdicts (group_id, log_id, at, position, "check", outcome, reason)
SELECT group_id, id, now(), 0, 'confidence', 'fail', 'verdict_confidence_low' FROM kept
"""


async def _million(embedder: OfflineEmbedder, dice: random.Random) -> list[str]:
    """The same admissions and retrievals beside ten thousand and beside a million rows, in turns."""
    steps: dict[str, Step] = {}
    async with ground(embedder) as (small, small_servers), ground(embedder) as (large, large_servers):
        for name, clearwell, url, rows in (
            ("10 k rows", small, small_servers.database_url, 10_000),
            ("1 M rows", large, large_servers.database_url, 1_000_000),
        ):
            await fill(clearwell, "g", 4000, live=0)
            with psycopg.connect(url, autocommit=True) as owner:
                owner.execute(FILL, (rows,))
                owner.execute("VACUUM ANALYZE")
            steps[f"admission, {name}"] = partial(_admission, clearwell, dice)
            steps[f"retrieve, {name}"] = partial(_retrieval, clearwell)
        found = await interleaved(steps, rounds=10, block=8)
    against = {"admission, 1 M rows": "admission, 10 k rows", "retrieve, 1 M rows": "retrieve, 10 k rows"}
    return table("A million rows in quarantine (at most 1.2 ×)", found, against)


async def _admission(clearwell: Clearwell, dice: random.Random) -> None:
    await clearwell.memory.acting_as(PERSON).capture(said(english(dice)), wait=True)


async def _retrieval(clearwell: Clearwell) -> None:
    await clearwell.memory.acting_as(PERSON).retrieve("what happened to the billing in Porto", group="g")
