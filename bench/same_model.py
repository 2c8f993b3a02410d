"""Fit the model that decides whether two statements without a conflict are the same. Prints Markdown.

    python -m bench.same_model            fit it, and print what it does on pairs that it was not fitted on
    python -m bench.same_model --write    also write src/clearwell/comparison/sameness.toml

It is fitted on the pairs for which the rules leave the decision to it, of:

* the development pairs of ``tests/data/sameness.jsonl`` and the pairs of ``data/calibration.jsonl``;
* reworded conflicts: of each record of ``data/calibration.jsonl``, the paraphrase with the changed statement;
* neighbours: each statement with the three most similar ones that are about something else.

The threshold is chosen by leaving one group of pairs out in turn: the records of one topic, or a tenth of the
development pairs in the order in which they were written. The probability of each pair comes from the model that was
fitted without its group. The threshold is the lowest one at which, of all pairs that are not the same, at most
``MAX_WRONG`` are taken for the same.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.sameness import CALIBRATION, Pair, calibration, labelled
from clearwell import comparison
from clearwell.comparison import read_features
from clearwell.comparison.rule_comparison import Limits, Undecided, decide_by_rules
from clearwell.comparison.sameness import MEASURES, SamenessModel
from clearwell.models import OfflineEmbedder
from clearwell.ports import Embedder

VERSION: Final = 1
"""Of the measures and the data; raise it when either changes."""
MAX_WRONG: Final = 0.02
SHIPPED: Final = Path(comparison.__file__).with_name("sameness.toml")
_RIDGE: Final = 1.0
_STEPS: Final = 50
_NEIGHBOURS: Final = 3
_NEIGHBOURS_BETWEEN: Final = (0.4, 0.7)
"""Similarities of neighbours; above, one is often a part of the other."""
_TENTHS: Final = 10

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A pair that the model decides on, or one that the rules decided."""

    group: str
    pair: Pair
    similarity: float
    measures: tuple[float, ...] | None

    @property
    def is_same(self) -> bool:
        return self.pair.label in {"paraphrase", "duplicate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The model, and how its kind does on pairs of groups that were left out."""

    model: SamenessModel
    found: int
    same: int
    wrong: int
    others: int


def reworded_conflicts() -> list[Pair]:
    records = [json.loads(line) for line in CALIBRATION.read_text(encoding="utf-8").splitlines()]
    return [
        Pair(
            lang=record["language"],
            split="reworded",
            label="conflict",
            kind="reworded",
            a=record["paraphrase"],
            b=record["changed"],
        )
        for record in records
    ]


async def collect_examples(embedder: Embedder) -> list[Example]:
    """Every pair for fitting, with its group and what the rules measured."""
    written = [pair for pair in labelled() if pair.split == "dev"]
    groups = _groups(written)
    pairs = [*written, *calibration(), *reworded_conflicts()]
    texts = sorted({text for pair in pairs for text in (pair.a, pair.b)})
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    for language in ("en", "zh"):
        statements = sorted({pair.a for pair in pairs if pair.lang == language and pair.split != "reworded"})
        pairs += _neighbours(language, statements, np.array([vectors[text] for text in statements]), pairs)
    examples = []
    for pair in pairs:
        similarity = embedder.similarity(float(vectors[pair.a] @ vectors[pair.b]))
        low, high = _NEIGHBOURS_BETWEEN
        if pair.split != "neighbours" or low <= similarity <= high:
            examples.append(_example(pair, groups[pair.a], similarity))
    return examples


def _example(pair: Pair, group: str, similarity: float) -> Example:
    outcome = decide_by_rules(read_features(pair.b), read_features(pair.a), similarity, Limits())
    measures = outcome.measures if isinstance(outcome, Undecided) else None
    return Example(group=group, pair=pair, similarity=similarity, measures=measures)


def _groups(written: Sequence[Pair]) -> dict[str, str]:
    """The group of each known statement."""
    size = len(written) / _TENTHS
    groups = {pair.a: f"tenth {int(place / size)}" for place, pair in enumerate(written)}
    for line in CALIBRATION.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        groups |= dict.fromkeys((record["text"], record["paraphrase"]), f"topic {record['topic']}")
    return groups


def _neighbours(
    language: str, statements: Sequence[str], vectors: NDArray[np.float32], pairs: Sequence[Pair]
) -> Iterator[Pair]:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1.0)
    seen = {frozenset((pair.a, pair.b)) for pair in pairs}
    for place, statement in enumerate(statements):
        for other in np.argsort(-cosines[place], kind="stable")[:_NEIGHBOURS]:
            both = frozenset((statement, statements[other]))
            if both not in seen:
                seen.add(both)
                yield Pair(
                    lang=language,
                    split="neighbours",
                    label="different",
                    kind="neighbours",
                    a=statement,
                    b=statements[other],
                )


def fit_model(examples: Sequence[Example]) -> Fit:
    """Fit the model, with a threshold from groups that were left out."""
    open_ones = [example for example in examples if example.measures is not None]
    measures = np.array([example.measures for example in open_ones])
    same = np.array([example.is_same for example in open_ones])
    groups = np.array([example.group for example in open_ones])
    left_out = np.zeros(len(open_ones))
    for group in sorted(set(groups)):
        inside = groups == group
        left_out[inside] = _probabilities(_fit(measures[~inside], same[~inside]), measures[inside])
    others = sum(not example.is_same for example in examples)
    wrong = np.sort(left_out[~same])[::-1]
    threshold = float(np.ceil(wrong[int(MAX_WRONG * others)] * 1e3 + 1e-6) / 1e3)
    bias, *weights = (round(float(weight), 3) for weight in _fit(measures, same))
    return Fit(
        model=SamenessModel(version=VERSION, threshold=threshold, bias=bias, weights=tuple(weights)),
        found=int((left_out[same] >= threshold).sum()),
        same=int(same.sum()),
        wrong=int((wrong >= threshold).sum()),
        others=others,
    )


def _fit(measures: Array, same: NDArray[np.bool_]) -> Array:
    """Logistic regression by Newton's method, with a ridge on measures of one scale. The bias comes first."""
    mean, scale = measures.mean(axis=0), measures.std(axis=0)
    scale[scale == 0] = 1.0
    design = np.column_stack([np.ones(len(measures)), (measures - mean) / scale])
    ridge = np.diag([1e-6] + [_RIDGE] * measures.shape[1])
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (expected - same) + ridge @ weights
        curvature = (design * (expected * (1 - expected))[:, None]).T @ design + ridge
        weights -= np.linalg.solve(curvature, gradient)
    raw = weights[1:] / scale
    return np.concatenate([[weights[0] - raw @ mean], raw])


def _probabilities(weights: Array, measures: Array) -> Array:
    probabilities: Array = 1 / (1 + np.exp(-(weights[0] + measures @ weights[1:])))
    return probabilities


def as_toml(model: SamenessModel) -> str:
    lines = [
        "# Fitted by `python -m bench.same_model --write` on labelled pairs; the script says how. Tested on the pairs",
        "# of tests/data/ that it was not fitted on: see bench/results/sameness.md.",
        "",
        f"version = {model.version}",
        f"threshold = {model.threshold}",
        f"bias = {model.bias}",
        "",
        "[weights]",
        *(f"{name} = {weight}" for name, weight in zip(MEASURES, model.weights, strict=True)),
        "",
    ]
    return "\n".join(lines)


async def measure(*, write: bool = False) -> list[str]:
    """For ``python -m bench``: the model and its figures on groups that were left out, as lines of Markdown."""
    embedder = OfflineEmbedder()
    fit = fit_model(await collect_examples(embedder))
    await embedder.close()
    if write:
        SHIPPED.write_text(as_toml(fit.model), encoding="utf-8")
    return [
        "### The model that tells the same from the different",
        "",
        f"With each group left out in turn, {fit.found} of {fit.same} pairs are found that are the same and that the"
        f" rules leave open, and {fit.wrong} of {fit.others} pairs that are not the same are taken for the same (at"
        f" most {MAX_WRONG:.0%} is allowed, which sets the threshold). What it does on pairs that it was not fitted on"
        " is in [sameness](sameness.md).",
        "",
        "```toml",
        *as_toml(fit.model).splitlines(),
        "```",
        "",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit the model that decides whether two statements are the same.")
    parser.add_argument("--write", action="store_true", help="write the coefficients into the package")
    print("\n".join(asyncio.run(measure(write=parser.parse_args().write))))
