"""Find boilerplate: lead-ins and closing words that recur with unrelated statements.

"Before I forget:" or "This was checked again today." would otherwise be compared, counted and quoted like facts. No
word list is needed, in any language: texts with the same boilerplate have nothing else in common. Words that begin or
end only texts on one subject belong to that subject.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from clearwell.records import Vector

COMPANY: Final = 3
"""How many unrelated texts must contain a part before it counts as boilerplate."""
UNLIKE: Final = 0.45
"""Texts with a lower average similarity are about different subjects.

The statements of the synthetic months in ``bench/results/digest.md`` begin with such lead-ins."""
LONGEST: Final = 120
_NESTED: Final = 3
_JOINTS: Final = " ,;:，；：、—–-("
"""Marks between a text and its closing words. They are removed together with the closing words."""
_PART: Final = re.compile(r"(?<=[。！？；：，\n])\s*|(?<=[.!?;:,])\s+|\s+(?=[(（])|(?<=[—–])\s*|(?<=\s-)\s+")
_WORD: Final = re.compile(r"[a-z0-9_]+(?:[-_.:/'’][a-z0-9_]+)*|[\u3400-\u9fff]+", re.IGNORECASE)
_DAY: Final = re.compile(r"(?:周|星期|礼拜)[一二三四五六日天]|(?i:mon|tues|wednes|thurs|fri|satur|sun)day")
_AROUND: Final = (2, 3)
"""Number of characters at the beginning and the end that identify a Chinese clause. There may be a name in between."""


@dataclass(frozen=True, slots=True)
class Boilerplate:
    """The shapes of lead-ins and of closing words; see ``_shape``."""

    leads: frozenset[str]
    tails: frozenset[str]

    def remove_from(self, content: str) -> str:
        """Return a text without its boilerplate, or the whole text if nothing else would be left."""
        parts = _parts(content)
        start, end = 0, len(parts)
        for _ in range(_NESTED):
            start += end - start > 1 and _shape(content[slice(*parts[start])]) in self.leads
            end -= end - start > 1 and _shape(content[slice(*parts[end - 1])]) in self.tails
        if not parts:
            return content
        kept = content[parts[start][0] : parts[end - 1][1]].strip()
        return kept if end == len(parts) else kept.rstrip(_JOINTS)


def find_boilerplate(contents: Sequence[str], meaning: Vector, similarity: Callable[[float], float]) -> Boilerplate:
    """Return the boilerplate of texts. The rows of ``meaning`` are their vectors, of length 1."""
    leads: defaultdict[str, dict[str, int]] = defaultdict(dict)
    tails: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for place, content in enumerate(contents):
        parts = _parts(content)
        for at in range(min(_NESTED, len(parts) - 1)):
            rest = _letters(content[parts[at + 1][0] :])
            leads[_shape(content[slice(*parts[at])])].setdefault(rest, place)
        for at in range(max(1, len(parts) - _NESTED), len(parts)):
            tails[_shape(content[slice(*parts[at])])].setdefault(_letters(content[: parts[at][0]]), place)

    def found(company: dict[str, dict[str, int]]) -> frozenset[str]:
        return frozenset(
            words
            for words, beside in company.items()
            if 0 < len(words) <= LONGEST and len(beside) >= COMPANY and _unlike(beside.values(), meaning, similarity)
        )

    return Boilerplate(leads=found(leads), tails=found(tails))


def _parts(content: str) -> list[tuple[int, int]]:
    """Return the start and the end of each clause."""
    cuts = [0, *(match.start() for match in _PART.finditer(content)), len(content)]
    return [(start, end) for start, end in pairwise(cuts) if _letters(content[start:end])]


def _letters(words: str) -> str:
    return "".join(char for char in words.casefold() if char.isalnum())


def _shape(words: str) -> str:
    """Return a clause with placeholders for what varies between occurrences: names, numbers, weekdays."""
    shape = [_slot(found.group(), first=at == 0) for at, found in enumerate(_WORD.finditer(_DAY.sub(" 0 ", words)))]
    return " ".join(shape)


def _slot(word: str, *, first: bool) -> str:
    if any(char.isdigit() for char in word):
        return "0"
    if not word.isascii():
        begin, end = _AROUND
        return word if len(word) <= begin + end else f"{word[:begin]}~{word[-end:]}"
    return "@" if word[0].isupper() and not first and len(word) > 1 else word.casefold()


def _unlike(places: Iterable[int], meaning: Vector, similarity: Callable[[float], float]) -> bool:
    """Return whether these texts are enough, and on average unrelated."""
    rows = meaning[sorted(set(places))]
    count, whole = len(rows), rows.sum(axis=0)
    return count >= COMPANY and similarity((float(whole @ whole) - count) / (count * (count - 1))) < UNLIKE
