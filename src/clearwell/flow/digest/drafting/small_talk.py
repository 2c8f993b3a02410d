"""Distinguishes progress reports from facts: two progress reports do not contradict each other.

"Step 4 of the import is done" and "step 9 of the import is done" are both true at their own time. A retention of 30
days and one of 90 days cannot both be true. The words around the differing value tell which of the two it is.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.tokens import Kind, Token
from clearwell.text.languages.english import stem
from clearwell.text.terms import count_terms

SHARE: Final = 1 / 3
"""Share of small talk among the words of a text from which it tells how work goes."""
_BESIDE: Final = 2
_COUNTED: Final = frozenset({"count", "ordinal"})
_CALENDAR: Final = frozenset({"date", "weekday", "relative", "time"})


def is_chatter(text: Features) -> bool:
    """Whether a text asks, or is made of the words of how work goes to a good part."""
    words = [token for token in text.tokens if token.value is None and (token.content or _small(token))]
    return text.asks or "?" in text.raw or sum(map(_small, words)) >= SHARE * max(1, len(words))


def counts_progress(text: Features, surface: str) -> bool:
    """Whether a value counts steps, items, tickets and the like, or stands bare in a text of how work goes."""
    at = next((at for at, token in enumerate(text.tokens) if token.surface == surface), None)
    if at is None or (value := text.tokens[at].value) is None or value.dimension not in _COUNTED:
        return False
    if at and text.tokens[at - 1].kind is Kind.NAME:
        return False
    beside = text.tokens[max(0, at - _BESIDE) : at + _BESIDE + 1]
    return any(_counter(token) for token in beside) or is_chatter(text)


def tells_when(text: Features, surface: str) -> bool:
    """Whether a value is a day or an hour in a text of how work goes: nothing to report from Tuesday."""
    token = next((token for token in text.tokens if token.surface == surface), None)
    return token is not None and token.value is not None and token.value.dimension in _CALENDAR and is_chatter(text)


def _counter(token: Token) -> bool:
    words = counters()
    return token.key in words or any(word in token.surface for word in words if not word.isascii())


def _small(token: Token) -> bool:
    return token.key in small_talk() or token.surface.casefold() in small_talk()


@cache
def small_talk() -> frozenset[str]:
    """Terms of how work goes."""
    return frozenset(
        term for words in _lists("small_talk").values() for word in words.split() for term in (word, *count_terms(word))
    )


@cache
def counters() -> frozenset[str]:
    """What progress is counted in."""
    return frozenset(
        form for words in _lists("counters").values() for word in words.split() for form in (word, stem(word))
    )


def _lists(name: str) -> dict[str, str]:
    told = tomllib.loads(files("clearwell.flow.digest.drafting").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return {language: str(words) for language, words in told.items()}
