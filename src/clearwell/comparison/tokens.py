"""Split a text into words, names, values and signs, each with its position."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import rjieba

from clearwell.comparison.lexicon import Lexicon
from clearwell.comparison.value_rules import Value
from clearwell.comparison.values import find_values
from clearwell.text.languages import Language
from clearwell.text.languages.english import stem

_PIECE: Final = re.compile(
    r"(?P<latin>[#@]?[a-z0-9_à-ÿ]+(?:[-_./@:'&+][a-z0-9_à-ÿ]+)*[+#]{0,2})"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff]+)"
    r"|(?P<sign>-{1,2}>|=>|<-(?!\d)|<>|[<>]=?|!=|[≤≥≠→⇒←]|(?<=[\w)\]] )\+(?= [\w(])|(?<=\b\w )-(?= (?:\w\b|\()))"
    r"|(?P<end>[.!?。；;\n]+)|(?P<pause>[,:、()\[\]\"“”]+)"
    r"|(?P<other>[^\W\d_]+|[\U0001f300-\U0001faff])"
)
_SIGN_FORMS: Final = {"≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "⇒": "->", "=>": "->", "-->": "->", "←": "<-"}
_TAG: Final = re.compile(r"</?[a-z][^<>]{0,80}>")
_IDENTIFIER: Final = re.compile(r"[\d_@#/:&+]|\w\.\w")
_NEGATED: Final = re.compile(
    r"\w+n't|cannot|(?:ca|do|does|did|is|are|was|were|has|have|had|would|should|could|must|wo|need|ai)nt"
)
_NEGATED_ENDS: Final = ("n't", "nt", "not")
_SHORT_FORM: Final = re.compile(r"'(?:s|re|ve|ll|d|m)?$")
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_LONGER_WORD: Final = re.compile("[A-Za-z]{4,}")
_HAN_NAMES: Final = frozenset({"nr", "nrt", "nrfg", "ns", "nt"})
_NO_NAMES: Final = frozenset(
    {"We", "He", "She", "They", "You", "It", "My", "Our", "His", "Her", "Their", "Your", "This", "That"}
    | {"Anyone", "Everybody", "OK", "Ok"}
)
_OPENS_SENTENCE: Final = "opens"


class Kind(StrEnum):
    WORD = "word"
    NAME = "name"
    VALUE = "value"
    BREAK = "break"


@dataclass(slots=True)
class Token:
    """One word, name or value. Tokens are changed only while the features of a text are extracted."""

    key: str
    surface: str
    start: int
    end: int
    kind: Kind = Kind.WORD
    tag: str = ""
    """The part of speech of a Chinese word; for an English word, whether it is capitalised and begins a sentence."""
    value: Value | None = None
    content: bool = True
    """Whether it is a content word."""
    counts: bool = True
    """Whether it is compared."""
    negated: bool = False
    clause: int = 0
    quoted: str = ""
    """The part of the text from the negation to this word, if it is negated."""


def tokenise(cased: str, lower: str, words: Lexicon, language: Language) -> Iterator[Token]:
    """Yield the tokens of ``lower``. ``cased`` is the same text in its original case, for quotations."""
    names = not _is_shouted(cased)
    at = 0
    for start, end, value in find_values(lower):
        yield from _words(cased, lower, (at, start), words, names=names, language=language)
        shown = cased[start:end].strip()
        yield Token(value.key, shown, start, end, Kind.VALUE, value=value, content=not value.weak)
        at = end
    yield from _words(cased, lower, (at, len(lower)), words, names=names, language=language)


def _is_shouted(cased: str) -> bool:
    """Return whether capitals do not mark names here, as in headlines. In Chinese text they always do."""
    if _HAN.search(cased):
        return False
    longer: list[str] = _LONGER_WORD.findall(cased)
    return sum(word[0].isupper() for word in longer) > 0.6 * len(longer)


def _words(
    cased: str, lower: str, span: tuple[int, int], words: Lexicon, *, names: bool, language: Language
) -> Iterator[Token]:
    for match in _PIECE.finditer(lower, *span):
        kind, text, start = match.lastgroup, match[0], match.start()
        shown = cased[start : match.end()]
        if kind == "latin":
            yield from _latin(text, shown, start, _capital(shown, lower, start) if names else "", words)
        elif kind == "han":
            yield from _han(text, shown, start, words)
        elif kind == "sign":
            yield from _sign(lower, text, start, language)
        elif kind == "other":
            yield Token(text, shown, start, match.end())
        else:
            yield Token("." if kind == "end" else ",", text, start, match.end(), Kind.BREAK)


def _sign(lower: str, text: str, start: int, language: Language) -> Iterator[Token]:
    if text == "<" and _TAG.match(lower, start):
        return
    if text == ">":
        opened = lower.rfind("<", max(0, start - 82), start)
        tag = _TAG.match(lower, opened) if opened >= 0 else None
        if tag is not None and tag.end() == start + 1:
            return
    yield Token(language.signs[_SIGN_FORMS.get(text, text)], text, start, start + len(text))


def _capital(shown: str, lower: str, at: int) -> str:
    """Return what the capitals of a word mean: a name, possibly a name (at the start of a sentence), or nothing."""
    if shown.islower() or not any(char.isupper() for char in shown):
        return ""
    before = lower[max(0, at - 8) : at].rstrip(" \"'([“")
    opens = not before or before[-1] in ".!?。！？:;；"
    return _OPENS_SENTENCE if opens and not any(char.isupper() for char in shown[1:]) else Kind.NAME


def _latin(text: str, shown: str, start: int, capital: str, words: Lexicon) -> Iterator[Token]:
    end = start + len(text)
    if text.endswith(_NEGATED_ENDS) and _NEGATED.fullmatch(text):
        yield Token(stem(text.removesuffix("n't").removesuffix("not").removesuffix("nt")), shown, start, end)
        yield Token("not", shown, start, end)
        return
    word = _SHORT_FORM.sub("", text)
    if _IDENTIFIER.search(word):
        yield Token(word, shown, start, end, Kind.NAME)
        return
    for part in word.split("-"):
        if part:
            key = stem(part)
            named = capital == Kind.NAME and not (_is_stressed(key, part, words) or shown in _NO_NAMES)
            kind = Kind.NAME if named else Kind.WORD
            yield Token(key, shown[: len(part)] if "-" in word else shown, start, end, kind, tag=capital)
        if "-" in word:
            start, shown = start + len(part) + 1, shown[len(part) + 1 :]


def _is_stressed(key: str, part: str, words: Lexicon) -> bool:
    """Return whether capitals emphasise a word that is no name: NOT, ONLY, MUST. Two letters can be a name: US, IT."""
    if part == "i" or key in words.negators or key in words.restricting:
        return True
    return len(part) > 2 and (key in words.stop or any(key in scale for scale in words.scales.values()))


def _han(text: str, shown: str, start: int, words: Lexicon) -> Iterator[Token]:
    at = 0
    for word, tag in _part_words(_join_names(rjieba.tag(text, hmm=False), words), words):
        begin, at = at, at + len(word)
        if _denies(word, words):
            yield Token("不", shown[begin], start + begin, start + begin + 1)
            word, begin = word[1:], begin + 1
        if len(word) > 1 and word[-1] in "到至成为" and word not in words.groups and word[:-1] in words.groups:
            word = word[:-1]
        kind = Kind.NAME if tag in _HAN_NAMES and len(word) > 1 else Kind.WORD
        end = begin + len(word)
        yield Token(word, shown[begin:end], start + begin, start + end, kind, tag=tag)


def _part_words(tagged: Iterator[tuple[str, str]], words: Lexicon) -> Iterator[tuple[str, str]]:
    """Split words that the segmenter has joined: 每天晚上."""
    for word, tag in tagged:
        if len(word) == 4 and word not in words.groups and word[:2] in words.groups and word[2:] in words.groups:
            yield word[:2], tag
            yield word[2:], tag
        else:
            yield word, tag


def _join_names(tagged: Sequence[tuple[str, str]], words: Lexicon) -> Iterator[tuple[str, str]]:
    """Join surnames and given names, of which the segmenter knows only some."""
    at = 0
    while at < len(tagged):
        word, tag = tagged[at]
        given = 0
        while word in words.surnames and given < 2 and _is_given_name(tagged, at + 1 + given, words):
            given += 1
        if given:
            word, tag = "".join(part for part, _ in tagged[at : at + 1 + given]), "nr"
        yield word, tag
        at += 1 + given


def _is_given_name(tagged: Sequence[tuple[str, str]], at: int, words: Lexicon) -> bool:
    if at >= len(tagged) or len(tagged[at][0]) != 1:
        return False
    return tagged[at][0] not in words.stop and tagged[at][0] not in words.negators


def _denies(word: str, words: Lexicon) -> bool:
    """Return whether a word begins with a negation: 不含, 未完成."""
    return (
        len(word) > 1
        and word[0] in "不没未无非"
        and word not in words.affirmative
        and word not in words.negators
        and word not in words.groups
    )
