"""Measure the digest on synthetic months with the bundled embedder, and on a span of 100,000 rows. Prints Markdown.

    python -m bench.digest               all of it
    python -m bench.digest --misses      the months only, with what was missed or wrongly flagged
    python -m bench.digest --span ROWS   one span in this process: seconds and peak memory, as JSON

A month is digested twice, as ``bench/month.py`` made it: the second digest sees what the first did not show. An
insight is of the topic that most of its sources are of. A contradiction is flagged rightly where the insight has
sources of both sides. What each figure must reach is in AIMS.
"""

import argparse
import asyncio
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

import numpy as np

from bench.month import FLOOD, STYLES, Planted, month
from bench.sameness import row
from clearwell.flow.digest import CONTRADICTION, Draft, draft
from clearwell.flow.digest.texts import unit
from clearwell.models import OfflineEmbedder
from clearwell.records import DigestCandidate, Vector

SEEDS: Final = range(1, 6)
SPAN: Final = 100_000
AIMS: Final = {
    "topics": "≥ 0.9",
    "flood": "0",
    "contradictions": "1",
    "precision": "≥ 0.8",
    "pairs": "",
    "purity": "",
    "coverage": "",
}


@dataclass(slots=True)
class Outcome:
    """What two digests of one month showed."""

    found: set[str] = field(default_factory=set)
    flagged: set[str] = field(default_factory=set)
    flags: Counter[bool] = field(default_factory=Counter)
    pairs: Counter[bool] = field(default_factory=Counter)
    flood: int = 0
    pure: int = 0
    sources: int = 0
    shown: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


async def embedded(embedder: OfflineEmbedder, planted: Sequence[Planted], cache: dict[str, Vector]) -> list[Planted]:
    missing = sorted({one.row.content for one in planted} - cache.keys())
    cache.update(zip(missing, await embedder.embed(missing), strict=True))
    return [replace(one, row=replace(one.row, embedding=cache[one.row.content])) for one in planted]


def digested(planted: Sequence[Planted], embedder: OfflineEmbedder) -> Outcome:
    truth = {one.row.log_id: one for one in planted}
    left = [one.row for one in planted]
    outcome = Outcome()
    for _ in range(2):
        made = draft(left, similarity=embedder.similarity).drafts
        for one in made:
            _score(outcome, one, truth)
        shown = {source.log_id for one in made for source in one.sources}
        left = [one for one in left if one.log_id not in shown]
    return outcome


def _score(outcome: Outcome, one: Draft, truth: Mapping[UUID, Planted]) -> None:
    planted = [truth[source.log_id] for source in one.sources]
    topic, count = Counter(source.topic for source in planted).most_common(1)[0]
    outcome.flood += topic == FLOOD
    if topic is not None and topic != FLOOD:
        outcome.found.add(topic)
        outcome.pure += count
        outcome.sources += len(planted)
        outcome.shown[topic] += count
    if CONTRADICTION in one.flags:
        both = len({source.against for source in planted if source.topic == topic}) > 1
        outcome.flags[both] += 1
        outcome.flagged |= {topic} if both and topic else set()
        outcome.pairs.update(truth[found.of].against != truth[found.against].against for found in one.contradictions)
        if not both:
            outcome.notes.append(f"flagged wrongly: {one.contradictions[0].explanation()}\n{one.summary}")


def figures(planted: Sequence[Planted], outcome: Outcome) -> list[float]:
    topics = Counter(one.topic for one in planted if one.topic not in (None, FLOOD))
    opposed = {one.topic for one in planted if one.against}
    outcome.notes += [f"not found: {topic}" for topic in topics if topic not in outcome.found]
    outcome.notes += [f"not flagged: {topic}" for topic in opposed if topic not in outcome.flagged]
    return [
        len(outcome.found) / len(topics),
        outcome.flood,
        len(outcome.flagged) / len(opposed),
        _share(outcome.flags),
        _share(outcome.pairs),
        outcome.pure / max(1, outcome.sources),
        sum(outcome.shown.values()) / sum(topics.values()),
    ]


def _share(counts: Counter[bool]) -> float:
    return counts[True] / max(1, counts.total())


async def months(*, misses: bool = False) -> list[str]:
    embedder = OfflineEmbedder()
    cache: dict[str, Vector] = {}
    lines = [row(["month", "seed", "rows", *AIMS]), "|" + "---|" * (3 + len(AIMS))]
    lines.append(row(["*must reach*", "", "", *AIMS.values()]))
    for style in STYLES:
        for seed in SEEDS:
            planted = await embedded(embedder, month(style, seed), cache)
            outcome = digested(planted, embedder)
            lines.append(row([style, seed, len(planted), *figures(planted, outcome)]))
            lines += outcome.notes if misses else []
    await embedder.close()
    return lines


async def span(rows: int) -> dict[str, float]:
    """Rows that are months' rows told again and again, each with a vector and a mark of its own."""
    embedder = OfflineEmbedder()
    cache: dict[str, Vector] = {}
    planted = [one for style in STYLES for one in await embedded(embedder, month(style, 1), cache)]
    made = list(_told_again(planted, rows))
    before = _peak()
    started = time.perf_counter()
    result = draft(made, similarity=embedder.similarity)
    seconds = time.perf_counter() - started
    await embedder.close()
    counted = {name: value for name, value in result.report.items() if isinstance(value, int | float)}
    return {"seconds": seconds, "mb_before": before, "mb_peak": _peak(), **counted}


def _told_again(planted: Sequence[Planted], rows: int) -> Iterator[DigestCandidate]:
    chance = np.random.default_rng(1)
    for number in range(rows):
        one = planted[int(chance.integers(len(planted)))].row
        assert one.embedding is not None
        noise = chance.normal(size=one.embedding.shape).astype(np.float32)
        vector = unit([one.embedding + noise * np.float32(0.35 / np.sqrt(len(noise)))])[0]
        yield replace(
            one,
            log_id=UUID(int=number),
            content=f"{one.content} {_mark(chance)}",
            agent_id=f"agent-{chance.integers(20):02}",
            embedding=vector,
        )


def _mark(chance: np.random.Generator) -> str:
    """Words that nobody reads and that make a text another one: it is the text that is told apart, not what it says."""
    return "(" + "".join(chance.choice(list("aeiou")) + chance.choice(list("lmnrst")) for _ in range(7)) + ")"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure() -> list[str]:
    """For ``python -m bench``: the figures as lines of Markdown. The span is measured in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.digest", "--span", str(SPAN), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    large = json.loads(told)
    return [
        "### Two digests of a synthetic month",
        "",
        "Thresholds were set on `ops` and `close`; the misses of `field` and `facts` were read and led to rules "
        "and weights, so no style is held out.",
        "",
        *await months(),
        "",
        "### One large span",
        "",
        row(["rows", "seconds", "peak memory, MB", "memory before, MB", "clusters"]),
        "|---|---|---|---|---|",
        row(["*must be under*", 300, 2048, "", ""]),
        row([large["rows"], *(round(large[name]) for name in ("seconds", "mb_peak", "mb_before", "clusters"))]),
        "",
    ]


async def main(arguments: argparse.Namespace) -> None:
    if arguments.span:
        print(json.dumps(await span(arguments.span)))
    else:
        print("\n".join(await months(misses=True) if arguments.misses else await measure()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the digest.")
    parser.add_argument("--misses", action="store_true", help="show what was missed or wrongly flagged")
    parser.add_argument("--span", type=int, help="measure one span of so many rows")
    asyncio.run(main(parser.parse_args()))
