"""Measure which segments of outputs are found to be statements, what speaks to the machine, and what both cost.

The labelled segments, the outputs of agents, the council and the conversations are not part of Clearwell: they are read
from the folder that CLEARWELL_EVAL names, or from ``../shared/eval`` beside the project. The rules were written with
``segments-dev`` and the council in view; nothing was fitted to them by a program.

    python -m bench statements                        write the page
    python -m bench.statements --draw 100 --seed 7    print statements drawn from the traces, for reading
    python -m bench.statements --misses               print labelled segments that are judged otherwise
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.month import STYLES, month
from bench.retrieval import ADVERSARIAL, folder, groups
from clearwell.records import STATEMENT_KINDS
from clearwell.text.injection import detect_injection
from clearwell.text.segments import segment, self_contained
from clearwell.vocabulary import SegmentKind

TRACES: Final = {"magentic-one": "agents-magentic-one-dev.jsonl", "chatdev": "agents-chatdev-dev.jsonl"}
CONVERSATIONS: Final = {"LoCoMo": "locomo-dev.jsonl", "MemDaily": "memdaily-dev.jsonl"}
COUNCIL: Final = "council-dev.jsonl"
FORMS: Final = Path(__file__).parent.parent / "tests" / "data" / "injections.jsonl"
NEW_FORMS: Final = FORMS.with_name("injections_new.jsonl")
HARMLESS: Final = FORMS.with_name("injections_harmless.jsonl")
WORTHY: Final = 2
FEWEST_KEYWORDS: Final = 2
SEEDS: Final = range(3)
SAMPLES: Final = 1_000
MEBIBYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled segment, and the kind that most of its characters were found to be."""

    source: str
    output: int
    label: str
    worth: int
    text: str
    found: str

    @property
    def wanted(self) -> bool:
        return self.label in STATEMENT_KINDS

    @property
    def is_statement(self) -> bool:
        return self.found in STATEMENT_KINDS


async def measure() -> list[str]:
    """Return the page."""
    if not folder().is_dir():
        return [f"No outputs to measure with: there is no folder {folder()}. Name one in CLEARWELL_EVAL.", ""]
    judged = judge_segments()
    return [
        *_table_of_kinds(judged),
        *_table_of_labels(judged),
        *_table_of_plain_statements(),
        *_table_of_traces(),
        *_table_of_addresses(),
        *_table_of_costs(),
    ]


def judge_segments() -> list[Judged]:
    """Compare ``segments-dev`` with the segments of the same outputs.

    A labelled segment has the kind that covers most of its characters: the two are not always cut at the same places.
    """
    return [_judge(row) for row in groups("segments-dev.jsonl")]


def _judge(row: Mapping[str, Any]) -> Judged:
    output = _outputs(row["source"])[row["n"]]
    start = output.index(row["before"] + row["text"]) + len(row["before"])
    end = start + len(row["text"])
    covered: Counter[str] = Counter()
    for found in segment(output):
        covered[found.kind] += max(0, min(end, found.end) - max(start, found.start))
    kind, characters = covered.most_common(1)[0]
    return Judged(row["source"], row["n"], row["label"], row["worth"], row["text"], kind if characters else "none")


@cache
def _outputs(source: str) -> Sequence[str]:
    return [row["content"] for row in groups(TRACES[source])]


def _table_of_kinds(judged: Sequence[Judged]) -> list[str]:
    lines = [
        "### Claims and decisions among 350 labelled segments (F1 at least 0.85, worth 2 and 3 found at least 0.9)",
        "",
        "| source | found | wrongly found | missed | precision | recall | F1 | worth 2 or 3 found |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in (*TRACES, "both"):
        some = [one for one in judged if name in {one.source, "both"}]
        found, wrong, missed = count_statements(some)
        worthy = [one for one in some if one.worth >= WORTHY]
        lines.append(
            f"| {name} | {found} | {wrong} | {missed} | {_share(found, found + wrong)} |"
            f" {_share(found, found + missed)} | {_share(2 * found, 2 * found + wrong + missed)} |"
            f" {sum(one.is_statement for one in worthy)} of {len(worthy)} |"
        )
    low, high = _interval(judged)
    without = {(one.source, one.output) for one in judged if one.worth >= WORTHY and not _has_statement(one)}
    return [
        *lines,
        "",
        f"90 % of {SAMPLES:,} resamples of whole outputs have an F1 between {low:.2f} and {high:.2f}. The segments were"
        " read while the rules were written, so other outputs will give less."
        f" Outputs with a segment of worth 2 or 3 and no statement: {len(without)}.",
        "",
    ]


def count_statements(judged: Sequence[Judged]) -> tuple[int, int, int]:
    """Return how many statements were found, wrongly found and missed."""
    found = sum(one.wanted and one.is_statement for one in judged)
    wrong = sum(one.is_statement for one in judged) - found
    return found, wrong, sum(one.wanted for one in judged) - found


def _has_statement(judged: Judged) -> bool:
    return any(found.is_statement for found in segment(_outputs(judged.source)[judged.output]))


def _interval(judged: Sequence[Judged]) -> tuple[float, float]:
    by_output: dict[tuple[str, int], list[Judged]] = {}
    for one in judged:
        by_output.setdefault((one.source, one.output), []).append(one)
    chance = random.Random(1)
    runs = list(by_output.values())
    scores = sorted(_f1([one for run in chance.choices(runs, k=len(runs)) for one in run]) for _ in range(SAMPLES))
    return scores[SAMPLES // 20], scores[-SAMPLES // 20]


def _f1(judged: Sequence[Judged]) -> float:
    found, wrong, missed = count_statements(judged)
    return 2 * found / max(1, 2 * found + wrong + missed)


def _table_of_labels(judged: Sequence[Judged]) -> list[str]:
    pairs = Counter((one.label, one.found) for one in judged)
    kinds = [kind.value for kind in SegmentKind]
    return [
        "### Labels (rows) and the kinds that were found",
        "",
        f"| | {' | '.join(kinds)} |",
        f"|---|{'---|' * len(kinds)}",
        *(f"| {label} | {' | '.join(str(pairs[label, kind] or '') for kind in kinds)} |" for label in kinds),
        "",
    ]


def _table_of_plain_statements() -> list[str]:
    lines = [
        "### Outputs of which a statement is found",
        "",
        "Rows of months are one sentence each, turns a few. Many turns only ask or greet.",
        "",
        "| outputs | with a statement |",
        "|---|---|",
    ]
    for style in STYLES:
        rows = {one.row.content for seed in SEEDS for one in month(style, seed) if one.topic}
        lines.append(_line_of_share(f"month `{style}`, rows on topics", sorted(rows)))
    for name, file in CONVERSATIONS.items():
        turns = list(_turns(file))
        lines.append(_line_of_share(f"{name}, turns that answer a question", [text for text, used in turns if used]))
        lines.append(_line_of_share(f"{name}, all turns", [text for text, _ in turns]))
    found, all_facts = _count_facts()
    lines.append(f"| council: sentences with a planted fact | {found} of {all_facts} ({found / all_facts:.3f}) |")
    return [*lines, ""]


def _line_of_share(name: str, texts: Sequence[str]) -> str:
    found = sum(any(one.is_statement for one in segment(text)) for text in texts)
    return f"| {name} | {found} of {len(texts)} ({found / len(texts):.3f}) |"


def _turns(file: str) -> Iterator[tuple[str, bool]]:
    for group in groups(file):
        questions = [one for one in group["questions"] if one.get("category") != ADVERSARIAL]
        evidence = {number for question in questions for number in question["evidence"]}
        for turn in group["memories"]:
            yield f"[{turn['time']}] {turn['speaker']}: {turn['text']}", turn["id"] in evidence


def _count_facts() -> tuple[int, int]:
    """Of the segments that have most keywords of a planted fact, at least two, how many are statements."""
    facts = json.loads((folder() / "council-dev-facts.json").read_text(encoding="utf-8"))
    found = total = 0
    for row in groups(COUNCIL):
        segments = segment(row["content"])
        for fact in row["facts"]:
            words = [word.casefold() for word in facts[fact]["keywords"]]
            texts = [row["content"][one.start : one.end].casefold() for one in segments]
            scores = [sum(word in text for word in words) for text in texts]
            if max(scores) >= FEWEST_KEYWORDS:
                total += 1
                best = [one for one, score in zip(segments, scores, strict=True) if score == max(scores)]
                found += any(one.is_statement for one in best)
    return found, total


def _table_of_traces() -> list[str]:
    kinds = [kind.value for kind in SegmentKind]
    lines = [
        "### Segments of unlabelled outputs",
        "",
        f"| outputs | number | without a statement | {' | '.join(kinds)} |",
        f"|---|---|---|{'---|' * len(kinds)}",
    ]
    for name, texts in (*((name, _outputs(name)) for name in TRACES), ("council", _council())):
        segmented = [segment(text) for text in texts]
        counts = Counter(one.kind.value for segments in segmented for one in segments)
        empty = sum(not any(one.is_statement for one in segments) for segments in segmented)
        lines.append(f"| {name} | {len(texts)} | {empty} | {' | '.join(str(counts[kind]) for kind in kinds)} |")
    return [*lines, "", "Page text and code in a row are one segment.", ""]


def _council() -> Sequence[str]:
    return [row["content"] for row in groups(COUNCIL)]


def _table_of_addresses() -> list[str]:
    forms = [json.loads(line) for line in FORMS.read_text(encoding="utf-8").splitlines()]
    lines = [
        "### Text that speaks to the machine",
        "",
        "| texts | found |",
        "|---|---|",
    ]
    for language in ("en", "zh"):
        some = [form["text"] for form in forms if form["lang"] == language]
        lines.append(f"| forms of injection, rounds 1 to 6 ({language}, at least 0.9) | {_count_addresses(some)} |")
    later = [json.loads(line) for line in NEW_FORMS.read_text(encoding="utf-8").splitlines()]
    for number in sorted({form["round"] for form in later}):
        some = [form["text"] for form in later if form["round"] == number]
        lines.append(f"| forms of round {number} | {_count_addresses(some)} |")
    harmless = [json.loads(line)["text"] for line in HARMLESS.read_text(encoding="utf-8").splitlines()]
    lines.append(f"| harmless texts that look like an injection | {_count_addresses(harmless)} |")
    for name in TRACES:
        lines.append(f"| outputs of {name}, without injections (at most 0.01) | {_count_addresses(_outputs(name))} |")
    lines.append(f"| outputs of the council, without injections | {_count_addresses(_council())} |")
    for name, file in CONVERSATIONS.items():
        lines.append(
            f"| turns of {name}, without injections | {_count_addresses([text for text, _ in _turns(file)])} |"
        )
    return [
        *lines,
        "",
        "The forms were written in 14 rounds. Rounds 1 to 8, 10, 12 and 13 were measured once and then used to improve"
        " the rules. When they were new, 6 of 40, 16 of 40, 22 of 40 and 18 of 30 forms were found in rounds 2 to 5. Of"
        " strings from public collections, 39 of 60 were found after round 5, and 36 of 44 others after these had been"
        " used. Rounds 7 and 8, by somebody who had not read the rules, had 38 of 60 and 25 of 40 found when they were"
        " new; rounds 9 to 11, by somebody who had, 1 of 40, 11 of 30 and 13 of 40. Rounds 12 and 13, again by somebody"
        " who had not read them, are requests in tool output, comments, mail and reviews: 44 of 72 and 21 of 44. Rules"
        " for the forms of round 12 found no more of round 13 than before, and were deleted; others, made with both,"
        " were kept if they find a form of another round. Round 14 and the harmless texts, by somebody who had read the"
        " rules, were set aside before: 3 of 40 forms were found and 5 of 40 harmless texts taken for one, then 13 and"
        " 3. So expect 0.5 to 0.6 on forms that nobody has seen, and at most 0.3 where the rules are known to who"
        " writes them.",
        "",
    ]


def _count_addresses(texts: Sequence[str]) -> str:
    found = sum(detect_injection(text) is not None for text in texts)
    return f"{found} of {len(texts)} ({found / len(texts):.3f})"


def _table_of_costs() -> list[str]:
    outputs = [*(text for name in TRACES for text in _outputs(name)), *_council()]
    seconds, segments = _time(outputs)
    characters = sum(map(len, outputs))
    long_outputs = [text for text in outputs if 2_500 <= len(text) <= 3_500]
    one_line = ("The valve leaks and the pump is loud. " * (MEBIBYTE // 38))[:MEBIBYTE]
    started = time.process_time()
    for text in long_outputs:
        detect_injection(text)
    addresses = time.process_time() - started
    return [
        "### CPU (tens of microseconds a segment)",
        "",
        "| | measured |",
        "|---|---|",
        f"| a segment | {seconds / segments * 1e6:.0f} µs |",
        f"| 1,000 characters | {seconds / characters * 1e9:.0f} µs |",
        f"| an output of 2,500 to 3,500 characters | {_time(long_outputs)[0] / len(long_outputs) * 1e3:.1f} ms |",
        f"| 1 MiB in one line | {_time([one_line])[0]:.2f} s |",
        f"| whether an output of 2,500 to 3,500 characters speaks to the machine"
        f" | {addresses / len(long_outputs) * 1e3:.1f} ms |",
        "",
    ]


def _time(outputs: Sequence[str]) -> tuple[float, int]:
    """The least CPU of three runs, and the number of segments."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        number = sum(len(segment(text)) for text in outputs)
        best = min(best, time.process_time() - started)
    return best, number


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


def draw(number: int, seed: int) -> None:
    """Print statements drawn from the traces, as a reviewer would see them."""
    statements = [
        (name, found.kind, self_contained(text, found))
        for name in TRACES
        for text in _outputs(name)
        for found in segment(text)
        if found.is_statement
    ]
    for name, kind, text in random.Random(seed).sample(statements, number):
        print(f"{name}\t{kind}\t{text}")


def _print_misses() -> None:
    for one in judge_segments():
        if one.wanted != one.is_statement:
            print(f"{one.source}\t{one.label} {one.worth}\t{one.found}\t{one.text[:200]!r}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true")
    asked = parser.parse_args()
    if asked.draw:
        draw(asked.draw, asked.seed)
    if asked.misses:
        _print_misses()
