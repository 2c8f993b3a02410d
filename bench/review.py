"""From one click on an insight until it can be retrieved, and a thousand promotions by eight reviewers at once."""

import asyncio
import time
from datetime import UTC, datetime
from statistics import median
from uuid import UUID

import psycopg
import uuid_utils.compat

from bench.ground import FixedEmbedder, ground
from clearwell.app import Clearwell, make_embedder
from clearwell.records import Action, DecisionRequest, Principal
from clearwell.servers import Servers
from clearwell.settings import Settings

INSIGHTS, CHARACTERS = 60, 1000
REVIEWERS, PROMOTIONS = 8, 1000
SENTENCES = {
    "en": "The team moved service {n} to the new cluster on Monday, and load tests of case {n} show no loss of speed. ",
    "zh": "团队在周一把第{n}号服务迁移到了新的集群，第{n}组压力测试显示速度没有下降，值班人员已经确认。",
}


async def measure() -> list[str]:
    async with ground(make_embedder(Settings())) as (clearwell, servers):
        clicks = [await one_click(clearwell, servers, language) for language in SENTENCES]
    async with ground(FixedEmbedder()) as (clearwell, servers):
        crowd = await many_at_once(clearwell, servers)
    return [
        "| one click to retrievable, default model | median ms | p95 ms | limit |",
        "|---|---|---|---|",
        *clicks,
        "",
        "| reviewers | promotions | seconds | memories | doubled or lost | problems |",
        "|---|---|---|---|---|---|",
        crowd,
        "",
    ]


async def put(servers: Servers, group_id: str, texts: list[str]) -> list[UUID]:
    """Insights as a digest leaves them."""
    now, digest = datetime.now(UTC), uuid_utils.compat.uuid7()
    ids = [uuid_utils.compat.uuid7() for _ in texts]
    async with await psycopg.AsyncConnection.connect(servers.database_url) as owner:
        await owner.execute(
            "INSERT INTO digests (group_id, id, status, requested_by, created_at) VALUES (%s, %s, 'done', 'b', %s)",
            (group_id, digest, now),
        )
        async with owner.cursor() as cursor:
            await cursor.executemany(
                """INSERT INTO insights (group_id, id, digest_id, position, summary, written_by, created_at, changed_at)
                VALUES (%s, %s, %s, 0, %s, 'extractive', %s, %s)""",
                [(group_id, one, digest, text, now, now) for one, text in zip(ids, texts, strict=True)],
            )
    return ids


async def one_click(clearwell: Clearwell, servers: Servers, language: str) -> str:
    by, group_id = Principal.local(), f"click-{language}"
    texts = [(SENTENCES[language].format(n=n) * 40)[:CHARACTERS] for n in range(INSIGHTS)]
    taken = []
    for one in await put(servers, group_id, texts):
        started = time.perf_counter()
        done = await clearwell.review.acting_as(by).decide(
            DecisionRequest(action=Action.PROMOTE, id=one), group=group_id
        )
        taken.append((time.perf_counter() - started) * 1000)
        if (await clearwell.review.acting_as(by).origin(done.id, group=group_id)).promotions[0].state != "verified":
            raise AssertionError("promoted and not there")
    taken.sort()
    return f"| {language}, {CHARACTERS} characters | {median(taken):.0f} | {taken[int(len(taken) * 0.95)]:.0f} | 150 |"


async def many_at_once(clearwell: Clearwell, servers: Servers) -> str:
    """Each insight is promoted by two of the eight, so that half of the clicks meet another's."""
    ids = await put(servers, "crowd", [f"Fact {number}: the value is {number * 7}." for number in range(PROMOTIONS)])
    problems: list[str] = []

    async def reviewer(number: int) -> list[UUID]:
        by, made = Principal.local(f"reviewer {number}"), []
        for at, one in enumerate(ids):
            if at % REVIEWERS in (number, (number + 1) % REVIEWERS):
                try:
                    wanted = DecisionRequest(action=Action.PROMOTE, id=one)
                    made.append((await clearwell.review.acting_as(by).decide(wanted, group="crowd")).id)
                except Exception as error:  # noqa: BLE001 - counted and told
                    problems.append(type(error).__name__)
        return made

    started = time.perf_counter()
    answers = await asyncio.gather(*(reviewer(number) for number in range(REVIEWERS)))
    seconds = time.perf_counter() - started
    async with await psycopg.AsyncConnection.connect(servers.database_url) as owner:
        found = await (await owner.execute("SELECT id FROM memories WHERE group_id = 'crowd'")).fetchall()
    answered = {one for answer in answers for one in answer}
    wrong = abs(len(found) - PROMOTIONS) + len(answered ^ {row[0] for row in found})
    return f"| {REVIEWERS} | {PROMOTIONS} | {seconds:.1f} | {len(found)} | {wrong} | {len(problems)} |"
