"""How much of the evidence retrieval brings back, through the library with the bundled model.

The conversations are not part of Clearwell: they are read from the folder that CLEARWELL_EVAL names, or from
``../shared/eval`` beside the project.
"""

import asyncio
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from clearwell.app import Clearwell, open_clearwell
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OfflineEmbedder
from clearwell.ports import Fusion
from clearwell.records import CLEAR_RELEVANCE, NewMemory, Principal, Vector
from clearwell.servers import running_servers
from clearwell.settings import Settings

PERSON = Principal.local()
SETS = {"LoCoMo (English)": "locomo-dev.jsonl", "MemDaily (Chinese)": "memdaily-dev.jsonl"}
AIMS = {"LoCoMo (English)": (0.70, 0.78), "MemDaily (Chinese)": (0.75, 0.88)}
AT = (1, 5, 10)
BATCH = 100
ADVERSARIAL = 5
FOREIGN = 40
THRESHOLD = 0.7
FORMATS = ("%I:%M %p on %d %B, %Y", "%Y年%m月%d日")


class Remembering(OfflineEmbedder):
    """Embeds each text once: every way of ranking asks the same questions."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Vector] = {}

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= dict(zip(new, await super().embed(new), strict=True))
        return [self._known[text] for text in texts]


def folder() -> Path:
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "eval"
    return Path(os.environ.get("CLEARWELL_EVAL", beside))


def groups(name: str) -> Iterator[dict[str, Any]]:
    for line in (folder() / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


async def measure() -> list[str]:
    if not folder().is_dir():
        return [f"No conversations to measure with: there is no folder {folder()}. Name one in CLEARWELL_EVAL.", ""]
    at = Path(tempfile.mkdtemp(prefix="cw-bench-"))
    try:
        settings = Settings(data_dir=at, database_url=None, redis_url=None)
        async with (
            running_servers(settings) as servers,
            open_clearwell(settings, servers, embedder=Remembering()) as clearwell,
        ):
            known = {title: list(groups(name)) for title, name in SETS.items()}
            for group in [group for some in known.values() for group in some]:
                await _load(clearwell, group)
            lines = [line for title, some in known.items() for line in await _measured(clearwell, title, some)]
            return [*lines, *await _left_out(clearwell, known), *await _unanswered(clearwell, known)]
    finally:
        await asyncio.to_thread(shutil.rmtree, at)


async def _measured(clearwell: Clearwell, title: str, known: Sequence[Mapping[str, Any]]) -> list[str]:
    retriever = clearwell.memory._retriever
    usual = retriever._fusion
    rows = {"all": await _recall(clearwell, known)}
    for part, less in _without(usual).items():
        retriever._fusion = less
        rows[f"without {part}"] = await _recall(clearwell, known)
    settings, retriever._fusion = retriever._settings, usual
    retriever._settings = settings.model_copy(update={"fusion_dates": 0.0})
    rows["without dates of the query"] = await _recall(clearwell, known)
    retriever._settings = settings
    retriever._fusion = replace(usual, lexical=0.0, author=0.0, neighbour=0.0, answer=0.0, session=0.0)
    rows["vectors alone"] = await _recall(clearwell, known)
    retriever._fusion = usual
    five, ten = AIMS[title]
    told = await _relevance(clearwell, known)
    lines = [f"### {title}: must reach {five} at 5 and {ten} at 10", "", "| | r@1 | r@5 | r@10 |", "|---|---|---|---|"]
    lines += [f"| {row} | " + " | ".join(f"{value:.3f}" for value in values) + " |" for row, values in rows.items()]
    return [*lines, "", *told, ""]


async def _relevance(clearwell: Clearwell, known: Sequence[Mapping[str, Any]]) -> list[str]:
    """How well relevance tells evidence from the rest among the first ten, by the cosine alone and by both."""
    by_cosine, by_both, right = [], [], []
    for group in known:
        for asked in group["questions"]:
            if asked["category"] == ADVERSARIAL:
                continue
            options = RetrieveOptions(max_results=max(AT), cold_limit=max(AT), explain=True)
            found = await clearwell.memory.acting_as(PERSON).retrieve(
                asked["question"], group=group["group"], options=options
            )
            for item in found.items:
                cosine = item.explanation.cosine if item.explanation else None
                by_cosine.append(clearwell.embedder.relevance(cosine or 0.0))
                by_both.append(item.relevance or 0.0)
                right.append(item.metadata["ref"] in asked["evidence"])
    head = "| relevance | evidence above the rest (AUC) | evidence kept at 0.7 | of what is kept, evidence |"
    return [head, "|---|---|---|---|", _told("cosine", by_cosine, right), _told("cosine and words", by_both, right)]


def _told(name: str, given: Sequence[float], evidence: Sequence[bool]) -> str:
    values, right = np.array(given), np.array(evidence)
    order, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    places = (np.cumsum(counts) - (counts + 1) / 2)[order]
    many = right.sum()
    area = (places[right].sum() - many * (many - 1) / 2) / (many * (len(right) - many))
    kept = values >= THRESHOLD
    return f"| {name} | {area:.3f} | {kept[right].mean():.3f} | {right[kept].mean():.3f} |"


async def _left_out(clearwell: Clearwell, known: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Recall of each group with the weights that are best for all other groups of both sets."""
    retriever = clearwell.memory._retriever
    usual = retriever._fusion
    choices = _vary(usual)
    found: dict[str, dict[tuple[str, str], list[list[float]]]] = {}
    for name, fusion in choices.items():
        retriever._fusion = fusion
        found[name] = {
            (title, group["group"]): await _measure_group(clearwell, group) for title in known for group in known[title]
        }
    retriever._fusion = usual
    chosen = {place: max(choices, key=lambda name: _value(found[name], place)) for place in found["as shipped"]}
    lines = [
        "### With weights chosen without the group that is measured: must reach 0.88 at 10 on MemDaily",
        "",
        "Each group is measured with the weights of the parts that are best for all others of both sets: as shipped, or"
        " one of them at nothing, half or twice of it. Best is the mean of both sets at 10.",
        "",
        "| | r@1 | r@5 | r@10 | weights chosen |",
        "|---|---|---|---|---|",
    ]
    for title in known:
        places = [place for place in chosen if place[0] == title]
        recall = np.mean([share for place in places for share in found[chosen[place]][place]], axis=0)
        counts = Counter(chosen[place] for place in places)
        names = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
        lines.append(f"| {title} | " + " | ".join(f"{value:.3f}" for value in recall) + f" | {names} |")
    return [*lines, ""]


def _value(found: Mapping[tuple[str, str], Sequence[Sequence[float]]], without: tuple[str, str]) -> float:
    """The mean of both sets at the largest number of results, without one group."""
    by_set: dict[str, list[float]] = {}
    for place, shares in found.items():
        if place != without:
            by_set.setdefault(place[0], []).extend(share[-1] for share in shares)
    return float(np.mean([np.mean(shares) for shares in by_set.values()]))


def _vary(usual: Fusion) -> dict[str, Fusion]:
    parts = ("dense", "lexical", "author", "neighbour", "answer", "session")
    varied = {
        f"{part} × {factor:g}": replace(usual, **{part: factor * getattr(usual, part)})
        for part in parts
        for factor in (0.0, 0.5, 2.0)
    }
    return {"as shipped": usual, **varied}


def _without(usual: Fusion) -> dict[str, Fusion]:
    return {
        "words": replace(usual, lexical=0.0),
        "the speaker named": replace(usual, author=0.0),
        "the best neighbour": replace(usual, neighbour=0.0),
        "the question before": replace(usual, answer=0.0),
        "the best of the session": replace(usual, session=0.0),
        "vectors": replace(usual, dense=0.0),
    }


async def _load(clearwell: Clearwell, group: Mapping[str, Any]) -> None:
    texts = [
        NewMemory(
            content=f"[{one['time']}] {one['speaker']}: {one['text']}",
            session_id=one["session"],
            author=one["speaker"],
            occurred_at=_moment(one["time"]),
            metadata={"ref": one["id"]},
        )
        for one in group["memories"]
    ]
    for start in range(0, len(texts), BATCH):
        await clearwell.memory.acting_as(PERSON).promote_many(texts[start : start + BATCH], group=group["group"])


def _moment(text: str) -> datetime | None:
    for form in FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text.split(" 周")[0], form).replace(tzinfo=UTC)
    return None


async def _unanswered(clearwell: Clearwell, known: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """How many questions with and without an answer in the group get the note that nothing clearly answers them."""
    lines = [
        "",
        "### Questions without an answer",
        "",
        f"Which answers have the note that nothing clearly answers the query: no item has a relevance of "
        f"{CLEAR_RELEVANCE}. It is an anchor of the scale of relevance, which is fitted to other data. Of other "
        f"groups: {FOREIGN} questions of other groups of the set, drawn for each group. Adversarial: questions about "
        "the conversation that it does not answer.",
        "",
        "| | answered, with the note | of other groups, with the note | adversarial, with the note |",
        "|---|---|---|---|",
    ]
    for title, some in known.items():
        noted: dict[str, list[bool]] = {"own": [], "other": [], "adversarial": []}
        for group in some:
            foreign = [asked for other in some if other is not group for asked in other["questions"]]
            drawn = random.Random(group["group"]).sample(foreign, min(FOREIGN, len(foreign)))
            own = [asked for asked in group["questions"] if asked["category"] != ADVERSARIAL]
            adversarial = [asked for asked in group["questions"] if asked["category"] == ADVERSARIAL]
            for kind, questions in (("own", own), ("other", drawn), ("adversarial", adversarial)):
                noted[kind] += [await _is_noted(clearwell, group["group"], asked["question"]) for asked in questions]
        shares = (f"{np.mean(values):.3f} of {len(values)}" if values else "–" for values in noted.values())
        lines.append(f"| {title} | " + " | ".join(shares) + " |")
    return lines


async def _is_noted(clearwell: Clearwell, group: str, question: str) -> bool:
    found = await clearwell.memory.acting_as(PERSON).retrieve(question, group=group, options=RetrieveOptions())
    return found.note is not None


async def _recall(clearwell: Clearwell, known: Sequence[Mapping[str, Any]]) -> list[float]:
    """The mean share of the evidence among the first results."""
    shares = [share for group in known for share in await _measure_group(clearwell, group)]
    return [float(value) for value in np.mean(shares, axis=0)]


async def _measure_group(clearwell: Clearwell, group: Mapping[str, Any]) -> list[list[float]]:
    """For each question the share of its evidence among the first results."""
    memory = clearwell.memory.acting_as(PERSON)
    options = RetrieveOptions(max_results=max(AT), cold_limit=max(AT))
    shares = []
    for asked in group["questions"]:
        if asked["category"] == ADVERSARIAL:
            continue
        found = await memory.retrieve(asked["question"], group=group["group"], options=options)
        refs = [item.metadata["ref"] for item in found.items]
        shares.append([len({*refs[:k]} & {*asked["evidence"]}) / len(asked["evidence"]) for k in AT])
    return shares
