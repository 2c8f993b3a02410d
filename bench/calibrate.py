"""Fit the curves of an embedder, cosine to 0..1, on ``data/calibration.jsonl``.

    python -m bench.calibrate            print percentiles, the curves, and how well they do on unseen data
    python -m bench.calibrate --write    also write src/clearwell/models/curves/<model>.toml and the curve for words,
                                         src/clearwell/flow/retrieval/relevance.toml

Each record of the data is a statement with a paraphrase, a version whose meaning was changed (a number, a name, a
negation), a question it answers and a few keywords for it. Out of them are made:

  near        a statement and itself with another case, other punctuation, a filler before it, or two of these
  paraphrase  a statement and its paraphrase
  changed     a statement and its changed version
  unrelated   two statements of different topics, same language
  answer      question or keywords, and the statement or its paraphrase
  passage     question, and four statements of one topic in one text, of which one is the answer
  off topic   question or keywords, and a statement of another topic, same language

A curve goes straight from anchor to anchor, and an anchor is a quantile of one class put at a value (ANCHORS).
Quantiles, and not the probability that two texts mean the same: such a curve jumps from 0 to 1 within a few
hundredths, and thresholds as far apart as 0.7 and 0.85 would be one. ``changed`` has no part in the fit: its
cosines are those of ``near``, so no curve tells them apart, and the ingress pipeline compares their words instead.

The curve for words is fitted in the same way, on the share of the query's words that a statement has in a group of all
statements of its language. It is the same for every model. Answers without a word of the query are left to the cosine,
so its anchors are stricter: at 0.7 words alone keep three answers of four, and one unrelated statement of thousands.
"""

import argparse
import asyncio
import json
import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from clearwell.flow.retrieval.bm25 import Bm25, analyse_query
from clearwell.models import OfflineEmbedder
from clearwell.ports import Embedder
from clearwell.records import Curve

HERE: Final = Path(__file__).parent
CURVES: Final = HERE.parent / "src" / "clearwell" / "models" / "curves"
WORD_CURVE: Final = HERE.parent / "src" / "clearwell" / "flow" / "retrieval" / "relevance.toml"
PERCENTILES: Final = (1, 5, 15, 25, 50, 75, 85, 95, 99)

Record: TypeAlias = dict[str, str]
Pairs: TypeAlias = dict[str, list[tuple[str, str]]]
Cosines: TypeAlias = dict[str, npt.NDArray[np.float64]]
Anchors: TypeAlias = tuple[tuple[str, float, float], ...]

ANCHORS: Final = {
    "similarity": (("unrelated", 25, 0.0), ("unrelated", 99, 0.3), ("near", 5, 0.9)),
    "relevance": (
        ("off topic", 25, 0.0),
        ("off topic", 98, 0.4),
        ("answer", 10, 0.7),
        ("answer", 50, 0.85),
        ("answer", 99, 1.0),
    ),
}
WORD_ANCHORS: Final = (
    ("off topic", 98, 0.0),
    ("off topic", 99.9, 0.4),
    ("answer", 25, 0.7),
    ("answer", 50, 0.85),
    ("answer", 90, 1.0),
)
AIMS: Final = (
    ("similarity", "near", 0.9, "at least"),
    ("similarity", "paraphrase", 0.9, "at least"),
    ("similarity", "changed", 0.9, "at least"),
    ("similarity", "unrelated", 0.3, "at most"),
    ("relevance", "answer", 0.7, "at least"),
    ("relevance", "answer", 0.85, "at least"),
    ("relevance", "passage", 0.7, "at least"),
    ("relevance", "off topic", 0.4, "at most"),
    ("relevance", "off topic", 0.7, "at least"),
)
FILLERS: Final = {
    "en": ("Note: {}", "FYI, {}", "Just to confirm: {}", "Okay. {}"),
    "zh": ("备注：{}", "补充一下，{}", "再确认一遍：{}", "好的。{}"),
}
PUNCTUATION: Final = str.maketrans({"，": "；", "。": "！", ",": ";", "：": "，"})


def near(record: Record) -> list[str]:
    """The statement with nothing changed that matters, by one edit and by two at once."""
    text = record["text"]
    bare, repunctuated = text.rstrip(".。"), text.translate(PUNCTUATION)
    fillers = [filler.format for filler in FILLERS[record["language"]]]
    once = [text.upper(), text.lower(), bare, repunctuated, f"  {text}\n", *(fill(text) for fill in fillers)]
    twice = [bare.upper(), *(fill(other) for fill in fillers for other in (bare, repunctuated))]
    return once + twice


def passages(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Each question, with its statement among three others of the topic."""
    pairs = []
    for number, record in enumerate(records):
        others = [other["text"] for other in records if other["topic"] == record["topic"] and other is not record][:3]
        others.insert(number % 4, record["text"])
        pairs.append((record["question"], (" " if record["language"] == "en" else "").join(others)))
    return pairs


def pairs_of(records: Sequence[Record]) -> Pairs:
    """All pairs of one language, by class."""
    queries = [(record, record[kind]) for record in records for kind in ("question", "keywords")]
    return {
        "near": [(record["text"], edited) for record in records for edited in near(record)],
        "paraphrase": [(record["text"], record["paraphrase"]) for record in records],
        "changed": [(record["text"], record["changed"]) for record in records],
        "unrelated": [(a["text"], b["text"]) for a, b in combinations(records, 2) if a["topic"] != b["topic"]],
        "answer": [(query, record[kind]) for record, query in queries for kind in ("text", "paraphrase")],
        "passage": passages(records),
        "off topic": [(q, other["text"]) for r, q in queries for other in records if other["topic"] != r["topic"]],
    }


async def cosines_of(embedder: Embedder, pairs: Pairs) -> Cosines:
    texts = sorted({text for some in pairs.values() for pair in some for text in pair})
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    return {name: np.array([float(vectors[a] @ vectors[b]) for a, b in some]) for name, some in pairs.items()}


def shares_of(records: Sequence[Record]) -> Cosines:
    """Of the words of each query, how much its statement has, and how much those of other topics."""
    lexicon = Bm25()
    standing = [lexicon.dimensions(record["text"]) for record in records]
    stored = [lexicon.lexemes(record["text"], []) for record in records]
    found: dict[str, list[float]] = {"answer": [], "off topic": []}
    for record in records:
        for kind in ("question", "keywords"):
            weights = {
                place: weight * _rarity(sum(place in terms for terms in standing), len(records))
                for place, weight in analyse_query(record[kind]).weights.items()
            }
            for other, lexemes in zip(records, stored, strict=True):
                name = "answer" if other is record else "off topic"
                if other is record or other["topic"] != record["topic"]:
                    share = sum(weight * lexemes.get(place, 0.0) for place, weight in weights.items())
                    found[name].append(share / (2 * sum(weights.values())))
    return {name: np.array(values) for name, values in found.items()}


def _rarity(having: int, whole: int) -> float:
    return math.log(1 + (whole - having + 0.5) / (having + 0.5))


def joined(parts: Sequence[Cosines]) -> Cosines:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def points_of(anchors: Anchors, measured: Cosines) -> list[tuple[float, float]]:
    return [(round(float(np.percentile(measured[kind], at)), 3), value) for kind, at, value in anchors]


def fit(cosines: Cosines) -> dict[str, Curve]:
    curves = {}
    for name, anchors in ANCHORS.items():
        points = points_of(anchors, cosines)
        curves[name] = Curve(tuple(points) if points[-1][1] == 1.0 else (*points, (1.0, 1.0)))
    return curves


def print_percentiles(title: str, cosines: Cosines) -> None:
    print(f"\n{title}\n{'':12}" + "".join(f"{f'p{at}':>7}" for at in PERCENTILES) + f"{'pairs':>8}")
    for name, values in cosines.items():
        row = "".join(f"{np.percentile(values, at):7.2f}" for at in PERCENTILES)
        print(f"{name:12}{row}{len(values):8}")


def print_aims(title: str, curves: dict[str, Curve], cosines: Cosines) -> None:
    print(f"\n{title}")
    for curve, kind, bound, side in AIMS:
        values = np.array([curves[curve](cosine) for cosine in cosines[kind]])
        share = np.mean(values >= bound if side == "at least" else values <= bound)
        print(f"  {curve:11}{kind:12}{side} {bound:<5}{share:7.1%}")


def write(model: str, curves: dict[str, Curve]) -> None:
    head = f"# Fitted for {model} by bench/calibrate.py on bench/data/calibration.jsonl; the script says how.\n"
    lines = [f"{name} = {[list(point) for point in curve.points]}" for name, curve in curves.items()]
    (CURVES / f"{model}.toml").write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def write_words(curve: Curve) -> None:
    head = "# The share of a query's words that a text has, and its relevance by that. Fitted by bench/calibrate.py.\n"
    points = [list(point) for point in curve.points]
    WORD_CURVE.write_text("\n".join([head, f"words = {points}", ""]), encoding="utf-8")


def print_word_aims(title: str, curve: Curve, shares: Cosines) -> None:
    print(f"\n{title}")
    for kind, values in shares.items():
        read = np.array([curve(value) for value in values])
        print(
            f"  words      {kind:12}at least 0.7 {np.mean(read >= 0.7):8.2%}   at least 0.4 {np.mean(read >= 0.4):8.2%}"
        )


async def main(arguments: argparse.Namespace) -> None:
    lines = (HERE / "data" / "calibration.jsonl").read_text(encoding="utf-8").splitlines()
    records: list[Record] = [json.loads(line) for line in lines]
    embedder = OfflineEmbedder()
    by_language = {
        language: [record for record in records if record["language"] == language] for language in ("en", "zh")
    }
    whole: list[Cosines] = []
    halves: tuple[list[Cosines], list[Cosines]] = ([], [])
    for language, some in by_language.items():
        whole.append(await cosines_of(embedder, pairs_of(some)))
        print_percentiles(f"cosines, {language}", whole[-1])
        for number, half in enumerate(halves):
            half.append(await cosines_of(embedder, pairs_of(some[number::2])))
    curves = fit(joined(whole))
    for name, curve in curves.items():
        print(f"\n{name}: {curve.points}")
    print_aims("fitted on one half of the records, measured on the other", fit(joined(halves[0])), joined(halves[1]))
    print_aims("fitted and measured on all", curves, joined(whole))
    shares = joined([shares_of(some) for some in by_language.values()])
    first, second = (joined([shares_of(some[number::2]) for some in by_language.values()]) for number in (0, 1))
    words = Curve(tuple(points_of(WORD_ANCHORS, shares)))
    print(f"\nwords: {words.points}")
    print_word_aims(
        "words, fitted on one half, measured on the other", Curve(tuple(points_of(WORD_ANCHORS, first))), second
    )
    print_word_aims("words, fitted and measured on all", words, shares)
    if arguments.write:
        write(embedder.model, curves)
        write_words(words)
    await embedder.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit the curves of the bundled embedder.")
    parser.add_argument("--write", action="store_true", help="write the curves where Clearwell reads them")
    asyncio.run(main(parser.parse_args()))
