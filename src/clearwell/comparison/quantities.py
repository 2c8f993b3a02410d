"""Rules that read counts, fractions, ordinals, versions, and amounts with a unit."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from clearwell.comparison.value_rules import DIGITS, EN, SCALE, WORD, ZH, Rule, Value, ValueMatch, format_number
from clearwell.text.numerals import ORDINALS, PARTS, SCALES, WORDS, read_number
from clearwell.text.words import words

_NO_NUMBER: Final = (
    "一(?:些|旦|样|直|致|般|定|起|下|切|律|同|贯|再|边|方面|经|概|并|向|时|线|流|面|带|体|键|手|路|共|味|心|举|番|股|行|应|如"
    "|系列|齐|刻(?!钟))|(?<=[统唯之单逐专归不])一|(?<=万)一(?![百千万])|(?<=进)一步|第一时间|十分(?![钟之])|十足|三方|第三方|四川|三角|二手|二维|三维"
    "|二进制|两者|两岸|两侧|两边|两端|五金|七夕|三亚|九江|六安|(?<=张)三|(?<=李)四|(?<=王)五|三峡|三星|四季(?!度)|五粮|八卦|八达|九寨"
    "|十堰|二氧|一氧|三甲|零售|零件|零星|零食|零信任|下一?步|上一?步"
    r"|one another\b|one (?:by one|at a time)\b|second-hand\b|zero-|one's\b"
)
_MEASURE: Final = (
    "个名位次条张台家份件只块片册棵卷把套项笔种款轮门部间层座艘辆架枚颗粒株头匹支根本封篇幅场届期批组排列级档类道户口人所处"
    "步倍遍趟回号杯瓶盒袋箱包篇副样岁"
)
_ZH_DIGIT: Final = "[一二两三四五六七八九\\d]"
_AFTER_MONEY: Final = r"(?=$|[^\w]|钱|的|每|左右|以[上下内]|起|[不没就才都也还]|一[斤个件张支瓶杯碗份本盒])"
"""What can follow an amount of money whose last unit is omitted: 一块五 is money, 一块五米长的木板 is not."""
_LASTING: Final = re.compile(
    r"\b(?:for|in|within|after|about|lasts?|lasted|takes?|took|than|over|under|by|only|almost|nearly|around|roughly"
    r"|approximately|until|once|least|most|another|every|of) $"
)
_LATIN_UNIT: Final = re.compile(r"[ -]?([a-zμ°][a-z°]{0,12}2?)(?![a-z0-9])((?: [a-z]{1,12})?)(?![a-z])")
_LATER: Final = re.compile(r"(?:ago|later|earlier|after|before|long|old|ahead|late|longer|too)\b")


@cache
def units() -> dict[str, tuple[str, float]]:
    """Return the dimension of every unit, and its size in the base unit."""
    return {
        unit: (dimension, size)
        for dimension, sizes in words("units").items()
        if dimension != "not_before"
        for unit, size in sizes.items()
    }


@cache
def dimensions() -> frozenset[str]:
    return frozenset(dimension for dimension, _ in units().values())


def _unit_at(text: str, at: int) -> str:
    """Return the unit at this position, with the space before it, or an empty string."""
    if (match := _LATIN_UNIT.match(text, at)) is not None:
        names = (match[1] + match[2], match[1])
        found = next((name for name in names if name in units()), None)
        return text[at : match.start(1)] + found if found else ""
    start = at + 1 if text[at : at + 1] == " " else at
    for length in (5, 4, 3, 2, 1):
        name = text[start : start + length]
        if len(name) == length and name in units() and text[start + length : start + length + 1] not in _guard(name):
            return text[at : start + length]
    return ""


def _guard(unit: str) -> frozenset[str]:
    return frozenset(str(words("units")["not_before"].get(unit, "")))


def convert_to_base(amount: float, unit: str, *, weak: bool = False) -> Value:
    """Return an amount of a unit as a value in the base unit of its dimension."""
    dimension, size = units()[unit.strip(" -")]
    return Value(dimension, format_number(amount * size), number=amount, weak=weak)


def _count(amount: float, *, weak: bool = False) -> Value:
    return Value("count", format_number(amount), number=amount, weak=weak)


def _ratio(amount: float) -> Value:
    return Value("ratio", format_number(amount), number=amount)


def _nothing(_: ValueMatch) -> None:
    return None


def _version(found: ValueMatch) -> Value:
    long, short = found.groups
    if long:
        return Value("version", long)
    return Value("count", _normalise_digits(short or ""), number=float(short or 0))


def _normalise_digits(digits: str) -> str:
    """Return digits in a uniform form. 3.10 stays, because it can be a version, but 2.0 becomes 2."""
    bare = digits.replace(",", "").removesuffix(".0")
    return bare if "." in bare and bare.endswith("0") else format_number(float(bare))


def _zh_fraction(found: ValueMatch) -> Value:
    percent, below, above, _ = found.groups
    if percent:
        return _ratio(read_number(percent) / 100)
    return _ratio(read_number(above) / read_number(below)) if above and below else _ratio(0.5)


def _fraction(found: ValueMatch) -> Value | None:
    above, below, several, part, unit = found.groups
    if part:
        share = (1 if several == "a" else read_number(several or "")) / PARTS[part]
        return convert_to_base(share, unit) if unit else _ratio(share)
    counted, all_ = int(above or 0), int(below or 0)
    return _ratio(counted / all_) if counted < all_ else None


def _out_of(found: ValueMatch) -> Value | None:
    above, below = (read_number(group or "") for group in found.groups)
    return _ratio(above / below) if 0 < above < below else None


def _half_unit(found: ValueMatch) -> Value:
    unit = next(group for group in found.groups if group)
    if unit == "dozen":
        return _count(6)
    return convert_to_base(0.5, {"月": "个月", "钟头": "小时"}.get(unit, unit))


def _and_half(found: ValueMatch) -> Value | tuple[Value, int] | None:
    whole, unit, zh_counted, zh_unit, hour = found.groups
    if hour:
        return convert_to_base(1.5, "hour")
    name = {"月": "个月", "钟头": "小时"}.get(zh_counted or "", zh_counted or zh_unit or unit or "")
    amount = read_number(whole or "") + 0.5
    if name in SCALES:
        amount *= SCALES[name]
        of = _unit_at(found.text, found.end)
        return (convert_to_base(amount, of), found.end + len(of)) if of else _count(amount)
    return convert_to_base(amount, name) if name in units() else _count(amount)


def _half(_: ValueMatch) -> Value:
    return _ratio(0.5)


def _money(found: ValueMatch) -> Value:
    currency, digits, scale = found.groups
    return convert_to_base(read_number(digits or "") * SCALES.get((scale or "").strip(" -"), 1), currency or "")


def _spoken_money(found: ValueMatch) -> Value:
    """Read spoken amounts of money: 三块二毛五 is 3.25 yuan, 一块五 is 1.5."""
    whole, tenths, hundredths, rest, tenths_alone, hundredths_alone = found.groups
    parts = (whole, tenths or rest or tenths_alone, hundredths or hundredths_alone)
    amount = sum(read_number(part) / 10**place for place, part in enumerate(parts) if part)
    return convert_to_base(amount, "元")


def _en_ordinal(found: ValueMatch) -> Value:
    word, digits = found.groups
    which = ORDINALS[word] if word else int(digits or 0)
    return Value("ordinal", str(which), number=float(which), weak=word in {"first", "second"})


def _zh_ordinal(found: ValueMatch) -> Value:
    which = read_number(found.groups[0] or "")
    return Value("ordinal", format_number(which), number=which)


def _times(found: ValueMatch) -> Value:
    word = found.groups[0] or found.groups[1] or ""
    if word == "减半" or word.startswith("halv"):
        return _ratio(0.5)
    amount = 1 if word == "once" else 3 if word.startswith(("thr", "tri")) else 2
    return _count(amount, weak=amount == 1)


def _a_unit(found: ValueMatch) -> Value | None:
    """Read "an hour" as one hour, but not "a day" in "twice a day", which is a rate."""
    unit = found.groups[0] or ""
    if unit == "dozen":
        return _count(12)
    after = found.text[found.start : found.start + 24].split(unit, 1)[-1].lstrip()
    if not found.follows(_LASTING) and not _LATER.match(after):
        return None
    return convert_to_base(1, unit, weak=True)


def _quantity(found: ValueMatch) -> tuple[Value, int] | None:
    minus, digits, scale = found.groups
    text = digits or ""
    factor = SCALES.get((scale or "").strip(" -"), 1)
    amount = read_number(text) * factor * (-1 if minus else 1)
    unit = _unit_at(found.text, found.end)
    decade = unit == "s" and re.fullmatch(r"(?:19|20)\d0", text)
    if unit and not decade:
        return convert_to_base(amount, unit, weak=text == "一"), found.end + len(unit)
    blank = found.text[found.end : found.end + 1] == " " and found.text[found.end + 1 : found.end + 2] in _MEASURE
    end = found.end + blank
    after = found.text[end : end + 1]
    if after.isascii() and (after.isalpha() or after == "_"):
        return None
    if text[0].isdigit() and not scale:
        value = Value("count", ("-" if minus else "") + _normalise_digits(text), number=amount)
    else:
        if text == "一" and after == "倍":
            return _count(2), end + 1
        bare_numeral = len(text) == 1 and after not in _MEASURE and not scale
        value = _count(amount, weak=bare_numeral or text in {"one", "一"})
    return value, end + (1 if after and after in _MEASURE else 0)


RULES: Final[Sequence[Rule]] = (
    Rule(
        "dl",
        r"(?:v\.? ?)?(\d{1,5}(?:\.\d{1,6}){2,4}(?:-[a-z]{1,8}\.?\d{0,3})?)(?![\d.]*\d|[a-z])"
        r"|v(\d{1,4}(?:\.\d{1,6})?)(?![\d.]*\d|[a-z])",
        _version,
    ),
    Rule(
        "dz",
        r"百分之([零一二两三四五六七八九十百点]{1,10}|\d{1,4}(?:\.\d{1,6})?)"
        rf"|([十百千万]{{1,3}}|{ZH}|\d{{1,4}})分之({ZH}|\d{{1,4}})|(一半|半数)",
        _zh_fraction,
    ),
    Rule(
        "dl",
        r"(\d{1,3}) ?/ ?(\d{1,3})(?![\d/])|(a|one|two|three|four|five)[ -]"
        r"(half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|tenths?)\b"
        r"(?! (?:an?|past|to \d?\d\b(?! ?%| per))\b)(?: of an? (hour|day|year|minute|second|mile|litre|liter)\b)?",
        _fraction,
    ),
    Rule(
        "dl",
        rf"({WORD}|\d{{1,4}}) (?:in|out of)(?: every)? ({WORD}|\d{{1,4}})\b"
        r"(?![ -]?(?:hour|min|day|week|month|year|sec)|[:.]\d)",
        _out_of,
    ),
    Rule(
        "zl",
        r"half an? (hour|day|year|month|dozen|minute|second)\b|half-(hour|day|year)\b|半个?(小时|钟头|天|年|月|日)",
        _half_unit,
    ),
    Rule(
        "dzl",
        rf"({DIGITS}|{EN}|{ZH})(?: and a half(?:[ -]([a-z]{{1,12}}))?|个半(小时|月|钟头|星期)|(年|天|小时|成)半(?!数))"
        r"|an (hour) and a half\b",
        _and_half,
    ),
    Rule("l", r"half\b(?! past)", _half),
    Rule(
        "dz",
        rf"({DIGITS}|{ZH})[块元](?:({_ZH_DIGIT})[毛角](?:({_ZH_DIGIT})分?)?|({_ZH_DIGIT}){_AFTER_MONEY})钱?"
        rf"|({_ZH_DIGIT})[毛角]({_ZH_DIGIT})(?:分|{_AFTER_MONEY})钱?",
        _spoken_money,
    ),
    Rule("ls", rf"(us\$|[$€£¥]|(?:usd|eur|gbp|cny|rmb|hkd|jpy|chf)\b) ?({DIGITS})({SCALE}|[mb]\b)?", _money),
    Rule("dl", rf"({'|'.join(ORDINALS)})\b|(\d{{1,4}})(?:st|nd|rd|th)\b", _en_ordinal),
    Rule("z", rf"第({ZH}|\d{{1,6}})", _zh_ordinal),
    Rule(
        "zl",
        r"(once(?! (?:the|all|it|they|we|you|he|she|this|these|those|its|their|our|your|every|each)\b)|"
        r"twice|thrice|double[sd]?|doubling|tripled?|halve[sd]?|halving)\b|(翻倍|翻番|翻了?一番|加倍|翻了?一倍|减半)",
        _times,
    ),
    Rule("l", r"an? (second|minute|hour|day|week|fortnight|month|year|decade|dozen)\b", _a_unit),
    Rule("dzls", rf"((?:minus |零下|负|-)?)({DIGITS}|{EN}|{ZH})({SCALE})?[多余]?", _quantity),
)
NO_NUMBER: Final = Rule("zl", _NO_NUMBER, _nothing)
WORDS_BEFORE: Final = frozenset(
    {*WORDS, *ORDINALS, "hundred", "thousand", "million", "billion", "a", "an", "half", "minus", "once", "twice"}
    | {
        "thrice",
        "double",
        "doubled",
        "doubles",
        "doubling",
        "triple",
        "tripled",
        "v",
        "halve",
        "halves",
        "halved",
        "halving",
    }
    | {"usd", "eur", "gbp", "cny", "rmb", "hkd", "jpy", "chf", "us"}
)
"""Words with which such a value can begin."""
