"""Measure what each word list of the comparison is worth on pairs that had no part in choosing it. Prints Markdown.

    python -m bench.word_lists

Each list of ``en.toml`` and ``zh.toml`` is emptied in both languages in turn, the model of ``bench.same_model`` is
fitted again without it, and the pairs of ``tests/data/`` that are not for development are judged.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from bench.same_model import collect_examples, fit_model
from bench.sameness import REWORDED, UNSEEN, WANTED, Pair, labelled, row
from clearwell.comparison import lexicon, plain_text, read_features
from clearwell.comparison.rule_comparison import Limits, Undecided, decide_by_rules
from clearwell.comparison.sameness import SamenessModel
from clearwell.models import OfflineEmbedder
from clearwell.ports import Embedder
from clearwell.records import Relation, Vector
from clearwell.text.words import words

LANGUAGES: Final = ("en", "zh")
NOT_OF_COMPARISON: Final = frozenset({"irregular", "no_ending", "ise"})
"""Lists of the stemmer, which search uses as well."""
PATTERNS: Final = frozenset(
    {"someone", "session", "undated", "not_denied", "acting", "preposition", "no_speaker", "telling", "open_ended"}
)
"""Parts of the patterns in ``attributions`` and ``sources``."""
NOTHING: Final = "\x00"
"""In a list that is referred to by a pattern: it matches no text."""


class KnownVectors:
    """An embedder that embeds every text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        missing = sorted(set(texts) - self._vectors.keys())
        self._vectors.update(zip(missing, await self._embedder.embed(missing), strict=True))
        return [self._vectors[text] for text in texts]

    def similarity(self, cosine: float) -> float:
        return self._embedder.similarity(cosine)


@contextmanager
def without(name: str) -> Iterator[None]:
    """Empty a list in both languages for a while."""
    lists = [cast(dict[str, Any], words(language)) for language in LANGUAGES]
    kept = [file.get(name) for file in lists]
    for file in lists:
        if name in file:
            file[name] = _emptied(name, file[name])
    _forget()
    try:
        yield
    finally:
        for file, listed in zip(lists, kept, strict=True):
            if listed is not None:
                file[name] = listed
        _forget()


def _emptied(name: str, listed: str | list[str]) -> str | list[str]:
    if name in {"openers", "speakers", "says", "says_with_colon"}:
        return [NOTHING] if isinstance(listed, list) else f"{NOTHING}\n"
    if name.endswith("_words") and isinstance(listed, list):
        return ["" for _ in listed]
    return [] if isinstance(listed, list) else ""


def _forget() -> None:
    """Let the lists be read again."""
    lexicon.lexicon.cache_clear()
    lexicon._read_list.cache_clear()
    plain_text._openings.cache_clear()
    plain_text._source.cache_clear()


def count_entries(name: str) -> int:
    listed = [words(language).get(name, "") for language in LANGUAGES]
    return sum(len(one.split()) if isinstance(one, str) else len(one) for one in listed)


async def measure_pairs(pairs: Sequence[Pair], embedder: KnownVectors) -> list[object]:
    """What the rules and a model fitted with the lists of now do on pairs that were kept aside."""
    fit = fit_model(await collect_examples(cast(Embedder, embedder)))
    vectors = await embedder.embed([text for pair in pairs for text in (pair.a, pair.b)])
    judged = [
        (pair, _relation(pair, embedder.similarity(float(known @ new)), fit.model))
        for pair, known, new in zip(pairs, vectors[::2], vectors[1::2], strict=True)
    ]

    def count(label: str, relation: Relation) -> int:
        return sum(pair.label == label and found is relation for pair, found in judged)

    flagged = sum(count(label, Relation.CONFLICT) for label in WANTED)
    return [
        count("paraphrase", Relation.SAME),
        count("duplicate", Relation.SAME),
        count("conflict", Relation.SAME),
        count("different", Relation.SAME),
        count("conflict", Relation.CONFLICT),
        count("conflict", Relation.CONFLICT) / flagged,
    ]


def _relation(pair: Pair, similarity: float, model: SamenessModel) -> Relation:
    outcome = decide_by_rules(read_features(pair.b), read_features(pair.a), similarity, Limits())
    if isinstance(outcome, Undecided):
        return Relation.SAME if model.is_same(outcome.measures) else Relation.DIFFERENT
    return outcome.relation


async def measure() -> list[str]:
    """For ``python -m bench``: what each list is worth, as lines of Markdown."""
    offline = OfflineEmbedder()
    embedder = KnownVectors(offline)
    pairs = [*(pair for pair in labelled() if pair.split == "held"), *labelled(UNSEEN), *labelled(REWORDED)]
    names = sorted({name for language in LANGUAGES for name in words(language)} - NOT_OF_COMPARISON - PATTERNS)
    rows: list[list[object]] = [["all lists", "", *await measure_pairs(pairs, embedder)]]
    for name in names:
        with without(name):
            rows.append([f"without `{name}`", "", *await measure_pairs(pairs, embedder)])
        rows[-1][1] = count_entries(name)
    await offline.close()
    totals = {label: sum(pair.label == label for pair in pairs) for label in WANTED}
    head = [
        "lists",
        "entries",
        f"paraphrases dropped of {totals['paraphrase']}",
        f"duplicates dropped of {totals['duplicate']}",
        f"conflicts dropped of {totals['conflict']}",
        f"different dropped of {totals['different']}",
        "conflicts flagged",
        "precision",
    ]
    return [
        "### What each word list of the comparison is worth",
        "",
        "Each list is emptied in both languages, and the model is fitted again without it. Measured on the pairs",
        "`held`, `unseen` and `reworded` together, on which neither the lists nor the model were made.",
        "",
        row(head),
        "|" + "---|" * len(head),
        *map(row, rows),
        "",
    ]


if __name__ == "__main__":
    print("\n".join(asyncio.run(measure())))
