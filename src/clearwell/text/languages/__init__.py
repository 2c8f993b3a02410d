"""The supported languages. Each is an object with its stop words, stemmer, segmenter and sentence rules."""

from typing import Final

from clearwell.text.languages.chinese import CHINESE
from clearwell.text.languages.english import ENGLISH
from clearwell.text.languages.language import Language

LANGUAGES: Final = (ENGLISH, CHINESE)

__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Language"]
