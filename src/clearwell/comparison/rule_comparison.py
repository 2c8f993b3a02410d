"""The decision: same, conflict or different.

Thresholds are set by ``python -m bench.sameness --sweep`` on the development half of ``tests/data/sameness.jsonl``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.comparison.alignment import Alignment, align
from clearwell.comparison.facets import FACETS, changed_value
from clearwell.comparison.features import Features, features_of, read_features
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.pair import Change, Sides, likeness, shared_start
from clearwell.comparison.plain_text import LONGEST, normalise_marks, simplify
from clearwell.comparison.tokens import Kind, Token
from clearwell.comparison.word_order import changed_places, changed_sequence, is_reordered
from clearwell.records import Comparison, Relation

LOWEST_SIMILARITY: Final = 0.4
"""Below it only text that is word for word the same is not different: such pairs need not be compared."""
DUPLICATE_SIMILARITY: Final = 0.9
CONFLICT_SIMILARITY: Final = 0.55
_AROUND: Final = 200
"""Characters that are read before and behind what differs in long texts."""
_WORDS_FOR_A_FILLER: Final = 8
"""Among so many words, one more that no list knows may be a filler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From which similarity on texts may be the same, or in conflict, by the share of content they have in common."""

    duplicate: float = DUPLICATE_SIMILARITY
    conflict: float = CONFLICT_SIMILARITY
    cover: float = 0.5
    """How much similarity shared content stands for."""
    same_from: float = 0.15
    """Content that says nothing yet."""
    same_at_most: float = 0.3
    """What shared content stands for at most: below ``duplicate`` less this, texts are different."""
    conflict_until: float = 0.8
    """Content from which on ``conflict`` is enough."""
    across: float = 0.65
    """What a text is taken to share with a text in another language."""

    def same(self, covered: float) -> float:
        return self.duplicate - min(self.same_at_most, max(0.0, self.cover * (covered - self.same_from)))

    def opposed(self, covered: float) -> float:
        return self.conflict + max(0.0, self.cover * (self.conflict_until - covered))


class RuleComparison:
    """Compares statements by rules and word lists, without a model. The features of texts are kept for a while."""

    def __init__(
        self,
        *,
        duplicate_similarity: float = DUPLICATE_SIMILARITY,
        conflict_similarity: float = CONFLICT_SIMILARITY,
    ) -> None:
        self._limits = Limits(duplicate=duplicate_similarity, conflict=conflict_similarity)

    def compare(self, new: str, known: str, similarity: float) -> Comparison:
        """Compare a new statement with a known one, given their similarity on the embedder's calibrated scale."""
        return judge(features_of[new], features_of[known], similarity, self._limits)


def judge(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    """Compare two statements by their features, with all thresholds."""
    if not (mine.whole and theirs.whole):
        return _where_they_differ(mine, theirs, similarity, limits)
    if mine.asks != theirs.asks and similarity >= LOWEST_SIMILARITY:
        return _different("different_fact", similarity)
    if mine.signed == theirs.signed and (mine.signed or similarity >= limits.duplicate):
        return Comparison(relation=Relation.SAME, reason="same_text", similarity=similarity)
    if similarity < LOWEST_SIMILARITY or not (mine.signed and theirs.signed):
        return _different("different_subject", similarity)
    if mine.language is not theirs.language:
        return _across_languages(mine, theirs, similarity, limits)
    if is_reordered(mine, theirs):
        if (sequence := changed_sequence(mine, theirs)) is not None:
            return _judged(sequence, similarity, limits.conflict)
        return Comparison(relation=Relation.SAME, reason="same_order", similarity=similarity)
    return _by_words(mine, theirs, similarity, limits)


def _where_they_differ(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    """Texts too long to be read: what both begin and end with is left out, but for some words around the rest."""
    one, other = simplify(normalise_marks(mine.raw)), simplify(normalise_marks(theirs.raw))
    if one == other or one.lower() == other.lower():
        return Comparison(relation=Relation.SAME, reason="same_text", similarity=similarity)
    begin = max(0, shared_start(one, other) - _AROUND)
    end = max(0, min(shared_start(one[:begin:-1], other[:begin:-1]), len(one) - begin, len(other) - begin) - _AROUND)
    new, known = one[begin : len(one) - end], other[begin : len(other) - end]
    if similarity < LOWEST_SIMILARITY or max(len(new), len(known)) > LONGEST:
        return _different("different_fact", similarity)
    parts = read_features(new), read_features(known)
    if not (parts[0].whole and parts[1].whole):
        return _different("different_fact", similarity)
    return judge(*parts, similarity, limits)


def _by_words(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    match = align(mine, theirs)
    sides = Sides(
        new=mine, known=theirs, match=match, frame=likeness(mine.keys, theirs.keys), words=_words_covered(match)
    )
    change = changed_places(sides) or next((found for facet in FACETS if (found := facet(sides))), None)
    if change is not None:
        return _judged(change, similarity, limits.conflict if sides.near else limits.opposed(sides.words))
    if _adds(match, near=sides.near):
        return _different("different_adds", similarity)
    if similarity >= limits.same(_shared(match)):
        return Comparison(relation=Relation.SAME, reason="same_meaning", similarity=similarity)
    return _different("different_subject", similarity)


def _across_languages(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    """A text and its translation share no words: what can differ is values, and how often something is denied."""
    match = align(mine, theirs)
    change = changed_value(Sides(new=mine, known=theirs, match=match, frame=0.0, words=0.0))
    if change is not None:
        return _judged(change, similarity, limits.opposed(limits.across))
    same = similarity >= limits.same(limits.across) and mine.negations == theirs.negations
    if same and not any(_adds_fact(token) or _identifies(token) for token in match.only_new):
        return Comparison(relation=Relation.SAME, reason="same_meaning", similarity=similarity)
    return _different("different_subject", similarity)


def _judged(change: Change, similarity: float, needed: float) -> Comparison:
    if not change.sure or similarity < needed:
        return _different(change.reason if change.reason.startswith("different_") else "different_fact", similarity)
    params = {"new": change.new, "known": change.known}
    return Comparison(relation=Relation.CONFLICT, reason=change.reason, similarity=similarity, params=params)


def _different(reason: str, similarity: float) -> Comparison:
    return Comparison(relation=Relation.DIFFERENT, reason=reason, similarity=similarity)


def _covered(tokens: Sequence[Token], left: Sequence[int], *, values: bool = True) -> float:
    """The share of content that has a partner in the other text."""
    total = sum(token.content and (values or token.value is None) for token in tokens)
    alone = sum(tokens[at].content and (values or tokens[at].value is None) for at in left)
    return 1 - alone / total if total else 1.0


def _shared(match: Alignment) -> float:
    """How much of the new text's content is known; where some is not, what only the known text says counts as well."""
    new, known = _covered(match.new, match.new_left), _covered(match.known, match.known_left)
    return new if new == 1 else min(new, (new + known) / 2)


def _words_covered(match: Alignment) -> float:
    return min(_covered(match.new, match.new_left, values=False), _covered(match.known, match.known_left, values=False))


def _adds(match: Alignment, *, near: bool) -> bool:
    """Whether the new text says more than the known one."""
    if any(_adds_fact(token) for token in match.only_new):
        return True
    more = _facts(match.only_new, near=near) - _facts(match.only_known, near=near)
    total = sum(token.content for token in match.known)
    return more > (total // _WORDS_FOR_A_FILLER if near else max(2, total / 4))


def _facts(tokens: Sequence[Token], *, near: bool) -> int:
    """Among nearly the same words, what denies has been weighed before: 禁止 is 不允许."""
    return sum(token.content and not (near and token.key in lexicon().deniers) for token in tokens)


def _identifies(token: Token) -> bool:
    """An identifier is the same in every language."""
    return token.kind is Kind.NAME and any(char.isdigit() for char in token.key)


def _adds_fact(token: Token) -> bool:
    """A value, but for "this year" and "in spring", that are said or left out as one likes."""
    return token.value is not None and token.content and token.value.dimension not in {"relative", "season"}
