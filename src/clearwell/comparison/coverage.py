"""Measure how much content two statements share, and what only the new one has."""

from collections.abc import Sequence
from typing import Final

from clearwell.comparison.alignment import Alignment
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.tokens import Kind, Token

_WORDS_FOR_A_FILLER: Final = 8
"""For each this many content words, one additional word may be a filler."""
_OPTIONAL: Final = frozenset({"relative", "season"})
"""Dimensions of values that are often omitted: "this year", "in spring"."""


def measure_coverage(tokens: Sequence[Token], left: Sequence[int], *, values: bool = True) -> float:
    """Return the share of content tokens that have a partner in the other text."""
    total = sum(token.content and (values or token.value is None) for token in tokens)
    alone = sum(tokens[at].content and (values or tokens[at].value is None) for at in left)
    return 1 - alone / total if total else 1.0


def measure_shared_words(match: Alignment) -> float:
    """Return the share of content words, without values, that have a partner: the smaller of both texts."""
    return min(
        measure_coverage(match.new, match.new_left, values=False),
        measure_coverage(match.known, match.known_left, values=False),
    )


def count_content(tokens: Sequence[Token]) -> int:
    """Return the number of content tokens."""
    return sum(token.content for token in tokens)


def adds_content(match: Alignment, *, near: bool) -> bool:
    """Return whether the new text has considerably more content than the known one."""
    more = _facts(match.only_new, near=near) - _facts(match.only_known, near=near)
    total = count_content(match.known)
    return more > (total // _WORDS_FOR_A_FILLER if near else max(2, total / 4))


def has_fact(tokens: Sequence[Token]) -> bool:
    """Return whether one of these tokens is a value that is not optional."""
    return any(token.value is not None and token.content and token.value.dimension not in _OPTIONAL for token in tokens)


def has_identifier(tokens: Sequence[Token]) -> bool:
    """Return whether one of these tokens is an identifier, which is the same in every language."""
    return any(token.kind is Kind.NAME and any(char.isdigit() for char in token.key) for token in tokens)


def _facts(tokens: Sequence[Token], *, near: bool) -> int:
    """Count content tokens. In texts with nearly the same words, denying words are skipped: polarity covers them."""
    return sum(token.content and not (near and token.key in lexicon().deniers) for token in tokens)
