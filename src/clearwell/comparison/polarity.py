"""Find a statement that the other text denies: by a negation, an opposite, or a verb such as "forbids"."""

from collections.abc import Sequence
from typing import Final

from clearwell.comparison.alignment import Alignment
from clearwell.comparison.features import Features, shorten
from clearwell.comparison.lexicon import Tie, lexicon
from clearwell.comparison.pair import FacetChange, Sides, make_change, quote_token
from clearwell.comparison.tokens import Token

NEGATION: Final = "conflict_negation"


def deny_each_other(match: Alignment) -> bool:
    """Return whether each text denies a clause of the other: "safe, no fault is known", "has a fault, not safe".

    Within one clause, a negation denies the same wherever it stands: "does not cache", "caches no".
    """
    pairs = [(match.new[place], match.known[other]) for place, other, tie in match.pairs if tie is not Tie.COMPLEMENT]
    denied = [(new, known) for new, known in pairs if new.negated and not known.negated]
    stated = [(new, known) for new, known in pairs if known.negated and not new.negated]
    return any(
        one.clause != other.clause and theirs.clause != others.clause
        for one, theirs in denied
        for other, others in stated
    )


def find_changed_polarity(sides: Sides) -> FacetChange | None:
    """Find a word that is negated or replaced by its opposite on one side only, or a verb that denies the statement."""
    match = sides.match
    deniers = _deniers(match.only_new), _deniers(match.only_known)
    more = count_more_negations(sides) + _weight(deniers[0]) - _weight(deniers[1])
    explained = sides.near and any(deniers) and more == 0
    moved = _moved_negations(match)
    for place, other, tie in match.pairs:
        new, known = match.new[place], match.known[other]
        if place in moved:
            continue
        if tie is Tie.CONTRARY or (new.negated != known.negated) == (tie is Tie.COMPLEMENT):
            continue
        if tie is Tie.COMPLEMENT:
            return make_change("conflict_antonym", new, known)
        if (sides.near and not explained) or not _has_balanced_negations(sides):
            return make_change(NEGATION, new, known)
    if any(deniers) and more:
        return _denied_in_words(sides, deniers)
    return None if explained or _has_balanced_negations(sides) else FacetChange(reason="different_fact", sure=False)


def _moved_negations(match: Alignment) -> frozenset[int]:
    """Return words negated in one text only, in clauses negated in both: "caches no", "does not cache"."""
    pairs = [(place, match.new[place], match.known[other]) for place, other, tie in match.pairs if tie is None]
    moved: set[int] = set()
    for clause in {new.clause for _, new, _ in pairs}:
        inside = [(place, new, known) for place, new, known in pairs if new.clause == clause]
        whole = len({known.clause for _, _, known in inside}) == 1
        if whole and sum(new.negated for _, new, _ in inside) == sum(known.negated for _, _, known in inside) == 1:
            moved |= {place for place, new, known in inside if new.negated != known.negated}
    return frozenset(moved)


def _deniers(tokens: Sequence[Token]) -> list[Token]:
    words = lexicon()
    return [token for token in tokens if token.key in words.deniers]


def _weight(deniers: Sequence[Token]) -> int:
    """Return the number of denials. A negated denier ("does not stop") counts -1."""
    return sum(-1 if token.negated else 1 for token in deniers)


def count_more_negations(sides: Sides) -> int:
    """Return how many more negations the new text has, without those of paired opposites."""
    match = sides.match
    opposites = [(match.new[place], match.known[other]) for place, other, tie in match.pairs if tie is Tie.COMPLEMENT]
    return sides.new.negations - sides.known.negations - sum(new.negated - known.negated for new, known in opposites)


def _has_balanced_negations(sides: Sides) -> bool:
    """Return whether both have as many negations, or the text with fewer denies in another way: 没有通过 and 否决."""
    more = count_more_negations(sides)
    return more == 0 or _denies_otherwise(sides, known=more > 0)


def _denies_otherwise(sides: Sides, *, known: bool) -> bool:
    match = sides.match
    tokens = match.known if known else match.new
    unchanged = {pair[known] for pair in match.pairs if pair[2] is None}
    return any(denies_in_word(token) for at, token in enumerate(tokens) if at not in unchanged)


def denies(text: Features) -> bool:
    """Return whether a text has a word that denies without a negation."""
    return any(denies_in_word(token) for token in text.tokens)


def denies_in_word(token: Token) -> bool:
    """Return whether a word denies without a negation: failed, expired, 否决."""
    return token.key in lexicon().denials or (token.key.startswith("un") and len(token.key) > len("unable"))


def _denied_in_words(sides: Sides, deniers: tuple[list[Token], list[Token]]) -> FacetChange | None:
    """Find a statement that one side forbids, ends or avoids.

    If the other text has content of its own, it may say the same in other words, so there is no conflict.
    """
    match = sides.match
    here = len(deniers[0]) >= len(deniers[1])
    if any(token.content for token in (match.only_known if here else match.only_new)):
        return (
            None if sides.framed or _has_balanced_negations(sides) else FacetChange(reason="different_fact", sure=False)
        )
    denier = deniers[0 if here else 1][0]
    quote, partner = _find_governed(match, sides.new if here else sides.known, denier, known=not here)
    new, known = (quote, partner) if here else (partner, quote)
    return FacetChange(reason=NEGATION, new=new, known=known, sure=sides.near)


def _find_governed(match: Alignment, text: Features, denier: Token, *, known: bool) -> tuple[str, str]:
    """Return quotations of the denying word with what it denies, and of its counterpart in the other text."""
    pairs = [(match.known[other], match.new[place]) for place, other, _ in match.pairs]
    if not known:
        pairs = [(new, theirs) for theirs, new in pairs]
    facts = [pair for pair in pairs if pair[0].content]
    after = [pair for pair in facts if pair[0].start >= denier.end and pair[0].clause == denier.clause]
    nearest = min(after or facts, key=lambda pair: abs(pair[0].start - denier.start), default=None)
    if nearest is None:
        return quote_token(denier), "…"
    governed, partner = nearest
    quote = text.text[min(denier.start, governed.start) : max(denier.end, governed.end)]
    return shorten(quote), quote_token(partner)
