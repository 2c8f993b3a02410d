"""Find sentences, and truncate text after one. Each language defines the marks that end a sentence."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from clearwell.text.characters import are_joined
from clearwell.text.languages import LANGUAGES

_CLOSING: Final = r"[\"'”’」』）》)\]]{0,4}(?:[*_]{1,3}(?=\s|\Z))?"
_BETWEEN: Final = re.compile(
    "|".join(rf"[{re.escape(one.sentence_ends)}]{_CLOSING}\s{'+' if one.separates_words else '*'}" for one in LANGUAGES)
)
"""The mark that ends a sentence, closing quotation marks and emphasis, and the space after it."""
_QUOTE: Final = re.compile(r"(?<![\w)\]])(?P<open>[\"'“‘])(?=\w)|(?<=[^\s(\[])(?P<close>[\"'”’])(?!\w)")
_CLOSES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_LONGEST_QUOTE: Final = 200
"""A longer quotation is split into its sentences."""
_TAIL: Final = 40
"""Number of characters that decide whether a sentence continues. Abbreviations are shorter."""
_END: Final = re.compile(r"[。！？；…]+[”’」』）》]*|[.!?;]+[\"')\]”’]*(?=\s)|\n+")
"""Where a text can be truncated: also after a semicolon, an ellipsis, and the quotation mark after either."""
_CUT_MARKS: Final = "".join(one.sentence_ends for one in LANGUAGES) + ";"
_SPACE: Final = re.compile(r"\s+")


def find_sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence within one line of a text, without surrounding space.

    An abbreviation does not end a sentence.
    """
    last = len(text) if end is None else end
    begin = start
    for mark in _BETWEEN.finditer(text, start, last):
        stop = mark.end() - len(mark.group()) + len(mark.group().rstrip())
        if mark.end() < last and _is_quoted(text, begin, stop, last):
            continue
        if mark.end() < last and _goes_on(text[max(begin, stop - _TAIL) : stop], text[mark.end() : mark.end() + _TAIL]):
            continue
        yield from strip_span(text, begin, stop)
        begin = mark.end()
    yield from strip_span(text, begin, last)


def find_all_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence of a text with several lines. Each line ends a sentence."""
    start = 0
    for line in text.splitlines(keepends=True):
        yield from find_sentences(text, start, start + len(line))
        start += len(line)


def split_sentences(text: str) -> list[str]:
    """Return the sentences, each as one line, otherwise unchanged. An abbreviation does not end a sentence."""
    return [_SPACE.sub(" ", line[start:end]) for line in text.split("\n") for start, end in find_sentences(line)]


def strip_span(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without surrounding white space, or nothing if it has only white space."""
    stripped = text[start:end].strip()
    if stripped:
        begin = text.index(stripped[0], start)
        yield begin, begin + len(stripped)


def _is_quoted(text: str, begin: int, stop: int, last: int) -> bool:
    """Return whether a position is inside quotation marks that open shortly before it and close shortly after it."""
    opened: list[str] = []
    for quote in _QUOTE.finditer(text, max(begin, stop - _LONGEST_QUOTE), stop):
        if quote["open"]:
            opened.append(_CLOSES[quote["open"]])
        elif opened and quote["close"] == opened[-1]:
            opened.pop()
    if not opened:
        return False
    return any(quote["close"] == opened[-1] for quote in _QUOTE.finditer(text, stop, min(last, stop + _LONGEST_QUOTE)))


def _goes_on(before: str, after: str) -> bool:
    return any(language.goes_on(before.rstrip(), after) for language in LANGUAGES)


def cut_at_sentence(text: str, most: int) -> str:
    """Return the text, or its longest beginning of whole sentences within ``most`` characters; 0 returns the text.

    If no sentence ends in the second half, the text is truncated after a word instead, so that less is lost. A letter
    is never separated from its marks, nor an emoji from its parts.
    """
    if most == 0 or len(text) <= most:
        return text
    ends = [match.end() for match in _END.finditer(text, 0, most + 1) if match.end() <= most]
    if ends and ends[-1] * 2 > most:
        return text[: ends[-1]].rstrip()
    space = max(text.rfind(" ", 0, most + 1), text.rfind("\n", 0, most + 1))
    if space * 2 > most:
        return text[:space].rstrip()
    end = next((place for place in range(most, 0, -1) if not are_joined(text, place)), most)
    return text[:end]


def cut_around(text: str, start: int, end: int, most: int) -> tuple[int, int]:
    """Return the span of a passage of at most ``most`` characters around ``text[start:end]``, in whole sentences.

    The beginning of the text is preferred if it includes the span. A sentence that is too long is truncated by
    ``cut_at_sentence``, from ``start`` on if necessary.
    """
    head = cut_at_sentence(text, most)
    if len(head) == len(text) or end <= len(head):
        return 0, len(head)
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    first = bisect_right(ends, start) - 1
    last = bisect_left(ends, end)
    if ends[last] - ends[first] > most:
        begin = ends[first] if end - ends[first] <= most else start
        return begin, begin + len(cut_at_sentence(text[begin:], most))
    while True:
        after = last + 1 < len(ends) and ends[last + 1] - ends[first] <= most
        before = first > 0 and ends[last + after] - ends[first - 1] <= most
        first, last = first - before, last + after
        if not (before or after):
            return next(strip_span(text, ends[first], ends[last]), (ends[first], ends[last]))


def ends_sentence(text: str) -> bool:
    """Return whether a text ends with a mark that ends a sentence."""
    return text.endswith(tuple(_CUT_MARKS))
