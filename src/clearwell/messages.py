"""Every sentence Clearwell says to a person, in English and in Chinese.

The sentences are in ``messages.toml``, each under a stable code, so that a verdict or an error stored
years ago can still be read in either language.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

Language = Literal["en", "zh"]


class Word(str):
    """A code that stands in another sentence, and is said in the language of that sentence."""

    __slots__ = ()


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """All sentences: code to language to text with ``{placeholders}``."""
    text = files("clearwell").joinpath("messages.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def say(code: str, language: Language = "en", /, **params: object) -> str:
    """The sentence for ``code`` in ``language``, with its placeholders filled in.

    A code that this version does not know, as a newer one may have stored it, is said as it is.
    """
    known = catalogue().get(code)
    if known is None:
        return code
    said = {name: say(value, language) if isinstance(value, Word) else value for name, value in params.items()}
    return known[language].format(**said)
