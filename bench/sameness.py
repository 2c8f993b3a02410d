"""Measure the non-duplicate check on labelled pairs, with the bundled embedder. Prints Markdown.

    python -m bench.sameness             figures by language and by kind, and what a pair costs
    python -m bench.sameness --misses    also every pair that was not judged as labelled
    python -m bench.sameness --sweep     also the figures of the development pairs under other thresholds

``tests/data/`` holds the pairs: ``a`` is known, ``b`` comes new; see README.md there. ``held`` pairs were written first
and had no part in any choice; thresholds, word lists and the model of ``bench.same_model`` were chosen on ``dev`` and
on the paraphrases and changed statements of ``data/calibration.jsonl``. What each figure must reach is in AIMS, for
pairs of which most conflicts are one changed facet; in ``reworded`` most are also said in other words.
``python -m bench word_lists`` measures what each word list is worth.
"""

import argparse
import asyncio
import contextlib
import io
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from clearwell.comparison import Features, RuleComparison, read_features
from clearwell.comparison.rule_comparison import Limits, judge
from clearwell.models import OfflineEmbedder
from clearwell.ports import Embedder
from clearwell.records import Comparison, Relation

HERE: Final = Path(__file__).parent
PAIRS: Final = HERE.parent / "tests" / "data" / "sameness.jsonl"
UNSEEN: Final = PAIRS.with_name("sameness_unseen.jsonl")
REWORDED: Final = PAIRS.with_name("sameness_reworded.jsonl")
LAST: Final = PAIRS.with_name("sameness_last.jsonl")
SPLITS: Final = ("held", "unseen", "reworded", "last", "dev", "calibration")
CALIBRATION: Final = HERE / "data" / "calibration.jsonl"
WANTED: Final = {
    "conflict": Relation.CONFLICT,
    "duplicate": Relation.SAME,
    "paraphrase": Relation.SAME,
    "different": Relation.DIFFERENT,
}
AIMS: Final = {
    "conflicts kept": 0.95,
    "precision": 0.8,
    "duplicates dropped": 0.9,
    "paraphrases dropped": 0.6,
    "conflicts flagged": 0.85,
    "different kept": 0.95,
}
SWEPT: Final[Mapping[str, Sequence[float]]] = {
    "duplicate": (0.8, 0.85, 0.9, 0.95),
    "conflict": (0.45, 0.5, 0.55, 0.6, 0.7),
    "cover": (0.3, 0.4, 0.5, 0.6),
    "translated": (0.15, 0.2, 0.25, 0.3),
    "conflict_until": (0.6, 0.7, 0.8, 0.9, 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    lang: str
    split: str
    label: str
    kind: str
    a: str
    b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A pair with its similarity and what came out."""

    pair: Pair
    similarity: float
    outcome: Comparison

    @property
    def right(self) -> bool:
        return self.outcome.relation is WANTED[self.pair.label]


def labelled(path: Path = PAIRS) -> list[Pair]:
    return [Pair(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def calibration() -> list[Pair]:
    """What calibrate.py fits the similarity scale on, as pairs: statements with freer paraphrases, and changed ones."""
    records = [json.loads(line) for line in CALIBRATION.read_text(encoding="utf-8").splitlines()]
    return [
        Pair(lang=one["language"], split="calibration", label=label, kind=key, a=one["text"], b=one[key])
        for one in records
        for key, label in (("paraphrase", "paraphrase"), ("changed", "conflict"))
    ]


async def judged(embedder: Embedder, pairs: Sequence[Pair]) -> list[Judged]:
    texts = sorted({text for pair in pairs for text in (pair.a, pair.b)})
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    comparison = RuleComparison()
    similarities = [embedder.similarity(float(vectors[pair.a] @ vectors[pair.b])) for pair in pairs]
    return [
        Judged(pair=pair, similarity=similarity, outcome=comparison.compare(pair.b, pair.a, similarity))
        for pair, similarity in zip(pairs, similarities, strict=True)
    ]


def figures(some: Iterable[Judged]) -> dict[str, float]:
    """The share of each label that had the outcome, and the precision of the conflict flag over all labels."""
    counts = Counter((one.pair.label, one.outcome.relation) for one in some)

    def share(label: str, *relations: Relation) -> float:
        total = sum(counts[label, relation] for relation in Relation)
        return sum(counts[label, relation] for relation in relations) / total if total else float("nan")

    flagged = sum(counts[label, Relation.CONFLICT] for label in WANTED)
    return {
        "conflicts kept": share("conflict", Relation.CONFLICT, Relation.DIFFERENT),
        "precision": counts["conflict", Relation.CONFLICT] / flagged if flagged else float("nan"),
        "duplicates dropped": share("duplicate", Relation.SAME),
        "paraphrases dropped": share("paraphrase", Relation.SAME),
        "conflicts flagged": share("conflict", Relation.CONFLICT),
        "different kept": share("different", Relation.DIFFERENT, Relation.CONFLICT),
    }


def row(cells: Iterable[object]) -> str:
    shown = (("–" if cell != cell else f"{cell:.3f}") if isinstance(cell, float) else str(cell) for cell in cells)
    return f"| {' | '.join(shown)} |"


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print("\n" + row(head) + "\n|" + "---|" * len(head))
    for cells in rows:
        print(row(cells))


def print_figures(results: Sequence[Judged]) -> None:
    groups = [(split, lang) for split in SPLITS for lang in ("en", "zh", "both")]

    def of(split: str, lang: str) -> list[Judged]:
        return [one for one in results if one.pair.split == split and lang in {one.pair.lang, "both"}]

    print_table(
        ["pairs", "language", "number", *AIMS],
        [["*must reach*", "", "", *AIMS.values()]]
        + [[split, lang, len(of(split, lang)), *figures(of(split, lang)).values()] for split, lang in groups],
    )


def print_kinds(results: Sequence[Judged]) -> None:
    kinds = sorted({(one.pair.label, one.pair.kind) for one in results if one.pair.split != "calibration"})
    rows = []
    for label, kind in kinds:
        some = [one for one in results if (one.pair.label, one.pair.kind) == (label, kind)]
        rows.append([label, kind, len(some), sum(one.right for one in some) / len(some)])
    print_table(["label", "kind", "number", "as labelled"], rows)


def print_costs(pairs: Sequence[Pair]) -> None:
    """Time of reading a text and of comparing two: single statements, and texts of several of about 300 characters."""
    rows = []
    for lang, characters in ((lang, characters) for lang in ("en", "zh") for characters in (1, 300)):
        some = [pair for pair in pairs if pair.lang == lang and pair.label != "different"]
        size = max(1, characters // (sum(len(pair.a) for pair in some) // len(some)))
        joined = [some[at : at + size] for at in range(0, len(some) - size, size)]
        known = [" ".join(pair.a for pair in part) for part in joined]
        new = [" ".join(pair.b for pair in part) for part in joined]
        started = time.process_time()
        read_known = [read_features(text) for text in known]
        read = (time.process_time() - started) / len(known)
        read_new = [read_features(text) for text in new]
        rows.append([lang, sum(map(len, known)) // len(known), f"{read * 1e6:.0f}", *_costs(read_new, read_known)])
    print_table(["language", "characters", "read, µs", "compare alike, µs", "compare unlike, µs"], rows)


def _costs(new: Sequence[Features], known: Sequence[Features]) -> list[str]:
    shown = []
    for others, similarity in ((known, 0.95), ([*known[7:], *known[:7]], 0.45)):
        started = time.process_time()
        for one, other in zip(new, others, strict=True):
            judge(one, other, similarity, Limits())
        shown.append(f"{(time.process_time() - started) / len(new) * 1e6:.0f}")
    return shown


def print_misses(results: Sequence[Judged]) -> None:
    for one in results:
        if not one.right and one.pair.split != "held":
            print(f"\n{one.pair.label}, {one.pair.kind} → {one.outcome.reason} {dict(one.outcome.params)}")
            print(f"similarity {one.similarity:.2f}\n  {one.pair.a}\n  {one.pair.b}")


def print_sweep(results: Sequence[Judged]) -> None:
    read = [(one, read_features(one.pair.b), read_features(one.pair.a)) for one in results if one.pair.split != "held"]

    def under(limits: Limits) -> dict[str, float]:
        outcomes = [(one, judge(new, known, one.similarity, limits)) for one, new, known in read]
        return figures(replace(one, outcome=outcome) for one, outcome in outcomes)

    rows: list[list[object]] = []
    for name, values in SWEPT.items():
        for value in values:
            limits = replace(Limits(), **{name: value})
            chosen = " (chosen)" if limits == Limits() else ""
            rows.append([f"{name} {value}{chosen}", *under(limits).values()])
    print_table(["threshold", *AIMS], rows)


async def main(arguments: argparse.Namespace) -> None:
    embedder = OfflineEmbedder()
    pairs = labelled()
    results = await judged(embedder, [*pairs, *labelled(UNSEEN), *labelled(REWORDED), *labelled(LAST), *calibration()])
    await embedder.close()
    print_figures(results)
    print_kinds(results)
    print_costs(pairs)
    if arguments.sweep:
        print_sweep(results)
    if arguments.misses:
        print_misses(results)


async def measure() -> list[str]:
    """For ``python -m bench``: the figures as lines of Markdown."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        await main(argparse.Namespace(sweep=False, misses=False))
    return ["### The non-duplicate check on labelled pairs", *told.getvalue().splitlines(), ""]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the non-duplicate check on labelled pairs.")
    parser.add_argument(
        "--misses", action="store_true", help="show what was not judged as labelled (not of held pairs)"
    )
    parser.add_argument("--sweep", action="store_true", help="show the figures under other thresholds")
    asyncio.run(main(parser.parse_args()))
