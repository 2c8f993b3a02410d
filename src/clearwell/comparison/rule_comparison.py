"""The decision: same, conflict or different.

Rules decide what is a conflict. A change that is not enough for a conflict keeps texts from being the same. Where the
rules find no change, ``same_model`` tells the same from the different. Thresholds of conflicts are set by
``python -m bench.sameness --sweep`` on the development half of ``tests/data/sameness.jsonl``.
"""

from dataclasses import dataclass
from typing import Final

from clearwell.comparison.alignment import align
from clearwell.comparison.coverage import adds_content, has_fact, has_identifier, words_covered
from clearwell.comparison.facets import FACETS, changed_value
from clearwell.comparison.features import Features, features_of, read_features
from clearwell.comparison.pair import Change, Sides, likeness, shared_start
from clearwell.comparison.plain_text import LONGEST, normalise_marks, simplify
from clearwell.comparison.same_model import load_same_model, measure
from clearwell.comparison.word_order import changed_places, changed_sequence, is_reordered
from clearwell.records import Comparison, Relation

LOWEST_SIMILARITY: Final = 0.4
"""Below it only text that is word for word the same is not different: such pairs need not be compared."""
DUPLICATE_SIMILARITY: Final = 0.9
CONFLICT_SIMILARITY: Final = 0.55
_AROUND: Final = 200
"""Characters that are read before and behind what differs in long texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From which similarity on texts may be the same, or in conflict, by the share of content they have in common."""

    duplicate: float = DUPLICATE_SIMILARITY
    """Another value than the default moves what the model takes for the similarity by the difference."""
    conflict: float = CONFLICT_SIMILARITY
    cover: float = 0.5
    """How much similarity shared content stands for."""
    conflict_until: float = 0.8
    """Content from which on ``conflict`` is enough."""
    across: float = 0.65
    """What a text is taken to share with a text in another language."""
    translated: float = 0.25
    """How much less than ``duplicate`` is enough for a translation."""

    def opposed(self, covered: float) -> float:
        return self.conflict + max(0.0, self.cover * (self.conflict_until - covered))


class RuleComparison:
    """Compares statements by rules, word lists and a small fitted model. The features of texts are kept for a while."""

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
    """What was measured where the rules find no change, and why the texts are different if they are not the same."""

    measures: tuple[float, ...]
    reason: str


def judge(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    """Compare two statements by their features, with all thresholds."""
    outcome = decide_by_rules(mine, theirs, similarity, limits)
    if isinstance(outcome, Comparison):
        return outcome
    if load_same_model().is_same(outcome.measures):
        return Comparison(relation=Relation.SAME, reason="same_meaning", similarity=similarity)
    return _different(outcome.reason, similarity)


def decide_by_rules(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison | Undecided:
    """Compare two statements as far as rules can tell; the rest is left to the model."""
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


def _where_they_differ(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison | Undecided:
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
    return decide_by_rules(*parts, similarity, limits)


def _by_words(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison | Undecided:
    match = align(mine, theirs)
    sides = Sides(
        new=mine, known=theirs, match=match, frame=likeness(mine.keys, theirs.keys), words=words_covered(match)
    )
    change = changed_places(sides) or next((found for facet in FACETS if (found := facet(sides))), None)
    if change is not None:
        return _judged(change, similarity, limits.conflict if sides.near else limits.opposed(sides.words))
    adds = adds_content(match, near=sides.near)
    if has_fact(match.only_new) or (sides.near and adds):
        return _different("different_adds", similarity)
    shifted = similarity + DUPLICATE_SIMILARITY - limits.duplicate
    return Undecided(measures=measure(sides, shifted), reason="different_adds" if adds else "different_subject")


def _across_languages(mine: Features, theirs: Features, similarity: float, limits: Limits) -> Comparison:
    """A text and its translation share no words: what can differ is values, and how often something is denied."""
    match = align(mine, theirs)
    change = changed_value(Sides(new=mine, known=theirs, match=match, frame=0.0, words=0.0))
    if change is not None:
        return _judged(change, similarity, limits.opposed(limits.across))
    same = similarity >= limits.duplicate - limits.translated and mine.negations == theirs.negations
    if same and not has_fact(match.only_new) and not has_identifier(match.only_new):
        return Comparison(relation=Relation.SAME, reason="same_meaning", similarity=similarity)
    return _different("different_subject", similarity)


def _judged(change: Change, similarity: float, needed: float) -> Comparison:
    if not change.sure or similarity < needed:
        return _different(change.reason if change.reason.startswith("different_") else "different_fact", similarity)
    return _conflict(change, similarity)


def _conflict(change: Change, similarity: float) -> Comparison:
    params = {"new": change.new, "known": change.known}
    return Comparison(relation=Relation.CONFLICT, reason=change.reason, similarity=similarity, params=params)


def _different(reason: str, similarity: float) -> Comparison:
    return Comparison(relation=Relation.DIFFERENT, reason=reason, similarity=similarity)
