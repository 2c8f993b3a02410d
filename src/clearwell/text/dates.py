"""Extract dates as uniform terms, however they are written: 8 May 2023, May 8th, 2023-05-08 and 2023年5月8日."""

import re
from typing import Final

_NAMES: Final = {
    **dict.fromkeys(("january", "jan"), 1),
    **dict.fromkeys(("february", "feb"), 2),
    **dict.fromkeys(("march", "mar"), 3),
    **dict.fromkeys(("april", "apr"), 4),
    "may": 5,
    **dict.fromkeys(("june", "jun"), 6),
    **dict.fromkeys(("july", "jul"), 7),
    **dict.fromkeys(("august", "aug"), 8),
    **dict.fromkeys(("september", "sept", "sep"), 9),
    **dict.fromkeys(("october", "oct"), 10),
    **dict.fromkeys(("november", "nov"), 11),
    **dict.fromkeys(("december", "dec"), 12),
}
_MONTH: Final = rf"(?<![a-z0-9])(?P<month>{'|'.join(sorted(_NAMES, key=len, reverse=True))})(?![a-z])"
_DAY: Final = r"(?<![a-z0-9])(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?![a-z0-9])"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_FORMS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![a-z0-9.]){_YEAR}(?P<mark>[-/.])(?P<month>0?[1-9]|1[0-2])(?P=mark){_DAY}(?![.\d])",
        rf"(?<![a-z0-9./-]){_YEAR}-(?P<month>0[1-9]|1[0-2])(?![\w./-])",
        r"(?:(?P<year>\d{2,4})\s*年\s*)?(?P<month>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*[日号])?",
        r"(?P<year>\d{4})\s*年|(?P<day>\d{1,2})\s*[日号](?!\w)",
        rf"{_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR}(?!\d))?",
        rf"{_MONTH}\.?\s+{_DAY}(?!:)(?:,?\s+{_YEAR}(?!\d))?",
        rf"{_MONTH}",
    )
)


def extract_dates(text: str) -> tuple[str, list[str]]:
    """Return the text with a space for each date, and the terms of the dates: year, month, day, month and day."""
    found: list[str] = []

    def taken(match: re.Match[str]) -> str:
        found.extend(_terms(match.groupdict()))
        return " "

    for form in _FORMS:
        text = form.sub(taken, text)
    return text, found


def _terms(parts: dict[str, str | None]) -> list[str]:
    year, month, day = parts.get("year"), parts.get("month"), parts.get("day")
    number = None if month is None else _NAMES.get(month.lower()) or int(month)
    terms = [] if year is None else [year]
    terms += [] if number is None else [f"{number}月"]
    terms += [] if day is None else [f"{int(day)}日"]
    return [*terms, f"{number}月{int(day)}日"] if number is not None and day is not None else terms
