"""Read numbers in digits, English words or Chinese numerals."""

from typing import Final

_ONES: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
WORDS: Final[dict[str, float]] = {
    **{word: float(value) for value, word in enumerate(_ONES)},
    **{word: float(value * 10) for value, word in enumerate(_TENS, 2)},
}
SCALES: Final[dict[str, float]] = {
    "hundred": 1e2, "dozen": 12, "dozens": 12, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
    "k": 1e3, "mn": 1e6, "mio": 1e6, "bn": 1e9, "m": 1e6, "b": 1e9,
    "百": 1e2, "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8, "万亿": 1e12,
}  # fmt: skip
ORDINALS: Final[dict[str, int]] = {
    word: value
    for value, word in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"], 1
    )
}
_TEENS: Final = [
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
]
DAYS_OF_MONTH: Final[dict[str, int]] = {
    **ORDINALS,
    **{word: value for value, word in enumerate([*_TEENS, "nineteenth", "twentieth"], 11)},
    **{f"twenty-{word}": 20 + value for word, value in ORDINALS.items() if value < 10},
    "thirtieth": 30,
    "thirty-first": 31,
}
PARTS: Final[dict[str, int]] = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4,
    "fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "seventh": 7, "eighth": 8, "eighths": 8, "ninth": 9,
    "tenth": 10, "tenths": 10,
}  # fmt: skip
DIGITS: Final = "零一二三四五六七八九"
_DIGIT_OF: Final = {**{char: value for value, char in enumerate(DIGITS)}, "〇": 0, "两": 2}
_PLACES: Final = {"十": 10, "百": 100, "千": 1000}
_MYRIADS: Final = {"万": 10**4, "亿": 10**8}


def read_english(words: str) -> float:
    """Read a number in English words: ``three hundred and twenty`` → 320."""
    total, part = 0.0, 0.0
    for word in words.replace("-", " ").split():
        if word in WORDS:
            part += WORDS[word]
        elif word == "hundred":
            part = (part or 1) * 100
        elif word in SCALES:
            total, part = total + (part or 1) * SCALES[word], 0.0
        elif word in {"a", "an"}:
            part = 1.0
    return total + part


def read_chinese(numeral: str) -> float:
    """Read a Chinese numeral: ``一万二千`` → 12000, ``二〇二六`` → 2026, ``三点五`` → 3.5, ``两千五`` → 2500."""
    whole, _, decimals = numeral.replace("廿", "二十").replace("卅", "三十").partition("点")
    if decimals:
        return read_chinese(whole) + float("0." + "".join(str(_DIGIT_OF[char]) for char in decimals))
    if len(whole) > 1 and all(char in _DIGIT_OF for char in whole):
        return float("".join(str(_DIGIT_OF[char]) for char in whole))
    total, section, digit, last_place = 0, 0, 0, 1
    for char in whole:
        if char in _DIGIT_OF:
            digit = _DIGIT_OF[char]
            last_place = 1 if char in "零〇" else last_place
        elif char in _PLACES:
            section, digit, last_place = section + (digit or 1) * _PLACES[char], 0, _PLACES[char]
        elif char in _MYRIADS:
            total = (total + (section + digit or 1)) * _MYRIADS[char]
            section, digit, last_place = 0, 0, _MYRIADS[char]
    return float(total + section + digit * (last_place // 10 if last_place >= 100 else 1))


def read_number(text: str) -> float:
    """Read a number in any of these forms."""
    bare = text.strip()
    if bare[:1].isdigit() and bare.isascii():
        return float(bare.replace(",", ""))
    return read_chinese(bare) if not bare.isascii() else read_english(bare)
