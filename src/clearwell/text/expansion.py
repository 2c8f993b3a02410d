"""How long a text becomes when it is normalised (NFKC): some characters stand for a whole phrase.

One U+FDFA has three bytes and becomes 18 characters. A limit in bytes alone would let a text through that takes many
times longer to analyse than its size says.
"""

import re
from typing import Final

PHRASES: Final = {"\ufdfa": 18, "\ufdfb": 8}
"""The characters that become the most others, each with their number."""
_SQUARES: Final = re.compile("[\u2000-\u2fff\u3200-\u33ff\ufb00-\ufdff\U0001d100-\U0001d1ff\U0001f100-\U0001f2ff]")
"""The blocks of the other characters that become more than three."""
LONGEST_SQUARE: Final = 6


def count_expanded(text: str) -> int:
    """The most characters that the text can have when it is normalised, without normalising it."""
    if text.isascii():
        return len(text)
    phrases = {phrase: text.count(phrase) for phrase in PHRASES}
    squares = len(text) - len(_SQUARES.sub("", text)) - sum(phrases.values())
    grown = sum((PHRASES[phrase] - 1) * count for phrase, count in phrases.items())
    return len(text) + grown + (LONGEST_SQUARE - 1) * squares
