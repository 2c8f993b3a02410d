"""Decide whether two statements are the same, in conflict or different.

Rules find conflicts. A change that is too weak for a conflict makes the texts different. If the rules find no change,
the model of ``sameness`` decides between same and different. The thresholds of conflicts were chosen with
``python -m bench.sameness --sweep`` on the development half of ``tests/data/sameness.jsonl``; the page that tests them
is ``bench/results/sameness.md``.
"""

from dataclasses import dataclass
from typing import Final

from clearwell.comparison.alignment import align
from clearwell.comparison.coverage import adds_content, has_fact, has_identifier, measure_shared_words
from clearwell.comparison.facets import FACETS, find_changed_value
from clearwell.comparison.features import Features, features_of, read_features
from clearwell.comparison.pair import FacetChange, Sides, count_shared_start, likeness
from clearwell.comparison.plain_text import LONGEST, normalise_marks, simplify
from clearwell.comparison.polarity import NEGATION, deny_each_other
from clearwell.comparison.sameness import load_sameness_model, measure
from clearwell.comparison.word_order import find_changed_places, find_changed_sequence, is_reordered
from clearwell.records import Comparison, Relation

LOWEST_SIMILARITY: Final = 0.4
"""Texts with a lower similarity are different unless they are the same word for word, so they need no comparison."""
DUPLICATE_SIMILARITY: Final = 0.9
CONFLICT_SIMILARITY: Final = 0.55
_AROUND: Final = 200
"""Number of characters before and after a difference that are read in long texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The minimum similarity of texts that are the same or in conflict, depending on the content that they share."""

    duplicate: float = DUPLICATE_SIMILARITY
    """The difference to the default is added to or subtracted from the similarity that the model receives."""
    conflict: float = CONFLICT_SIMILARITY
    cover: float = 0.5
    """Additional similarity that a conflict needs, times the share of content that is missing to ``conflict_until``."""
    conflict_until: float = 0.8
    """Minimum share of common content for which ``conflict`` suffices."""
    across: float = 0.65
    """The share of content that two texts in different languages are assumed to have in common."""
    translated: float = 0.25
    """A translation needs this much less similarity than ``duplicate``."""

    def conflict_at(self, covered: float) -> float:
        """Return the minimum similarity of a conflict between texts that share this much content."""
        return self.conflict + max(0.0, self.cover * (self.conflict_until - covered))


class RuleComparison:
    """Compares statements by rules, word lists and a small fitted model. The features of texts are cached."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """The measures for the model if the rules find no change, and the reason if the model says different."""

    measures: tuple[float, ...]
    reason: str


def judge(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    """Compare two statements by their features, with these thresholds."""
    outcome = decide_by_rules(mine, theirs, similarity, limits)
    if isinstance(outcome, Comparison):
        return outcome
    if load_sameness_model().is_same(outcome.measures):
        return Comparison(relation=Relation.SAME, reason="same_meaning", similarity=similarity)
    return _different(outcome.reason, similarity)


def decide_by_rules(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison | Undecided:
    """Compare two statements by rules. Returns Undecided if the model has to decide."""
    if not (mine.whole and theirs.whole):
        return _compare_long(mine, theirs, similarity, limits)
    if mine.asks != theirs.asks and similarity >= LOWEST_SIMILARITY:
        return _different("different_fact", similarity)
    if mine.signed == theirs.signed and (mine.signed or similarity >= limits.duplicate):
        return Comparison(relation=Relation.SAME, reason="same_text", similarity=similarity)
    if similarity < LOWEST_SIMILARITY or not (mine.signed and theirs.signed):
        return _different("different_subject", similarity)
    if mine.language is not theirs.language:
        return _compare_across_languages(mine, theirs, similarity, limits)
    if is_reordered(mine, theirs):
        if (sequence := find_changed_sequence(mine, theirs)) is not None:
            return _judge(sequence, similarity, limits.conflict)
        return Comparison(relation=Relation.SAME, reason="same_order", similarity=similarity)
    return _compare_words(mine, theirs, similarity, limits)


def _compare_long(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison | Undecided:
    """Compare long texts without their common beginning and end, except for some characters around the difference."""
    one, other = simplify(normalise_marks(mine.raw)), simplify(normalise_marks(theirs.raw))
    if one == other or one.lower() == other.lower():
        return Comparison(relation=Relation.SAME, reason="same_text", similarity=similarity)
    begin = max(0, count_shared_start(one, other) - _AROUND)
    end = max(
        0, min(count_shared_start(one[:begin:-1], other[:begin:-1]), len(one) - begin, len(other) - begin) - _AROUND
    )
    new, known = one[begin : len(one) - end], other[begin : len(other) - end]
    if similarity < LOWEST_SIMILARITY or max(len(new), len(known)) > LONGEST:
        return _different("different_fact", similarity)
    parts = read_features(new), read_features(known)
    if not (parts[0].whole and parts[1].whole):
        return _different("different_fact", similarity)
    return decide_by_rules(*parts, similarity, limits)


def _compare_words(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison | Undecided:
    match = align(mine, theirs)
    sides = Sides(
        new=mine, known=theirs, match=match, frame=likeness(mine.keys, theirs.keys), words=measure_shared_words(match)
    )
    change = find_changed_places(sides) or next((found for facet in FACETS if (found := facet(sides))), None)
    if change is not None:
        if change.reason == NEGATION and mine.leaves_open != theirs.leaves_open:
            return _different("different_fact", similarity)
        return _judge(change, similarity, limits.conflict if sides.near else limits.conflict_at(sides.words))
    if deny_each_other(match):
        return _different("different_fact", similarity)
    adds = adds_content(match, near=sides.near)
    if has_fact(match.only_new) or (sides.near and adds):
        return _different("different_adds", similarity)
    shifted = similarity + DUPLICATE_SIMILARITY - limits.duplicate
    return Undecided(measures=measure(sides, shifted), reason="different_adds" if adds else "different_subject")


def _compare_across_languages(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    """Compare texts in two languages. They share no words, so only values and the number of negations can differ."""
    match = align(mine, theirs)
    change = find_changed_value(Sides(new=mine, known=theirs, match=match, frame=0.0, words=0.0))
    if change is not None:
        return _judge(change, similarity, limits.conflict_at(limits.across))
    same = similarity >= limits.duplicate - limits.translated and mine.negations == theirs.negations
    if same and not has_fact(match.only_new) and not has_identifier(match.only_new):
        return Comparison(relation=Relation.SAME, reason="same_meaning", similarity=similarity)
    return _different("different_subject", similarity)


def _judge(change: FacetChange, similarity: float, needed: float) -> Comparison:
    if not change.sure or similarity < needed:
        return _different(change.reason if change.reason.startswith("different_") else "different_fact", similarity)
    return _conflict(change, similarity)


def _conflict(change: FacetChange, similarity: float) -> Comparison:
    params = {"new": change.new, "known": change.known}
    return Comparison(relation=Relation.CONFLICT, reason=change.reason, similarity=similarity, params=params)


def _different(reason: str, similarity: float) -> Comparison:
    return Comparison(relation=Relation.DIFFERENT, reason=reason, similarity=similarity)
