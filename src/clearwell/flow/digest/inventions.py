"""Find values and names in a text that are not in its sources."""

import re
from collections.abc import Sequence
from typing import Final

from clearwell.comparison.values import agree, find_values
from clearwell.text.unicode_forms import normalise_form

NAME: Final = re.compile(r"(?<=[\w,;)%])\s*\b([A-Z](?=\w*[a-z0-9])[-\w]*)", re.ASCII)
"""A word with a capital letter that does not begin a sentence. Abbreviations such as API are often terms, not names."""


def find_invented(text: str, sources: Sequence[str]) -> list[str]:
    """Return the values and names in a text that none of its sources has.

    Values are compared by what they mean, so "11" is the "eleven" of a source. A small number may count the sources.
    """
    comparable = [_make_comparable(source) for source in sources]
    known = [value for source in comparable for _, _, value in find_values(source)]
    plain = _make_comparable(text)
    found = [
        plain[start:end]
        for start, end, value in find_values(plain)
        if not value.weak
        and not (value.dimension == "count" and value.number <= len(sources))
        and not any(agree(value, other) for other in known)
    ]
    known_words = (*comparable, *found)
    names = [name for name in NAME.findall(text) if not any(name.lower() in words for words in known_words)]
    return [*found, *names]


def _make_comparable(text: str) -> str:
    return normalise_form("NFKC", text).lower()
