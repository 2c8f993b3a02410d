"""Chinese: words are not separated by spaces and not inflected."""

from typing import Final

import rjieba

from clearwell.text.languages.language import Language, read_signs
from clearwell.text.words import words

CHINESE: Final = Language(
    code="zh",
    separates_words=False,
    sentence_ends="。！？；",
    stop_words=frozenset(str(words("stop")["zh"]).split()),
    signs=read_signs("> 大于 < 小于 >= 不低于 <= 不高于 != 不 <> 不 -> 到 <- 从 + + - -"),
    segment=rjieba.cut,
    stem=str,
    goes_on=lambda before, after: False,  # noqa: ARG005 - a full stop is used for nothing else
)
