"""Token counters: an estimate that needs no tokenizer, and a counter made from a function.

A tokenizer has to be downloaded for each model; the default must work without one. The weights below were fitted to
the largest count that o200k, Qwen and DeepSeek give a text, so that a budget holds with each of them. ``bench tokens``
measures the error. A caller that knows the model can pass its own counter.
"""

import math
import re
from collections.abc import Callable
from typing import Final

PIECE: Final = re.compile(
    r"(?P<han>[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])"
    r"|(?P<wide>[\u2010-\u2027\u3000-\u303f\uff00-\uffef])"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<digit>[0-9])"
    r"|(?P<line>\s*\n\s*|\s{2,})"
    r"|(?P<space>\s)"
    r"|(?P<sign>[!-~])"
    r"|(?P<emoji>[\U00010000-\U0001ffff])"
    r"|(?P<other>.)",
    re.DOTALL,
)
COST: Final = {
    "han": 0.85,
    "wide": 0.85,
    "word": 1.05,
    "digit": 1.1,
    "line": 1.2,
    "space": 0.0,
    "sign": 0.75,
    "emoji": 3.0,
    "other": 1.5,
}
SHORT_WORD: Final = 6
COST_OF_A_LONG_WORD: Final = 0.8 / 6
"""For each letter beyond the length of a short word."""


class TokenEstimator:
    """Estimates by kind of character: Chinese characters, Latin words by length, digits, signs."""

    def count(self, text: str) -> int:
        cost = 0.0
        for piece in PIECE.finditer(text):
            kind = piece.lastgroup or "other"
            cost += COST[kind]
            if kind == "word":
                cost += max(0, piece.end() - piece.start() - SHORT_WORD) * COST_OF_A_LONG_WORD
        return math.ceil(cost)


class FunctionTokenCounter:
    """Counts with a function of the caller, such as ``lambda text: len(encoding.encode(text))``."""

    def __init__(self, function: Callable[[str], int]) -> None:
        self._function = function

    def count(self, text: str) -> int:
        return self._function(text)
