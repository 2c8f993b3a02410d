"""Markdown marks: a line of Markdown as plain text."""

import re
from typing import Final

_MARKED: Final = re.compile(r"[*_`#>|\[\]\\~]")
_LINK: Final = re.compile(r"!?\[([^\]\n]{0,500})\]\((?:[^()\s]|\([^()\s]*\)){0,2000}(?:\s\"[^\"\n]{0,200}\")?\)")
_OPENING: Final = re.compile(r"^(?:#{1,6}\s+|>\s*)+|\s+#+$")
_EMPHASIS: Final = re.compile(r"\*{1,3}|~~|`+|(?<!\w)_{1,3}(?=\w)|(?<=[\w.,;:!?。，；：！？])_{1,3}(?!\w)")
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPACE: Final = re.compile(r"\s+")


def remove_marks(text: str) -> str:
    """Return one line of Markdown without its marks: emphasis, code, links, headings and escapes."""
    if not _MARKED.search(text):
        return text.strip()
    plain = _OPENING.sub("", text.strip())
    if "](" in plain:
        plain = _LINK.sub(r"\1", plain)
    return _ESCAPED.sub(r"\1", _EMPHASIS.sub("", plain)).strip()


def split_row(row: str) -> list[str]:
    """Return the cells of a table row as plain text."""
    inner = row.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [remove_marks(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", inner)]


def join_lines(text: str) -> str:
    """Return a text as one line."""
    return _SPACE.sub(" ", text).strip()
