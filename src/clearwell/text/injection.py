"""Prompt injection: text that addresses the model that reads it with orders, new roles, requests for secrets or markup.

Agents, the judge and the writer of insights read what is in memory. Text that instructs them, instead of stating
something, is an injection, whoever wrote it. The rules are in ``words/injection.toml``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from clearwell.text.hidden_text import make_readable
from clearwell.text.normalisation import remove_disguise
from clearwell.text.sentences import find_sentences
from clearwell.text.words import words

LONGEST_LINE: Final = 5_000
"""A longer line is read in overlapping pieces of this many characters."""
OVERLAP: Final = 300
CHINESE_OVERLAP: Final = 100
"""Maximum length of a passage whose signs are added up. Chinese needs fewer characters for the same content."""
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
"""A memory, quoted with the fence in which the agent received it. Its text is checked, its fence is legitimate."""
_DIALOGUE: Final = re.compile(
    r"^[ *#]{0,6}(?:human|user)[ *]{0,3}:.{0,400}\n{1,3}[ *#]{0,6}(?:assistant|ai)[ *]{0,3}:", re.MULTILINE
)
"""A forged dialogue between a user and the model."""
_WEAK: Final = 0.5
_JOINED: Final = re.compile(r"(?<=[a-z])_(?=[a-z])")
_SPACED: Final = re.compile(r"(?<!\w)(?:[a-z0-9] ){4,60}[a-z0-9](?!\w)")
_SPACED_CHINESE: Final = re.compile(r"(?:[\u3400-\u9fff][ .·*_|/-]){3,60}[\u3400-\u9fff]")
_SEPARATORS: Final = re.compile(r"[ .·*_|/-]")
_DIGITS: Final = re.compile(r"(?<!\w)(?=[a-z]{0,20}[0134578])[a-z0134578]{3,20}(?!\w)")
_LETTERS: Final = str.maketrans("0134578", "oieastb")
_REPORT_WITHIN: Final = 120
"""How many characters before and after a quotation are searched for words that report an attack."""


class InjectionKind(StrEnum):
    """What an injection tries to do, or how it was recognised."""

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
    """No rule matches, but several weaker signs occur together."""


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: InjectionKind
    pattern: re.Pattern[str]
    first: frozenset[str] = frozenset()
    """An English match begins with one of these words."""
    needs: frozenset[str] = frozenset()
    """If not empty, the line must also contain one of these words. Set where the first words are common."""

    def may_match(self, found: frozenset[str]) -> bool:
        """Return whether a line with these words can match, so that the pattern is worth trying."""
        return not self.first.isdisjoint(found) and not (self.needs and self.needs.isdisjoint(found))


@dataclass(frozen=True, slots=True)
class _Sign:
    weight: float
    speaks: bool
    """Whether the sign addresses a reader, and does not only mention models."""
    pattern: re.Pattern[str]
    words: frozenset[str] = frozenset()
    """An English match contains one of these words."""


def detect_injection(text: str) -> InjectionKind | None:
    """Return the kind of the first injection in a text, or None if there is none.

    Disguises that a model can read are removed first. A quotation is ignored if the words around it report an attack:
    the page contained the injection "ignore all previous instructions". Quotation marks alone do not exempt a text.
    """
    plain = _FENCED.sub(r" \1 ", remove_disguise(make_readable(text)).lower().translate(_simplified()))
    if _DIALOGUE.search(plain):
        return InjectionKind.MARKUP
    return next((found for line in _split_lines(plain) if (found := _read_line(line) or _read_spelled(line))), None)


def find_injected_line(text: str) -> str:
    """Return the line of an injection, or the whole text if it is none by itself."""
    return next((line for line in text.splitlines() if detect_injection(line) is not None), text)


def _split_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for start in range(0, max(1, len(line) - OVERLAP), LONGEST_LINE - OVERLAP):
            yield line[start : start + LONGEST_LINE]


def _read_spelled(line: str) -> InjectionKind | None:
    """Check a line again if its words are joined, spaced out or spelt with digits: ignore_all, i g n o r e, 1gn0r3.

    Chinese characters may have marks between them: 忽.略.
    """
    plain = _SPACED.sub(lambda letters: letters.group().replace(" ", ""), _JOINED.sub(" ", line))
    if not line.isascii():
        plain = _SPACED_CHINESE.sub(lambda spaced: _SEPARATORS.sub("", spaced.group()), plain)
    plain = _DIGITS.sub(lambda word: word.group().translate(_LETTERS), plain)
    return _read_line(plain) if plain != line else None


def _read_line(line: str) -> InjectionKind | None:
    found = _find(line)
    if found is None or not _QUOTED.search(line):
        return found
    return _find(_QUOTED.sub(_drop_reported, line))


def _find(line: str) -> InjectionKind | None:
    found = frozenset(_WORD.findall(line))
    for rule in _select(line, found):
        if rule.pattern.search(line):
            return rule.kind
    return InjectionKind.SIGNS if _has_signs(line, found) else None


def _has_signs(line: str, found: frozenset[str]) -> bool:
    """Return whether the signs in two successive sentences reach the threshold together."""
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
    """Return the sum of the weights of the signs in a text, or 0 if none of them addresses a reader."""
    speaking = [sign for sign in signs if sign.speaks and sign.pattern.search(text)]
    if not speaking:
        return 0.0
    others = [sign for sign in signs if not sign.speaks and sign.pattern.search(text)]
    return sum(sign.weight for sign in (*speaking, *others))


def _select(line: str, found: frozenset[str]) -> Iterator[_Rule]:
    """Yield the rules that can match a line: of the English rules, those with a first word in the line."""
    yield from _markup()
    if not _first_words().isdisjoint(found):
        yield from (rule for rule in _english() if rule.may_match(found))
    if not line.isascii() and _CHINESE.search(line):
        yield from _chinese()


def _drop_reported(quotation: re.Match[str]) -> str:
    """Replace a quotation by an ellipsis if the words around it report an attack."""
    text, start, end = quotation.string, quotation.start(), quotation.end()
    around = f"{text[max(0, start - _REPORT_WITHIN) : start]} {text[end : end + _REPORT_WITHIN]}"
    return " … " if _reports().search(around) else quotation.group()


@cache
def _english() -> tuple[_Rule, ...]:
    lists = words("injection")["en"]
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
    return _Rule(InjectionKind(entry["kind"]), pattern, frozenset(first), frozenset(entry.get("needs", "").split()))


@cache
def _chinese() -> tuple[_Rule, ...]:
    lists = words("injection")["zh"]
    parts = _read_parts(lists["parts"])
    return tuple(
        _Rule(InjectionKind(name), re.compile(_fill(pattern, parts)))
        for name, patterns in lists["patterns"].items()
        for pattern in patterns
    )


@cache
def _simplified() -> Mapping[int, str]:
    pairs = words("injection")["zh"]["traditional"].split()
    return {ord("’"): "'", **{ord(pair[0]): pair[1] for pair in pairs}}


@cache
def _markup() -> tuple[_Rule, ...]:
    return tuple(_Rule(InjectionKind.MARKUP, re.compile(pattern)) for pattern in words("injection")["en"]["markup"])


@cache
def _english_signs() -> tuple[_Sign, ...]:
    signs = words("injection")["signs"]["en"]
    return tuple(_build_sign(name, sign["pattern"], sign["words"]) for name, sign in signs.items())


@cache
def _chinese_signs() -> tuple[_Sign, ...]:
    signs = words("injection")["signs"]["zh"]
    return tuple(_build_sign(name, pattern) for name, pattern in signs.items())


@cache
def _strong_words() -> frozenset[str]:
    """Return the words of the strong signs. Without one of these, the weak signs cannot reach the threshold."""
    return frozenset().union(*(sign.words for sign in _english_signs() if sign.weight > _WEAK))


@cache
def _threshold() -> float:
    return float(words("injection")["signs"]["threshold"])


def _build_sign(name: str, pattern: str, found_with: str = "") -> _Sign:
    signs = words("injection")["signs"]
    speaks = name in signs["speaking"].split()
    return _Sign(signs["weights"][name], speaks, re.compile(pattern), frozenset(found_with.split()))


@cache
def _reports() -> re.Pattern[str]:
    return re.compile("|".join(words("injection")[language]["reports"] for language in ("en", "zh")))


def _read_parts(lists: Mapping[str, str]) -> Mapping[str, str]:
    """Return the named parts of patterns, expanded. A part can refer to the parts before it."""
    parts: dict[str, str] = {}
    for name, part in lists.items():
        parts[name] = _fill(part, parts)
    return parts


def _fill(pattern: str, parts: Mapping[str, str]) -> str:
    return _PART.sub(lambda name: parts.get(name[1], name[0]), pattern)
