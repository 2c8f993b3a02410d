"""Find values in text, in a uniform form: 三, 3 and three; 半年 and 6 months; 15:30, 3:30 pm and 下午三点半.

Text must be normalised (NFKC) and in lower case. Every repetition in the patterns is bounded, because text may be
hostile.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Final

from clearwell.comparison import calendar, quantities
from clearwell.comparison.value_rules import Reader, Value, ValueMatch, format_number

_RULES: Final = (quantities.NO_NUMBER, *calendar.RULES, *quantities.RULES)
_WORDS_BEFORE: Final = calendar.WORDS_BEFORE | quantities.WORDS_BEFORE
_BEGIN: Final = re.compile(
    r"(?P<d>(?<![\da-z_.#@/])(?<![a-z]-)\d)|(?P<s>[$€£¥]|(?<![\w)\]])-(?=\d))|(?P<l>(?<![a-z\d_.#@/-])(?:[a-z]+|(?<=\b)[a-z]))"
    "|(?P<z>[零〇一二两三四五六七八九十廿卅百半第上下本这周星礼今明昨前后去春夏秋冬凌清早中傍晚夜深午正负翻加千万减])"
)
_ROUNDING: Final = 0.05
"""Relative tolerance between units of data size: 1 GB can be 1,000 or 1,024 MB."""
_THIRD: Final = 0.005
"""Tolerance between a fraction and its rounded percentage: a third and 33 %."""
_DAY: Final = 86_400
_MEASURED: Final = frozenset({"count", "ratio"})
_BARE: Final = frozenset({"cny", "ordinal"})
"""Dimensions whose unit can be omitted: 3.6 万 is 3.6 万元, the ninth is 第九."""
_TO: Final = re.compile(" ?(?:to|and|or|-|~|到|至|和|或|、) ?")
_ADDED: Final = frozenset({"second", "metre"})
_ABOUT: Final = re.compile(
    r"(?:\b(?:almost|nearly|about|around|roughly|approximately|close to|circa|some|just (?:under|over)"
    r"|(?:a little|slightly) (?:under|over|less than|more than))|\bca\.|[~≈]|大约|约|大概|将近|接近|差不多|几乎|近) ?$"
)
_ABOUT_AFTER: Final = re.compile(r" ?(?:or so\b|左右|上下(?!班))")
_LONGEST_ABOUT: Final = 20
_TOLERANCE: Final = 0.1
"""How far a number that is not exact may be from the exact one, at most, and then only if it is a round number."""
_WHOLE_DIGITS: Final = 2
"""Minimum number of digits of a whole number that can be a rounded one: 38 minutes can be 38 minutes 6 seconds."""


@cache
def _scanner(begins: str) -> tuple[re.Pattern[str], dict[str, tuple[int, int, Reader]]]:
    """Return one pattern for all rules with this beginning, and the position of the groups of each rule in it."""
    rules = {f"r{number}": rule for number, rule in enumerate(_RULES) if begins in rule.begins}
    places: dict[str, tuple[int, int, Reader]] = {}
    count = 0
    for name, rule in rules.items():
        inner = re.compile(rule.pattern).groups
        places[name] = (count + 1, count + 1 + inner, rule.read)
        count += 1 + inner
    return re.compile("|".join(f"(?P<{name}>{rule.pattern})" for name, rule in rules.items())), places


def find_values(text: str) -> Iterator[tuple[int, int, Value]]:
    """Yield every value with its start and end, in order.

    1 h 30 min is one value, and 2 to 8 degrees are two values in degrees.
    """
    held: tuple[int, int, Value] | None = None
    for start, end, exact in _match_rules(text):
        value = replace(exact, about=True) if _is_about(text, start, end) else exact
        if held is not None:
            between = text[held[1] : start]
            if _adds_up(held[2], between, value):
                total = format_number(float(held[2].amount) + float(value.amount))
                held = (held[0], end, Value(value.dimension, total, number=held[2].number))
                continue
            yield (held[0], held[1], _take_unit(held[2], between, value))
        held = (start, end, value)
    if held is not None:
        yield held


def _is_about(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _LONGEST_ABOUT) : start]
    return _ABOUT.search(before) is not None or _ABOUT_AFTER.match(text, end) is not None


def _adds_up(before: Value, between: str, value: Value) -> bool:
    return (
        before.dimension == value.dimension
        and value.dimension in _ADDED
        and between in {"", " ", " and ", "零"}
        and _DAY > float(before.amount) > float(value.amount)
    )


def _take_unit(before: Value, between: str, value: Value) -> Value:
    """Return the first number of a range with the unit of the second."""
    measured = value.number != 0 and value.dimension in quantities.dimensions()
    if before.dimension != "count" or not measured or not _TO.fullmatch(between):
        return before
    size = float(value.amount) / value.number
    return Value(value.dimension, format_number(before.number * size), number=before.number, weak=before.weak)


def _match_rules(text: str) -> Iterator[tuple[int, int, Value]]:
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        at = begin.end()
        kind = begin.lastgroup or ""
        if kind == "l" and begin[0] not in _WORDS_BEFORE:
            continue
        pattern, places = _scanner(kind)
        if (match := pattern.match(text, begin.start())) is None:
            continue
        first, last, read = places[match.lastgroup or ""]
        found = read(ValueMatch(match.groups()[first:last], text, match.start(), match.end()))
        value, end = found if isinstance(found, tuple) else (found, match.end())
        if value is not None:
            yield match.start(), end, value
            at = end
        elif read is quantities.NO_NUMBER.read:
            at = match.end()


def agree(one: Value, other: Value) -> bool:
    """Return whether two values can be the same: a date with and without a year, 3:30 and 15:30, 3.71 % and 3.7 %."""
    if one.key == other.key:
        return True
    if {one.dimension, other.dimension} == {"time", "count"}:
        return _hour_alone(one, other)
    if one.dimension == other.dimension and (_is_near(one, other) or _is_near(other, one)):
        return True
    if "count" in {one.dimension, other.dimension}:
        return one.number == other.number and not {one.dimension, other.dimension}.isdisjoint(_BARE)
    if {one.dimension, other.dimension} == {"date", "week"}:
        date, week = (one, other) if one.dimension == "date" else (other, one)
        return calendar.may_be_in_week(date, week)
    if one.dimension != other.dimension:
        return False
    if _is_rounded(one, other) or _is_whole(one, other) or _is_whole(other, one):
        return True
    if one.dimension == "ratio":
        return abs(float(one.amount) - float(other.amount)) < _THIRD and max(len(one.amount), len(other.amount)) > 8
    if one.dimension in {"date", "week"}:
        return _dates_agree(one.amount, other.amount)
    if one.dimension == "time":
        return _times_agree(one.amount, other.amount)
    if one.dimension == "weekday":
        return one.amount[0] == other.amount[0] and 1 in {len(one.amount), len(other.amount)}
    if one.dimension == "byte":
        return _alike(float(one.amount), float(other.amount)) and not _alike(one.number, other.number)
    return False


def _is_rounded(one: Value, other: Value) -> bool:
    """Return whether one of two numbers with decimals, in the same unit, is the other one rounded: 3.71 % and 3.7 %."""
    written = sorted((format_number(value.number) for value in (one, other)), key=_count_decimals)
    decimals = _count_decimals(written[0])
    if not 0 < decimals < _count_decimals(written[1]) or not written[0].lstrip("-0.")[1:]:
        return False
    same_unit = math.isclose(float(one.amount) * other.number, float(other.amount) * one.number)
    return same_unit and math.isclose(round(float(written[1]), decimals), float(written[0]))


def _is_whole(one: Value, other: Value) -> bool:
    """Return whether the second is the first in whole units: 38 min 6 s and 38 min."""
    if one.number != other.number or other.dimension not in _ADDED or len(format_number(other.number)) < _WHOLE_DIGITS:
        return False
    return round(float(one.amount) * other.number / float(other.amount)) == other.number


def _is_near(rough: Value, exact: Value) -> bool:
    """Return whether a round number that is not exact can stand for another one: almost two seconds and 1.8 seconds."""
    if not rough.about or rough.dimension not in _MEASURED | quantities.dimensions() or not rough.number:
        return False
    written = format_number(abs(rough.number))
    last = len(written) - len(written.rstrip("0")) if written.isdigit() else -_count_decimals(written)
    unit = abs(float(rough.amount) / rough.number)
    allowed = min(10.0**last / 2, _TOLERANCE * abs(rough.number)) * unit
    return abs(float(rough.amount) - float(exact.amount)) <= allowed * (1 + 1e-9)


def _count_decimals(number: str) -> int:
    return len(number.partition(".")[2])


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= _ROUNDING * one


def _dates_agree(one: str, other: str) -> bool:
    parts = zip(one.split("-"), other.split("-"), strict=False)
    return all(left == right or "*" in {left, right} or _days_agree(left, right) for left, right in parts)


def _days_agree(one: str, other: str) -> bool:
    """Return whether a day can be in a part of a month."""
    part, day = (one, other) if one in calendar.DAYS_OF_PART else (other, one)
    return part in calendar.DAYS_OF_PART and day.isdigit() and int(day) in calendar.DAYS_OF_PART[part]


def _times_agree(one: str, other: str) -> bool:
    open_half = "?" in one + other
    left, right = (int(minutes.rstrip("?")) for minutes in (one, other))
    return left % 720 == right % 720 if open_half else left == right


def _hour_alone(one: Value, other: Value) -> bool:
    time, count = (one, other) if one.dimension == "time" else (other, one)
    minutes = int(time.amount.rstrip("?"))
    return count.number in {minutes / 60, minutes / 60 - 12}
