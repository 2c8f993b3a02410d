"""Find text hidden by markup: a reader of the rendered page does not see it, but a model does.

Comments, titles of links and of link definitions, elements that are not rendered or have an invisible style, links
without a text, formulas that are not drawn, private-use characters, and text after a long blank space.
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
        r"|[^-]color\s*:\s*(?:white|transparent|#fff)|\shidden(?=[\s>=])"
        r"|(?:left|top|right|bottom|text-indent|margin-left|margin-top)\s*:\s*-\s*\d{3})[^<>]{0,500}>",
        re.IGNORECASE,
    ),
    re.compile(r"(?<!\s)\s{300,}+\S[^\n]{0,200}"),
    re.compile(r"(?<!\s)(?:[ \t]{0,20}\n){21,}+[ \t]{0,20}\S[^\n]{0,200}"),
    re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]{1,200}"),
    re.compile(rf"!\[[^\]\n]{{0,200}}\]\(\s{{0,20}}<?{_REMOTE}", re.IGNORECASE),
    re.compile(
        rf"<(?:img|image|source|video|audio|iframe|embed|object)\s[^<>]{{0,500}}?=\s{{0,20}}[\"']?{_REMOTE}",
        re.IGNORECASE,
    ),
)
_OUTSIDE_CODE: Final = (
    re.compile(
        r"<(?:template|script|noscript|style|noframes|noembed|datalist|details(?![^<>]{0,500}\sopen))"
        r"(?=[\s/>])[^<>]{0,500}>.{0,200}",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"<font\s[^<>]{0,500}?\bsize\s{0,20}=\s{0,20}[\"']?0[^<>]{0,500}>", re.IGNORECASE),
    re.compile(r"<(?:\?[a-z]|!\[CDATA\[|!(?!doctype\s+html\s*>)[a-z]).{1,200}", re.IGNORECASE | re.DOTALL),
    re.compile(r"(?<![!\]\w])\[\s{0,50}\]\([^()\s]{1,2000}\)"),
    re.compile(r"<a\s[^<>]{1,2000}>\s{0,50}</a\s{0,20}>", re.IGNORECASE),
    re.compile(
        r"\\(?:[hv]?phantom|(?:text)?color\s{0,20}(?:\[[^\]\n]{0,20}\])?\{\s{0,20}(?:white|transparent|#?fff)[^{}]{0,20}\})"
        r"\s{0,20}\{[^\n]{0,200}"
    ),
)
"""What hides text, unless it is code, which is shown as it is written."""
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CODE: Final = re.compile(r"(?<!`)(`{1,3})(?!`)[^`\n]{1,500}\1(?!`)")
_RAW: Final = re.compile(r"<(?:pre|textarea)\b", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"!\[([^\]\n]{0,200})\](?:\[([^\]\n]{0,200})\])?")
_DEFINITION: Final = re.compile(rf"(?mi)^ {{0,3}}\[([^\]\n]{{1,200}})\]:\s{{0,20}}<?{_REMOTE}")
_SIGNS: Final = re.compile(
    r"<[!?a-zA-Z]|\][(:]|\s{20}|\\(?:[hv]?phantom|(?:text)?color)|[\ue000-\uf8ff\U000f0000-\U0010fffd]"
)
"""A text without any of these has no hidden markup."""
LONGEST: Final = 100_000
SHOWN: Final = 200


def find_hidden_markup(text: str) -> str:
    """Return the first passage that markup hides, or an empty string."""
    seen = text[:LONGEST]
    if not _SIGNS.search(seen):
        return ""
    shown = _drop_code(seen)
    found = (
        *(pattern.search(seen) for pattern in _PATTERNS),
        *(pattern.search(shown) for pattern in _OUTSIDE_CODE),
        _find_defined_image(seen),
    )
    return next((" ".join(one.group().split())[:SHOWN] for one in found if one is not None), "")


def _drop_code(text: str) -> str:
    """Return a text of Markdown without its code. Where an element of HTML is open, a fence is no fence."""
    if ("`" not in text and "~~~" not in text) or _RAW.search(text):
        return text
    kept: list[str] = []
    fence, in_html = "", False
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            continue
        if mark and not in_html:
            fence = mark[1]
            continue
        in_html = bool(line.strip()) and (in_html or bool(re.match(r" {0,3}<[!?/a-zA-Z]", line)))
        kept.append(line if in_html else _CODE.sub("", line))
    return "\n".join(kept)


def _find_defined_image(text: str) -> re.Match[str] | None:
    """Return the definition of the address of an image that is named elsewhere in the text."""
    defined = {one.group(1).casefold(): one for one in _DEFINITION.finditer(text)}
    if not defined:
        return None
    named = ((one.group(2) or one.group(1)).casefold() for one in _REFERENCE.finditer(text))
    return next((defined[name] for name in named if name in defined), None)
