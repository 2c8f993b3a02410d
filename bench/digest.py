"""Measure the digest on synthetic months with the bundled embedder, and on a span of 100,000 rows. Prints Markdown.

    python -m bench.digest               all of it
    python -m bench.digest --misses      the months only, with what was missed or wrongly flagged

A month is digested twice, as ``bench/month.py`` made it: the second digest sees what the first did not show. An
insight is of the topic that most of its sources are of. A contradiction is flagged rightly where the insight has
sources of both sides. What each figure must reach is in AIMS.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from bench import span
from bench.month import FLOOD, STYLES, Planted, month
from bench.sameness import row
from clearwell.comparison import RuleComparison
from clearwell.flow.digest.drafting import CONTRADICTION, Draft, draft, own_words
from clearwell.models import OfflineEmbedder
from clearwell.records import Vector

MONTHS: Final = [
    (style, times, seed) for times, seeds in ((1, 5), (5, 2)) for style in STYLES for seed in range(1, seeds + 1)
]
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
    """As the job does it: whole texts first, then what they say without refrains."""
    whole = await _with_vectors(embedder, planted, [one.row.content for one in planted], cache)
    said = own_words([one.row for one in whole], embedder.similarity)
    return await _with_vectors(embedder, whole, [said.get(one.row.log_id, one.row.content) for one in whole], cache)


async def _with_vectors(
    embedder: OfflineEmbedder, planted: Sequence[Planted], texts: Sequence[str], cache: dict[str, Vector]
) -> list[Planted]:
    missing = sorted(set(texts) - cache.keys())
    cache.update(zip(missing, await embedder.embed(missing), strict=True))
    return [replace(one, row=replace(one.row, embedding=cache[text])) for one, text in zip(planted, texts, strict=True)]


def digested(planted: Sequence[Planted], embedder: OfflineEmbedder) -> Outcome:
    truth = {one.row.log_id: one for one in planted}
    left = [one.row for one in planted]
    outcome = Outcome()
    for _ in range(2):
        made = draft(left, similarity=embedder.similarity, comparison=RuleComparison()).drafts
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
    for style, times, seed in MONTHS:
        planted = await embedded(embedder, month(style, seed, times), cache)
        outcome = digested(planted, embedder)
        lines.append(row([style, seed, len(planted), *figures(planted, outcome)]))
        lines += outcome.notes if misses else []
    await embedder.close()
    return lines


async def measure() -> list[str]:
    """For ``python -m bench``: the figures as lines of Markdown."""
    return [
        "### Two digests of a synthetic month",
        "",
        "Thresholds were set on `ops` and `close`; the misses of `field` and `facts` were read and led to rules "
        "and weights, so no style is held out. In the longer months everybody speaks five times as often.",
        "",
        *await months(),
        "",
        *await span.in_a_process_of_its_own(),
    ]


async def main(arguments: argparse.Namespace) -> None:
    print("\n".join(await months(misses=True) if arguments.misses else await measure()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the digest.")
    parser.add_argument("--misses", action="store_true", help="show what was missed or wrongly flagged")
    asyncio.run(main(parser.parse_args()))
