"""Every sentence Clearwell says to a person, in English and in Chinese.

The sentences are in the ``.toml`` files of this package, by the stage or the adapter that says them, each under a
stable code, so that a verdict or an error stored years ago can still be read in either language. Words that
several parts share (labels, states, flags, checks) are in ``core.toml``.

A word that follows a number has both of its forms: ``{count} {count:entry|entries}``. Chinese needs no such forms.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Final, Literal, TypeGuard, get_args

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
_GAPS: Final[dict[Language, str]] = {"en": " ", "zh": ""}
_COMMAS: Final[dict[Language, str]] = {"en": ", ", "zh": "、"}
_COLONS: Final[dict[Language, str]] = {"en": ": ", "zh": "："}

FOLDER = Path(__file__).parent
_HEADER = re.compile(r"^\[(\w+)\]$", re.MULTILINE)


def is_language(name: str | None) -> TypeGuard[Language]:
    """Whether Clearwell speaks the language of this name."""
    return name in LANGUAGES


def join_sentences(sentences: Iterable[str], language: Language) -> str:
    return _GAPS[language].join(sentences)


def join_names(names: Iterable[str], language: Language) -> str:
    return _COMMAS[language].join(names)


def join_pair(name: str, text: str, language: Language) -> str:
    """A name, a colon and a text."""
    return f"{name}{_COLONS[language]}{text}"


class Word(str):
    """A code that stands in another sentence, and is said in the language of that sentence."""

    __slots__ = ()


class Catalogue(Mapping[str, dict[str, str]]):
    """All sentences: code to language to text with ``{placeholders}``.

    Which file holds a code is read from the table headers, which is cheap. A file is parsed when one of its
    sentences is first asked for.
    """

    def __init__(self, folder: Path) -> None:
        self._texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.toml"))}
        self._files = {code: path for path, text in self._texts.items() for code in _HEADER.findall(text)}
        self._parsed: dict[Path, dict[str, dict[str, str]]] = {}

    def __getitem__(self, code: str) -> dict[str, str]:
        path = self._files[code]
        if path not in self._parsed:
            self._parsed[path] = tomllib.loads(self._texts[path])
        return self._parsed[path][code]

    def __contains__(self, code: object) -> bool:
        return code in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class SentenceFormatter(Formatter):
    """Fills in placeholders, and chooses between the forms of a word by a number."""

    def format_field(self, value: Any, format_spec: str) -> str:
        singular, bar, plural = format_spec.partition("|")
        if bar:
            return singular if str(value) == "1" else plural
        return str(super().format_field(value, format_spec))


_FORMATTER = SentenceFormatter()


@cache
def catalogue() -> Catalogue:
    """The sentences of this package."""
    return Catalogue(FOLDER)


def say(code: str, language: Language = "en", /, **params: object) -> str:
    """The sentence for ``code`` in ``language``, with its placeholders filled in.

    A code that this version does not know, because a newer version stored it, is returned as it is.
    """
    if code not in catalogue():
        return code
    sentence = catalogue()[code][language]
    if "{" not in sentence:
        return sentence
    texts = {name: say(value, language) if isinstance(value, Word) else value for name, value in params.items()}
    return _FORMATTER.vformat(sentence, (), texts)
