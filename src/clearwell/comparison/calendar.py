"""Rules that read dates, times of day, weekdays and other points in time."""

import re
from collections.abc import Sequence
from typing import Final

from clearwell.comparison.value_rules import EN, ZH, Rule, Value, ValueMatch
from clearwell.text.numerals import DAYS_OF_MONTH, ORDINALS, read_number

_MONTHS: Final = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS: Final = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_ZH_DAYS: Final = {char: day for day, char in enumerate("一二三四五六日", 1)} | {"天": 7}
_SEASONS: Final = {"spring": 1, "summer": 2, "autumn": 3, "winter": 4, "春": 1, "夏": 2, "秋": 3, "冬": 4}
_RELATIVE: Final = {
    "day before yesterday": "day-2", "前天": "day-2", "yesterday": "day-1", "昨天": "day-1", "昨日": "day-1",
    "today": "day+0", "今天": "day+0", "今日": "day+0", "day after tomorrow": "day+2", "tomorrow": "day+1",
    "明天": "day+1", "明日": "day+1", "后天": "day+2", "前年": "year-2", "去年": "year-1", "今年": "year+0",
    "明年": "year+1", "后年": "year+2", "tonight": "night+0", "今晚": "night+0", "昨晚": "night-1", "明晚": "night+1",
}  # fmt: skip
_STEPS: Final = {
    "last": "-1", "previous": "-1", "this": "+0", "next": "+1", "coming": "+1", "上": "-1", "本": "+0", "这": "+0",
    "下": "+1",
}  # fmt: skip
_PERIODS: Final = {
    "周": "week", "星期": "week", "礼拜": "week", "月": "month", "季度": "quarter", "学期": "term", "财年": "year",
    "赛季": "season", "semester": "term",
}  # fmt: skip

_PARTS: Final = {
    "early": "early", "beginning": "early", "start": "early", "上旬": "early", "初": "early",
    "mid": "mid", "middle": "mid", "中旬": "mid",
    "late": "late", "end": "late", "last day": "late", "last days": "late", "last week": "late",
    "下旬": "late", "底": "late", "末": "late", "最后一天": "late", "最后几天": "late", "最后一周": "late",
}  # fmt: skip
"""Parts of a month. ``DAYS_OF_PART`` has the days that they can include."""
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
DAYS_OF_PART: Final = {"early": range(1, 13), "mid": range(8, 24), "late": range(18, 32)}

_MONTH: Final = rf"(?:{'|'.join(_MONTHS)}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_YEAR: Final = r"(?:19|20)\d\d"
_SPELLED: Final = "|".join(sorted(DAYS_OF_MONTH, key=len, reverse=True))
_DAY: Final = r"(?:3[01]|[12]\d|0?[1-9])"
_ZH_YEAR: Final = r"(?<!\d)(?:\d{4} ?|[一二][零〇一二三四五六七八九]{3})年"
_DAYPART: Final = "(?:凌晨|清晨|早上|早晨|早|上午|中午|下午|傍晚|晚上|晚间|晚|夜里|夜间|半夜|午夜|深夜)"
_PART_OF_DAY: Final = 2
"""Minimum number of characters of a part of the day before 一点: 晚上一点 is a time, 晚一点 is "a little later"."""
_AMPM: Final = r"(?: ?[ap]\.?m\b\.?| in the (?:morning|afternoon|evening)| at night)"
_HOUR: Final = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_ZH_HOUR: Final = "(?:2[0-4]|[01]?\\d|二十[一二三四]?|十[一二三四五六七八九]?|[零一二两三四五六七八九])"
_NUMBERED: Final = "|".join(ORDINALS)
_NO_NUMBERED_WEEK: Final = re.compile(r"\b(?:an?|per|each|every|one|this|last|next|that|same) $")
_NO_MODAL: Final = re.compile(
    r"\b(?:in|of|by|until|till|since|before|after|from|to|for|early|mid|late|next|last|this|every|each|and|or|through"
    r"|during|between|around)[ -]$"
)


def _month(name: str) -> int:
    return next(month for month, full in enumerate(_MONTHS, 1) if full.startswith(name[:3]))


def _date(year: str | None, month: int, day: int | None, part: str | None = None) -> Value:
    amount = f"{year or '*'}-{month:02}" + (f"-{day:02}" if day else f"-{_PARTS[part]}" if part else "")
    return Value("date", amount, number=float(day or month))


def _iso(found: ValueMatch) -> Value:
    year, month, day = found.groups
    return _date(year, int(month or 0), int(day or 0))


def _zh_date(found: ValueMatch) -> Value:
    year, month, part, day = found.groups
    return _date(_read_zh_year(year), int(read_number(month or "")), int(read_number(day)) if day else None, part)


def _read_zh_year(year: str | None) -> str | None:
    return f"{read_number(year.rstrip(' 年')):.0f}" if year else None


def _zh_year(found: ValueMatch) -> Value:
    year = f"{read_number((found.groups[0] or '').rstrip(' 年')):.0f}"
    return Value("count", year, number=float(year))


def _en_date(found: ValueMatch) -> Value:
    day_first, month_second, month_first, day_second, year = found.groups
    return _date(year, _month(month_second or month_first or ""), int(day_first or day_second or 0))


def _read_spelled_date(found: ValueMatch) -> Value:
    day_first, month_second, month_first, day_second, year = found.groups
    return _date(year, _month(month_second or month_first or ""), DAYS_OF_MONTH[day_first or day_second or ""])


def _en_month(found: ValueMatch) -> Value | None:
    name, year = found.groups
    spelled_like_a_verb = name in {"may", "march"} and year is None
    if spelled_like_a_verb and not found.follows(_NO_MODAL):
        return None
    if name not in _MONTHS and year is None:
        return None
    return _date(year, _month(name or ""), None)


def _en_month_part(found: ValueMatch) -> Value:
    before, part, month, year = found.groups
    return _date(year, _month(month or ""), None, before or part)


def _week(found: ValueMatch) -> Value | None:
    """Read a numbered week, of a year or of something else."""
    iso_year, iso_week, word, digits, year, zh_year, zh_week = found.groups
    if word is not None and found.follows(_NO_NUMBERED_WEEK):
        return None
    which = read_number(iso_week or digits or zh_week or "")
    return _number_week(iso_year or year or _read_zh_year(zh_year), which)


def _en_week(found: ValueMatch) -> Value:
    word, digits, year = found.groups
    which = ORDINALS[word] if word else int(digits or 0)
    return _number_week(year, which, weak=word in {"first", "second"})


def _number_week(year: str | None, which: float, *, weak: bool = False) -> Value:
    return Value("week", f"{year or '*'}-{which:.0f}", number=float(which), weak=weak)


def may_be_in_week(date: Value, week: Value) -> bool:
    """Return whether a date can be in a calendar week. The first day of a week varies by year, within seven days."""
    year, month, *day = date.amount.split("-")
    if len({year, week.amount.split("-")[0]} - {"*"}) > 1:
        return False
    days = DAYS_OF_PART.get(day[0]) or range(int(day[0]), int(day[0]) + 1) if day else range(1, 32)
    before = sum(_MONTH_DAYS[: int(month) - 1])
    first = 7 * (int(week.number) - 1) - 2
    return before + days[0] <= first + 12 and before + days[-1] >= first


def _quarter(found: ValueMatch) -> Value:
    digit, numeral, word = found.groups
    which = ORDINALS.get(word or "") or int(read_number(digit or numeral or (word or "")[:1]))
    return Value("quarter", str(which), number=float(which))


def _half_year(found: ValueMatch) -> Value:
    digit, word, side = found.groups
    return Value("half-year", digit or ("1" if word == "first" or side == "上" else "2"))


def _time(hour: float, minute: float, part: str) -> Value:
    """Return a time as minutes of the day, with a question mark if it can be morning or afternoon."""
    late = any(mark in part for mark in ("pm", "p.m", "下午", "傍晚", "晚", "afternoon", "evening", "night"))
    if late and hour < 12:
        hour += 12
    if (hour == 12 and any(mark in part for mark in ("am", "a.m", "凌晨", "半夜", "夜"))) or hour == 24:
        hour = 0
    open_half = not part and 1 <= hour <= 12
    return Value("time", f"{hour * 60 + minute:.0f}{'?' if open_half else ''}", number=hour)


def _clock(found: ValueMatch) -> Value:
    part, hour, minute, ampm = found.groups
    zero = (hour or "").startswith("0")
    return _time(float(hour or 0), float(minute or 0), part or ampm or ("am" if zero and hour != "00" else ""))


def _zh_clock(found: ValueMatch) -> Value | None:
    """Read a time of the day. 一点 without a part of the day means "a little": 一点没变, 晚一点."""
    part, hour, rest = found.groups
    if len(part or "") < _PART_OF_DAY and rest is None and hour == "一" and found.text[found.end - 1] == "点":
        return None
    minutes = {None: 0.0, "整": 0.0, "半": 30.0, "一刻": 15.0, "三刻": 45.0}
    minute = minutes[rest] if rest in minutes else read_number((rest or "").rstrip("分"))
    return _time(read_number(hour or ""), minute, part or "")


def _en_past(found: ValueMatch) -> Value:
    share, spelled, side, hour, ampm = found.groups
    side, minutes = side or "past", {"half": 30.0, "quarter": 15.0}.get(share or "") or read_number(spelled or "")
    whole = read_number(hour or "")
    return _time(whole, minutes, ampm or "") if side == "past" else _time(whole - 1, 60 - minutes, ampm or "")


def _en_hour(found: ValueMatch) -> Value | None:
    hour, _, after_oclock, ampm = found.groups
    whole = read_number(hour or "")
    return None if whole > 24 else _time(whole, 0, after_oclock or ampm or "")


def _noon(found: ValueMatch) -> Value:
    return Value("time", "720" if any(word in {"noon", "midday", "正午"} for word in found.groups) else "0")


def _weekday(found: ValueMatch) -> Value:
    step, name, short, zh_step, char = found.groups
    if char:
        day = _ZH_DAYS[char]
    else:
        day = next(day for day, full in enumerate(_DAYS, 1) if full.startswith((name or short or "")[:3]))
    which = _STEPS.get(step or zh_step or "", "")
    return Value("weekday", f"{day}{which}", number=float(day))


def _relative(found: ValueMatch) -> Value:
    return Value("relative", _RELATIVE[found.groups[0] or ""])


def _period(found: ValueMatch) -> Value:
    step, period = found.groups
    return Value("relative", f"{_PERIODS.get(period or '', period)}{_STEPS[step or '']}")


def _season(found: ValueMatch) -> Value:
    return Value("season", str(_SEASONS[found.groups[0] or found.groups[1] or ""]))


RULES: Final[Sequence[Rule]] = (
    Rule("d", rf"({_YEAR})[-/.](1[0-2]|0?[1-9])[-/.]({_DAY})(?!\d|\.\d)t?", _iso),
    Rule(
        "dz",
        rf"(?:({_ZH_YEAR}) ?)?(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九]) ?月"
        r"(?:份?([上中下]旬|初(?![步期始稿版审选赛次级])|底(?![层部价稿])|末(?![端尾])|最后[一几]天|最后一周)"
        r"|份| ?([0-3]?\d|[一二三四五六七八九十]{1,3}) ?[日号](?!线))?",
        _zh_date,
    ),
    Rule(
        "dzl",
        rf"({_YEAR})-?w(\d\d)\b"
        rf"|((?:calendar )?week |cw ?)(\d{{1,2}}(?![\d:%/]|[.,]\d| ?%)|{EN})(?:(?: of|,)? ({_YEAR})\b)?"
        rf"|({_ZH_YEAR})?第({ZH}|\d{{1,2}})个?(?:周(?![年期边])|星期|礼拜)",
        _week,
    ),
    Rule("dz", rf"({_ZH_YEAR})(?!级)度?", _zh_year),
    Rule(
        "dl",
        rf"(?:({_DAY})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b|({_MONTH}) ({_DAY})(?:st|nd|rd|th)?(?![\d:%]|\.\d))"
        rf"(?:,? ({_YEAR})\b)?",
        _en_date,
    ),
    Rule(
        "l",
        rf"(?:(?:the )?({_SPELLED}) of ({_MONTH})\b|({_MONTH}) (?:the )?({_SPELLED})\b)(?:,? ({_YEAR})\b)?",
        _read_spelled_date,
    ),
    Rule(
        "l",
        rf"(?:(early|mid|late)[ -](?:in )?|(?:the )?(beginning|start|middle|end|last days?|last week) of )"
        rf"({_MONTH})(?:,? ({_YEAR}))?\b",
        _en_month_part,
    ),
    Rule("l", rf"({_MONTH})(?:,? ({_YEAR}))?\b", _en_month),
    Rule("dl", rf"(?:({_NUMBERED})|(\d{{1,2}})(?:st|nd|rd|th)) week\b(?: of ({_YEAR})\b)?", _en_week),
    Rule(
        "dzl",
        r"q([1-4])\b|第?([一二三四1-4])季度|(first|second|third|fourth|[1-4](?:st|nd|rd|th))[ -]quarter\b",
        _quarter,
    ),
    Rule("zl", r"h([12])\b|(first|second)[ -]half(?= of\b)|([上下])半年", _half_year),
    Rule("dz", rf"(?:({_DAYPART}) ?)?([01]?\d|2[0-4]):([0-5]\d)(?::[0-5]\d)?({_AMPM})?(?![\d:])", _clock),
    Rule(
        "dz",
        rf"({_DAYPART})?({_ZH_HOUR})(?:点钟?|时)(?![位候间期代建意要])"
        r"(整|半|[一三]刻|(?:[0-5]?\d|[零二三四五]?十?[一二三四五六七八九十])分)?(?![零一二三四五六七八九\d])",
        _zh_clock,
    ),
    Rule(
        "l",
        r"(?:(?:a )?(half|quarter) |(five|ten|twenty|twenty-five) (?:minutes )?(?=past))(past|to) "
        rf"(?!1[3-9]|[2-9]\d)({_HOUR})\b(?! ?%| per)({_AMPM})?",
        _en_past,
    ),
    Rule("dl", rf"({_HOUR})(?:( o'?clock)({_AMPM})?|({_AMPM}))", _en_hour),
    Rule("dzl", r"(?:12 )?(noon|midday|midnight)\b|(正午|午夜|零[点时](?![零一二三四五六七八九]))", _noon),
    Rule(
        "zl",
        rf"(?:(last|this|next) )?({'|'.join(_DAYS)})s?\b|(mon|tues?|wed|thu|thurs?|fri)\b\.?"
        r"|([上下本这]?)个?(?:周|星期|礼拜)([一二三四五六日天])(?![次个回遍场轮份台篇班趟些致直样天年])",
        _weekday,
    ),
    Rule("zl", "(" + "|".join(rf"{word}\b" if word.isascii() else word for word in _RELATIVE) + ")", _relative),
    Rule("l", r"(last|previous|this|next|coming) (week|month|quarter|year|season|term|semester)\b", _period),
    Rule("z", r"([上下本这])一?个?(周|星期|礼拜|月|季度|学期|财年|赛季)(?!末)", _period),
    Rule("zl", r"(spring|summer|autumn|winter)s?\b|([春夏秋冬])(?:天|季)", _season),
)
WORDS_BEFORE: Final = frozenset(
    {*_MONTHS, *(name[:3] for name in _MONTHS), "sept", *_DAYS, *(f"{day}s" for day in _DAYS), "mon", "tue", "tues"}
    | {"wed", "thu", "thur", "thurs", "fri", "last", "previous", "this", "next", "coming", "half", "quarter", "noon"}
    | {"the", "five", "ten", "twenty", *(word.partition("-")[0] for word in DAYS_OF_MONTH)}
    | {"early", "mid", "late", "beginning", "start", "middle", "end", "week", "calendar", "cw"}
    | {"midday", "midnight", "q", "h", "yesterday", "today", "tonight", "tomorrow", "day"}
    | {name + plural for name in ("spring", "summer", "autumn", "winter") for plural in ("", "s")}
)
"""Words with which such a value can begin."""
