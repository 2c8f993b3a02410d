"""One facet changed: each function looks for one kind of change between two texts that are otherwise alike."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.flow.sameness.lexicon import Tie, lexicon
from clearwell.flow.sameness.matching import Matching
from clearwell.flow.sameness.reading import Features, Kind, Token
from clearwell.flow.sameness.rules import MONEY, Value

_NEAR_FRAME: Final = 0.7
_NEAR_WORDS: Final = 0.5
_MOST_WORDS: Final = 0.8
_SHORT: Final = 6
_MOST_LEFT: Final = 20
_LONGEST_SHOWN: Final = 40
_CALENDAR: Final = frozenset({"date", "weekday", "relative", "quarter", "half-year", "season"})
_COMPARABLE: Final = (_CALENDAR, MONEY | {"count"}, frozenset({"count", "version"}), frozenset({"second", "month"}))
_SCALES: Final = (
    ("quantity_words", "conflict_quantity"),
    ("frequency_words", "conflict_frequency"),
    ("duty_words", "conflict_duty"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What differs, by a message code, and the words that differ."""

    reason: str
    new: str = ""
    known: str = ""
    sure: bool = True
    """Not sure: it tells against "the same", and is no conflict by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two texts, how they match, and how much of each the other has."""

    new: Features
    known: Features
    match: Matching
    frame: float
    """The share of words, fillers too, that both have in the same order."""
    words: float
    """The share of words with content that both have, on the side where it is smaller."""

    @property
    def near(self) -> bool:
        """Whether one is the other with few words changed."""
        return self.frame >= _NEAR_FRAME and self.words >= _NEAR_WORDS


def _between(reason: str, new: Token, known: Token, *, sure: bool = True) -> Change:
    return Change(reason=reason, new=_shown(new), known=_shown(known), sure=sure)


def _shown(token: Token) -> str:
    sign = ("not " if token.key.isascii() else "不") if token.negated else ""
    return (sign + token.surface)[:_LONGEST_SHOWN]


def changed_value(sides: Sides) -> Change | None:
    """Another number, date, time or version, or the same number with another unit.

    With another name as well it is told of another thing: her laptop, and his.
    """
    knowns = [token for token in sides.match.only_known if token.value is not None][:_MOST_LEFT]
    for new in [token for token in sides.match.only_new if token.value is not None][:_MOST_LEFT]:
        for known in knowns:
            if new.value and known.value and _comparable(new.value, known.value, near=sides.near):
                return _between(_value_reason(new.value, known.value), new, known, sure=_same_thing(sides))
    return None


def _same_thing(sides: Sides) -> bool:
    """Not where a name was changed, nor where nearly the same text begins with another word."""
    new, known = _first_word(sides.match.new), _first_word(sides.match.known)
    another = sides.near and new in sides.match.only_new and known in sides.match.only_known
    return not another and changed_name(sides) is None


def _comparable(one: Value, other: Value, *, near: bool) -> bool:
    if (one.weak or other.weak) and not near:
        return False
    dimensions = {one.dimension, other.dimension}
    if len(dimensions) == 1 or any(dimensions <= some for some in _COMPARABLE):
        return True
    return one.number == other.number != 0 and "count" not in dimensions


def _value_reason(one: Value, other: Value) -> str:
    if one.dimension in _CALENDAR:
        return "conflict_date"
    if one.dimension in {"time", "version"}:
        return f"conflict_{one.dimension}"
    return "conflict_unit" if one.number == other.number else "conflict_number"


def changed_polarity(sides: Sides) -> Change | None:
    """Something is said here and denied there, be it by a negation or by a word such as "disabled"."""
    match = sides.match
    for place, other, tie in match.pairs:
        new, known = match.new[place], match.known[other]
        if tie is Tie.CONTRARY or (new.negated != known.negated) == (tie is Tie.COMPLEMENT):
            continue
        if tie is Tie.COMPLEMENT:
            return _between("conflict_antonym", new, known)
        if sides.near or not _balanced(sides):
            return _between("conflict_negation", new, known)
    return None if _balanced(sides) else Change(reason="different_fact", sure=False)


def _balanced(sides: Sides) -> bool:
    """As many negations here as there, or the text with fewer says it in another way: 没有通过 and 否决."""
    match = sides.match
    opposites = [(match.new[place], match.known[other]) for place, other, tie in match.pairs if tie is Tie.COMPLEMENT]
    more = sides.new.negations - sides.known.negations - sum(new.negated - known.negated for new, known in opposites)
    if more == 0:
        return True
    side, tokens = (1, match.known) if more > 0 else (0, match.new)
    unchanged = {pair[side] for pair in match.pairs if pair[2] is None}
    return any(_says_no(token) for at, token in enumerate(tokens) if at not in unchanged)


def denies(text: Features) -> bool:
    """Whether a text has a word that denies without a negation: failed, expired, 否决."""
    return any(_says_no(token) for token in text.tokens)


def _says_no(token: Token) -> bool:
    return token.key in lexicon().denials or (token.key.startswith("un") and len(token.key) > len("unable"))


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
            return _between("conflict_order" if _orders(new.key) else "conflict_antonym", new, known, sure=sure)
    return None


def _orders(key: str) -> bool:
    words = lexicon()
    return any(key == word or words.tie(key, word) is not None for word in ("befor", "after", "之前", "之后"))


def _neighbours(match: Matching, place: int, other: int) -> bool:
    """Whether the words next to two places are paired with each other."""
    partner = {mine: theirs for mine, theirs, _ in match.pairs}
    return any(partner.get(place + step) == other + step for step in (-1, 1))


def changed_name(sides: Sides) -> Change | None:
    """Another person, place, product, host or identifier."""
    knowns = [token for token in sides.match.only_known if _maybe_name(token)][:_MOST_LEFT]
    for new in [token for token in sides.match.only_new if _maybe_name(token)][:_MOST_LEFT]:
        for known in knowns:
            if Kind.NAME in {new.kind, known.kind} and _same_sort(new, known):
                return _between("conflict_name", new, known)
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
    """All and some, always and sometimes, must and may."""
    for scale, reason in _SCALES if sides.near else ():
        levels = lexicon().scales[scale]
        new = {levels[token.key]: token for token in sides.new.tokens if token.key in levels}
        known = {levels[token.key]: token for token in sides.known.tokens if token.key in levels}
        if new and known and not new.keys() & known.keys():
            return _between(reason, next(iter(new.values())), next(iter(known.values())))
    return None


def changed_term(sides: Sides) -> Change | None:
    """Nearly the same text with another word in one place, and no list says that the two mean the same.

    With several words changed it is another thing that is told of the same subject: her height, and her job.
    """
    new = [token for token in sides.match.only_new if token.content]
    known = [token for token in sides.match.only_known if token.content]
    if not new or not known or sides.frame < _NEAR_FRAME:
        return None
    one_place = min(len(new), len(known)) == 1 or sides.words >= _MOST_WORDS
    return _between("conflict_term", new[0], known[0], sure=sides.near and one_place)


def changed_reach(sides: Sides) -> Change | None:
    """One of the two restricts or demands what the other states, or allows only some what the other allows anyone."""
    words = lexicon()
    anyone, duty = words.scales["quantity_words"], words.scales["duty_words"]
    new, known = sides.match.only_new, sides.match.only_known
    restricted = [any(token.key in words.restricting for token in side) for side in (new, known)]
    demanded = [any(duty.get(token.key) == 0 for token in side.tokens) for side in (sides.new, sides.known)]
    opened = [any(anyone.get(token.key) == 0 for token in side) for side in (known, new)]
    one_sided = sum(restricted) == 1 or sum(demanded) == 1
    if (sides.near and one_sided) or any(one and other for one, other in zip(restricted, opened, strict=True)):
        return Change(reason="different_reach", sure=False)
    return None


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
    if sides.new.han:
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
    changed_subject,
)
