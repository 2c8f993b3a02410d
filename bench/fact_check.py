"""Measure the fact check by the comparison rules, with the bundled embedder. Prints Markdown.

    python -m bench.fact_check             figures by language and rating, and what a claim costs
    python -m bench.fact_check --misses    also every claim that was not rated as labelled

``tests/data/fact_checks.jsonl`` holds memories and claims; see README.md there. Every claim is checked against all of
the memories, in one group on in-memory stores, so that memories which are not about it can give it a rating. The claims
were written before they were measured, and nothing was chosen by them.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final
from uuid import UUID

from clearwell.app import build
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.models import OfflineEmbedder
from clearwell.ports import Embedder
from clearwell.records import Admission, ClaimCheck, ClaimRating, ModelChoice, NewCapture, Principal
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.signing import SigningKey
from clearwell.testing import CountedIds, ManualClock, MemoryStores

CASES: Final = Path(__file__).parent.parent / "tests" / "data" / "fact_checks.jsonl"
GROUP: Final = "bench"
MISSES: Final = "--misses"
AIMS: Final = {"right when rated": 0.9, "unknown kept": 0.95}
"""What each language must reach: a wrong rating misleads, while a missing one only says that the rules do not know."""


@dataclass(frozen=True, slots=True)
class LabelledMemory:
    id: str
    text: str
    verified: bool


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim with its right rating, and the memory that settles it."""

    language: str
    rating: ClaimRating
    memory: str | None
    text: str


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    case: LabelledClaim
    check: ClaimCheck
    cited: tuple[str, ...]
    milliseconds: float


def load_cases() -> tuple[list[LabelledMemory], list[LabelledClaim]]:
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    memories = [LabelledMemory(row["memory"], row["text"], row["verified"]) for row in rows if "text" in row]
    claims = [
        LabelledClaim(row["language"], ClaimRating(row["rating"]), row["memory"], row["claim"])
        for row in rows
        if "claim" in row
    ]
    return memories, claims


async def check_cases(embedder: Embedder) -> list[CheckedClaim]:
    memories, claims = load_cases()
    manager = _make_manager(embedder)
    names = await _store(manager, memories)
    results: list[CheckedClaim] = []
    for claim in claims:
        start = time.perf_counter()
        fact_check = await manager.fact_check([claim.text], group=GROUP)
        elapsed = 1000 * (time.perf_counter() - start)
        (check,) = fact_check.claims
        cited = tuple(names[citation.memory_id] for citation in check.citations)
        results.append(CheckedClaim(claim, check, cited, elapsed))
    return results


def figures(results: Iterable[CheckedClaim]) -> dict[str, float]:
    """Shares of claims: found by their right rating, and right among those that were rated at all."""
    checked = list(results)
    rated = [one for one in checked if one.check.rating is not ClaimRating.UNKNOWN]
    right = [one for one in rated if one.check.rating is one.case.rating and one.case.memory in one.cited]
    return {
        "supported found": _recall(checked, ClaimRating.SUPPORTED),
        "contradicted found": _recall(checked, ClaimRating.CONTRADICTED),
        "unknown kept": _recall(checked, ClaimRating.UNKNOWN),
        "right when rated": len(right) / len(rated) if rated else 1.0,
    }


async def measure() -> list[str]:
    return await _write_report(misses=False)


def _recall(checked: Sequence[CheckedClaim], rating: ClaimRating) -> float:
    of_rating = [one for one in checked if one.case.rating is rating]
    return sum(one.check.rating is rating for one in of_rating) / max(1, len(of_rating))


def _make_manager(embedder: Embedder) -> MemoryManager:
    settings, clock, ids = Settings(), ManualClock(), CountedIds()
    stores = MemoryStores(settings, clock, ids, Bm25()).stores
    program = build(
        settings, stores, clock, ids, embedder=embedder, make_model=_make_no_model, signer=SigningKey.generate()
    )
    return program.memory.acting_as(Principal.local())


def _make_no_model(choice: ModelChoice) -> Embedder:
    raise AssertionError(f"nothing migrates to {choice.model}")


async def _store(manager: MemoryManager, memories: Sequence[LabelledMemory]) -> Mapping[UUID, str]:
    names: dict[UUID, str] = {}
    for memory in memories:
        if memory.verified:
            names[(await manager.promote(memory.text, group=GROUP)).id] = memory.id
        else:
            new = NewCapture(content=memory.text, group_id=GROUP, session_id=memory.id, agent_id=memory.id)
            receipt = await manager.capture(new, wait=True)
            if receipt.admission is Admission.REFUSED:
                await manager.admit_refused(receipt.id, group=GROUP)
            names[receipt.id] = memory.id
    return names


async def _write_report(*, misses: bool) -> list[str]:
    embedder = OfflineEmbedder()
    try:
        await embedder.load()
        results = await check_cases(embedder)
    finally:
        await embedder.close()
    lines = [
        "| | claims | supported found | contradicted found | unknown kept | right when rated |",
        "|---|---|---|---|---|---|",
    ]
    for language in ("en", "zh"):
        of_language = [one for one in results if one.case.language == language]
        shares = " | ".join(f"{value:.2f}" for value in figures(of_language).values())
        lines.append(f"| {language} | {len(of_language)} | {shares} |")
    memories = len(load_cases()[0])
    cost = median(one.milliseconds for one in results)
    lines += ["", f"{memories} memories in the group. A claim takes {cost:.0f} ms at the median, with its retrieval."]
    if misses:
        lines += ["", *(_describe(one) for one in results if one.check.rating is not one.case.rating)]
    return lines


def _describe(one: CheckedClaim) -> str:
    citations = zip(one.cited, one.check.citations, strict=True)
    cited = ", ".join(f"{name} ({citation.stance}: {citation.reason})" for name, citation in citations) or "nothing"
    return f"* {one.case.rating} → {one.check.rating}: {one.case.text} (label: {one.case.memory}; cited: {cited})"


if __name__ == "__main__":
    print("\n".join(asyncio.run(_write_report(misses=MISSES in sys.argv))))
