"""Find text hidden by markup: a reader of the rendered page does not see it, but a model does.

Comments, titles of links and of link definitions, elements with an invisible style, and text after a long blank space.
"""

import re
from typing import Final

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
)
_SIGNS: Final = re.compile(r"<[!a-zA-Z]|\][(:]|\s{20}")
"""A text without any of these has no hidden markup."""
LONGEST: Final = 100_000
SHOWN: Final = 200


def find_hidden_markup(text: str) -> str:
    """Return the first passage that markup hides, or an empty string."""
    seen = text[:LONGEST]
    if not _SIGNS.search(seen):
        return ""
    found = (pattern.search(seen) for pattern in _PATTERNS)
    return next((" ".join(one.group().split())[:SHOWN] for one in found if one is not None), "")
