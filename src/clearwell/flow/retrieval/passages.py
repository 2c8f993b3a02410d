"""Passages: a long item is shown as the part of it that answers the query, cut where sentences end.

The place is the statement of an entry that is nearest to the query, or the sentence that has most of its words.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.ports import QueryTerms
from clearwell.records import ContextItem
from clearwell.text.sentences import cut_around, find_all_sentences

MAX_WORDS: Final = 0.5
"""A sentence with this share of the query's words is the place, whatever statement is nearest by its vector."""

_RULE: Final = re.compile(r"[ \t|:-]*-[ \t|:-]*")
"""The line between the header of a Markdown table and its rows."""
_BM25: Final = Bm25()


def shorten_items(items: Sequence[ContextItem], most: int, terms: QueryTerms | None) -> tuple[ContextItem, ...]:
    """The items, each within ``most`` characters around the place that answers the query; 0 leaves them whole."""
    return tuple(_shorten(item, most, terms) if 0 < most < len(item.content) else item for item in items)


def count_unread(items: Sequence[ContextItem], most: int) -> int:
    """The characters that ``shorten_items`` has to read."""
    return sum(len(item.content) for item in items if 0 < most < len(item.content))


def shorten_item(item: ContextItem, most: int) -> ContextItem:
    """The item within ``most`` characters around its match, or from its beginning if it has none.

    A row of a table comes with the table's header, which says what its cells are.
    """
    start, end = item.match or (0, 0)
    first, last = cut_around(item.content, start, end, most)
    begin, rows = _find_header(item.content, start)
    header = item.content[begin:rows] if begin < first and rows - begin <= most / 2 else ""
    if header:
        first, last = cut_around(item.content, start, end, most - len(header))
        first = max(first, rows)
    moved = len(header) - first
    return replace(
        item,
        content=header + item.content[first:last],
        cut=item.cut or last < len(item.content.rstrip()),
        cut_before=item.cut_before or first > 0,
        match=None if item.match is None else (max(start, first) + moved, min(end, last) + moved),
    )


def _find_header(text: str, at: int) -> tuple[int, int]:
    """The place of the header of the table in a row of which ``at`` is, with the line below it; else an empty one."""
    above = text[:at].split("\n")[:-1]
    table = list(takewhile(lambda line: "|" in line, reversed(above)))
    if len(table) < 2 or not _RULE.fullmatch(table[-2]):
        return at, at
    begin = sum(len(line) + 1 for line in above[: len(above) - len(table)])
    return begin, begin + len(table[-1]) + len(table[-2]) + 2


def _shorten(item: ContextItem, most: int, terms: QueryTerms | None) -> ContextItem:
    place, share = (None, 0.0) if terms is None else find_sentence(item.content, terms)
    if place is not None and (item.match is None or share >= MAX_WORDS):
        item = replace(item, match=place)
    return shorten_item(item, most)


def find_sentence(text: str, terms: QueryTerms) -> tuple[tuple[int, int] | None, float]:
    """The sentence with the largest share of the query's words, and the share. Rare words in the text count more."""
    places = list(find_all_sentences(text))
    words = [_BM25.dimensions(text[start:end]) & terms.weights.keys() for start, end in places]
    weights = {
        word: weight * math.log(1 + len(places) / (1 + sum(word in one for one in words)))
        for word, weight in terms.weights.items()
    }
    whole = sum(weights.values())
    shares = [sum(weights[word] for word in one) / whole for one in words] if whole else []
    best = max(range(len(shares)), key=shares.__getitem__, default=None)
    if best is None or not shares[best]:
        return None, 0.0
    return places[best], shares[best]
