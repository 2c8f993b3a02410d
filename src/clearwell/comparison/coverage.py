"""How much of one statement's content the other one has, and what only the new one says."""

from collections.abc import Sequence
from typing import Final

from clearwell.comparison.alignment import Alignment
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.tokens import Kind, Token

_WORDS_FOR_A_FILLER: Final = 8
"""Among so many words, one more may be a filler."""
_OPTIONAL: Final = frozenset({"relative", "season"})
"""Values that are said or left out as one likes: "this year", "in spring"."""


def covered(tokens: Sequence[Token], left: Sequence[int], *, values: bool = True) -> float:
    """The share of content that has a partner in the other text."""
    total = sum(token.content and (values or token.value is None) for token in tokens)
    alone = sum(tokens[at].content and (values or tokens[at].value is None) for at in left)
    return 1 - alone / total if total else 1.0


def words_covered(match: Alignment) -> float:
    """The share of words with content that both texts have, on the side where it is smaller."""
    return min(covered(match.new, match.new_left, values=False), covered(match.known, match.known_left, values=False))


def content_left(tokens: Sequence[Token]) -> int:
    """How many of the words without a partner carry a fact."""
    return sum(token.content for token in tokens)


def adds_content(match: Alignment, *, near: bool) -> bool:
    """Whether the new text says more than the known one."""
    more = _facts(match.only_new, near=near) - _facts(match.only_known, near=near)
    total = content_left(match.known)
    return more > (total // _WORDS_FOR_A_FILLER if near else max(2, total / 4))


def has_fact(tokens: Sequence[Token]) -> bool:
    """Whether a value is among words without a partner."""
    return any(token.value is not None and token.content and token.value.dimension not in _OPTIONAL for token in tokens)


def has_identifier(tokens: Sequence[Token]) -> bool:
    """Whether an identifier, which is the same in every language, is among words without a partner."""
    return any(token.kind is Kind.NAME and any(char.isdigit() for char in token.key) for token in tokens)


def _facts(tokens: Sequence[Token], *, near: bool) -> int:
    """Among nearly the same words, what denies has been weighed before: 禁止 is 不允许."""
    return sum(token.content and not (near and token.key in lexicon().deniers) for token in tokens)
