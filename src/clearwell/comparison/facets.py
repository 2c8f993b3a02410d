"""Find the facet that differs between two similar texts. Each function looks for one kind of change."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from clearwell.comparison.alignment import Alignment
from clearwell.comparison.lexicon import Tie, lexicon
from clearwell.comparison.pair import FacetChange, Sides, make_change
from clearwell.comparison.polarity import find_changed_polarity
from clearwell.comparison.qualifiers import find_added_qualifier, find_changed_items, find_changed_reach
from clearwell.comparison.tokens import Kind, Token
from clearwell.comparison.value_rules import MONEY, Value
from clearwell.text.languages import CHINESE

_MAX_WORDS: Final = 0.8
_SHORT: Final = 6
_MAX_LEFT: Final = 20
_CALENDAR: Final = frozenset({"date", "weekday", "relative", "quarter", "half-year", "season"})
_WEEKS_OF_MONTH: Final = 5
"""A week with a higher number is a week of the year, and can be compared with a date."""
_COMPARABLE: Final = (_CALENDAR, MONEY | {"count"}, frozenset({"count", "version"}), frozenset({"second", "month"}))
_SCALES: Final = (
    ("quantity_words", "conflict_quantity"),
    ("duty_words", "conflict_duty"),
)


def find_changed_value(sides: Sides) -> FacetChange | None:
    """Find a changed number, date, time, version or unit.

    The change is not sure if a name or the subject has changed as well: her laptop and his may both have a price.
    """
    knowns = [token for token in sides.match.only_known if token.value is not None][:_MAX_LEFT]
    for new in [token for token in sides.match.only_new if token.value is not None][:_MAX_LEFT]:
        for known in knowns:
            if new.value and known.value and _comparable(new.value, known.value, near=sides.near):
                return make_change(_value_reason(new.value, known.value), new, known, sure=_same_thing(sides))
    return None


def _same_thing(sides: Sides) -> bool:
    """Return whether both texts are about the same thing: neither a name nor the subject has changed."""
    new, known = _first_word(sides.match.new), _first_word(sides.match.known)
    if new is None or known is None or new not in sides.match.only_new or known not in sides.match.only_known:
        return find_changed_name(sides) is None
    another = sides.near or _may_be_subjects(sides, new, known)
    return not another and find_changed_name(sides) is None


def _comparable(one: Value, other: Value, *, near: bool) -> bool:
    if (one.weak or other.weak) and not near:
        return False
    dimensions = {one.dimension, other.dimension}
    if len(dimensions) == 1 or any(dimensions <= some for some in _COMPARABLE):
        return True
    if dimensions == {"date", "week"}:
        return (one if one.dimension == "week" else other).number > _WEEKS_OF_MONTH
    return one.number == other.number != 0 and "count" not in dimensions


def _value_reason(one: Value, other: Value) -> str:
    if one.dimension in _CALENDAR or one.dimension == "week":
        return "conflict_date"
    if one.dimension in {"time", "version"}:
        return f"conflict_{one.dimension}"
    return "conflict_unit" if one.number == other.number else "conflict_number"


def find_changed_opposite(sides: Sides) -> FacetChange | None:
    """Find a word replaced by its opposite: more and less, before and after, import and export."""
    match = sides.match
    for place, other, tie in match.pairs:
        new, known = match.new[place], match.known[other]
        if tie is not Tie.CONTRARY or new.negated != known.negated:
            continue
        facts = new.content and known.content
        sure = sides.near or _neighbours(match, place, other) or (facts and sides.words >= _MAX_WORDS)
        if sure or facts:
            return make_change("conflict_order" if _orders(new.key) else "conflict_antonym", new, known, sure=sure)
    return None


def _orders(key: str) -> bool:
    words = lexicon()
    return any(key == word or words.tie(key, word) is not None for word in ("befor", "after", "之前", "之后"))


def _neighbours(match: Alignment, place: int, other: int) -> bool:
    """Return whether the words next to two paired words are paired with each other."""
    partner = {mine: theirs for mine, theirs, _ in match.pairs}
    return any(partner.get(place + step) == other + step for step in (-1, 1))


def find_changed_name(sides: Sides) -> FacetChange | None:
    """Find a changed person, place, product, host or identifier."""
    knowns = [token for token in sides.match.only_known if _maybe_name(token)][:_MAX_LEFT]
    for new in [token for token in sides.match.only_new if _maybe_name(token)][:_MAX_LEFT]:
        for known in knowns:
            if Kind.NAME in {new.kind, known.kind} and _same_sort(new, known):
                return make_change("conflict_name", new, known)
    return None


def _maybe_name(token: Token) -> bool:
    if token.kind is Kind.NAME:
        return True
    return token.tag == "opens" and token.content and token.key not in lexicon().groups


def _same_sort(one: Token, other: Token) -> bool:
    if one.key.isascii() or other.key.isascii():
        return one.key.isascii() == other.key.isascii()
    return one.tag[:2] == other.tag[:2]


def find_changed_scale(sides: Sides) -> FacetChange | None:
    """Find a changed level of quantity or duty: all and some, must and may."""
    for scale, reason in _SCALES if sides.near else ():
        levels = lexicon().scales[scale]
        new = {levels[token.key]: token for token in sides.new.tokens if token.key in levels}
        known = {levels[token.key]: token for token in sides.known.tokens if token.key in levels}
        if new and known and not new.keys() & known.keys():
            return make_change(reason, next(iter(new.values())), next(iter(known.values())))
    return None


def find_changed_term(sides: Sides) -> FacetChange | None:
    """Find a word that was replaced in nearly the same text by one that is not listed as a synonym.

    The change is not sure if several words have changed: the texts may state different facts about one subject, such as
    her height and her job.
    """
    new = [token for token in sides.match.only_new if token.content]
    known = [token for token in sides.match.only_known if token.content]
    if not new or not known or not sides.framed:
        return None
    one_place = min(len(new), len(known)) == 1 or sides.words >= _MAX_WORDS or _one_phrase(sides, new, known)
    return make_change("conflict_term", new[0], known[0], sure=sides.near and one_place)


def _one_phrase(sides: Sides, new: Sequence[Token], known: Sequence[Token]) -> bool:
    """Return whether two adjacent words replace two adjacent words: the product owner, the legal department."""
    if len(new) != 2 or len(known) != 2 or any(token.value is not None for token in (*new, *known)):
        return False
    return all(
        abs(facts.index(pair[1]) - facts.index(pair[0])) == 1
        for pair, tokens in ((new, sides.match.new), (known, sides.match.known))
        for facts in ([token for token in tokens if token.content],)
    )


def find_changed_subject(sides: Sides) -> FacetChange | None:
    """Find a changed subject: both begin with a word that the other lacks, as in "my mother …" and "my uncle …"."""
    new, known = _first_word(sides.match.new), _first_word(sides.match.known)
    if new is None or known is None or new not in sides.match.only_new or known not in sides.match.only_known:
        return None
    return FacetChange(reason="different_subject", sure=False) if _may_be_subjects(sides, new, known) else None


def _first_word(tokens: Iterable[Token]) -> Token | None:
    return next((token for token in tokens if token.content and token.value is None), None)


def _may_be_subjects(sides: Sides, new: Token, known: Token) -> bool:
    """Return whether two first words can be subjects: nouns in Chinese; in English, any first word of a short text."""
    if sides.new.language is CHINESE:
        nouns = new.tag.startswith("n") and known.tag.startswith("n")
        return nouns and not set(new.key) & set(known.key)
    return all(sum(token.content for token in side) <= _SHORT for side in (sides.match.new, sides.match.known))


FACETS: Final[Sequence[Callable[[Sides], FacetChange | None]]] = (
    find_changed_value,
    find_changed_polarity,
    find_changed_scale,
    find_changed_opposite,
    find_changed_name,
    find_changed_term,
    find_changed_reach,
    find_changed_items,
    find_added_qualifier,
    find_changed_subject,
)
