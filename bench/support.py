"""Measure what a digest makes of two statements of one subject: support, a contradiction, or neither.

    python -m bench.support             the figures
    python -m bench.support --misses    with the pairs that were taken for something else

Each pair is digested with four statements about other matters, by six agents. See ``data/support.toml`` for the labels.
"""

import argparse
import asyncio
import tomllib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from bench.drafted import Vectors
from bench.sameness import row
from clearwell.flow.digest.drafting import CONTRADICTION, Draft
from clearwell.flow.digest.drafting.pipeline import Thresholds
from clearwell.flow.digest.material import make_candidates
from clearwell.flow.ingress.segmentation import segment_output
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, DigestCandidate, DigestRow, Statement

DATA: Final = Path(__file__).parent / "data" / "support.toml"
LANGUAGES: Final = ("en", "zh")
START: Final = datetime(2026, 3, 2, 8, tzinfo=UTC)
SUPPORT, AGAINST, APART = "support", "contradiction", "neither"
WANTED: Final = {"same": SUPPORT, "against": AGAINST}
"""What a pair is to be; all others are neither."""
BESIDE: Final = {
    "en": (
        "The printer on the second floor was moved next to the kitchen.",
        "Visitors park behind the east gate after nine.",
        "The quarterly newsletter is printed on recycled paper.",
        "Two interns start in the design studio in spring.",
    ),
    "zh": (
        "二楼的打印机搬到了厨房旁边。",
        "访客九点以后把车停在东门后面。",
        "季度通讯用再生纸印刷。",
        "春天有两名实习生到设计室报到。",
    ),
}


async def measure(*, misses: bool = False) -> list[str]:
    """The figures as lines of Markdown."""
    embedder = OfflineEmbedder()
    vectors = Vectors(embedder)
    lines = [row(["pairs", "should be", "set", "language", "count", SUPPORT, AGAINST, APART]), "|" + "---|" * 8]
    for pairs in tomllib.loads(DATA.read_text(encoding="utf-8"))["pairs"]:
        for language in LANGUAGES:
            lines += await _measure_pairs(pairs, language, vectors, misses=misses)
    await embedder.close()
    return lines


async def _measure_pairs(pairs: dict[str, Any], language: str, vectors: Vectors, *, misses: bool) -> list[str]:
    wanted, counts, missed = WANTED.get(pairs["label"], APART), Counter[str](), list[str]()
    for pair in pairs[language]:
        found = await _digest_pair([*pair, *BESIDE[language]], vectors)
        counts[found] += 1
        missed += [f"{found}: {' | '.join(pair)}"] if misses and found != wanted else []
    figures = [counts[one] for one in (SUPPORT, AGAINST, APART)]
    return [row([pairs["label"], wanted, pairs["set"], language, len(pairs[language]), *figures]), *missed]


async def _digest_pair(texts: Sequence[str], vectors: Vectors) -> str:
    """What the digest makes of the first two texts."""
    candidates = [candidate for number, text in enumerate(texts) for candidate in _read(number, text)]
    return _judge(await vectors.draft(candidates, [], Thresholds()))


def _read(number: int, text: str) -> list[DigestCandidate]:
    log_id = UUID(int=number + 1)
    said = DigestRow(
        log_id=log_id,
        content=text,
        agent_id=f"agent-{number}",
        session_id=f"session-{number}",
        node_id=None,
        node_type="agent",
        occurred_at=START + timedelta(hours=number),
        confidence=0.9,
        admission=Admission.ADMITTED,
        statements=tuple(
            Statement(log_id=log_id, number=at, segment=segment) for at, segment in enumerate(segment_output(text))
        ),
    )
    return make_candidates(said)


def _judge(drafts: Sequence[Draft]) -> str:
    for one in drafts:
        if {UUID(int=1), UUID(int=2)} <= {source.log_id for source in one.sources}:
            return AGAINST if CONTRADICTION in one.flags else SUPPORT
    return APART


async def main(arguments: argparse.Namespace) -> None:
    print("\n".join(await measure(misses=arguments.misses)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure what a digest makes of two statements of one subject.")
    parser.add_argument("--misses", action="store_true", help="show the pairs that were taken for something else")
    asyncio.run(main(parser.parse_args()))
