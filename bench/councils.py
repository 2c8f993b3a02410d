"""Digest councils of agents that write documents, and compare the insights with the facts that are planted in them.

Each council is digested in two halves. An insight conveys a fact where its headline has half of the fact's keywords and
a source states it. A contradiction is flagged rightly where the insight has sources of both sides.

``data/councils/`` has 36 councils in nine sets of four (``KINDS``). Rules were made on the first two. The
others were measured once before they were read; ``README.md`` has these figures. The two councils of the development
data are in the folder that CLEARWELL_EVAL names.
"""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

from bench.drafted import HALVES, Outcome, Vectors, without_shown
from bench.sameness import row
from clearwell.flow.digest.drafting import CONTRADICTION, Draft, disputes, pipeline, scores
from clearwell.flow.digest.drafting.pipeline import Thresholds
from clearwell.flow.digest.material import make_candidates
from clearwell.flow.ingress.policies import EVIDENCE
from clearwell.flow.ingress.segmentation import segment_output
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, DigestCandidate, DigestRow, Statement

DATA: Final = Path(__file__).parent / "data" / "councils"
DEVELOPMENT: Final = "development"
KINDS: Final = {
    "first": ("bloodbank", "metro", "payments", "grocery"),
    "second": ("museum", "farming", "airport", "cad"),
    "third": ("winery", "hospital", "gridapp", "library"),
    "fourth": ("wildfire", "port", "university", "insurance"),
    "fifth": ("observatory", "heating", "tools", "game"),
    "sixth": ("satellite", "theatre", "tea", "court"),
    "seventh": ("zoo", "compiler", "elevator", "clinic"),
    "eighth": ("brewery", "radio", "busfleet", "opensource"),
    "ninth": ("vineyardbank", "lab", "canteen", "reservoir"),
}
AIMS: Final = {
    "covered": "≥ 0.85",
    "noise": "≤ 0.2",
    "flood": "0",
    "contradictions": "≥ 4 of 6",
    "precision": "≥ 0.75",
    "as agreement": "0",
    "characters": "≤ 200",
    "insights": "",
}
START: Final = datetime(2026, 3, 2, 8, tzinfo=UTC)
DAYS: Final = 28


def _find_none(*_: object, **__: object) -> tuple[()]:
    return ()


PARTS: Final[Mapping[str, Sequence[tuple[Any, str, object]]]] = {
    "nothing": (),
    "`states`": ((disputes, "find_state_disputes", _find_none),),
    "`slots`": ((disputes, "find_slot_disputes", _find_none),),
    "`opposites`": ((disputes, "find_opposites", _find_none),),
    "`denials`": ((disputes, "find_denials", _find_none),),
    "`FIRST_PERSON`": ((scores, "FIRST_PERSON", 0.0),),
    "`FEW_VOICES`": ((scores, "FEW_VOICES", 0.0),),
    "`DISPUTED`": ((scores, "DISPUTED", 1.0),),
    "`ONE_SESSION`": ((pipeline, "ONE_SESSION", 0.0),),
}
"""What is left out in turn: the name of a part, and what is put in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Council:
    """The outputs of one group, in the order of time, and what is planted in them."""

    name: str
    kind: str
    rows: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Mapping[str, Any]]

    @property
    def supported(self) -> set[str]:
        """The facts that an insight must convey."""
        return self._list_planted("supported", "contradicted")

    @property
    def disputed(self) -> set[str]:
        return self._list_planted("contradicted")

    def _list_planted(self, *kinds: str) -> set[str]:
        return {fact for one in self.rows for fact in one["facts"] if self.facts[fact]["kind"] in kinds}

    def candidates(self, half: int) -> list[DigestCandidate]:
        rows = [one for one in self.rows if (one["day"] - 1) * HALVES // DAYS == half]
        return [candidate for one in rows for candidate in _read_output(one)]


def read_councils() -> list[Council]:
    """Return the councils of the development data, if they are there, and those of the repository."""
    found = []
    folder = Path(os.environ.get("CLEARWELL_EVAL", ""))
    if (folder / "council-dev.jsonl").is_file():
        rows, facts = _read_rows(folder / "council-dev.jsonl"), _read_facts(folder / "council-dev-facts.json")
        groups = sorted({one["group"] for one in rows})
        found += [
            Council(name=name, kind=DEVELOPMENT, rows=[one for one in rows if one["group"] == name], facts=facts)
            for name in groups
        ]
    for kind, names in KINDS.items():
        found += [
            Council(
                name=name,
                kind=kind,
                rows=_read_rows(DATA / f"{name}.jsonl"),
                facts=_read_facts(DATA / f"{name}.facts.json"),
            )
            for name in names
        ]
    return found


def _read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _read_facts(path: Path) -> dict[str, dict[str, Any]]:
    facts: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def _read_output(one: Mapping[str, Any]) -> list[DigestCandidate]:
    log_id = UUID(int=one["n"] + 1)
    said = DigestRow(
        log_id=log_id,
        content=one["content"],
        agent_id=one["agent"],
        session_id=f"{one['session']}-{one['day']}",
        node_id=None,
        node_type=one["node_type"],
        occurred_at=START + timedelta(days=one["day"], seconds=one["n"]),
        confidence=one["confidence"],
        admission=Admission.ADMITTED,
        statements=tuple(
            Statement(log_id=log_id, number=at, segment=segment)
            for at, segment in enumerate(segment_output(one["content"]))
        ),
    )
    return make_candidates(said, evidence=one["node_type"] in EVIDENCE)


async def digest_council(council: Council, vectors: Vectors, thresholds: Thresholds) -> Outcome:
    outcome, left, earlier = Outcome(), list[DigestCandidate](), list[Draft]()
    rows = {UUID(int=one["n"] + 1): one for one in council.rows}
    for half in range(HALVES):
        left += council.candidates(half)
        made = await vectors.draft(left, earlier, thresholds)
        for one in made:
            _score_council(outcome, one, rows, council.facts)
        left = without_shown(left, made)
        earlier += made
    return outcome


def _score_council(
    outcome: Outcome, one: Draft, rows: Mapping[UUID, Mapping[str, Any]], facts: Mapping[str, Mapping[str, Any]]
) -> None:
    sources = [rows[source.log_id] for source in one.sources]
    stated = Counter(fact for source in sources for fact in source["facts"])
    told = [fact for fact in stated if _has_keywords(one.summary, facts[fact]["keywords"])]
    hit = {
        fact
        for fact in told
        if facts[fact]["kind"] == "contradicted" and len({source["sides"].get(fact) for source in sources} - {None}) > 1
    }
    flag = CONTRADICTION in one.flags
    outcome.insights += 1
    outcome.noise += not told
    outcome.flood += bool(told) and all(facts[fact]["kind"] == "flood" for fact in told)
    outcome.found |= {fact for fact in told if stated[fact] >= HALVES}
    outcome.characters.append(len(one.summary))
    outcome.as_agreement += bool(hit) and not flag
    if flag:
        outcome.flags[bool(hit)] += 1
        outcome.flagged |= hit
    if not told or (flag and not hit):
        reasons = [each.explanation() for each in one.contradictions]
        outcome.notes.append(f"{'noise' if not told else 'flagged wrongly'}: {one.summary} {reasons}")


def _has_keywords(text: str, keywords: Sequence[str]) -> bool:
    plain = " ".join(text.split()).casefold()
    return sum(word.casefold() in plain for word in keywords) >= len(keywords) / 2


def measure_council(council: Council, outcome: Outcome) -> list[object]:
    supported, disputed = council.supported, council.disputed
    outcome.notes += [f"not covered: {fact}" for fact in sorted(supported - outcome.found)]
    outcome.notes += [f"not flagged: {fact}" for fact in sorted(disputed - outcome.flagged)]
    return [
        len(supported & outcome.found) / len(supported),
        outcome.noise / max(1, outcome.insights),
        outcome.flood,
        f"{len(disputed & outcome.flagged)} of {len(disputed)}",
        outcome.precision,
        outcome.as_agreement,
        median(outcome.characters or [0]),
        outcome.insights,
    ]


async def measure(*, misses: bool = False) -> list[str]:
    """The figures of each council and of each kind, as lines of Markdown."""
    embedder = OfflineEmbedder()
    vectors = Vectors(embedder)
    lines = [row(["council", "set", *AIMS]), "|" + "---|" * (2 + len(AIMS))]
    lines.append(row(["*must reach*", "", *AIMS.values()]))
    outcomes = [(council, await digest_council(council, vectors, Thresholds())) for council in read_councils()]
    await embedder.close()
    for council, outcome in outcomes:
        lines.append(row([council.name, council.kind, *measure_council(council, outcome)]))
        lines += outcome.notes if misses else []
    for kind in dict.fromkeys(council.kind for council, _ in outcomes):
        lines.append(row(["*all*", kind, *_add_up([one for one in outcomes if one[0].kind == kind])]))
    return lines


def _add_up(outcomes: Sequence[tuple[Council, Outcome]]) -> list[object]:
    """Return the figures of several councils together."""
    insights = sum(one.insights for _, one in outcomes)
    right, wrong = (sum(one.flags[side] for _, one in outcomes) for side in (True, False))
    disputed = sum(len(council.disputed) for council, _ in outcomes)
    return [
        fmean(len(council.supported & one.found) / len(council.supported) for council, one in outcomes),
        sum(one.noise for _, one in outcomes) / max(1, insights),
        sum(one.flood for _, one in outcomes),
        f"{sum(len(council.disputed & one.flagged) for council, one in outcomes)} of {disputed}",
        right / max(1, right + wrong),
        sum(one.as_agreement for _, one in outcomes),
        median([length for _, one in outcomes for length in one.characters] or [0]),
        insights,
    ]


async def compare_beginnings(days: Sequence[int], worthy: Sequence[float]) -> list[str]:
    """What one digest of the first days shows with each minimum score, as lines of Markdown. A fact counts that two
    agents have stated by then."""
    embedder = OfflineEmbedder()
    vectors = Vectors(embedder)
    lines = [row(["days", "worthy", "facts stated by two agents", "covered", "insights", "noise"]), "|" + "---|" * 6]
    for last, limit in product(days, worthy):
        wanted, outcome, covered = 0, Outcome(), 0
        for council in read_councils():
            rows = {UUID(int=one["n"] + 1): one for one in council.rows if one["day"] <= last}
            agents = defaultdict[str, set[str]](set)
            for one in rows.values():
                for fact in one["facts"]:
                    agents[fact].add(one["agent"])
            stated = {fact for fact in council.supported if len(agents[fact]) > 1}
            own = Outcome()
            candidates = [candidate for one in rows.values() for candidate in _read_output(one)]
            for made in await vectors.draft(candidates, [], Thresholds(worthy=limit)):
                _score_council(own, made, rows, council.facts)
            wanted, covered = wanted + len(stated), covered + len(stated & own.found)
            outcome.insights, outcome.noise = outcome.insights + own.insights, outcome.noise + own.noise
        lines.append(row([last, limit, wanted, covered, outcome.insights, outcome.noise]))
    await embedder.close()
    return lines


async def compare_parts() -> list[str]:
    """What all councils reach with one part of the digest left out at a time, as lines of Markdown."""
    embedder = OfflineEmbedder()
    vectors = Vectors(embedder)
    lines = [row(["without", "set", *AIMS]), "|" + "---|" * (2 + len(AIMS))]
    for name, patches in PARTS.items():
        with ExitStack() as stack:
            for module, attribute, instead in patches:
                stack.enter_context(patch.object(module, attribute, instead))
            outcomes = [(council, await digest_council(council, vectors, Thresholds())) for council in read_councils()]
        lines += [
            row([name, kind, *_add_up([one for one in outcomes if one[0].kind == kind])])
            for kind in dict.fromkeys(council.kind for council, _ in outcomes)
        ]
    await embedder.close()
    return lines
