"""Text that speaks to the machine that reads it: orders, new roles, requests for secrets, false markup.

Working memory is read by agents, and by the judge and the writer of insights. What speaks to them instead of about the
matter is an injection, whoever wrote it. The rules are in ``words/machine_address.toml``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from clearwell.text.hidden_text import readable
from clearwell.text.normalisation import remove_disguise
from clearwell.text.sentences import find_sentences
from clearwell.text.words import words

LONGEST_LINE: Final = 5_000
"""A longer line is read in overlapping pieces of this many characters."""
OVERLAP: Final = 300
CHINESE_OVERLAP: Final = 100
"""How long a passage may be whose signs are counted together. Chinese says more in fewer characters."""
_PART: Final = re.compile(r"<([a-z]+)>")
_WORD: Final = re.compile(r"[a-z][a-z'’-]*")
_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")
_COMMAND: Final = (
    r"(?:^\s{0,3}|[\u3400-\u9fff]\s{0,3}|[.!?:;,\"“”‘(\[>*#|`—–-]\s{0,3}|\b(?:please|now|then|and|just|simply|instead|kindly|first|also|always|must|shall"
    r"|you (?:should|will|can|may|are to|need to|have to|are (?:required|instructed|asked) to)|immediately|silently"
    r"|(?:i|we) (?:order|command|instruct|want|need|ask) you to|secretly|quietly|directly|do|never"
    r"|before (?:anything else|you \w+),?)\s{1,3})"
)
"""Where a command may begin."""
_SENTENCE: Final = r"(?:^|[.!?>(=\"”]\s{0,3})[\[\s]{0,3}"
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{3,400}\"|“[^”\n]{3,400}”|‘[^’\n]{3,400}’|「[^」\n]{3,400}」|`[^`\n]{3,400}`|(?<!\w)'[^'\n]{3,400}'(?!\w)"
)
_FENCED: Final = re.compile(r"<memory id=\"[^\"<>\s]{1,64}\">([^<]{0,20000})</memory>")
"""A memory that is quoted as it was given to the agent. Its text is looked at, and its fence is no false markup."""
_DIALOGUE: Final = re.compile(
    r"^[ *#]{0,6}(?:human|user)[ *]{0,3}:.{0,400}\n{1,3}[ *#]{0,6}(?:assistant|ai)[ *]{0,3}:", re.MULTILINE
)
"""A forged exchange with the machine."""
_WEAK: Final = 0.5
_JOINED: Final = re.compile(r"(?<=[a-z])_(?=[a-z])")
_SPACED: Final = re.compile(r"(?<!\w)(?:[a-z0-9] ){4,60}[a-z0-9](?!\w)")
_SPACED_CHINESE: Final = re.compile(r"(?:[\u3400-\u9fff][ .·*_|/-]){3,60}[\u3400-\u9fff]")
_SEPARATORS: Final = re.compile(r"[ .·*_|/-]")
_DIGITS: Final = re.compile(r"(?<!\w)(?=[a-z]{0,20}[0134578])[a-z0134578]{3,20}(?!\w)")
_LETTERS: Final = str.maketrans("0134578", "oieastb")
_REPORT_WITHIN: Final = 120
"""How far before a quotation, or behind it, the words are looked for that report an attack."""


class Address(StrEnum):
    """How a text speaks to the machine."""

    OVERRIDE = "override"
    ROLE = "role"
    SECRETS = "secrets"
    EXFILTRATION = "exfiltration"
    MEMORY = "memory"
    REVIEW = "review"
    CONCEALMENT = "concealment"
    ADDRESS = "address"
    COERCION = "coercion"
    MARKUP = "markup"
    SIGNS = "signs"
    """No rule holds, but several weaker signs stand together."""


@dataclass(frozen=True, slots=True)
class _Rule:
    address: Address
    pattern: re.Pattern[str]
    first: frozenset[str] = frozenset()
    """The words one of which begins what an English rule finds."""
    needs: frozenset[str] = frozenset()
    """Words one of which is in it as well, where the first words are common."""

    def may_hold(self, found: frozenset[str]) -> bool:
        return not self.first.isdisjoint(found) and not (self.needs and self.needs.isdisjoint(found))


@dataclass(frozen=True, slots=True)
class _Sign:
    weight: float
    speaks: bool
    """Whether it speaks to somebody, and not only of machines."""
    pattern: re.Pattern[str]
    words: frozenset[str] = frozenset()
    """The words one of which is in what an English sign finds."""


def speaks_to_machine(text: str) -> Address | None:
    """Return how a text speaks to the machine, or None if it does not.

    Disguises that a model reads through are removed before. What a sentence quotes while it reports an attack is not
    looked at: the page contained the injection "ignore all previous instructions". The quotation marks alone are no
    excuse.
    """
    plain = _FENCED.sub(r" \1 ", remove_disguise(readable(text)).lower().translate(_simplified()))
    if _DIALOGUE.search(plain):
        return Address.MARKUP
    return next((found for line in _split_lines(plain) if (found := _read_line(line) or _read_spelled(line))), None)


def _split_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for start in range(0, max(1, len(line) - OVERLAP), LONGEST_LINE - OVERLAP):
            yield line[start : start + LONGEST_LINE]


def _read_spelled(line: str) -> Address | None:
    """Read a line again if its words are joined, spaced out or spelt with digits: ignore_all, i g n o r e, 1gn0r3.

    Chinese characters may have marks between them: 忽.略.
    """
    plain = _SPACED.sub(lambda letters: letters.group().replace(" ", ""), _JOINED.sub(" ", line))
    if not line.isascii():
        plain = _SPACED_CHINESE.sub(lambda spaced: _SEPARATORS.sub("", spaced.group()), plain)
    plain = _DIGITS.sub(lambda word: word.group().translate(_LETTERS), plain)
    return _read_line(plain) if plain != line else None


def _read_line(line: str) -> Address | None:
    found = _find(line)
    if found is None or not _QUOTED.search(line):
        return found
    return _find(_QUOTED.sub(_drop_reported, line))


def _find(line: str) -> Address | None:
    found = frozenset(_WORD.findall(line))
    for rule in _select(line, found):
        if rule.pattern.search(line):
            return rule.address
    return Address.SIGNS if _has_signs(line, found) else None


def _has_signs(line: str, found: frozenset[str]) -> bool:
    """Whether two sentences in a row have so many signs that they speak to the machine together."""
    width = OVERLAP
    if not line.isascii() and _CHINESE.search(line):
        possible, width = _chinese_signs(), CHINESE_OVERLAP
    elif found.isdisjoint(_strong_words()):
        return False
    else:
        possible = tuple(sign for sign in _english_signs() if not sign.words.isdisjoint(found))
    threshold = _threshold()
    if sum(sign.weight for sign in possible) < threshold or _weigh(line, possible) < threshold:
        return False
    places = list(find_sentences(line))
    pairs = zip(places, [*places[1:], places[-1]], strict=True)
    return any(_weigh(line[start : min(end, start + width)], possible) >= threshold for (start, _), (_, end) in pairs)


def _weigh(text: str, signs: Sequence[_Sign]) -> float:
    """The weights of the signs in a text; 0 if none of them speaks to somebody, which is looked for first."""
    speaking = [sign for sign in signs if sign.speaks and sign.pattern.search(text)]
    if not speaking:
        return 0.0
    others = [sign for sign in signs if not sign.speaks and sign.pattern.search(text)]
    return sum(sign.weight for sign in (*speaking, *others))


def _select(line: str, found: frozenset[str]) -> Iterator[_Rule]:
    """The rules that may hold for a line: of the English ones, those of which a first word is in it."""
    yield from _markup()
    if not _first_words().isdisjoint(found):
        yield from (rule for rule in _english() if rule.may_hold(found))
    if not line.isascii() and _CHINESE.search(line):
        yield from _chinese()


def _drop_reported(quotation: re.Match[str]) -> str:
    text, start, end = quotation.string, quotation.start(), quotation.end()
    around = f"{text[max(0, start - _REPORT_WITHIN) : start]} {text[end : end + _REPORT_WITHIN]}"
    return " … " if _reports().search(around) else quotation.group()


@cache
def _english() -> tuple[_Rule, ...]:
    lists = words("machine_address")["en"]
    parts = _read_parts(lists["parts"])
    return tuple(_build_english(entry, parts) for entry in lists["rules"])


@cache
def _first_words() -> frozenset[str]:
    return frozenset().union(*(rule.first for rule in _english()))


def _build_english(entry: Mapping[str, Any], parts: Mapping[str, str]) -> _Rule:
    before = _COMMAND if entry.get("command") else _SENTENCE if entry.get("starts_sentence") else r"\b"
    first = entry["first"].split()
    then = "|".join(_fill(pattern, parts) for pattern in entry["then"])
    pattern = re.compile(f"{before}(?:{'|'.join(map(re.escape, first))})(?:{then})")
    return _Rule(Address(entry["address"]), pattern, frozenset(first), frozenset(entry.get("needs", "").split()))


@cache
def _chinese() -> tuple[_Rule, ...]:
    lists = words("machine_address")["zh"]
    parts = _read_parts(lists["parts"])
    return tuple(
        _Rule(Address(name), re.compile(_fill(pattern, parts)))
        for name, patterns in lists["patterns"].items()
        for pattern in patterns
    )


@cache
def _simplified() -> Mapping[int, str]:
    pairs = words("machine_address")["zh"]["traditional"].split()
    return {ord("’"): "'", **{ord(pair[0]): pair[1] for pair in pairs}}


@cache
def _markup() -> tuple[_Rule, ...]:
    return tuple(_Rule(Address.MARKUP, re.compile(pattern)) for pattern in words("machine_address")["en"]["markup"])


@cache
def _english_signs() -> tuple[_Sign, ...]:
    signs = words("machine_address")["signs"]["en"]
    return tuple(_build_sign(name, sign["pattern"], sign["words"]) for name, sign in signs.items())


@cache
def _chinese_signs() -> tuple[_Sign, ...]:
    signs = words("machine_address")["signs"]["zh"]
    return tuple(_build_sign(name, pattern) for name, pattern in signs.items())


@cache
def _strong_words() -> frozenset[str]:
    """The words of the signs without which no others reach the threshold."""
    return frozenset().union(*(sign.words for sign in _english_signs() if sign.weight > _WEAK))


@cache
def _threshold() -> float:
    return float(words("machine_address")["signs"]["threshold"])


def _build_sign(name: str, pattern: str, found_with: str = "") -> _Sign:
    signs = words("machine_address")["signs"]
    speaks = name in signs["speaking"].split()
    return _Sign(signs["weights"][name], speaks, re.compile(pattern), frozenset(found_with.split()))


@cache
def _reports() -> re.Pattern[str]:
    return re.compile("|".join(words("machine_address")[language]["reports"] for language in ("en", "zh")))


def _read_parts(lists: Mapping[str, str]) -> Mapping[str, str]:
    """The parts of patterns. A part may name those before it."""
    parts: dict[str, str] = {}
    for name, part in lists.items():
        parts[name] = _fill(part, parts)
    return parts


def _fill(pattern: str, parts: Mapping[str, str]) -> str:
    return _PART.sub(lambda name: parts.get(name[1], name[0]), pattern)
