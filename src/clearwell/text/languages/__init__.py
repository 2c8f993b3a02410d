"""The languages that texts are read in, each an object that holds what is particular to it."""

from typing import Final

from clearwell.text.languages.chinese import CHINESE
from clearwell.text.languages.english import ENGLISH
from clearwell.text.languages.language import Language

LANGUAGES: Final = (ENGLISH, CHINESE)

__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Language"]
