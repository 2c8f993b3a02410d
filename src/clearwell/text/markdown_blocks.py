"""Parse Markdown into blocks: headings, lines of paragraphs, list items and quotes, code, and rows of tables.

Every block has its position in the text, and the headings and the lead-in above it. Invalid Markdown is read as lines.
Nesting has a limit: what is deeper is read as if it were at the limit.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from clearwell.text.kinds import is_code, opens_with_conjunction
from clearwell.text.sentences import find_sentences, strip_span

MAX_LINES: Final = 20_000
"""Maximum number of lines that are read."""
LONGEST_HEADING: Final = 200

_PARSER: Final = MarkdownIt("commonmark", {"maxNesting": 30}).enable("table").disable(["html_block", "reference"])
_PARSER.core.ruler.disable(["inline"])
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_MARKER: Final = re.compile(
    r"\s*(?:(?:>|[-*+•◦·▪‣–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|[（(][一二三四五六七八九十\d]{1,3}[)）])\s+"
    r"|[（(][一二三四五六七八九十\d]{1,3}[)）]|\(?\d{1,2}[、．]|[一二三四五六七八九十]{1,3}、|[①-⑳]\s*|>)*"
)
"""The marker before the text of a list item or a quotation."""
_NESTING: Final = re.compile(r"[ \t]*(?P<last>(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*")
"""Everything before the text of a line that can open a list or a quotation in another one."""
_DEEPEST: Final = 24
"""Columns before the last marker of a line. Each level needs one, so the limit of the parser is not reached."""
_BOLD_TITLE: Final = re.compile(r"(?:\*\*|__)[^*_\n]{1,120}(?:\*\*|__)[:：]?")
_CAPITALS_TITLE: Final = re.compile(r"(?:\d+[.)]\s*)?[A-Z][A-Z /&'-]{3,80}:?")
_CHINESE_TITLE: Final = re.compile(r"\s*[一二三四五六七八九十]{1,3}、[^。！？；，,.!?;\n]{1,24}")
_TITLE_MARKS: Final = "#=- \t*_:：\n\r"
_SENTENCE_ENDS: Final = ".!?;,:。！？；，：…"
_PROSE_FENCES: Final = frozenset({"markdown", "md", "text/markdown"})
_WIDEST_COLUMN: Final = 4
"""Columns of a tab."""
_DEEPEST_FENCE: Final = 2
_BLANK_LINES: Final = re.compile(r"\n(?:[ \t>]*\r?\n)+")
_DOCSTRING: Final = re.compile(r"\"{3}|'{3}")
_PROSE_START: Final = re.compile(r" {0,3}(?:[-*+] |\d{1,3}[.)] |#{2,6} |> ?|\*\*)*[\"“‘「]?[A-Z\u3400-\u9fff]")
_PROSE_ENDS: Final = tuple(".!?:;。！？：；…")
_PROSE_WORDS: Final = re.compile(r"[A-Za-z]{2,},? [a-z\d]{2,},? [a-z\d]{1,}|[\u3400-\u9fff]{4}")
_LONGEST_TITLE: Final = 60
_WRAPPED: Final = 50
"""A shorter line was not wrapped, so the next one does not continue it, unless the whole paragraph is narrow."""
_FEWEST_WRAPPED: Final = 3
"""Minimum number of lines of a paragraph whose width says where its lines were wrapped."""
_UNFINISHED: Final = re.compile(
    r"(?:[,，、]|\b(?:of|the|an?|to|and|or|in|on|at|by|for|with|from|as|is|are|was|were|be|been|has|have|had|that|which|than"
    r"|into|per|no|not|its|their|our|this|these|between|about|after|before|under|over)|[的为是在和与由将对把被从及或])$"
)
"""The end of a line that no sentence has: the next line continues it, whatever it begins with."""
_TITLE_LEVEL: Final = 7
"""The level of a line in bold or in capitals that is a heading: below every Markdown heading."""


class BlockType(StrEnum):
    """The type of a block in Markdown."""

    LINE = "line"
    HEADING = "heading"
    CODE = "code"
    TABLE_HEADER = "table_header"
    TABLE_ROW = "table_row"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Block:
    """One block: ``text[start:end]``. A line is a logical line, without its list marker."""

    start: int
    end: int
    type: BlockType
    headings: tuple[str, ...] = ()
    lead_in: str = ""
    in_list: bool = False


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a text in order. Lines after the first ``MAX_LINES`` are left out."""
    return _BlockReader(text).read()


class _BlockReader:
    """Reads the tokens of one text, and keeps track of the current headings and lead-ins."""

    def __init__(self, text: str, *, offset: int = 0, headings: Sequence[tuple[int, str]] = (), depth: int = 0) -> None:
        self._text = text
        self._offset = offset
        self._depth = depth
        self._starts, self._ends = _find_lines(text)
        self._headings = list(headings)
        self._lead_in = ""
        self._outer_lead_ins: list[str] = []
        self._header = ""
        self._in_header = False
        self._in_heading = False
        self._blocks: list[Block] = []

    def read(self) -> list[Block]:
        for token in _PARSER.parse(self._parsed_text()):
            self._read_token(token)
        return self._blocks

    def _parsed_text(self) -> str:
        """Return the text with uniform line ends, because the parser also accepts other characters as such."""
        lines = (_limit_nesting(self._text[start:end]) for start, end in zip(self._starts, self._ends, strict=True))
        return "\n".join(lines).replace("\0", " ")

    def _read_token(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._open_list()
            case "bullet_list_close" | "ordered_list_close":
                self._lead_in = self._outer_lead_ins.pop()
                if not self._outer_lead_ins:
                    self._lead_in = ""
            case "list_item_open":
                self._lead_in = self._outer_lead_ins[-1]
            case "heading_open":
                self._in_heading = True
                self._read_heading(token)
            case "heading_close":
                self._in_heading = False
            case "fence":
                self._read_fence(token)
            case "code_block":
                self._read_indented(token)
            case "hr":
                self._add(BlockType.RULE, *self._place(token))
            case "thead_open" | "thead_close":
                self._in_header = token.type == "thead_open"
            case "tr_open":
                self._read_row(token)
            case "paragraph_open":
                self._read_paragraph(token)

    def _open_list(self) -> None:
        """Open a list. A short line without final punctuation before it is its lead-in, like a line with a colon."""
        last = self._blocks[-1] if self._blocks else None
        if last and last.type is BlockType.LINE and not self._outer_lead_ins and not last.in_list:
            line = self._text[last.start - self._offset : last.end - self._offset]
            if len(line) <= _LONGEST_TITLE and not any(mark in line for mark in _SENTENCE_ENDS):
                self._blocks[-1] = replace(last, type=BlockType.HEADING)
                self._lead_in = line
        self._outer_lead_ins.append(self._lead_in)

    def _read_heading(self, token: Token) -> None:
        start, end = self._place(token)
        title = self._text[start:end].strip(_TITLE_MARKS).split("\n")[0].strip()
        self._add_heading(int(token.tag[1]), title, start, end)

    def _add_heading(self, level: int, title: str, start: int, end: int) -> None:
        self._headings = [heading for heading in self._headings if heading[0] < level]
        self._lead_in = ""
        self._add(BlockType.HEADING, start, end)
        if title:
            self._headings.append((level, title[:LONGEST_HEADING]))

    def _read_fence(self, token: Token) -> None:
        """Read a fence as code, a Markdown document in it as blocks, and a fence that is never closed by paragraphs."""
        start, end = self._place(token)
        language = token.info.strip().split(" ")[0].casefold()
        inner_start = self._starts[min(_lines(token)[0] + 1, len(self._starts) - 1)]
        closing = self._text.rfind("\n", inner_start, end)
        closed = self._text[closing + 1 : end].lstrip("> \t").startswith(token.markup)
        if self._depth >= _DEEPEST_FENCE:
            self._add(BlockType.CODE, start, end)
        elif language in _PROSE_FENCES:
            self._read_inner(inner_start, max(inner_start, closing) if closed else end)
        elif closed:
            self._add(BlockType.CODE, start, end)
        else:
            self._read_unclosed(start, end)

    def _read_unclosed(self, start: int, end: int) -> None:
        """Read what follows the mark of a fence that is never closed: code up to the first paragraph that is prose.

        Prose and code may alternate after it.
        """
        code_start = read = start
        in_docstring = False
        for gap in _BLANK_LINES.finditer(self._text, start, end):
            in_docstring ^= len(_DOCSTRING.findall(self._text, read, gap.start())) % 2 == 1
            read = gap.end()
            following = _BLANK_LINES.search(self._text, gap.end(), end)
            stop = following.start() if following else end
            if in_docstring or not _is_prose(self._text[gap.end() : stop]):
                continue
            self._add_code(code_start, gap.start())
            self._read_inner(gap.end(), stop)
            code_start = stop
        self._add_code(code_start, end)

    def _add_code(self, start: int, end: int) -> None:
        for place in strip_span(self._text, start, end):
            self._add(BlockType.CODE, *place)

    def _read_indented(self, token: Token) -> None:
        """Read indented text as code, unless it is a list item that was indented too far."""
        start, end = self._place(token)
        lines = self._text[start:end].split("\n")
        if all(_MARKER.match(line).end() > _indent(line) for line in lines):  # type: ignore[union-attr]
            for first, last in self._strip_lines(*_lines(token)):
                self._add(BlockType.LINE, first, last, in_list=True)
        else:
            self._add(BlockType.CODE, start, end)

    def _read_inner(self, start: int, end: int) -> None:
        if start < end:
            inner = self._text[start:end]
            reader = _BlockReader(inner, offset=self._offset + start, headings=self._headings, depth=self._depth + 1)
            self._blocks += reader.read()

    def _read_row(self, token: Token) -> None:
        start, end = self._place(token)
        if self._in_header:
            self._header = self._text[start:end]
            self._add(BlockType.TABLE_HEADER, start, end)
        else:
            self._add(BlockType.TABLE_ROW, start, end, lead_in=self._header)

    def _read_paragraph(self, token: Token) -> None:
        if not self._outer_lead_ins:
            self._lead_in = ""
        for start, end in self._join_lines(list(self._strip_lines(*_lines(token)))):
            line = self._text[start:end]
            if _CAPITALS_TITLE.fullmatch(line) or (not self._outer_lead_ins and self._is_title(start, end)):
                self._add_heading(_TITLE_LEVEL, line.strip(_TITLE_MARKS), start, end)
                continue
            title_of_item = bool(self._outer_lead_ins) and _BOLD_TITLE.fullmatch(line) is not None
            item = _is_item(self._text, start)
            self._add(BlockType.HEADING if title_of_item else BlockType.LINE, start, end, in_list=item)
            if title_of_item or line.rstrip("*_ ").endswith((":", "：")):
                self._lead_in = self._last_sentence(start, end)
            elif not self._outer_lead_ins and self._lead_in:
                self._lead_in = self._lead_in if item else ""

    def _is_title(self, start: int, end: int) -> bool:
        """Return whether a line outside of lists looks like a heading: in bold, or short after a Chinese number."""
        if _BOLD_TITLE.fullmatch(self._text, start, end):
            return True
        line_start = self._text.rfind("\n", 0, start) + 1
        return _CHINESE_TITLE.fullmatch(self._text, line_start, end) is not None

    def _last_sentence(self, start: int, end: int) -> str:
        *_, (start, end) = find_sentences(self._text, max(start, end - LONGEST_HEADING), end)
        return self._text[start:end]

    def _strip_lines(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the positions of lines without list markers, quotation marks and surrounding white space."""
        for number in range(first, min(last, len(self._starts))):
            start, end = self._starts[number], self._ends[number]
            marker = _MARKER.match(self._text, start, end)
            yield from strip_span(self._text, marker.end() if marker else start, end)

    def _join_lines(self, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the positions of logical lines: wrapped sentences are joined."""
        joined: list[tuple[int, int]] = []
        wrapped = self._is_wrapped(places)
        for start, end in places:
            if joined and self._continues(joined[-1], start, wrapped=wrapped):
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        return joined

    def _is_wrapped(self, places: Sequence[tuple[int, int]]) -> bool:
        """Return whether the lines were wrapped at one width: the next word did not fit on any of them.

        Lines of a log can be like that, too, but none of them begins with a small letter.
        """
        if len(places) < _FEWEST_WRAPPED or not any(self._text[start].islower() for start, _ in places[1:]):
            return False
        width = max(end - start for start, end in places)
        return all(
            end - start + len(self._text[after:last].split(maxsplit=1)[0]) >= width
            for (start, end), (after, last) in pairwise(places)
        )

    def _continues(self, before: tuple[int, int], start: int, *, wrapped: bool) -> bool:
        line_start = self._text.rfind("\n", 0, before[1]) + 1
        if self._text[before[1] - 1] in ".!?:;。！？：；…":
            return False
        if wrapped or _UNFINISHED.search(self._text, max(line_start, before[1] - _WRAPPED), before[1]):
            return True
        if not self._text[start].islower():
            return False
        return before[1] - line_start > _WRAPPED or opens_with_conjunction(self._text[start : start + _WRAPPED])

    def _place(self, token: Token) -> tuple[int, int]:
        first, last = _lines(token)
        start, end = self._starts[first], self._ends[min(last, len(self._ends)) - 1]
        return next(strip_span(self._text, start, end), (start, end))

    def _add(
        self, block: BlockType, start: int, end: int, *, lead_in: str | None = None, in_list: bool = False
    ) -> None:
        if not self._text[start:end].strip():
            return
        self._blocks.append(
            Block(
                self._offset + start,
                self._offset + end,
                block,
                tuple(title for _, title in self._headings),
                self._lead_in if lead_in is None else lead_in,
                in_list or bool(self._outer_lead_ins),
            )
        )


def _find_lines(text: str) -> tuple[list[int], list[int]]:
    starts, ends = [0], []
    for found in _LINE_END.finditer(text):
        ends.append(found.start())
        if len(ends) == MAX_LINES:
            return starts, ends
        starts.append(found.end())
    ends.append(len(text))
    return starts, ends


def _limit_nesting(line: str) -> str:
    """Return a line with at most ``_DEEPEST`` columns before its last marker: the parser skips what is too deep."""
    nesting = _NESTING.match(line)
    if nesting is None or nesting.end() <= _DEEPEST // _WIDEST_COLUMN:
        return line
    last = nesting.start("last") if nesting["last"] else nesting.end()
    outer = line[:last].expandtabs(_WIDEST_COLUMN)
    return line if len(outer) <= _DEEPEST else outer[:_DEEPEST] + line[last:]


def _lines(token: Token) -> tuple[int, int]:
    if token.map is None:
        raise ValueError(f"the Markdown token {token.type} has no place")
    return token.map[0], token.map[1]


def _is_prose(paragraph: str) -> bool:
    """Return whether a paragraph after a blank line of code is text: whole sentences, none of its lines code."""
    lines = paragraph.splitlines()
    return (
        paragraph.rstrip(' \t\r\n*_"”」)）').endswith(_PROSE_ENDS)
        and _PROSE_START.match(paragraph) is not None
        and _PROSE_WORDS.search(paragraph) is not None
        and not any(is_code(line.strip()) or _indent(line) >= _WIDEST_COLUMN for line in lines)
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_item(text: str, start: int) -> bool:
    """Return whether there is a list marker before this position, also one unknown to Markdown, such as （一）."""
    line_start = text.rfind("\n", 0, start) + 1
    return bool(text[line_start:start].strip())
