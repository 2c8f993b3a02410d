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

What else is returned with an answer is measured in mixed windows: after every fifth turn follows, in the same session,
a turn of another conversation of the set or, in turn, of another set. The related questions are asked again, and the
foreign turns among the items counted. What an entry itself has to say is fitted by quantiles, too: 97 of 100 entries
say less about a question of another set, and 70 of 100 less than an entry that has a neighbour which is alike. Of the
foreign turns, 55 of 100 are less like their neighbours.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
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
from clearwell.flow.retrieval.relevance import Evidence, QueryMatch, load_evidence, relate_to_best
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
MIXED: Final = "related, in a mixed window"
KINDS: Final = (SAME_SET, OTHER_SET, NOBODY)
NAMES_WEIGHT: Final = 2.0
ANCHORS: Final = ((False, 25, 0.0), (False, 99, 0.4), (True, 10, 0.7), (True, 50, 0.85), (True, 99, 1.0))
ALONE, NEAR, UNLIKE = 97, 70, 55
FOREIGN_EVERY: Final = 5
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
    foreign: frozenset[int] = frozenset()
    """The numbers of the turns of other conversations."""
    unlike: list[float] = field(default_factory=list)
    """How like these are to their neighbours."""


@dataclass
class Case:
    """A question to a window: what speaks for an answer, and how the entries compare with it."""

    window: Window
    kind: str
    match: QueryMatch
    ranking: EntryRanking
    right: list[int]
    cold: float

    @property
    def features(self) -> tuple[float, float, float]:
        return self.match.words, self.match.vector or 0.0, self.match.names

    @cached_property
    def own(self) -> npt.NDArray[np.float64]:
        """The words and the vector of each entry itself."""
        measured = [self.ranking.measure_own(number) for number in range(len(self.window.entries))]
        return np.array([(words, vector or 0.0) for words, vector in measured])

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
    shipped = [(case, _answer(case, load_evidence(), threshold)) for case in cases]
    return [
        f"Windows of {TURNS} entries, `hot_threshold` {threshold}. Long-term search ranks the same turns as verified "
        "memory, with their speakers as authors and without a threshold. Foreign: the related questions again, where "
        "every sixth entry is of another conversation, in the same session; the share of these entries that reach the "
        "threshold, and their share of the items.",
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
    chance = random.Random(7)
    for mixed in [_mix(window, windows, chance) for window in windows]:
        mixed.entries = await _make_entries(mixed, embedder)
        searcher = _Searcher(mixed, embedder)
        cases += [await searcher.ask(MIXED, question, right) for question, right in mixed.questions]
    return cases


def _mix(window: Window, windows: Sequence[Window], chance: random.Random) -> Window:
    """The window with turns of other conversations in its sessions, each after the turn of its own."""
    same = [turn for one in windows if one.set == window.set and one.group != window.group for turn in one.turns]
    others = [turn for one in windows if one.set != window.set for turn in one.turns]
    turns: list[tuple[str, str, str]] = []
    places: list[int] = []
    foreign: list[int] = []
    for number, turn in enumerate(window.turns):
        places.append(len(turns))
        turns.append(turn)
        if number % FOREIGN_EVERY == FOREIGN_EVERY // 2:
            _, speaker, text = chance.choice(others if len(foreign) % 2 else same)
            foreign.append(len(turns))
            turns.append((turn[0], speaker, text))
    questions = [(question, [places[number] for number in right]) for question, right in window.questions]
    return Window(window.set, window.group, turns, questions, foreign=frozenset(foreign))


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
        self._scale = measure_scale(embedder)
        self._index = EntryIndex(window.entries, embedder.model, {})
        last = len(window.entries) - 1
        window.unlike = [
            self._scale.place(cosine)
            for number in window.foreign
            for _, cosine in self._index.compare_near(last - number)
        ]
        self._longterm = MemoryLongTerm(Bm25())
        self._longterm.extend([self._make_memory(number) for number in range(len(window.turns))])

    async def ask(self, kind: str, question: str, right: list[int]) -> Case:
        terms, (vector,) = analyse_query(question), await self._embedder.embed([question])
        numbers = range(len(self._index.entries))
        ranking = EntryRanking(self._index, terms, vector, self._fusion, self._scale)
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
            match=ranking.measure_match(numbers),
            ranking=ranking,
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


def fit(cases: Sequence[Case]) -> Evidence:
    """The weights of words, vector and names, the curve over their sum, and what an entry itself has to say."""
    asked = [case for case in cases if case.kind != MIXED]
    features = np.array([case.features for case in asked])
    related = np.array([case.kind == RELATED for case in asked])
    weights = _regress(features, related.astype(float))
    sums = features @ weights
    points = [(round(float(np.percentile(sums[related == side], at)), 2), value) for side, at, value in ANCHORS]
    own = np.concatenate([case.own for case in asked if case.kind == OTHER_SET]) @ weights[:2]
    unlike = np.concatenate([case.window.unlike for case in cases if case.kind == MIXED])
    alone, near, likeness = (
        round(float(np.percentile(values, at)), 2) for values, at in ((own, ALONE), (own, NEAR), (unlike, UNLIKE))
    )
    words, vector, names = map(float, weights)
    return Evidence(
        words=words,
        vector=vector,
        names=names,
        curve=Curve(tuple(points)),
        alone=alone,
        near=near,
        likeness=likeness,
    )


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


def _leave_out(cases: Sequence[Case], group: str) -> Iterator[tuple[Case, "Answer"]]:
    fitted = fit([case for case in cases if case.window.group != group and case.is_fitted])
    for case in cases:
        if case.window.group == group:
            yield case, _answer(case, fitted, Settings().hot_threshold)


@dataclass
class Answer:
    """The numbers of the first entries whose relevance reaches the threshold, and how many foreign ones reach it."""

    items: list[int]
    foreign: int


def _answer(case: Case, evidence: Evidence, threshold: float) -> Answer:
    best, ranks = evidence.rate(case.match) or 0.0, case.ranking.ranks
    highest, last = max(ranks.values()), len(ranks) - 1
    relevances = {
        last - number: case.ranking.limit_by_own(number, relate_to_best(best, rank, highest), evidence)
        for number, rank in ranks.items()
    }
    reached = [number for number, relevance in relevances.items() if relevance >= threshold]
    if best < threshold:
        reached = []
    reached.sort(key=lambda number: (-relevances[number], -number))
    return Answer(reached[:K], len(case.window.foreign.intersection(reached)))


def _table(title: str, outcomes: Sequence[tuple[Case, Answer]]) -> list[str]:
    foreign = ["foreign, reached", "foreign, of the items"]
    columns = ["related", f"recall@{K}", f"long-term recall@{K}", "items", *foreign]
    columns += [f"nothing: {kind}" for kind in KINDS]
    lines = [f"### {title}", "", f"| | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for name in (*SETS, COUNCIL):
        own = [(case, answer) for case, answer in outcomes if case.window.set == name]
        related = [(case, answer.items) for case, answer in own if case.kind == RELATED]
        recall = np.mean([len({*found} & {*case.right}) / min(K, len(case.right)) for case, found in related])
        cold, items = np.mean([case.cold for case, _ in related]), np.mean([len(found) for _, found in related])
        reached, share = _measure_foreign([(case, answer) for case, answer in own if case.kind == MIXED])
        nothing = [_share_of_nothing([answer.items for case, answer in own if case.kind == kind]) for kind in KINDS]
        figures = [f"**{recall:.3f}**", f"{cold:.3f}", f"{items:.1f}", f"{reached:.3f}", f"**{share:.3f}**", *nothing]
        lines.append(f"| {name} | {len(related)} | " + " | ".join(figures) + " |")
    return [*lines, ""]


def _measure_foreign(outcomes: Sequence[tuple[Case, Answer]]) -> tuple[float, float]:
    """Where a question is answered: the share of the foreign turns that are relevant, and their share of the items."""
    answered = [(case.window.foreign, answer) for case, answer in outcomes if answer.items]
    reached = sum(answer.foreign for _, answer in answered) / sum(len(foreign) for foreign, _ in answered)
    items = [len(foreign.intersection(answer.items)) / len(answer.items) for foreign, answer in answered]
    return reached, float(np.mean(items))


def _share_of_nothing(answers: Sequence[list[int]]) -> str:
    return f"{np.mean([not answer for answer in answers]):.3f} of {len(answers)}" if answers else "–"


async def main(arguments: argparse.Namespace) -> None:
    fitted = fit([case for case in await make_cases() if case.is_fitted])
    print(fitted)
    if arguments.write:
        head, _, _ = EVIDENCE.read_text(encoding="utf-8").partition("curve =")
        points = [list(point) for point in fitted.curve.points]
        EVIDENCE.write_text(
            f"{head}curve = {points}\n"
            f"\n[weights]\nwords = {fitted.words}\nvector = {fitted.vector}\nnames = {fitted.names}\n"
            f"\n[own]\nalone = {fitted.alone}\nnear = {fitted.near}\nlikeness = {fitted.likeness}\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit the relevance of working memory.")
    parser.add_argument("--write", action="store_true", help="write the weights where Clearwell reads them")
    asyncio.run(main(parser.parse_args()))
