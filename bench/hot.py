"""Working memory that answers the question: is the evidence found, and do unrelated questions get nothing?

    python -m bench hot             measure, leaving one group out in turn, and write bench/results/hot.md
    python -m bench.hot --write     also fit the weights and the curve on all groups, and write
                                    src/clearwell/flow/retrieval/evidence.toml

Windows of 50 turns of a conversation are held as working memory, and so are 50 outputs of each council. Related
questions are those whose evidence is in the window; of a council, its planted facts. Unrelated are the questions of
another conversation of the same set, those of another set, and two that nothing answers. Other MemDaily users have the
same relatives and colleagues, so the questions of other MemDaily groups are reported and not fitted to.

The best words, the best cosine and the names of a query are weighted by logistic regression. The curve goes through
quantiles, with the meaning that relevance has elsewhere: 99 of 100 unrelated questions are below 0.4, nine of ten
related ones are above 0.7, and half of them above 0.85.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

import numpy as np
import numpy.typing as npt

from bench.retrieval import ADVERSARIAL, Remembering, folder, groups
from clearwell.flow.ingress.segmentation import (
    SHORT,
    average_vectors,
    make_statements,
    place_statements,
    read_statements,
    segment_output,
)
from clearwell.flow.reembedding.scale import measure_scale
from clearwell.flow.retrieval.bm25 import Bm25, analyse_query
from clearwell.flow.retrieval.entry_index import EntryIndex
from clearwell.flow.retrieval.relevance import QueryMatch, rate_match, relate_to_best
from clearwell.flow.retrieval.retriever import make_fusion
from clearwell.flow.retrieval.working_search import EntryRanking
from clearwell.ports import SearchQuery
from clearwell.records import Curve, Memory, Scope, Vector, WorkingEntry
from clearwell.settings import Settings
from clearwell.testing import MemoryLongTerm

SETS: Final = {"LoCoMo": "locomo-dev.jsonl", "MemDaily": "memdaily-dev.jsonl"}
COUNCIL: Final = "council"
TURNS, MIN_QUESTIONS, K = 50, 4, 10
ANYWHERE: Final = ("What is the capital of France?", "法国的首都是哪里？")
UNUSABLE: Final = "ERRORQ"
"""Some MemDaily questions are this mark."""
RELATED, SAME_SET, OTHER_SET, NOBODY = "related", "another conversation", "another set", "nobody's"
KINDS: Final = (SAME_SET, OTHER_SET, NOBODY)
NAMES_WEIGHT: Final = 2.0
ANCHORS: Final = ((False, 25, 0.0), (False, 99, 0.4), (True, 10, 0.7), (True, 50, 0.85), (True, 99, 1.0))
EVIDENCE: Final = Path(__file__).parent.parent / "src" / "clearwell" / "flow" / "retrieval" / "evidence.toml"
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
SPACE: Final = UUID(int=0)


@dataclass
class Window:
    """Working memory of one group, and the questions that it answers: each with the numbers of its evidence."""

    set: str
    group: str
    turns: list[tuple[str, str, str]]
    """Session, speaker and text, in the order in which they came."""
    questions: list[tuple[str, list[int]]]
    entries: list[WorkingEntry] = field(default_factory=list)
    vectors: list[Vector] = field(default_factory=list)
    """Of the whole turns, as long-term memory stores them."""


@dataclass
class Case:
    """A question to a window: what speaks for an answer, and the ranks of the entries, oldest first."""

    window: Window
    kind: str
    evidence: QueryMatch
    ranks: npt.NDArray[np.float64]
    right: list[int]
    cold: float

    @property
    def features(self) -> tuple[float, float, float]:
        return self.evidence.words, self.evidence.vector or 0.0, self.evidence.names

    @property
    def is_fitted(self) -> bool:
        return not (self.window.set == "MemDaily" and self.kind == SAME_SET)


async def measure() -> list[str]:
    if not folder().is_dir():
        return [f"No conversations to measure with: there is no folder {folder()}. Name one in CLEARWELL_EVAL.", ""]
    cases = await make_cases()
    threshold = Settings().hot_threshold
    names = sorted({case.window.group for case in cases})
    left_out = [outcome for name in names for outcome in _leave_out(cases, name)]
    shipped = [(case, _answer(case, rate_match(case.evidence) or 0.0, threshold)) for case in cases]
    return [
        f"Windows of {TURNS} entries, `hot_threshold` {threshold}. Long-term search ranks the same turns as verified "
        "memory, with their speakers as authors and without a threshold.",
        "",
        *_table("Fitted without the group that is measured", left_out),
        *_table("As shipped", shipped),
    ]


def read_windows() -> Iterator[Window]:
    for title, name in SETS.items():
        for number, group in enumerate(groups(name)):
            memories = group["memories"]
            for start in range(0, max(1, len(memories) - TURNS + 1), TURNS):
                window = _read_window(title, f"{title} {number}", memories[start : start + TURNS], group["questions"])
                if len(window.questions) >= MIN_QUESTIONS:
                    yield window
    facts = json.loads((folder() / "council-dev-facts.json").read_text(encoding="utf-8"))
    outputs = list(groups("council-dev.jsonl"))
    for group_id in sorted({output["group"] for output in outputs}):
        part = [output for output in outputs if output["group"] == group_id][:TURNS]
        held = {code: [number for number, one in enumerate(part) if code in one["facts"]] for code in facts}
        yield Window(
            COUNCIL,
            f"{COUNCIL} {group_id}",
            [(one["session"], one["agent"], one["content"]) for one in part],
            [(fact["statement"], held[code]) for code, fact in facts.items() if held[code]],
        )


def _read_window(title: str, group: str, part: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]]) -> Window:
    places = {memory["id"]: number for number, memory in enumerate(part)}
    asked = [
        (one["question"], sorted({places[ref] for ref in one["evidence"]}))
        for one in questions
        if one["category"] != ADVERSARIAL
        and one["evidence"]
        and {*one["evidence"]} <= places.keys()
        and UNUSABLE not in one["question"]
    ]
    turns = [(one["session"], one["speaker"], f"[{one['time']}] {one['speaker']}: {one['text']}") for one in part]
    return Window(title, group, turns, asked)


async def make_cases() -> list[Case]:
    """Every window with its own questions and with unrelated ones, chosen by a fixed seed."""
    embedder, chance = Remembering(), random.Random(7)
    windows = list(read_windows())
    await embedder.embed(sorted({text for window in windows for _, _, text in window.turns}))
    cases = []
    for window in windows:
        window.entries = await _make_entries(window, embedder)
        searcher = _Searcher(window, embedder)
        cases += [await searcher.ask(RELATED, question, right) for question, right in window.questions]
        for kind, question in _choose_unrelated(window, windows, chance):
            cases.append(await searcher.ask(kind, question, []))
    return cases


def _choose_unrelated(window: Window, windows: Sequence[Window], chance: random.Random) -> Iterator[tuple[str, str]]:
    same = [one for one in windows if one.set == window.set and one.group != window.group and one.set != COUNCIL]
    for other in chance.sample(same, min(2, len(same))):
        yield from ((SAME_SET, question) for question, _ in other.questions[:8])
    others = [one for one in windows if one.set != window.set]
    for other in chance.sample(others, 3):
        yield from ((OTHER_SET, question) for question, _ in other.questions[:4])
    yield from ((NOBODY, question) for question in ANYWHERE)


async def _make_entries(window: Window, embedder: Remembering) -> list[WorkingEntry]:
    """The entries as admission makes them, newest first."""
    entries = []
    for number, (session, speaker, text) in enumerate(window.turns):
        log_id, segments = uuid5(SPACE, f"{window.group} {number}"), segment_output(text)
        statements = read_statements(text, segments)
        whole, *vectors = await embedder.embed([text, *statements.values()])
        made = make_statements(log_id, segments, dict(zip(statements, vectors, strict=True)), embedder.model)
        window.vectors.append(whole)
        own = average_vectors(made) if len(statements) > SHORT else whole
        entries.append(
            WorkingEntry(
                id=log_id,
                group_id="g",
                session_id=session,
                agent_id=None if window.set != COUNCIL else speaker,
                content=text,
                created_at=START + timedelta(seconds=number),
                embedding=own,
                embedding_model=embedder.model,
                statements=place_statements(text, text, made),
            )
        )
    return entries[::-1]


class _Searcher:
    """Asks one window as working memory and as long-term memory."""

    def __init__(self, window: Window, embedder: Remembering) -> None:
        self._window = window
        self._embedder = embedder
        self._fusion = make_fusion(embedder, Settings())
        self._index = EntryIndex(window.entries, embedder.model, {})
        self._longterm = MemoryLongTerm(Bm25())
        self._longterm.extend([self._make_memory(number) for number in range(len(window.turns))])

    async def ask(self, kind: str, question: str, right: list[int]) -> Case:
        terms, (vector,) = analyse_query(question), await self._embedder.embed([question])
        numbers, scale = range(len(self._index.entries)), measure_scale(self._embedder)
        ranking = EntryRanking(self._index, terms, vector, self._fusion)
        ranking.rank(numbers, size=len(numbers))
        cold = 0.0
        if right:
            query = SearchQuery(
                group_id="g", embedding=vector, model=self._embedder.model, limit=K, terms=terms, fusion=self._fusion
            )
            found = {chunk.memory.chunk_no for chunk in await self._longterm.search(query)}
            cold = len(found & {*right}) / min(K, len(right))
        return Case(
            window=self._window,
            kind=kind,
            evidence=ranking.measure_match(numbers, low=scale.low, span=scale.high - scale.low),
            ranks=np.array([ranking.ranks[number] for number in reversed(numbers)]),
            right=right,
            cold=cold,
        )

    def _make_memory(self, number: int) -> Memory:
        session, speaker, text = self._window.turns[number]
        entry = self._window.entries[len(self._window.entries) - 1 - number]
        return Memory(
            id=entry.id,
            group_id="g",
            session_id=session,
            content=text,
            created_at=entry.created_at,
            embedding=self._window.vectors[number],
            promotion_id=entry.id,
            chunk_no=number,
            scope=Scope.GROUP,
            author=speaker,
            embedding_model=self._embedder.model,
        )


def fit(cases: Sequence[Case]) -> tuple[npt.NDArray[np.float64], Curve]:
    """The weights of words, vector and names, and the curve over their sum."""
    features = np.array([case.features for case in cases])
    related = np.array([case.kind == RELATED for case in cases])
    weights = _regress(features, related.astype(float))
    sums = features @ weights
    points = [(round(float(np.percentile(sums[related == side], at)), 2), value) for side, at, value in ANCHORS]
    return weights, Curve(tuple(points))


def _regress(features: npt.NDArray[np.float64], related: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Logistic regression by Newton's method. The weight of names is given: people's names carry these sets alone."""
    given = NAMES_WEIGHT * features[:, 2]
    design = np.column_stack([features[:, :2], np.ones(len(features))])
    weights, penalty = np.zeros(3), np.diag([1.0, 1.0, 0.0])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(design @ weights + given)))
        gradient = design.T @ (chance - related) + penalty @ weights
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + penalty
        weights -= np.linalg.solve(curvature + 1e-9 * np.eye(3), gradient)
    return np.round(np.array([*weights[:2], NAMES_WEIGHT]), 2)


def _leave_out(cases: Sequence[Case], group: str) -> Iterator[tuple[Case, list[int]]]:
    weights, curve = fit([case for case in cases if case.window.group != group and case.is_fitted])
    for case in cases:
        if case.window.group == group:
            yield case, _answer(case, curve(float(np.dot(case.features, weights))), Settings().hot_threshold)


def _answer(case: Case, best: float, threshold: float) -> list[int]:
    """The numbers of the first entries whose relevance reaches the threshold."""
    highest = float(case.ranks.max())
    relevances = [relate_to_best(best, float(rank), highest) for rank in case.ranks]
    order = sorted(range(len(relevances)), key=lambda number: (-relevances[number], -number))
    return [number for number in order if relevances[number] >= threshold][:K]


def _table(title: str, outcomes: Sequence[tuple[Case, list[int]]]) -> list[str]:
    columns = ["related", f"recall@{K}", f"long-term recall@{K}", "items", *(f"nothing: {kind}" for kind in KINDS)]
    lines = [f"### {title}", "", f"| | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for name in (*SETS, COUNCIL):
        own = [(case, found) for case, found in outcomes if case.window.set == name]
        related = [(case, found) for case, found in own if case.kind == RELATED]
        recall = np.mean([len({*found} & {*case.right}) / min(K, len(case.right)) for case, found in related])
        cold, items = np.mean([case.cold for case, _ in related]), np.mean([len(found) for _, found in related])
        nothing = [_share_of_nothing([found for case, found in own if case.kind == kind]) for kind in KINDS]
        lines.append(
            f"| {name} | {len(related)} | **{recall:.3f}** | {cold:.3f} | {items:.1f} | " + " | ".join(nothing) + " |"
        )
    return [*lines, ""]


def _share_of_nothing(answers: Sequence[list[int]]) -> str:
    return f"{np.mean([not answer for answer in answers]):.3f} of {len(answers)}" if answers else "–"


async def main(arguments: argparse.Namespace) -> None:
    weights, curve = fit([case for case in await make_cases() if case.is_fitted])
    print(weights, curve.points)
    if arguments.write:
        head, _, _ = EVIDENCE.read_text(encoding="utf-8").partition("curve =")
        points = [list(point) for point in curve.points]
        words, vector, names = weights
        fitted = f"curve = {points}\n\n[weights]\nwords = {words}\nvector = {vector}\nnames = {names}\n"
        EVIDENCE.write_text(head + fitted, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit the relevance of working memory.")
    parser.add_argument("--write", action="store_true", help="write the weights where Clearwell reads them")
    asyncio.run(main(parser.parse_args()))
