"""The extractive summary: the most central sentences that do not repeat each other, as they stand in their sources."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final
from uuid import UUID

from clearwell.flow.digest.drafting.drafts import Quote
from clearwell.records import DigestCandidate
from clearwell.text.hidden_text import escaped
from clearwell.text.sentences import split_sentences
from clearwell.text.terms import PAIR, count_terms

LONGEST: Final = 240
"""Characters of one quote; what is longer is cut at a word and marked."""
REPEATS: Final = 0.6
"""Share of a sentence's terms that quotes before it have, from which it says nothing new."""


def choose_quotes(
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
        for sentence in sorted(split_sentences(said[row.log_id]), key=lambda one: word not in one):
            words = {term for term in count_terms(sentence) if not term.startswith(PAIR)}
            if words and len(words & quoted) < REPEATS * len(words):
                quoted |= words
                yield Quote(log_id=row.log_id, text=_cut(escaped(sentence)))


def _cut(sentence: str) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    kept = sentence[:LONGEST]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept[LONGEST // 2 :] else kept}…"
