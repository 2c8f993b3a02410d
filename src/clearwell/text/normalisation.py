"""One form for all the ways to write the same value, so that a rejected value does not come back in disguise."""

import hmac
import re
import unicodedata
from collections.abc import Callable
from functools import cache

from clearwell.text.hidden_text import _INVISIBLE
from clearwell.text.look_alikes import IGNORED, first_letters, fold, foreign_letters

_VALUE_ENDS = re.compile(r"(?<=[.!?。！？；;])\s*|\n+|(?<=[:：])\s+")
"""Where a value may end. Finer than sentences, since a disguised value need not stand in a sentence of its own."""
MOST_PIECES = 200
LONGEST = 50_000
RUN = 3

_TAG = re.compile(r"<[^<>]{0,300}>")
_LABEL = re.compile(r"^\s*(?:[>*+•·\-]+\s+|\d{1,3}[.)]\s+|\[[^\]\n]{0,200}\]\s*)+")
_TOUCHING = re.compile(r"[013457](?:(?<=[a-z].)[013457]{0,2}|(?<!\d.)[013457]{0,2}(?=[a-z]))")
"""Digits that touch a letter. It begins with a set of characters, which a search finds faster than a look behind."""

_ACCENTS = re.compile("[\u0300-\u036f]")
_MAY_HAVE_ACCENTS = re.compile("[\u00c0-\u2fff]")
"""Where the characters are that Unicode decomposes into another one and an accent."""
_DRESS = re.compile(r"[\"'`´“”‘’„«»「」『』【】〖〗《》〈〉()\[\]{}*_~#|]|(?<=[^\W\d])-|(?<=\w)-(?=[^\W\d])")
_STOPS = re.compile(r"(?<!\d)[.,;:!?…—–·、。;:,]+|[.,;:!?…—–·、。;:,]+(?!\d)")
_INSIDE = re.compile(r"(?<=[a-z])[013457]{1,2}(?=[a-z])")
_LETTERS_FOR = str.maketrans("013457", "oleast")
_BROKEN = re.compile(r"(?<=[\u3400-\u9fff]) +(?=[\u3400-\u9fff])")
_FOREIGN_WORD = re.compile(r"(?<![^\W\d_])[A-Za-z]{0,80}[^\W\d_\x00-\x7f][^\W\d_]*")


def normalise(text: str) -> str:
    """Everything that dresses a value up folded away: look-alikes and unseen characters, then ``normalise_first``."""
    return normalise_first(text) if text.isascii() and text.isprintable() else normalise_first(fold(text))


def normalise_first(text: str) -> str:
    """The first version of the normalisation. The hashes of old tombstones are of texts in this form.

    Compatibility forms, case, accents, white space, hidden characters, quotes and marks, stops but for those in
    numbers, hyphens between letters, look-alikes, digits for letters, and the pairs rn and m, i and l.
    """
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    # NFKC once more: folding the case of some letters leaves them decomposed.
    plain = _replace_look_alikes(unicodedata.normalize("NFKC", folded))
    if _MAY_HAVE_ACCENTS.search(plain):
        plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", plain)))
    bare = _STOPS.sub("", _DRESS.sub("", plain))
    spelled = _INSIDE.sub(lambda digits: digits.group().translate(_LETTERS_FOR), bare)
    return "".join(spelled.split()).replace("rn", "m").replace("i", "l")


def remove_disguise(text: str) -> str:
    """The text as it reads, for a model: no hidden characters, no foreign letters in a Latin word, no broken Chinese.

    Words wholly of another script stay as they are.
    """
    if text.isascii():
        return text
    plain = IGNORED.sub("", unicodedata.normalize("NFKC", text.replace("\u3164", " ")))
    return _BROKEN.sub("", _FOREIGN_WORD.sub(lambda word: _latin(word.group()), plain))


def _latin(word: str) -> str:
    if word.isascii() or not any("a" <= letter <= "z" for letter in word.casefold()):
        return word
    known = foreign_letters() | first_letters()
    small = "".join(known.get(ord(letter), letter) for letter in word.casefold())
    return small if word.islower() or len(small) != len(word) else small[:1].upper() + small[1:]


def find_values(text: str) -> list[str]:
    """All that a text says, normalised: the whole, each sentence, and sentences that follow one another.

    A tombstone stands for a whole value, wherever it is said: also between tags, behind a list's or a quotation's mark
    or a label, and with digits for letters at the edge of a word.
    """
    if len(text) > LONGEST:
        # The beginning is looked at sentence by sentence, and the whole as one value.
        whole = [version(text) for version in _find_versions(text)]
        return list(dict.fromkeys((*whole, *find_values(text[:LONGEST]))))
    tagged = dict.fromkeys((text, _TAG.sub("\n", text)))
    pieces = [one for part in tagged for one in _VALUE_ENDS.split(part, MOST_PIECES)[:MOST_PIECES]]
    behind = [_LABEL.sub("", one) for one in pieces]
    wholes = (text, _TAG.sub("", text), *pieces)
    found: dict[str, None] = {}
    for version in _find_versions(text):
        normal = {one: version(one) for one in dict.fromkeys((*wholes, *behind))}
        said = [normal[one] for one in behind]
        runs = ["".join(said[start : start + length]) for length in range(1, RUN + 1) for start in range(len(said))]
        found |= dict.fromkeys(value for value in (*(normal[one] for one in wholes), *runs) if value)
    return list(dict.fromkeys(one for value in found for one in (value, _spelled(value))))


def _find_versions(text: str) -> tuple[Callable[[str], str], ...]:
    """The versions of the normalisation in which a tombstone for this text may have been made.

    Both are the same for a text that has neither look-alikes nor unseen characters.
    """
    is_plain = text.isascii() or fold(text) == unicodedata.normalize("NFKC", text)
    return (normalise,) if is_plain else (normalise, normalise_first)


def find_whole_values(text: str) -> list[str]:
    """A text as one value, normalised: as it is, and without tags or the mark or label before it."""
    forms = (text, _TAG.sub("", text), _LABEL.sub("", text))
    plain = [version(one) for version in _find_versions(text) for one in forms]
    return list(dict.fromkeys(one for value in plain if value for one in (value, _spelled(value))))


def frame_summary(value: str) -> str:
    """A value that may be said but not promoted: what a rejected insight only quotes.

    No normalised text has this frame, so no tombstone for a summary meets what anybody says.
    """
    return f"insight\x1f{value}"


def _spelled(value: str) -> str:
    """With every digit that touches a letter read as the letter it looks like."""
    return _TOUCHING.sub(lambda digits: digits.group().translate(_LETTERS_FOR), value).replace("i", "l")


def hash_value(value: str, secret: bytes) -> bytes:
    return hmac.digest(secret, value.encode("utf-8", "surrogatepass"), "sha256")


def _replace_look_alikes(text: str) -> str:
    """Most texts have none of them, and to look for one is faster than to look up every character."""
    return text.translate(first_letters()) if _look_alike_pattern().search(text) else text


@cache
def _look_alike_pattern() -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(chr, first_letters()))}]")
