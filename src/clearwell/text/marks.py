"""Remove Markdown marks: convert a line of Markdown to plain text."""

import re
from typing import Final

_MARKED: Final = re.compile(r"[*_`#>|\[\]\\~]")
_LINK: Final = re.compile(r"!?\[([^\]\n]{0,500})\]\((?:[^()\s]|\([^()\s]*\)){0,2000}(?:\s\"[^\"\n]{0,200}\")?\)")
_OPENING: Final = re.compile(r"^(?:#{1,6}\s+|>\s*)+|\s+#+$")
_EMPHASIS: Final = re.compile(r"\*{1,3}|~~|`+|(?<!\w)_{1,3}(?=\w)|(?<=[\w.,;:!?。，；：！？])_{1,3}(?!\w)")
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_MATH: Final = re.compile(r"(\$\$?(?!\s)[^$\n]*[\\^_{][^$\n]*(?<!\s)\$\$?)")
"""A TeX formula, whose backslashes and underscores are not Markdown. Two prices are not a formula."""
_ADDRESS: Final = re.compile(r"(?i)\s*(?:[a-z][a-z+.-]*://|www\.|[\w.+-]+@)|\s*(?:[\w-]+\.)+[a-z]{2,}(?:[/:?#]|\s*$)")
_SPACE: Final = re.compile(r"\s+")


def remove_marks(text: str) -> str:
    """Return one line of Markdown without its marks: emphasis, code, links, headings and escapes.

    Formulas are unchanged. So is a link whose text is an address, because its target may be a different one.
    """
    if not _MARKED.search(text):
        return text.strip()
    plain = _OPENING.sub("", text.strip())
    parts = _MATH.split(plain) if "$" in plain else [plain]
    return "".join(part if number % 2 else _remove_inline(part) for number, part in enumerate(parts)).strip()


def _remove_inline(text: str) -> str:
    if "](" in text:
        text = _LINK.sub(lambda link: link[0] if _ADDRESS.match(link[1]) else link[1], text)
    return _ESCAPED.sub(r"\1", _EMPHASIS.sub("", text))


def split_row(row: str) -> list[str]:
    """Return the cells of a table row as plain text."""
    inner = row.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [remove_marks(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", inner)]


def join_lines(text: str) -> str:
    """Return a text as one line."""
    return _SPACE.sub(" ", text).strip()
