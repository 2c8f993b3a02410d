"""Normalise values, so that a rejected value is recognised in every spelling and disguise."""

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice

from clearwell.text.characters import measure_width
from clearwell.text.disguises import uncover
from clearwell.text.hidden_text import _INVISIBLE
from clearwell.text.look_alikes import IGNORED, first_letters, fold, foreign_letters, read_letters
from clearwell.text.unicode_forms import normalise_form

_VALUE_ENDS = re.compile(r"(?<=[.!?。！？；;])\s*|\n+|(?<=[:：])\s+")
"""Where a value can end. Finer than sentences, because a disguised value need not be a sentence of its own."""
MAX_PIECES = 200
LONGEST = 50_000
RUN = 3
SHORTEST_LEFT = 8
SHORTEST_IN_METADATA = 12
"""Minimum display width of a value in metadata that is compared. Shorter ones are labels, such as states or names."""

_TAG = re.compile(r"<[^<>]{0,300}>")
_LABEL = re.compile(r"^\s*(?:[>*+•·\-]+\s+|\d{1,3}[.)]\s+|\[[^\]\n]{0,200}\]\s*)+")
_TOUCHING = re.compile(r"[013457](?:(?<=[a-z].)[013457]{0,2}|(?<!\d.)[013457]{0,2}(?=[a-z]))")
"""Digits next to a letter. The pattern begins with a character set, which is faster than a look-behind."""

_ACCENTS = re.compile("[\u0300-\u036f]")
_MAY_HAVE_ACCENTS = re.compile("[\u00c0-\u2fff]")
"""The range of the characters that Unicode decomposes into a letter and an accent."""
_DRESS = re.compile(r"[\"'`´“”‘’„«»「」『』【】〖〗《》〈〉()\[\]{}*_~#|]|(?<=[^\W\d])-|(?<=\w)-(?=[^\W\d])")
_STOPS = re.compile(r"(?<!\d)[.,;:!?…—–·、。;:,]+|[.,;:!?…—–·、。;:,]+(?!\d)")
_INSIDE = re.compile(r"(?<=[a-z])[013457]{1,2}(?=[a-z])")
_LETTERS_FOR = str.maketrans("013457", "oleast")
_BROKEN = re.compile(r"(?<=[\u3400-\u9fff]) +(?=[\u3400-\u9fff])")
_FOREIGN_WORD = re.compile(r"(?<![^\W\d_])[A-Za-z]{0,80}[^\W\d_\x00-\x7f][^\W\d_]*")


def normalise(text: str) -> str:
    """Return the canonical form of a value: replace look-alikes and remove invisible characters, then
    ``normalise_first``."""
    return normalise_first(text) if text.isascii() and text.isprintable() else normalise_first(fold(text))


def normalise_first(text: str) -> str:
    """Normalise with the first version of the rules. The hashes of old tombstones are of texts in this form.

    It folds compatibility forms, case, look-alikes, digits used as letters, and the pairs rn and m, i and l. It removes
    accents, white space, hidden characters, quotes and marks, hyphens between letters, and punctuation except in
    numbers.
    """
    folded = normalise_form("NFKC", _INVISIBLE.sub("", text)).casefold()
    # NFKC again, because case folding leaves some letters decomposed.
    plain = _replace_look_alikes(normalise_form("NFKC", folded))
    if _MAY_HAVE_ACCENTS.search(plain):
        plain = normalise_form("NFC", _ACCENTS.sub("", normalise_form("NFD", plain)))
    bare = _STOPS.sub("", _DRESS.sub("", plain))
    spelled = _INSIDE.sub(lambda digits: digits.group().translate(_LETTERS_FOR), bare)
    return "".join(spelled.split()).replace("rn", "m").replace("i", "l")


def remove_disguise(text: str) -> str:
    """Return the text for a model, without hidden characters, foreign letters in Latin words, and spaces in Chinese.

    Words that are entirely in another script are unchanged.
    """
    if text.isascii():
        return text
    plain = IGNORED.sub("", normalise_form("NFKC", text.replace("\u3164", " ")))
    return _BROKEN.sub("", _FOREIGN_WORD.sub(lambda word: _latin(word.group()), plain))


def _latin(word: str) -> str:
    if word.isascii() or not any("a" <= letter <= "z" for letter in word.casefold()):
        return word
    known = foreign_letters() | first_letters()
    small = "".join(known.get(ord(letter), letter) for letter in word.casefold())
    return small if word.islower() or len(small) != len(word) else small[:1].upper() + small[1:]


def find_values(text: str) -> list[str]:
    """Return all normalised values of a text: the whole, each sentence, and runs of successive sentences.

    A tombstone is for a whole value, wherever it occurs: also between tags, after a list or quotation mark or a label,
    and with digits instead of letters at the edge of a word.
    """
    said = _find_values(text)
    uncovered = [value for form in _uncover(text[:LONGEST]) for value in _find_values(form)]
    return list(dict.fromkeys((*said, *uncovered))) if uncovered else said


def _uncover(text: str) -> list[str]:
    """Return the text without disguises, and with turned letters read as Latin ones, where that changes it."""
    uncovered = uncover(text)
    return [form for form in dict.fromkeys((uncovered, read_letters(uncovered))) if form != text]


def _find_values(text: str) -> list[str]:
    if len(text) > LONGEST:
        # Only the beginning is split into sentences; the whole is one value.
        whole = [version(text) for version in _find_versions(text)]
        return list(dict.fromkeys((*whole, *_find_values(text[:LONGEST]))))
    tagged = dict.fromkeys((text, _TAG.sub("\n", text)))
    split = [one for part in tagged for one in _split(part)]
    pieces, stops = [piece for piece, _ in split], [stop for _, stop in split]
    behind = [_LABEL.sub("", one) for one in pieces]
    wholes = (text, _TAG.sub("", text), *pieces)
    found: dict[str, None] = {}
    for version in _find_versions(text):
        normal = {one: version(one) for one in dict.fromkeys((*wholes, *behind))}
        said = [normal[one] for one in behind]
        runs = [_join(said, stops, start, length) for length in range(1, RUN + 1) for start in range(len(said))]
        found |= dict.fromkeys(value for value in (*(normal[one] for one in wholes), *runs) if value)
    return list(dict.fromkeys(one for value in found for one in (value, _spelled(value))))


def _split(text: str) -> list[tuple[str, str]]:
    """Return the pieces between which a value can end, each with the mark after it if that is inside a number."""
    pieces: list[tuple[str, str]] = []
    start = 0
    for end in islice(_VALUE_ENDS.finditer(text), MAX_PIECES):
        place = end.start()
        inside = not end.group() and text[max(0, place - 2) : place - 1].isdigit() and text[place : place + 1].isdigit()
        pieces.append((text[start:place], text[place - 1] if inside else ""))
        start = end.end()
    return [*pieces, (text[start:], "")][:MAX_PIECES]


def _join(said: Sequence[str], stops: Sequence[str], start: int, length: int) -> str:
    """Return successive pieces as one value. A number that was split keeps its mark: 1.5 is not 15."""
    last = min(start + length, len(said)) - 1
    return "".join(said[place] + stops[place] for place in range(start, last)) + said[last]


def _find_versions(text: str) -> tuple[Callable[[str], str], ...]:
    """Return the versions of the normalisation with which a tombstone for this text can have been made.

    Both give the same result for a text without look-alikes and invisible characters.
    """
    is_plain = text.isascii() or fold(text) == normalise_form("NFKC", text)
    return (normalise,) if is_plain else (normalise, normalise_first)


def find_whole_values(text: str) -> list[str]:
    """Return a text as one normalised value: as it is, without tags, without the mark or label before it, undisguised.

    If the text was mostly signs, too little is left of the undisguised form, and it is not returned.
    """
    whole = _find_whole_values(text)
    if len(text) > LONGEST:
        return whole
    uncovered = [value for form in _uncover(text) for value in _find_whole_values(form)]
    return list(dict.fromkeys((*whole, *(one for one in uncovered if len(one) >= SHORTEST_LEFT))))


def find_spellings(text: str) -> list[str]:
    """Return a text normalised as it is written and, if it is disguised, without the disguise."""
    return list(dict.fromkeys(normalise(form) for form in (text, *_uncover(text))))


def _find_whole_values(text: str) -> list[str]:
    forms = (text, _TAG.sub("", text), _LABEL.sub("", text))
    plain = [version(one) for version in _find_versions(text) for one in forms]
    return list(dict.fromkeys(one for value in plain if value for one in (value, _spelled(value))))


def list_metadata_texts(metadata: object) -> list[str]:
    """Return the texts in metadata, including names, that are longer than a label."""
    waiting, texts = [metadata], dict[str, None]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            texts[one] = None
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
    return [text for text in texts if measure_width(text) >= SHORTEST_IN_METADATA]


def find_metadata_values(texts: Sequence[str]) -> list[str]:
    """Return the normalised values of texts of metadata, without those as short as a label."""
    found = dict.fromkeys(value for text in texts for value in find_values(text))
    return [value for value in found if measure_width(value) >= SHORTEST_IN_METADATA]


def frame_summary(value: str) -> str:
    """Return a value with a prefix that no normalised text has, for the summary of a rejected insight.

    The tombstone of such a value refuses its promotion, but does not match outputs.
    """
    return f"insight\x1f{value}"


def _spelled(value: str) -> str:
    """Return a value with every digit next to a letter replaced by the letter that it resembles."""
    return _TOUCHING.sub(lambda digits: digits.group().translate(_LETTERS_FOR), value).replace("i", "l")


def hash_value(value: str, secret: bytes) -> bytes:
    """Return the keyed hash of a normalised value."""
    return hmac.digest(secret, value.encode("utf-8", "surrogatepass"), "sha256")


def _replace_look_alikes(text: str) -> str:
    """Replace look-alikes. Most texts have none, and a search is faster than translating every character."""
    return text.translate(first_letters()) if _look_alike_pattern().search(text) else text


@cache
def _look_alike_pattern() -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(chr, first_letters()))}]")
