"""What of a text is compared: its words and values in order, with each negation bound to what it denies."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from clearwell.caches import MIB, TextCache
from clearwell.comparison.lexicon import Lexicon, lexicon
from clearwell.comparison.plain_text import LONGEST, make_comparable, normalise_marks, simplify, trim
from clearwell.comparison.tokens import Kind, Token, tokens_in
from clearwell.text.languages import CHINESE, ENGLISH, Language

_LONGEST_QUOTED: Final = 40
_EACH: Final = "每隔"
_ASKS: Final = ("?", "吗", "吗。", "呢。")


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """A text, read."""

    raw: str
    whole: bool
    """Whether all of it was read."""
    text: str
    """What was read, as it is quoted: without fillers, marks and who said it."""
    tokens: tuple[Token, ...]
    compared: tuple[Token, ...]
    keys: tuple[str, ...]
    sequence: Sequence[str]
    """Words, or characters where words are not parted."""
    signed: tuple[str, ...]
    """Keys of what is compared, with a mark where it is denied."""
    negations: int
    language: Language
    asks: bool
    """Whether it is a question."""

    def quote(self, start: int, end: int) -> str:
        """Words or characters of ``sequence`` as they stand in the text."""
        if self.language.separates_words:
            return shorten(self.text[self.tokens[start].start : self.tokens[end - 1].end])
        places = [at for at, char in enumerate(self.text) if char.isalnum()]
        return shorten(self.text[places[start] : places[end - 1] + 1])


def shorten(quote: str) -> str:
    return quote if len(quote) <= _LONGEST_QUOTED else quote[: _LONGEST_QUOTED - 1] + "…"


def read_features(text: str) -> Features:
    """Read a text. Do it once for a text that is compared with several others."""
    plain = normalise_marks(text[:LONGEST])
    whole = len(text) <= LONGEST and len(plain) <= LONGEST
    plain = plain[:LONGEST]
    simple = simplify(plain)
    kept = trim(simple)
    lower = make_comparable(simple[kept])
    cased = plain[kept] if len(plain[kept]) == len(lower) else lower
    words = lexicon()
    characters = sum("\u4e00" <= char <= "\u9fff" for char in lower)
    read = list(tokens_in(cased, lower, words, CHINESE if 5 * characters > len(lower) else ENGLISH))
    tokens = [_weighed(token, words) for token in _placed(_merged(read, words), words)]
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
    )


features_of = TextCache(read_features, max_bytes=32 * MIB, bytes_per_character=190)
"""The features of texts: entries of working memory are compared again and again."""


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
        shown = joint.join(one.surface for one in part)
        yield Token(key, shown, part[0].start, part[-1].end, tag=part[-1].tag)
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


def _weigh_nearly(tokens: Sequence[Token], words: Lexicon) -> None:
    """Nearly ten is about ten, and nearly done is not done; 每隔五分钟 is each, and 每隔一天 is not."""
    for token, after in pairwise(tokens):
        if after.value is None:
            continue
        if token.key in words.nearly or (token.key == _EACH and after.value.number != 1):
            token.counts = token.content = False


def _bind(tokens: Sequence[Token], words: Lexicon, text: str) -> int:
    """Each negation denies the next word of its clause that carries a fact, else the last; two cancel out."""
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
