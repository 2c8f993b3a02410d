"""BM25, in two halves: what is stored with a memory, and what is asked.

Stored is each term's saturated weight in the memory itself, plus its weight in the memory together with its two
neighbours on each side in the session: one sparse vector, so that one inner product scores both. Asked are the terms
of the query; how rare each is in the group is looked up by the statement that searches.

Lengths are measured against fixed ones and not against the group's mean: a stored weight then stays right as the group
grows. With b = 0.2 and chunks of at most 500 characters the two differ by at most 0.004 in recall@5 and @10.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from clearwell.caches import MIB, TextCache
from clearwell.ports import Asked
from clearwell.text.terms import PAIR, TOKENIZER_VERSION, dimension, terms, weights

K1: Final = 0.9
B: Final = 0.2
LENGTH: Final = 20
LENGTH_WITH_NEIGHBOURS: Final = 90
MOST: Final = 500
"""Terms of one memory, its own first: so many fit in a row beside a vector of 1,024 dimensions."""

_AFTER_A_QUESTION: Final = " \t\r\n\"')]*_”’」』）"
_LATIN: Final = re.compile(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]")


class Bm25:
    """The lexical side of long-term memory."""

    version = TOKENIZER_VERSION

    def dimensions(self, text: str) -> frozenset[int]:
        return frozenset(map(dimension, _terms[text]))

    def lexemes(self, text: str, near: Sequence[str]) -> Mapping[int, float]:
        own = _terms[text]
        together = Counter(own)
        for neighbour in near:
            together.update({term: count for term, count in _terms[neighbour].items() if not term.startswith(PAIR)})
        alone, summed = _saturated(own, LENGTH), _saturated(together, LENGTH_WITH_NEIGHBOURS)
        stored: dict[int, float] = {}
        for term in list(together)[:MOST]:
            place = dimension(term)
            stored[place] = stored.get(place, 0.0) + alone.get(term, 0.0) + summed[term]
        return stored

    def name(self, name: str) -> str:
        return spoken(name)


def asked(query: str, *, dates: float = 1.0) -> Asked:
    """What the lexical side is asked for a query. ``dates`` is how much its dates count."""
    wanted: dict[int, float] = {}
    for term, weight in weights(query, dates=dates).items():
        wanted[dimension(term)] = wanted.get(dimension(term), 0.0) + weight
    return Asked(weights=wanted, spoken=spoken(query))


def shares(asked: Asked, texts: Sequence[str]) -> list[float]:
    """Of the query's words, how much each of a few texts has. How rare a word is, these texts say."""
    if not asked.weights or not texts:
        return [0.0] * len(texts)
    counts = [_by_place[text] for text in texts]
    wanted = {}
    for place, weight in asked.weights.items():
        having = sum(place in count for count in counts)
        wanted[place] = weight * math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
    most = sum(wanted.values())
    return [sum(weight * count.get(place, 0.0) for place, weight in wanted.items()) / most for count in counts]


def count_unread(texts: Sequence[str]) -> int:
    """Characters that ``shares`` would have to read: what it has read before is kept."""
    return _by_place.missing_characters(texts)


def _read_by_place(text: str) -> Mapping[int, float]:
    found: dict[int, float] = {}
    for term, weight in _saturated(_terms[text], LENGTH).items():
        found[dimension(term)] = found.get(dimension(term), 0.0) + weight
    return found


_by_place = TextCache(_read_by_place, max_bytes=16 * MIB, bytes_per_character=45)


def asks(text: str) -> bool:
    """Whether a text ends as a question. The database decides it alike, by ``memories.asks``."""
    return text.rstrip(_AFTER_A_QUESTION).endswith(("?", "？"))


def spoken(text: str) -> str:
    """The words with a space around each, so that a name is found as whole words: ' ann lee ', ' 小 王 '."""
    # One by one: a single call that finds all words of a huge text would hold up the other threads.
    found = " ".join(word.group() for word in _LATIN.finditer(unicodedata.normalize("NFKC", text).casefold()))
    return f" {found} " if found else ""


_terms = TextCache(terms, max_bytes=16 * MIB, bytes_per_character=66)


def _saturated(counts: Mapping[str, int], length: int) -> dict[str, float]:
    norm = K1 * (1 - B + B * sum(counts.values()) / length)
    return {term: count * (K1 + 1) / (count + norm) for term, count in counts.items()}
