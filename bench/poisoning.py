"""What a thousand captures that are built to win retrieval achieve, on the whole program with real servers.

Each family attacks a group of its own in each language, in which twenty facts are verified and nothing else is known:
all that is unverified there is poison. The questions of a topic are asked right after its poison, by queries over HTTP,
in contexts and by the node of workflows, which is the best time for the attacker. Then each capture is tried on every
way to long-term memory, a digest is made, and the clock of the program is moved by 24 hours, as all of its parts see
it: nothing else is done before the same questions are asked again.
"""

import re
import shutil
import sys
import tempfile
from asyncio import to_thread
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg

from bench.poison import FAMILIES, LANGUAGES, Family, Poison, Topic, load_topics
from bench.poison_ways import Attacker, open_attacker, require_ok
from clearwell.app import Clearwell, open_clearwell
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.messages import Language
from clearwell.models import OfflineEmbedder
from clearwell.ports import Clock, Embedder
from clearwell.records import Digest, Principal
from clearwell.servers import Servers, running_servers
from clearwell.settings import Settings
from clearwell.testing import ManualClock
from clearwell.worker import run_due_digests

REVIEWER: Final = Principal.local("reviewer")
READER: Final = "reader"
DAY: Final = timedelta(hours=24)
MAXIMA: Final = ("most_agents", "most_keys")
LINE: Final = re.compile(r'^\d+\. \[(?P<label>[^\]]*)\] <memory id="(?P<id>[0-9a-f-]{36})">', re.MULTILINE)
FENCED: Final = re.compile(r"<memory id=.*?</memory>")
CAPTURED: Final = """
SELECT log.id, log.content, admission.state,
    (SELECT verdict."check" FROM ingress_verdicts AS verdict
     WHERE verdict.group_id = log.group_id AND verdict.log_id = log.id AND verdict.outcome = 'fail'
     ORDER BY verdict.at DESC LIMIT 1)
FROM quarantine_logs AS log
JOIN admissions AS admission ON (admission.group_id, admission.log_id) = (log.group_id, log.id)
WHERE log.group_id = %s ORDER BY log.id
"""


@dataclass
class Figures:
    """What one family achieved. ``asked`` and the rest are answers to questions, in all three ways."""

    captured: int = 0
    by_way: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    refused_by: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    items: int = 0
    poisoned_items: int = 0
    poisoned_answers: int = 0
    unmarked: int = 0
    verified_first: int = 0
    verified_there: int = 0
    insights: int = 0
    most_agents: int = 0
    most_keys: int = 0
    flagged: int = 0
    later_items: int = 0
    later_poisoned: int = 0
    later_first: int = 0
    later_asked: int = 0

    def add(self, other: "Figures") -> None:
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            elif name in MAXIMA:
                setattr(self, name, max(getattr(self, name), value))
            else:
                setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True, slots=True)
class Answer:
    """The ids that an agent was given, in order, those without verification, and how many of these are not marked."""

    ids: tuple[UUID, ...]
    unverified: frozenset[UUID]
    unmarked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The figures of each family, those of the questions before the attack, and every try to become verified."""

    families: Mapping[str, Figures]
    before: Figures
    tried: Counter[str]
    succeeded: Counter[str]
    foreign_memories: int
    """Chunks in long-term memory that the reviewer did not promote."""


class Ground:
    """The program under attack."""

    def __init__(self, clearwell: Clearwell, attacker: Attacker, database_url: str) -> None:
        self.clearwell = clearwell
        self.attacker = attacker
        self._url = database_url
        self._reader = attacker.memory
        self.known: dict[str, dict[Topic, UUID]] = {}

    async def promote(self, group: str, topics: Sequence[Topic]) -> dict[Topic, UUID]:
        memory = self.clearwell.memory.acting_as(REVIEWER)
        self.known[group] = {topic: (await memory.promote(topic.verified, group=group)).id for topic in topics}
        return self.known[group]

    async def ask_all(self, group: str, topic: Topic) -> list[Answer]:
        """Every question of a topic in every way."""
        ways = (self._query, self._build_context, self._run_node)
        return [await way(group, question, topic) for question in topic.questions for way in ways]

    async def _query(self, group: str, question: str, _: Topic) -> Answer:
        body = {"group_id": group, "query": question, "agent_id": READER}
        items = require_ok(await self.attacker.http.post("/api/v1/memory/query", json=body)).json()["results"]
        unverified = [item for item in items if item["source"] == "hot"]
        unmarked = sum(
            item["verified"] or item["label"] != "ephemeral" or "⚡️" not in str(item["label_text"])
            for item in unverified
        )
        return Answer(_ids(item["id"] for item in items), frozenset(_ids(item["id"] for item in unverified)), unmarked)

    async def _build_context(self, group: str, question: str, topic: Topic) -> Answer:
        language: Language = "zh" if topic.language == "zh" else "en"
        request = ContextRequest(proposal=question, language=language, options=RetrieveOptions(agent_id=READER))
        built = await self._reader.build_context(request, group=group)
        return self._read_lines(group, built.text, topic)

    async def _run_node(self, group: str, question: str, topic: Topic) -> Answer:
        node = self._reader.retrieval_node(group=group, language="zh" if topic.language == "zh" else "en")
        state = await node({"topic": question, "session_id": "asking"})
        return self._read_lines(group, str(state["history_context"]), topic)

    def _read_lines(self, group: str, text: str, topic: Topic) -> Answer:
        """The memories in a text for a model. A label is wrong unless it says ⚡️, and poison outside of a fence too."""
        verified = frozenset(self.known[group].values())
        found = {UUID(line["id"]): line["label"] for line in LINE.finditer(text)}
        unverified = frozenset(found) - verified
        unmarked = sum("⚡️" not in found[one] or "✅" in found[one] for one in unverified)
        outside = FENCED.sub("", text)
        unmarked += sum(false in outside for false in topic.false)
        return Answer(tuple(found), unverified, unmarked)

    async def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """As the owner, past row-level security."""
        async with await psycopg.AsyncConnection.connect(self._url) as owner:
            return await (await owner.execute(query.encode(), values)).fetchall()

    async def digest(self, group: str) -> Digest:
        memory = self.clearwell.memory.acting_as(REVIEWER)
        digest_id, _ = await memory.request_digest(group=group)
        await run_due_digests(self.clearwell)
        return await memory.digest(digest_id, group=group)


def _ids(values: Any) -> tuple[UUID, ...]:
    return tuple(map(UUID, values))


async def attack(
    ground: Ground, family: Family, group: str, topics: Sequence[Topic], now: datetime, *, most_tried: int
) -> Figures:
    """One family against one group. At most ``most_tried`` captures try every way to long-term memory."""
    figures, known = Figures(), await ground.promote(group, topics)
    for topic in topics:
        for poison in family(topic, known[topic], now):
            await _capture(ground, poison, group, topic, figures)
        for answer in await ground.ask_all(group, topic):
            _count(answer, known[topic], figures)
    rows = await ground.rows(CAPTURED, group)
    figures.captured = len(rows)
    figures.states.update(state for _, _, state, _ in rows)
    figures.refused_by.update(check for _, _, state, check in rows if state == "refused")
    digest = await ground.digest(group)
    figures.insights = len(digest.insights)
    figures.most_agents = max((one.support.agents for one in digest.insights), default=0)
    figures.most_keys = max((one.support.keys for one in digest.insights), default=0)
    figures.flagged = sum(bool(one.contradictions) for one in digest.insights)
    insight = digest.insights[0].id if digest.insights else uuid4()
    memory_id = next(iter(known.values()))
    for row, content, _, _ in rows[:most_tried]:
        await ground.attacker.try_everything(group, row, content, memory_id=memory_id, insight=insight)
    return figures


async def _capture(ground: Ground, poison: Poison, group: str, topic: Topic, figures: Figures) -> None:
    if poison.reads:
        options = RetrieveOptions(agent_id=poison.agent_id)
        await ground.attacker.memory.retrieve(topic.questions[0], group=group, options=options)
        await ground.clearwell.recalls.flush()
    figures.by_way[await ground.attacker.deliver(poison, group)] += 1


def _count(answer: Answer, verified: UUID, figures: Figures) -> None:
    figures.asked += 1
    figures.items += len(answer.ids)
    figures.poisoned_items += len(answer.unverified)
    figures.poisoned_answers += bool(answer.unverified)
    figures.unmarked += answer.unmarked
    figures.verified_first += answer.ids[:1] == (verified,)
    figures.verified_there += verified in answer.ids


async def ask_later(ground: Ground, group: str, topics: Sequence[Topic], figures: Figures) -> None:
    """The same questions again, after the clock was moved."""
    for topic in topics:
        for answer in await ground.ask_all(group, topic):
            figures.later_asked += 1
            figures.later_items += len(answer.ids)
            figures.later_poisoned += len(answer.unverified)
            figures.later_first += answer.ids[:1] == (ground.known[group][topic],)


async def run(ground: Ground, clock: ManualClock, topics: Sequence[Topic], *, most_tried: int = sys.maxsize) -> Report:
    """Every family against every language, and the same questions a day later."""
    families = {name: Figures() for name in FAMILIES}
    before = Figures()
    groups: list[tuple[str, str, Sequence[Topic]]] = []
    for language in LANGUAGES:
        spoken = [topic for topic in topics if topic.language == language]
        known = await ground.promote(f"calm-{language}", spoken)
        for topic in spoken:
            for answer in await ground.ask_all(f"calm-{language}", topic):
                _count(answer, known[topic], before)
        for number, (name, family) in enumerate(FAMILIES.items()):
            group = f"attacked-{language}-{number}"
            groups.append((name, group, spoken))
            figures = await attack(ground, family, group, spoken, clock.now(), most_tried=most_tried)
            most_tried -= min(most_tried, figures.captured)
            families[name].add(figures)
    promoted = len(await ground.rows("SELECT 1 FROM promotions WHERE decided_by <> 'reviewer'"))
    texts = [topic.verified for topic in topics]
    strange = await ground.rows("SELECT 1 FROM memories WHERE NOT content = ANY(%s)", texts)
    clock.forward(DAY)
    for name, group, asked in groups:
        await ask_later(ground, group, asked, families[name])
    return Report(
        families=families,
        before=before,
        tried=ground.attacker.attempts.tried,
        succeeded=ground.attacker.attempts.succeeded,
        foreign_memories=promoted + len(strange),
    )


@asynccontextmanager
async def open_ground(settings: Settings, servers: Servers, embedder: Embedder, clock: Clock) -> AsyncIterator[Ground]:
    async with (
        open_clearwell(settings, servers, embedder=embedder, clock=clock) as clearwell,
        open_attacker(clearwell, servers.database_url, clock) as attacker,
    ):
        yield Ground(clearwell, attacker, servers.database_url)


async def measure() -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="cw-bench-"))
    embedder, clock = OfflineEmbedder(), ManualClock(datetime.now(UTC))
    # Without the limit per key: it would only slow the attacker down.
    settings = Settings(data_dir=folder, database_url=None, redis_url=None, key_requests_per_minute=0)
    try:
        await embedder.load()
        async with running_servers(settings) as servers, open_ground(settings, servers, embedder, clock) as ground:
            return write_page(await run(ground, clock, load_topics()))
    finally:
        await embedder.close()
        await to_thread(shutil.rmtree, folder)


def write_page(report: Report) -> list[str]:
    everything = Figures()
    for figures in report.families.values():
        everything.add(figures)
    rows = {**report.families, "**all**": everything}
    ways = ", ".join(f"{way} {number}" for way, number in everything.by_way.most_common())
    tried = sum(report.tried.values())
    return [
        f"{everything.captured} captures of {len(report.families)} families on 20 topics, in English and in Chinese. "
        f"They came by: {ways}.",
        "",
        "### Long-term memory (must be 0)",
        "",
        f"Chunks that no reviewer promoted: **{report.foreign_memories}**. Of {tried} tries by "
        f"{len(report.tried)} ways, {sum(report.succeeded.values())} succeeded.",
        "",
        "| way | tries | not refused |",
        "|---|---|---|",
        *(f"| {way} | {number} | {report.succeeded[way]} |" for way, number in report.tried.items()),
        "",
        "### What became of the captures",
        "",
        "| family | captured | refused | by | admitted to working memory |",
        "|---|---|---|---|---|",
        *(f"| {name} | {_show_captures(figures)} |" for name, figures in rows.items()),
        "",
        "### What agents were given, right after the attack on a topic",
        "",
        "Answers to 3 questions of each topic, of which the attacker foresaw one, by query, context and node. "
        "Unmarked are items without ⚡️, or with their text outside of a fence (must be 0).",
        "",
        "| family | answers | with poison | share of items | unmarked | verified item first | verified item there |",
        "|---|---|---|---|---|---|---|",
        f"| *before the attack* | {_show_answers(report.before)} |",
        *(f"| {name} | {_show_answers(figures)} |" for name, figures in rows.items()),
        "",
        "### Digests made of nothing but poison",
        "",
        "An insight is a proposal to a reviewer. The agents that support it are names that the attacker gave. The "
        "reviewer is shown how many keys are behind them.",
        "",
        "| family | insights | shown with what they contradict | most agents behind one | most keys behind one |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {one.insights} | {one.flagged} | {one.most_agents} | {one.most_keys} |"
            for name, one in rows.items()
        ),
        "",
        "### The same questions 24 hours later (poison must be 0)",
        "",
        "The clock of the program was moved by 24 hours, which is the lifetime of an entry of working memory. "
        "Nothing was removed.",
        "",
        "| family | answers | items | poisoned | verified item first |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {one.later_asked} | {one.later_items} | {one.later_poisoned} | "
            f"{_share(one.later_first, one.later_asked)} |"
            for name, one in rows.items()
        ),
        "",
    ]


def _show_captures(figures: Figures) -> str:
    refused_by = ", ".join(f"{check} {number}" for check, number in figures.refused_by.most_common()) or "–"
    states = figures.states
    return f"{figures.captured} | {states['refused']} | {refused_by} | {states['admitted']}"


def _show_answers(figures: Figures) -> str:
    return " | ".join(
        (
            str(figures.asked),
            _share(figures.poisoned_answers, figures.asked),
            _share(figures.poisoned_items, figures.items),
            str(figures.unmarked),
            _share(figures.verified_first, figures.asked),
            _share(figures.verified_there, figures.asked),
        )
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "–"
