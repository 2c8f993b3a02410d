"""What of a text is compared: its words and values in order, with each negation bound to what it denies."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import rjieba

from clearwell.flow.sameness.lexicon import Lexicon, lexicon
from clearwell.flow.sameness.rules import Value
from clearwell.flow.sameness.stemming import stem
from clearwell.flow.sameness.trimming import normal, trimmed
from clearwell.flow.sameness.values import values_in

_PIECE: Final = re.compile(
    r"(?P<latin>[#@]?[a-z0-9_à-ÿ]+(?:[-_./@:'&+][a-z0-9_à-ÿ]+)*[+#]{0,2})"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff]+)"
    r"|(?P<end>[.!?。；;\n]+)|(?P<pause>[,:、()\[\]\"“”]+)"
    r"|(?P<other>[^\W\d_]+|[\U0001f300-\U0001faff])"
)
_IDENTIFIER: Final = re.compile(r"[\d_@#/:&+]|\w\.\w")
_SHORT_FORM: Final = re.compile(r"'(?:s|re|ve|ll|d|m)?$")
_LONGER_WORD: Final = re.compile("[A-Za-z]{4,}")
_HAN_NAMES: Final = frozenset({"nr", "nrt", "nrfg", "ns", "nt"})
_OPENS_SENTENCE: Final = "opens"


class Kind(StrEnum):
    WORD = "word"
    NAME = "name"
    VALUE = "value"
    BREAK = "break"


@dataclass(slots=True)
class Token:
    """One word, name or value. Written only while a text is read."""

    key: str
    surface: str
    kind: Kind = Kind.WORD
    tag: str = ""
    """Part of speech of a Chinese word; of an English one, whether it is a capitalised first word."""
    value: Value | None = None
    content: bool = True
    """Whether it carries a fact."""
    counts: bool = True
    """Whether it is compared at all."""
    negated: bool = False
    clause: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """A text, read."""

    tokens: tuple[Token, ...]
    compared: tuple[Token, ...]
    keys: tuple[str, ...]
    sequence: Sequence[str]
    """Words, or characters where words are not parted."""
    signed: tuple[str, ...]
    """Keys of what is compared, with a mark where it is denied."""
    negations: int
    han: bool


def features(text: str) -> Features:
    """Read a text. Do it once for a text that is compared with several others."""
    cased = trimmed(normal(text))
    lower = cased.lower()
    words = lexicon()
    read = _tokens(cased if len(cased) == len(lower) else lower, lower, words)
    tokens = [_weighed(token, words) for token in _placed(_merged(list(read), words), words)]
    negations = _bind(tokens, words)
    compared = tuple(token for token in tokens if token.counts)
    keys = tuple(token.key for token in tokens)
    han = sum("\u4e00" <= char <= "\u9fff" for char in lower) > sum(key.isascii() for key in keys)
    return Features(
        tokens=tuple(tokens),
        compared=compared,
        keys=keys,
        sequence="".join(char for char in lower if char.isalnum()) if han else keys,
        signed=tuple(f"!{token.key}" if token.negated else token.key for token in compared),
        negations=negations,
        han=han,
    )


def _tokens(cased: str, lower: str, words: Lexicon) -> Iterator[Token]:
    names = not _shouted(cased)
    at = 0
    for start, end, value in values_in(lower):
        yield from _words(cased, lower, (at, start), names, words)
        yield Token(value.key, cased[start:end].strip(), Kind.VALUE, value=value, content=not value.weak)
        at = end
    yield from _words(cased, lower, (at, len(lower)), names, words)


def _shouted(cased: str) -> bool:
    """Whether capitals mark nothing here, as in headlines."""
    longer: list[str] = _LONGER_WORD.findall(cased)
    return sum(word[0].isupper() for word in longer) > 0.6 * len(longer)


def _words(cased: str, lower: str, span: tuple[int, int], names: bool, words: Lexicon) -> Iterator[Token]:
    for match in _PIECE.finditer(lower, *span):
        kind, text = match.lastgroup, match[0]
        if kind == "latin":
            shown = cased[match.start() : match.end()]
            yield from _latin(text, shown, _capital(shown, lower, match.start()) if names else "")
        elif kind == "han":
            yield from _han(text, words)
        elif kind == "other":
            yield Token(text, text)
        else:
            yield Token("." if kind == "end" else ",", text, Kind.BREAK)


def _capital(shown: str, lower: str, at: int) -> str:
    """What the capitals of a word tell: a name, perhaps a name where a sentence opens, or nothing."""
    if shown.islower() or not any(char.isupper() for char in shown):
        return ""
    before = lower[max(0, at - 8) : at].rstrip(" \"'([“")
    opens = not before or before[-1] in ".!?。！？:;；"
    return _OPENS_SENTENCE if opens and not any(char.isupper() for char in shown[1:]) else Kind.NAME


def _latin(text: str, shown: str, capital: str) -> Iterator[Token]:
    if text.endswith("n't") or text == "cannot":
        yield Token(stem(text.removesuffix("n't").removesuffix("not")), shown)
        yield Token("not", shown)
        return
    word = _SHORT_FORM.sub("", text)
    if _IDENTIFIER.search(word):
        yield Token(word, shown, Kind.NAME)
        return
    kind = Kind.NAME if capital == Kind.NAME else Kind.WORD
    for part in word.split("-"):
        if part:
            yield Token(stem(part), part if "-" in word else shown, kind, tag=capital)


def _han(text: str, words: Lexicon) -> Iterator[Token]:
    for word, tag in _with_names(rjieba.tag(text, hmm=False), words):
        if _denies(word, words):
            yield Token("不", word[0])
            word = word[1:]
        if len(word) > 1 and word[-1] in "到至成为" and word not in words.groups and word[:-1] in words.groups:
            word = word[:-1]
        kind = Kind.NAME if tag in _HAN_NAMES and len(word) > 1 else Kind.WORD
        yield Token(word, word, kind, tag=tag)


def _with_names(tagged: Sequence[tuple[str, str]], words: Lexicon) -> Iterator[tuple[str, str]]:
    """Surname and given name in one: the segmenter knows only some of them."""
    at = 0
    while at < len(tagged):
        word, tag = tagged[at]
        given = 0
        while word in words.surnames and given < 2 and _given(tagged, at + 1 + given, words):
            given += 1
        if given:
            word, tag = "".join(part for part, _ in tagged[at : at + 1 + given]), "nr"
        yield word, tag
        at += 1 + given


def _given(tagged: Sequence[tuple[str, str]], at: int, words: Lexicon) -> bool:
    if at >= len(tagged) or len(tagged[at][0]) != 1:
        return False
    return tagged[at][0] not in words.stop and tagged[at][0] not in words.negators


def _denies(word: str, words: Lexicon) -> bool:
    """Whether a word is a negation grown together with what it denies: 不含, 未完成."""
    return (
        len(word) > 1
        and word[0] in "不没未无非"
        and word not in words.affirmative
        and word not in words.negators
        and word not in words.groups
    )


def _merged(tokens: Sequence[Token], words: Lexicon) -> Iterator[Token]:
    """Phrases of the word lists as one token each."""
    keys = tuple(token.key for token in tokens)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        phrases = words.phrases.get(token.key, ())
        phrase = next((one for one in phrases if one == keys[at : at + len(one)]), None)
        if phrase is None:
            yield token
            at += 1
            continue
        joint = " " if token.key.isascii() else ""
        part = tokens[at : at + len(phrase)]
        key = joint.join(phrase).replace(" ", "_")
        yield Token(key, joint.join(one.surface for one in part), tag=part[-1].tag)
        at += len(phrase)


def _placed(tokens: Iterable[Token], words: Lexicon) -> Iterator[Token]:
    """Number the clauses; marks and joining words part them, and are left out."""
    clause, empty = 0, True
    for token in tokens:
        if token.kind is Kind.BREAK or token.key in words.list_words:
            clause += not empty
            empty = True
            continue
        clause += token.key in words.clause_words and not empty
        empty = False
        token.clause = clause
        yield token


def _weighed(token: Token, words: Lexicon) -> Token:
    if token.kind is Kind.WORD:
        stop, negator = token.key in words.stop, token.key in words.negators
        token.content = not stop and not negator
        token.counts = not negator and (not stop or token.key in words.relations or words.faceted(token.key))
    return token


def _bind(tokens: Sequence[Token], words: Lexicon) -> int:
    """Each negation denies the next word of its clause that carries a fact, else the last; two cancel out."""
    count, pending, clause = 0, False, 0
    last: Token | None = None
    for token in tokens:
        if token.clause != clause:
            _deny(last, pending)
            pending, clause, last = False, token.clause, None
        if token.kind is Kind.WORD and token.key in words.negators:
            pending = not pending
            count += 1 if pending else -1
        elif token.content or token.key in words.complements:
            last = token
            last.negated = pending
            pending = False
    _deny(last, pending)
    return count


def _deny(token: Token | None, pending: bool) -> None:
    if token is not None and pending:
        token.negated = not token.negated
