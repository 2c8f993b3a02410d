"""Remove Markdown marks: convert a line of Markdown to plain text."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from typing import Final

_MARKED: Final = re.compile(r"[*_`#>|\[\]\\~]")
_LINK: Final = re.compile(r"!?\[([^\]\n]{0,500})\]\((?:[^()\s]|\([^()\s]*\)){0,2000}(?:\s\"[^\"\n]{0,200}\")?\)")
_OPENING: Final = re.compile(r"^(?:#{1,6}\s+|>\s*)+|\s+#+$")
_FOOTNOTE: Final = re.compile(r"\[\^[\w-]{1,20}\](?!:)")
_TOKEN: Final = re.compile(r"\\[!-/:-@\[-`{-~]|`+|\*+|_+|~+")
_BACKTICKS: Final = re.compile(r"`+")
_WIDE: Final = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
"""A character of Chinese, Japanese or Korean text, which has no spaces around emphasis."""
_SPECIAL_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_MOST_MARKS: Final = {"*": 3, "_": 3, "~": 2}
_STRUCK: Final = "~~"
_STRONG: Final = ("**", "***")
_FULL_PAUSES: Final = "：，。；、！？"
_MATH: Final = re.compile(r"(\$\$?(?!\s)[^$\n]*[\\^_{][^$\n]*(?<!\s)\$\$?)")
"""A TeX formula, whose backslashes and underscores are not Markdown. Two prices are not a formula."""
_ADDRESS: Final = re.compile(r"(?i)\s*(?:[a-z][a-z+.-]*://|www\.|[\w.+-]+@)|\s*(?:[\w-]+\.)+[a-z]{2,}(?:[/:?#]|\s*$)")
_CHINESE_BREAK: Final = re.compile(r"(?<=[\u3400-\u9fff，、；：])[ \t]*\n[ \t]*(?=[\u3400-\u9fff])")
_QUOTED_LINE: Final = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_SPACE: Final = re.compile(r"\s+")


def remove_marks(text: str) -> str:
    """Return one line of Markdown without its marks: emphasis, code, links, headings, footnotes and escapes.

    Text that is struck out is left out: who wrote it withdrew it.
    Formulas are unchanged. So is a link whose text is an address, because its target may be a different one.
    """
    if not _MARKED.search(text):
        return text.strip()
    plain = _remove_links(_FOOTNOTE.sub("", _OPENING.sub("", text.strip())))
    kept, at = [], 0
    for start, end in _find_marks(plain):
        kept.append(plain[at:start])
        at = max(at, end)
    return ("".join(kept) + plain[at:]).strip()


def _remove_links(text: str) -> str:
    if "](" not in text:
        return text
    parts = _MATH.split(text) if "$" in text else [text]
    return "".join(part if number % 2 else _LINK.sub(_name_link, part) for number, part in enumerate(parts))


def _name_link(link: re.Match[str]) -> str:
    return link[0] if _ADDRESS.match(link[1]) else link[1]


def _find_marks(text: str) -> list[tuple[int, int]]:
    """Return the positions of the marks to remove, in order: backslashes, and the two ends of code and emphasis.

    Emphasis is read as in CommonMark, with three differences: marks next to Chinese need no space, both ends have the
    same number of marks, and a mark of arithmetic, a path, a pattern or a name is none ("2*3*4", "src/*/a", "*.log",
    "__init__").
    """
    marks: list[tuple[int, int]] = []
    openers: list[re.Match[str]] = []
    waiting: Counter[str] = Counter()
    code = _CodeSpans(text)
    formulas = deque(formula.span() for formula in (_MATH.finditer(text) if "$" in text else ()))
    passed = 0
    for token in _TOKEN.finditer(text):
        while formulas and formulas[0][0] <= token.start():
            passed = max(passed, formulas.popleft()[1])
        if token.start() < passed:
            continue
        if token[0][0] == "\\":
            marks.append((token.start(), token.start() + 1))
        elif token[0][0] == "`":
            if (closing := code.find_end(token)) is not None:
                passed = closing + len(token[0])
                marks += [token.span(), (closing, passed)]
        elif len(token[0]) <= _MOST_MARKS[token[0][0]] and token[0] != "~":
            if waiting[token[0]] and _may_close(text, token):
                while (opener := openers.pop())[0] != token[0]:
                    waiting[opener[0]] -= 1
                waiting[token[0]] -= 1
                if token[0] == _STRUCK:
                    marks.append((opener.start(), _skip_space(text, token, always=True)))
                elif token[0] != "__" or not _SPECIAL_NAME.fullmatch(text, opener.end(), token.start()):
                    marks += [opener.span(), (token.start(), _skip_space(text, token))]
            elif _is_cut(text, token):
                marks.append(token.span())
            elif _may_open(text, token):
                openers.append(token)
                waiting[token[0]] += 1
    if openers and openers[0].start() == 0 and _starts_sentence(text, openers[0]):
        marks.append(openers[0].span())
    return sorted(marks)


def _is_cut(text: str, token: re.Match[str]) -> bool:
    """Whether strong emphasis ends here that began in a sentence before this one."""
    return token.end() == len(text) and token[0] in _STRONG and text[token.start() - 1] in ".!?。！？"


def _starts_sentence(text: str, token: re.Match[str]) -> bool:
    """Whether strong emphasis of several sentences begins here. A parameter (**names) does not."""
    after = text[token.end() : token.end() + 1]
    return token[0] in _STRONG and (after.isupper() or bool(_WIDE.match(after)))


class _CodeSpans:
    """Where the code spans of a text end: at the next run of as many backticks as at their start."""

    def __init__(self, text: str) -> None:
        self._runs: defaultdict[int, list[int]] = defaultdict(list)
        for run in _BACKTICKS.finditer(text):
            self._runs[len(run[0])].append(run.start())

    def find_end(self, opening: re.Match[str]) -> int | None:
        runs = self._runs[len(opening[0])]
        at = bisect_left(runs, opening.end())
        return runs[at] if at < len(runs) else None


def _neighbours(text: str, token: re.Match[str]) -> tuple[str, str]:
    """Return the characters before and after a mark; the ends of the text count as spaces."""
    return text[token.start() - 1 : token.start()] or " ", text[token.end() : token.end() + 1] or " "


def _may_open(text: str, token: re.Match[str]) -> bool:
    before, after = _neighbours(text, token)
    if after.isspace() or before in "/\\" or after in "/\\.,;:)]}":
        return False
    if before.isalnum() and not _WIDE.match(before):
        return False
    return token[0][0] != "_" or not before.isalnum()


def _may_close(text: str, token: re.Match[str]) -> bool:
    before, after = _neighbours(text, token)
    if before.isspace() or before in "/\\([{" or after in "/\\":
        return False
    if not after.isalnum():
        return True
    if token[0][0] == "_":
        return False
    if _WIDE.match(after) or _WIDE.match(before):
        return True
    return len(token[0]) > 1 and not after.isdigit() and (before.isalpha() or before in ".,;:!?")


def _skip_space(text: str, token: re.Match[str], *, always: bool = False) -> int:
    """Return the end of a closing mark, with the space after it if it follows a full-width pause."""
    end = token.end()
    if not always and text[token.start() - 1] not in _FULL_PAUSES:
        return end
    return len(text) - len(text[end:].lstrip(" "))


def split_row(row: str) -> list[str]:
    """Return the cells of a table row as plain text."""
    inner = row.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [remove_marks(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", inner)]


def join_lines(text: str) -> str:
    """Return a text as one line. Between Chinese characters there is no space."""
    return _SPACE.sub(" ", _CHINESE_BREAK.sub("", _QUOTED_LINE.sub("\n", text))).strip()
