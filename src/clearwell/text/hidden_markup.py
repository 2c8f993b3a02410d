"""Find text hidden by markup: a reader of the rendered page does not see it, but a model does.

Comments, titles of links and of link definitions, elements with an invisible style, and text after a long blank space.
The address of an image on another host is such text, too: whoever renders the page sends it there without seeing it.
"""

import re
from typing import Final

_REMOTE: Final = r"(?:https?:)?//[^\s<>()\"']{1,2000}"
_PATTERNS: Final = (
    re.compile(r"<!--(?!\s{0,50}-->).{0,200}", re.DOTALL),
    re.compile(r"(?m)^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S{1,2000}[ \t]+(?:\"[^\"\n]+\"|'[^'\n]+'|\([^()\n]+\))[ \t]*$"),
    re.compile(r"\]\([^()\s]{0,2000}[ \t]+(?:\"[^\"\n]+\"|'[^'\n]+'|\([^()\n]+\))[ \t]*\)"),
    re.compile(
        r"<[a-z][^<>]{0,500}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])"
        r"|[^-]color\s*:\s*(?:white|transparent|#fff)|\shidden(?=[\s>=]))[^<>]{0,500}>",
        re.IGNORECASE,
    ),
    re.compile(r"(?<!\s)\s{300,}+\S[^\n]{0,200}"),
    re.compile(rf"!\[[^\]\n]{{0,200}}\]\(\s{{0,20}}<?{_REMOTE}", re.IGNORECASE),
    re.compile(
        rf"<(?:img|image|source|video|audio|iframe|embed|object)\s[^<>]{{0,500}}?=\s{{0,20}}[\"']?{_REMOTE}",
        re.IGNORECASE,
    ),
)
_REFERENCE: Final = re.compile(r"!\[([^\]\n]{0,200})\](?:\[([^\]\n]{0,200})\])?")
_DEFINITION: Final = re.compile(rf"(?mi)^ {{0,3}}\[([^\]\n]{{1,200}})\]:\s{{0,20}}<?{_REMOTE}")
_SIGNS: Final = re.compile(r"<[!a-zA-Z]|\][(:]|\s{20}")
"""A text without any of these has no hidden markup."""
LONGEST: Final = 100_000
SHOWN: Final = 200


def find_hidden_markup(text: str) -> str:
    """Return the first passage that markup hides, or an empty string."""
    seen = text[:LONGEST]
    if not _SIGNS.search(seen):
        return ""
    found = (*(pattern.search(seen) for pattern in _PATTERNS), _find_defined_image(seen))
    return next((" ".join(one.group().split())[:SHOWN] for one in found if one is not None), "")


def _find_defined_image(text: str) -> re.Match[str] | None:
    """Return the definition of the address of an image that is named elsewhere in the text."""
    defined = {one.group(1).casefold(): one for one in _DEFINITION.finditer(text)}
    if not defined:
        return None
    named = ((one.group(2) or one.group(1)).casefold() for one in _REFERENCE.finditer(text))
    return next((defined[name] for name in named if name in defined), None)
