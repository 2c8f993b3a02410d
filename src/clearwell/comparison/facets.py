"""One facet changed: each function looks for one kind of change between two texts that are otherwise alike."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from clearwell.comparison.alignment import Alignment
from clearwell.comparison.lexicon import Tie, lexicon
from clearwell.comparison.pair import Change, Sides, between
from clearwell.comparison.polarity import changed_polarity
from clearwell.comparison.scope import added_qualifier, changed_items, changed_reach
from clearwell.comparison.tokens import Kind, Token
from clearwell.comparison.value_rules import MONEY, Value
from clearwell.text.languages import CHINESE

_MOST_WORDS: Final = 0.8
_SHORT: Final = 6
_MOST_LEFT: Final = 20
_CALENDAR: Final = frozenset({"date", "weekday", "relative", "quarter", "half-year", "season"})
_WEEKS_OF_MONTH: Final = 5
"""A week of a higher number is one of a year, and can be compared with a date."""
_COMPARABLE: Final = (_CALENDAR, MONEY | {"count"}, frozenset({"count", "version"}), frozenset({"second", "month"}))
_SCALES: Final = (
    ("quantity_words", "conflict_quantity"),
    ("duty_words", "conflict_duty"),
)


def changed_value(sides: Sides) -> Change | None:
    """Another number, date, time or version, or the same number with another unit.

    With another name as well it is told of another thing: her laptop, and his.
    """
    knowns = [token for token in sides.match.only_known if token.value is not None][:_MOST_LEFT]
    for new in [token for token in sides.match.only_new if token.value is not None][:_MOST_LEFT]:
        for known in knowns:
            if new.value and known.value and _comparable(new.value, known.value, near=sides.near):
                return between(_value_reason(new.value, known.value), new, known, sure=_same_thing(sides))
    return None


def _same_thing(sides: Sides) -> bool:
    """Not where a name or the subject was changed: what is said of another thing may have another value."""
    new, known = _first_word(sides.match.new), _first_word(sides.match.known)
    if new is None or known is None or new not in sides.match.only_new or known not in sides.match.only_known:
        return changed_name(sides) is None
    another = sides.near or _may_be_subjects(sides, new, known)
    return not another and changed_name(sides) is None


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


def changed_opposite(sides: Sides) -> Change | None:
    """More and less, before and after, import and export."""
    match = sides.match
    for place, other, tie in match.pairs:
        new, known = match.new[place], match.known[other]
        if tie is not Tie.CONTRARY or new.negated != known.negated:
            continue
        facts = new.content and known.content
        sure = sides.near or _neighbours(match, place, other) or (facts and sides.words >= _MOST_WORDS)
        if sure or facts:
            return between("conflict_order" if _orders(new.key) else "conflict_antonym", new, known, sure=sure)
    return None


def _orders(key: str) -> bool:
    words = lexicon()
    return any(key == word or words.tie(key, word) is not None for word in ("befor", "after", "之前", "之后"))


def _neighbours(match: Alignment, place: int, other: int) -> bool:
    """Whether the words next to two places are paired with each other."""
    partner = {mine: theirs for mine, theirs, _ in match.pairs}
    return any(partner.get(place + step) == other + step for step in (-1, 1))


def changed_name(sides: Sides) -> Change | None:
    """Another person, place, product, host or identifier."""
    knowns = [token for token in sides.match.only_known if _maybe_name(token)][:_MOST_LEFT]
    for new in [token for token in sides.match.only_new if _maybe_name(token)][:_MOST_LEFT]:
        for known in knowns:
            if Kind.NAME in {new.kind, known.kind} and _same_sort(new, known):
                return between("conflict_name", new, known)
    return None


def _maybe_name(token: Token) -> bool:
    if token.kind is Kind.NAME:
        return True
    return token.tag == "opens" and token.content and token.key not in lexicon().groups


def _same_sort(one: Token, other: Token) -> bool:
    if one.key.isascii() or other.key.isascii():
        return one.key.isascii() == other.key.isascii()
    return one.tag[:2] == other.tag[:2]


def changed_scale(sides: Sides) -> Change | None:
    """All and some, must and may."""
    for scale, reason in _SCALES if sides.near else ():
        levels = lexicon().scales[scale]
        new = {levels[token.key]: token for token in sides.new.tokens if token.key in levels}
        known = {levels[token.key]: token for token in sides.known.tokens if token.key in levels}
        if new and known and not new.keys() & known.keys():
            return between(reason, next(iter(new.values())), next(iter(known.values())))
    return None


def changed_term(sides: Sides) -> Change | None:
    """Nearly the same text with another word in one place, and no list says that the two mean the same.

    With several words changed it is another thing that is told of the same subject: her height, and her job.
    """
    new = [token for token in sides.match.only_new if token.content]
    known = [token for token in sides.match.only_known if token.content]
    if not new or not known or not sides.framed:
        return None
    one_place = min(len(new), len(known)) == 1 or sides.words >= _MOST_WORDS or _one_phrase(sides, new, known)
    return between("conflict_term", new[0], known[0], sure=sides.near and one_place)


def _one_phrase(sides: Sides, new: Sequence[Token], known: Sequence[Token]) -> bool:
    """Two words side by side in place of two others: the product owner, the legal department."""
    if len(new) != 2 or len(known) != 2 or any(token.value is not None for token in (*new, *known)):
        return False
    return all(
        abs(facts.index(pair[1]) - facts.index(pair[0])) == 1
        for pair, tokens in ((new, sides.match.new), (known, sides.match.known))
        for facts in ([token for token in tokens if token.content],)
    )


def changed_subject(sides: Sides) -> Change | None:
    """Both begin with a word that the other lacks: my mother is a cook, my uncle works as a cook."""
    new, known = _first_word(sides.match.new), _first_word(sides.match.known)
    if new is None or known is None or new not in sides.match.only_new or known not in sides.match.only_known:
        return None
    return Change(reason="different_subject", sure=False) if _may_be_subjects(sides, new, known) else None


def _first_word(tokens: Iterable[Token]) -> Token | None:
    return next((token for token in tokens if token.content and token.value is None), None)


def _may_be_subjects(sides: Sides, new: Token, known: Token) -> bool:
    """Nouns in Chinese; in English, where nothing marks a noun, first words of short texts."""
    if sides.new.language is CHINESE:
        nouns = new.tag.startswith("n") and known.tag.startswith("n")
        return nouns and not set(new.key) & set(known.key)
    return all(sum(token.content for token in side) <= _SHORT for side in (sides.match.new, sides.match.known))


FACETS: Final[Sequence[Callable[[Sides], Change | None]]] = (
    changed_value,
    changed_polarity,
    changed_scale,
    changed_opposite,
    changed_name,
    changed_term,
    changed_reach,
    changed_items,
    added_qualifier,
    changed_subject,
)
