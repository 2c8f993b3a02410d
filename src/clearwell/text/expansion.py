"""Bound the length of a text after normalisation (NFKC), because some characters expand to a whole phrase.

U+FDFA has three bytes and becomes 18 characters. A limit in bytes alone would accept a text that takes many times
longer to analyse than its size suggests.
"""

import re
from typing import Final

PHRASES: Final = {"\ufdfa": 18, "\ufdfb": 8}
"""The characters with the longest expansions, and the lengths of these."""
_SQUARES: Final = re.compile("[\u2000-\u2fff\u3200-\u33ff\ufb00-\ufdff\U0001d100-\U0001d1ff\U0001f100-\U0001f2ff]")
"""The blocks of other characters that expand to more than three."""
LONGEST_SQUARE: Final = 6


def count_expanded(text: str) -> int:
    """Return the maximum number of characters of the text after normalisation, without normalising it."""
    if text.isascii():
        return len(text)
    phrases = {phrase: text.count(phrase) for phrase in PHRASES}
    squares = len(text) - len(_SQUARES.sub("", text)) - sum(phrases.values())
    grown = sum((PHRASES[phrase] - 1) * count for phrase, count in phrases.items())
    return len(text) + grown + (LONGEST_SQUARE - 1) * squares
