"""Measure the digest with the bundled embedder: on synthetic months, on councils, and on a span of 100,000 rows.

    python -m bench.digest                      all of it
    python -m bench.digest months               the synthetic months, each digested twice
    python -m bench.digest council              councils of agents that write documents, in two halves
    python -m bench.digest parts                the councils with one part of the digest left out at a time
    python -m bench.digest choose               settings chosen without each group in turn, and its figures
    python -m bench.digest span                 the span of 100,000 rows
    python -m bench.digest months --misses      with what was missed or wrongly flagged

The second digest of a month sees what the first did not show. An insight of a month is of the topic that most of its
sources are of. What figures must reach is in AIMS, and that of councils in ``bench.councils``.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final
from uuid import UUID

from bench import councils, span
from bench.councils import Council, digest_council, measure_council, read_councils
from bench.drafted import HALVES, Outcome, Vectors, without_shown
from bench.month import FLOOD, STYLES, Planted, make_statements, month
from bench.sameness import row
from clearwell.flow.digest.drafting import CONTRADICTION, Draft
from clearwell.flow.digest.drafting.pipeline import Thresholds
from clearwell.flow.digest.material import make_candidates
from clearwell.models import OfflineEmbedder

MONTHS: Final = [
    (style, times, seed) for times, seeds in ((1, 5), (5, 2)) for style in STYLES for seed in range(1, seeds + 1)
]
AIMS: Final = {
    "topics": "≥ 0.9",
    "flood": "0",
    "contradictions": "1",
    "precision": "≥ 0.8",
    "noise": "",
    "insights": "",
}
NEAR: Final = (0.68, 0.72, 0.76)
WORTHY: Final = (2.4, 2.7, 3.0, 3.4)
FIRST_DAYS: Final = (9, 14)
NOISE_ALLOWED: Final = 0.1
CHOICE_SEED: Final = 1


# months


async def digest_month(planted: Sequence[Planted], vectors: Vectors, thresholds: Thresholds) -> Outcome:
    truth = {one.row.log_id: one for one in planted}
    left = [
        candidate for one in planted for candidate in make_candidates(replace(one.row, statements=make_statements(one)))
    ]
    outcome, earlier = Outcome(), list[Draft]()
    for _ in range(HALVES):
        made = await vectors.draft(left, earlier, thresholds)
        for one in made:
            _score_month(outcome, one, truth)
        left = without_shown(left, made)
        earlier += made
    return outcome


def _score_month(outcome: Outcome, one: Draft, truth: Mapping[UUID, Planted]) -> None:
    planted = [truth[source.log_id] for source in one.sources]
    topic = Counter(source.topic for source in planted).most_common(1)[0][0]
    outcome.insights += 1
    outcome.flood += topic == FLOOD
    outcome.noise += topic is None
    both = len({source.against for source in planted if source.topic == topic}) > 1
    if topic is not None and topic != FLOOD:
        outcome.found.add(topic)
        outcome.as_agreement += both and CONTRADICTION not in one.flags
    if CONTRADICTION in one.flags:
        outcome.flags[both] += 1
        outcome.flagged |= {topic} if both and topic else set()
        if not both:
            outcome.notes.append(
                f"flagged wrongly: {[each.explanation() for each in one.contradictions]} {one.summary}"
            )


def measure_month(planted: Sequence[Planted], outcome: Outcome) -> list[float]:
    topics = {one.topic for one in planted if one.topic not in (None, FLOOD)}
    opposed = {one.topic for one in planted if one.against}
    outcome.notes += [f"not found: {topic}" for topic in topics if topic not in outcome.found]
    outcome.notes += [f"not flagged: {topic}" for topic in opposed if topic not in outcome.flagged]
    return [
        len(outcome.found) / len(topics),
        outcome.flood,
        len(outcome.flagged) / len(opposed),
        outcome.precision,
        outcome.noise,
        outcome.insights,
    ]


async def months(*, misses: bool = False) -> list[str]:
    embedder = OfflineEmbedder()
    vectors = Vectors(embedder)
    lines = [row(["month", "seed", "rows", *AIMS]), "|" + "---|" * (3 + len(AIMS))]
    lines.append(row(["*must reach*", "", "", *AIMS.values()]))
    for style, times, seed in MONTHS:
        planted = month(style, seed, times)
        outcome = await digest_month(planted, vectors, Thresholds())
        lines.append(row([style, seed, len(planted), *measure_month(planted, outcome)]))
        lines += outcome.notes if misses else []
    await embedder.close()
    return lines


# settings chosen without a group


@dataclass(frozen=True, slots=True)
class Figures:
    """How good one group's digests are with some settings, and the figures that say so."""

    value: float
    shown: Sequence[object]


async def choose() -> list[str]:
    """Settings with the best mean over all other groups, and what they reach on the group left out."""
    embedder = OfflineEmbedder()
    vectors = Vectors(embedder)
    found: dict[tuple[float, float], dict[str, Figures]] = {}
    for near, worthy in product(NEAR, WORTHY):
        thresholds = Thresholds(near=near, worthy=worthy)
        found[near, worthy] = {
            **{council.name: await _weigh_council(council, vectors, thresholds) for council in read_councils()},
            **{style: await _weigh_month(style, vectors, thresholds) for style in STYLES},
        }
    await embedder.close()
    lines = [row(["left out", "near", "worthy", "value", "figures"]), "|" + "---|" * 5]
    for name in next(iter(found.values())):
        near, worthy = max(found, key=lambda one: _mean_without(found[one], name))
        chosen = found[near, worthy][name]
        lines.append(row([name, near, worthy, chosen.value, ", ".join(map(_short, chosen.shown))]))
    best = max(found, key=lambda one: _mean_without(found[one], ""))
    return [*lines, row(["none", *best, _mean_without(found[best], ""), ""])]


def _mean_without(figures: Mapping[str, Figures], name: str) -> float:
    values = [one.value for group, one in figures.items() if group != name]
    return sum(values) / len(values)


def _short(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


async def _weigh_council(council: Council, vectors: Vectors, thresholds: Thresholds) -> Figures:
    outcome = await digest_council(council, vectors, thresholds)
    shown = measure_council(council, outcome)
    flagged = len(outcome.flagged) / len(council.disputed)
    return Figures(_value(outcome, float(str(shown[0])), flagged), shown)


async def _weigh_month(style: str, vectors: Vectors, thresholds: Thresholds) -> Figures:
    planted = month(style, CHOICE_SEED)
    outcome = await digest_month(planted, vectors, thresholds)
    shown = measure_month(planted, outcome)
    return Figures(_value(outcome, shown[0], shown[2]), shown)


def _value(outcome: Outcome, covered: float, flagged: float) -> float:
    """Coverage and contradictions, less wrong flags, floods, disputes shown as agreement, and noise beyond a tenth.

    A tenth of the insights may be noise: a reviewer rejects one in seconds, and a topic that is left out is never seen.
    """
    noise = max(0.0, outcome.noise / max(1, outcome.insights) - NOISE_ALLOWED)
    wrong = outcome.flags[False] / max(1, outcome.insights)
    return covered + 0.5 * flagged - noise - wrong - outcome.flood - 0.25 * outcome.as_agreement


async def measure() -> list[str]:
    """For ``python -m bench``: the figures as lines of Markdown."""
    return [
        "### Councils: outputs of 500 to 3,000 characters, in two halves",
        "",
        *await councils.measure(),
        "",
        "Rules were made on the first two sets. The later ones were written and measured afterwards, and then read as "
        "well, so all these figures are of councils that were read: what they gave before is in `bench/README.md`.",
        "",
        "### The same councils with one part left out",
        "",
        *await councils.compare_parts(),
        "",
        "### Settings chosen without a group",
        "",
        "`near` and `worthy` have the best mean over all groups but the one left out, which is measured with them. "
        "The value of a group is its coverage and half of its share of contradictions, less wrong flags, floods, "
        "disputes shown as agreement, and noise beyond a tenth: councils that nobody had looked at had up to a tenth "
        "more of it than the others, and a fifth is allowed.",
        "",
        *await choose(),
        "",
        "### The first days of the councils",
        "",
        *await councils.compare_beginnings(FIRST_DAYS, WORTHY),
        "",
        "### Two digests of a synthetic month",
        "",
        "In the longer months everybody speaks five times as often.",
        "",
        *await months(),
        "",
        *await span.in_a_process_of_its_own(),
    ]


async def main(arguments: argparse.Namespace) -> None:
    parts = {"months": months, "council": councils.measure}
    if arguments.part in parts:
        print("\n".join(await parts[arguments.part](misses=arguments.misses)))
    else:
        others = {"choose": choose, "parts": councils.compare_parts, "span": span.in_a_process_of_its_own}
        print("\n".join(await others.get(arguments.part, measure)()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the digest.")
    parser.add_argument("part", nargs="?", choices=["months", "council", "parts", "choose", "span"])
    parser.add_argument("--misses", action="store_true", help="show what was missed or wrongly flagged")
    asyncio.run(main(parser.parse_args()))
