"""Split an output into segments: sentences, lines, rows and code, each with its position, context and kind."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from clearwell.records import Segment
from clearwell.text.kinds import (
    Passage,
    classify,
    is_chinese,
    may_be_claim,
    needs_context,
    points_back,
    remove_task_box,
)
from clearwell.text.markdown_blocks import MAX_LINES, Block, BlockType, read_blocks
from clearwell.text.marks import join_lines, remove_marks, split_row
from clearwell.text.page_text import find_page_lines, find_tool_output
from clearwell.text.prompt_text import find_prompt_lines
from clearwell.text.sentences import cut_at_sentence, find_sentences, strip_span
from clearwell.vocabulary import SegmentKind

SEGMENTER_VERSION: Final = 6
"""Increased whenever the same output would be split or classified differently."""
CUT: Final = "…"
"""The end of a headline that was truncated."""
MAX_SEGMENTS: Final = 2_000
LONGEST_CONTEXT: Final = 300
LONGEST_READ: Final = 2_000
"""Only this many characters of a sentence or row are used to classify it."""
LONGEST_HEADLINE: Final = 200
LONGEST_CHINESE_HEADLINE: Final = 90

_TYPE_KINDS: Final = {
    BlockType.HEADING: SegmentKind.STRUCTURE,
    BlockType.TABLE_HEADER: SegmentKind.STRUCTURE,
    BlockType.RULE: SegmentKind.STRUCTURE,
    BlockType.CODE: SegmentKind.CODE,
}
_MERGED: Final = frozenset({SegmentKind.PAGE, SegmentKind.CODE})
_RECONSIDERED: Final = frozenset({SegmentKind.FRAGMENT, SegmentKind.CHATTER, SegmentKind.QUESTION})
_FEW: Final = 3
_QUOTES: Final = frozenset({('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』")})
_PAUSES: Final = " ,;，；、"
_SENTENCE_ENDS: Final = (".", "!", "。", "！")
_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_MARKER: Final = re.compile(r"[ \t>]*(?:#|\||```)")
"""The beginning of a line that is no part of a paragraph."""
_CUT_MARKS: Final = f"{_PAUSES}:：.。"


def segment(content: str) -> tuple[Segment, ...]:
    """Return the segments of an output in order; none overlaps another, and none is empty.

    Successive lines of page text or code are one segment. At most ``MAX_SEGMENTS`` are returned, and at most
    ``markdown_blocks.MAX_LINES`` lines are read.
    """
    tool_output = find_tool_output(content)
    blocks = read_blocks(content[:tool_output])
    page = find_page_lines(content, blocks)
    prompt = find_prompt_lines(content, blocks)
    segments: list[Segment] = []
    for number, block in enumerate(blocks):
        kind = SegmentKind.PAGE if number in page else SegmentKind.INSTRUCTION if number in prompt else None
        for found in _segment_block(content, block, kind or _TYPE_KINDS.get(block.type)):
            if len(segments) == MAX_SEGMENTS:
                return tuple(segments)
            _append(segments, found)
    for start, end in strip_span(content, tool_output, len(content)):
        _append(segments, Segment(start=start, end=end, kind=SegmentKind.PAGE))
    return tuple(_rescue(content, segments))


def find_unread(content: str, segments: Sequence[Segment]) -> int | None:
    """Return where the rest of an output begins that was not read: it has too many segments or lines. Usually None."""
    if len(segments) < MAX_SEGMENTS and content.count("\n") < MAX_LINES:
        return None
    end = segments[-1].end if segments else 0
    return end if content[end:].strip() else None


def bare_text(content: str, segment: Segment) -> str:
    """Return the text of a segment for embedding: one line without Markdown marks, and without its context."""
    text = content[segment.start : segment.end]
    if _is_row(segment, text):
        return ", ".join(cell for cell in split_row(text) if cell)
    return plain_statement(text)


def read_context(content: str, segment: Segment) -> str:
    """Return what a statement is about if it does not say so: the sentence before it, or its lead-in and heading.

    Two statements with the same words below two headings are two statements.
    """
    bare = bare_text(content, segment)
    if not needs_context(bare):
        return ""
    before = _read_sentence_before(content, segment.start) if points_back(bare) else ""
    above = (*segment.headings[-1:], segment.lead_in)
    return before or " ".join(remove_marks(join_lines(one)) for one in above if one)


def plain_statement(text: str) -> str:
    """Return a statement that is not a table row as one line without Markdown marks."""
    return _strip_quotes(remove_marks(remove_task_box(join_lines(text))))


def restore_whole(headline: str, statements: Iterable[str]) -> str:
    """Return the whole statement of a headline that was cut: the one that most of the statements have, or the first."""
    if not is_cut(headline):
        return headline
    kept = headline.removeprefix(CUT).removesuffix(CUT)
    wholes = Counter(whole for whole in map(plain_statement, statements) if kept in whole)
    return max(wholes, key=wholes.__getitem__, default=headline)


def is_cut(headline: str) -> bool:
    """Return whether a part of the statement is left out of its headline."""
    return headline.endswith(CUT) or headline.startswith(CUT)


def find_longest_headline(text: str) -> int:
    """Return how many characters the headline of a text may have."""
    return LONGEST_CHINESE_HEADLINE if is_chinese(text) else LONGEST_HEADLINE


def self_contained(content: str, segment: Segment) -> str:
    """Return a statement as a headline: its bare text, with its header, lead-in or heading if it needs one.

    A statement that begins with a word such as "this" has the sentence before it. It is no longer than
    ``find_longest_headline`` says. A longer sentence is truncated and ends with ``CUT``. A context that does not fit is
    left out, and so is a comma at the end of an item.
    """
    text = content[segment.start : segment.end]
    bare = bare_text(content, segment).rstrip(_PAUSES)
    most = find_longest_headline(bare)
    if _is_row(segment, text):
        named = _name_cells(segment.lead_in, text)
        return _shorten(named if len(named) <= most else bare, most)
    if needs_context(bare):
        before = _read_sentence_before(content, segment.start) if points_back(bare) else ""
        if before and len(before) + 1 + len(bare) <= most:
            return f"{before}{bare}" if is_chinese(bare) else f"{before} {bare}"
        for context in filter(None, (segment.lead_in, *reversed(segment.headings))):
            headline = _prefix(remove_marks(join_lines(context)), bare)
            if len(headline) <= most:
                return headline
    return _shorten(bare, most)


def _read_sentence_before(content: str, start: int) -> str:
    """Return the sentence before this position in the same paragraph, as one line, or an empty string."""
    begin = max(content.rfind("\n", 0, start), start - LONGEST_CONTEXT - 1) + 1
    item = _ITEM.match(content, begin, start)
    found = list(find_sentences(content, item.end() if item else begin, start))
    if not found or _MARKER.match(content, begin):
        return ""
    before = plain_statement(content[slice(*found[-1])])
    return before if before.endswith(_SENTENCE_ENDS) else ""


def _is_row(segment: Segment, text: str) -> bool:
    return "|" in segment.lead_in and "|" in text


def _name_cells(header: str, row: str) -> str:
    """Return a row with the names of its columns: Round trip: design 1,035 kWh; measured 1,180 kWh."""
    first, *cells = split_row(row)
    names = split_row(header)[1:]
    named = [f"{name} {cell}".strip() for name, cell in zip_longest(names, cells, fillvalue="") if cell]
    stop, colon = ("；", "：") if is_chinese(row) else ("; ", ": ")
    return colon.join(part for part in (first, stop.join(named)) if part)


def _prefix(context: str, bare: str) -> str:
    context = context.rstrip(":： ")
    return f"{context}：{bare}" if is_chinese(bare) else f"{context}: {bare}"


def _strip_quotes(text: str) -> str:
    inner = text[1:-1]
    quoted = len(text) > 2 and (text[0], text[-1]) in _QUOTES
    return inner if quoted and not any(mark in inner for mark in text[0] + text[-1]) else text


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{cut_at_sentence(text, most - 1).rstrip(_CUT_MARKS)}{CUT}"


def _rescue(content: str, segments: list[Segment]) -> list[Segment]:
    """Classify a short output without statements again, less strictly: a few plain words can be a claim."""
    if len(segments) > _FEW or any(found.kind not in _RECONSIDERED for found in segments):
        return segments
    return [
        replace(found, kind=SegmentKind.CLAIM) if may_be_claim(content[found.start : found.end]) else found
        for found in segments
    ]


def _append(segments: list[Segment], found: Segment) -> None:
    if segments and found.kind in _MERGED and segments[-1].kind is found.kind:
        segments[-1] = replace(segments[-1], end=found.end)
    else:
        segments.append(found)


def _segment_block(content: str, block: Block, kind: SegmentKind | None) -> Iterator[Segment]:
    """Yield a block as one segment if its kind is known, or its sentences, each classified."""
    if kind is not None:
        yield _build(block, block.start, block.end, kind)
    elif block.type is BlockType.TABLE_ROW:
        row = ", ".join(split_row(content[block.start : min(block.end, block.start + LONGEST_READ)]))
        yield _build(block, block.start, block.end, classify(Passage(row, in_table=True)))
    else:
        above = " ".join((*block.headings[-1:], block.lead_in))
        found = None
        for start, end in find_sentences(content, block.start, block.end):
            text = content[start : min(end, start + LONGEST_READ)]
            after_instruction = found is SegmentKind.INSTRUCTION
            found = classify(Passage(text, above=above, in_list=block.in_list, after_instruction=after_instruction))
            yield _build(block, start, end, found)


def _build(block: Block, start: int, end: int, kind: SegmentKind) -> Segment:
    lead_in = block.lead_in[:LONGEST_CONTEXT]
    return Segment(start=start, end=end, kind=kind, headings=block.headings, lead_in=lead_in)
