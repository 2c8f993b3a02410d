"""Find text that a tool printed: web pages, search results, listings and logs copied into an output."""

import re
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from clearwell.text.kinds import tool_output_pattern
from clearwell.text.markdown_blocks import Block, BlockType

_ADDRESS: Final = re.compile(r"https?://|www\.|›|\.(?:com|org|net|edu|gov)\b")
_LONGEST_ADDRESS_LINE: Final = 120
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_ENDS: Final = '.!?:;,。！？：；，*`"”)）'
_REACH: Final = 6
_FEWEST: Final = 7
_SHARE: Final = 0.6
"""Minimum share of page-like lines among seven to thirteen successive lines."""


def find_tool_output(text: str) -> int:
    """Return the position of the first line outside of code that announces the output of a tool, or the end.

    Everything after it belongs to the output of the tool. What follows a fence that is never closed is not all code.
    """
    announcements = [found.start() for found in tool_output_pattern().finditer(text)]
    fences = [found.start() for found in _FENCE.finditer(text)] if announcements else []
    if len(fences) % 2:
        fences.pop()
    return next((start for start in announcements if bisect(fences, start) % 2 == 0), len(text))


def find_page_lines(text: str, blocks: Sequence[Block]) -> frozenset[int]:
    """Return the numbers of the blocks in runs of lines without sentences, as in pages and listings."""
    sums = [0.0, *accumulate(_measure_noise(text, block) for block in blocks)]
    return frozenset(
        number for number, block in enumerate(blocks) if block.type is BlockType.LINE and _is_noisy(sums, number)
    )


def _is_noisy(sums: Sequence[float], number: int) -> bool:
    """Return whether the lines around a line look like a page, on both sides if the line itself does not."""
    first, last = max(0, number - _REACH), min(len(sums) - 1, number + _REACH + 1)
    if last - first < _FEWEST or sums[last] - sums[first] < _SHARE * (last - first):
        return False
    return sums[number + 1] > sums[number] or sums[first] < sums[number] < sums[last]


def _measure_noise(text: str, block: Block) -> float:
    """Return 1 for a line that only pages have, 0.8 for one without final punctuation, 0 for prose."""
    if block.type is not BlockType.LINE or block.in_list:
        return 0.0
    if block.end - block.start < _LONGEST_ADDRESS_LINE and _ADDRESS.search(text, block.start, block.end):
        return 1.0
    return 0.0 if text[block.end - 1] in _ENDS else 0.8
