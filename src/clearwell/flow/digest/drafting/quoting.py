"""The extractive summary: the most central sentences that do not repeat each other, as they stand in their sources."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final
from uuid import UUID

from clearwell.flow.digest.drafting.drafts import Quote
from clearwell.records import DigestCandidate
from clearwell.text.hidden_text import escaped
from clearwell.text.terms import PAIR, terms

LONGEST: Final = 240
"""Characters of one quote; what is longer is cut at a word and marked."""
REPEATS: Final = 0.6
"""Share of a sentence's terms that quotes before it have, from which it says nothing new."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])\s*")
_GOES_ON: Final = re.compile(r"(?:\b(?:e\.\s?g|i\.\s?e|vs|cf|approx|Mr|Mrs|Ms|Dr|Prof))\.$")
"""A full stop after which a sentence goes on whatever follows."""
_MAY_GO_ON: Final = re.compile(r"(?:\b(?:[^\W\d_]\.){2,}|\b(?:etc|al|ca|Inc|Ltd|Corp|Co|St|min|max|hrs?|sec)\.)$")
"""One after which it goes on where no capital letter follows, as in 7 a.m. to 9 p.m."""
_BEFORE_NUMBER: Final = re.compile(r"\b(?:[Nn]os?|Nr|[Ff]igs?|[Ee]q|[Ss]ec|[Vv]ol|[Cc]h|pp?)\.$")
_SPACE: Final = re.compile(r"\s+")


def quotes(
    sides: Sequence[Sequence[DigestCandidate]],
    said: Mapping[UUID, str],
    *,
    chars: int,
    disputed: Mapping[UUID, str] = MappingProxyType({}),
) -> tuple[Quote, ...]:
    """Sentences of what rows said, most central first, side by side: each side is heard before one is heard again.

    ``disputed`` are words of a row that another contradicts: the sentence that has them is quoted first.
    """
    streams = [_fresh(rows, said, disputed) for rows in sides if rows]
    taken: list[Quote] = []
    left = chars
    while streams:
        for stream in list(streams):
            quote = next(stream, None)
            if quote is None or (taken and len(quote.text) > left):
                streams.remove(stream)
            else:
                taken.append(quote)
                left -= len(quote.text)
    return tuple(taken)


def _fresh(rows: Sequence[DigestCandidate], said: Mapping[UUID, str], disputed: Mapping[UUID, str]) -> Iterator[Quote]:
    quoted: set[str] = set()
    for row in rows:
        word = disputed.get(row.log_id, "")
        for sentence in sorted(sentences(said[row.log_id]), key=lambda one: word not in one):
            words = {term for term in terms(sentence) if not term.startswith(PAIR)}
            if words and len(words & quoted) < REPEATS * len(words):
                quoted |= words
                yield Quote(log_id=row.log_id, text=_cut(escaped(sentence)))


def sentences(content: str) -> list[str]:
    """One line each, nothing else changed. A full stop that only shortens a word ends none."""
    found: list[str] = []
    for line in content.split("\n"):
        parts = [part for part in (_SPACE.sub(" ", one).strip() for one in _SENTENCE.split(line)) if part]
        for place, part in enumerate(parts):
            if place and _goes_on(found[-1], part):
                found[-1] = f"{found[-1]} {part}"
            else:
                found.append(part)
    return found


def _goes_on(before: str, after: str) -> bool:
    if _GOES_ON.search(before):
        return True
    if _BEFORE_NUMBER.search(before):
        return after[0].isdigit()
    return _MAY_GO_ON.search(before) is not None and not after[0].isupper()


def _cut(sentence: str) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    kept = sentence[:LONGEST]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept[LONGEST // 2 :] else kept}…"
