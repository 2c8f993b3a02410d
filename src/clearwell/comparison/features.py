"""Extract the features of a text: its words and values in order, each negation bound to the word that it denies."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from clearwell.caches import MIB, TextCache
from clearwell.comparison.lexicon import Lexicon, lexicon
from clearwell.comparison.plain_text import LONGEST, make_comparable, normalise_marks, simplify, trim
from clearwell.comparison.tokens import Kind, Token, tokenise
from clearwell.text.languages import CHINESE, ENGLISH, Language

_LONGEST_QUOTED: Final = 40
_EACH: Final = "每隔"
_ASKS: Final = ("?", "吗", "吗。", "呢。")


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features of a text that comparison uses."""

    raw: str
    whole: bool
    """Whether the whole text was read; long texts are truncated."""
    text: str
    """The text that was read, in its original case, without fillers, marks and attributions."""
    tokens: tuple[Token, ...]
    compared: tuple[Token, ...]
    keys: tuple[str, ...]
    sequence: Sequence[str]
    """Words, or characters in a language that does not separate words."""
    signed: tuple[str, ...]
    """The keys of the compared tokens, with a mark on those that are negated."""
    negations: int
    language: Language
    asks: bool
    """Whether the text is a question."""
    leaves_open: bool
    """Whether it leaves something open: "they asked whether it is closed"."""

    @property
    def content_words(self) -> frozenset[str]:
        """The keys of the content words and values."""
        return frozenset(token.key for token in self.tokens if token.content)

    def quote(self, start: int, end: int) -> str:
        """Return a part of ``sequence`` as it is written in the text."""
        if self.language.separates_words:
            return shorten(self.text[self.tokens[start].start : self.tokens[end - 1].end])
        places = [at for at, char in enumerate(self.text) if char.isalnum()]
        return shorten(self.text[places[start] : places[end - 1] + 1])


def shorten(quote: str) -> str:
    return quote if len(quote) <= _LONGEST_QUOTED else quote[: _LONGEST_QUOTED - 1] + "…"


def read_features(text: str) -> Features:
    """Extract the features of a text. ``features_of`` caches them for texts that are compared several times."""
    plain = normalise_marks(text[:LONGEST])
    whole = len(text) <= LONGEST and len(plain) <= LONGEST
    plain = plain[:LONGEST]
    simple = simplify(plain)
    kept = trim(simple)
    lower = make_comparable(simple[kept])
    cased = plain[kept] if len(plain[kept]) == len(lower) else lower
    words = lexicon()
    characters = sum("\u4e00" <= char <= "\u9fff" for char in lower)
    read = list(tokenise(cased, lower, words, CHINESE if 5 * characters > len(lower) else ENGLISH))
    tokens = [_weigh(token, words) for token in _number_clauses(_merge_phrases(read, words), words)]
    _weigh_nearly(tokens, words)
    negations = _bind(tokens, words, cased)
    compared = tuple(token for token in tokens if token.counts)
    keys = tuple(token.key for token in tokens)
    language = CHINESE if characters > sum(key.isascii() for key in keys) else ENGLISH
    return Features(
        raw=text,
        whole=whole,
        text=cased,
        tokens=tuple(tokens),
        compared=compared,
        keys=keys,
        sequence=keys if language.separates_words else "".join(char for char in lower if char.isalnum()),
        signed=tuple(f"!{token.key}" if token.negated else token.key for token in compared),
        negations=negations,
        language=language,
        asks=lower.endswith(_ASKS),
        leaves_open=any(token.key in words.open_questions for token in tokens),
    )


features_of = TextCache(read_features, max_bytes=32 * MIB, bytes_per_character=190)
"""A cache of features, because entries of working memory are compared many times."""


def _merge_phrases(tokens: Sequence[Token], words: Lexicon) -> Iterator[Token]:
    """Yield tokens, with each phrase of the word lists as one token."""
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
        shown = joint.join(one.surface for one in part)
        yield Token(key, shown, part[0].start, part[-1].end, tag=part[-1].tag)
        at += len(phrase)


def _number_clauses(tokens: Iterable[Token], words: Lexicon) -> Iterator[Token]:
    """Number the clauses of tokens. The marks and joining words that separate clauses are dropped."""
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


def _weigh(token: Token, words: Lexicon) -> Token:
    if token.kind is Kind.WORD:
        stop, negator = token.key in words.stop, token.key in words.negators
        token.content = not stop and not negator
        token.counts = not negator and (not stop or token.key in words.relations or words.may_carry_facet(token.key))
    return token


def _weigh_nearly(tokens: Sequence[Token], words: Lexicon) -> None:
    """Ignore "nearly" before a value, in place: nearly ten is about ten, but nearly done is not done.

    每隔 is ignored as well, unless it is before one: 每隔五分钟 means every five minutes, 每隔一天 every other day.
    """
    for token, after in pairwise(tokens):
        if after.value is None:
            continue
        if token.key in words.nearly or (token.key == _EACH and after.value.number != 1):
            token.counts = token.content = False


def _bind(tokens: Sequence[Token], words: Lexicon, text: str) -> int:
    """Bind each negation to a token, in place, and return the number of negations.

    A negation denies the next content word of its clause, or the last one if none follows. Two cancel out.
    """
    count, clause = 0, 0
    pending: Token | None = None
    last: Token | None = None
    for token in tokens:
        if token.clause != clause:
            _deny(last, pending, text)
            pending, clause, last = None, token.clause, None
        if token.kind is Kind.WORD and token.key in words.negators:
            pending = token if pending is None else None
            count += 1 if pending else -1
        elif token.content or token.key in words.complements:
            last = token
            _deny(last, pending, text)
            pending = None
    _deny(last, pending, text)
    return count


def _deny(token: Token | None, negation: Token | None, text: str) -> None:
    if token is None or negation is None:
        return
    token.negated = not token.negated
    quote = text[min(token.start, negation.start) : max(token.end, negation.end)]
    token.quoted = quote if len(quote) <= _LONGEST_QUOTED else f"{negation.surface} … {token.surface}"
