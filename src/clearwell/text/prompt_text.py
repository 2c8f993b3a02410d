"""Find what an output repeats from a prompt: the request of the user, and the list of the agents and tools at hand."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from clearwell.text.markdown_blocks import Block, BlockType
from clearwell.text.words import words

_LONGEST_READ: Final = 300
_GAP: Final = 2
_WIDE_GAP: Final = 3
"""Line breaks between two paragraphs, and between two sections."""
_COLONS: Final = (":", "：")
_FEWEST_AGENTS: Final = 2


def find_prompt_lines(text: str, blocks: Sequence[Block]) -> frozenset[int]:
    """Return the numbers of the blocks that repeat a request or describe the agents of a team."""
    return frozenset((*_find_requests(text, blocks), *_find_team(text, blocks)))


def _find_requests(text: str, blocks: Sequence[Block]) -> Iterator[int]:
    """Yield the lines after an announced request; see ``_find_end``."""
    for number, block in enumerate(blocks):
        if _announces_request(text, block):
            yield from range(number + 1, _find_end(text, blocks, number + 1))


def _find_end(text: str, blocks: Sequence[Block], first: int) -> int:
    """Return the number of the block after a request: after a wide gap, or the next heading or lead-in.

    If there is none, only the first paragraph is the request: the answer may follow.
    """
    gaps = {at: text.count("\n", blocks[at - 1].end, blocks[at].start) for at in range(first, len(blocks))}
    section = next((at for at in gaps if _ends_section(blocks[at]) or (at > first and gaps[at] >= _WIDE_GAP)), None)
    if section is not None and gaps[section] >= _WIDE_GAP:
        return section
    lead_in = next((at for at in gaps if _ends_section(blocks[at]) or _is_lead_in(text, blocks[at])), None)
    paragraph = next((at for at in gaps if at > first and gaps[at] >= _GAP), len(blocks))
    return paragraph if lead_in is None else lead_in


def _announces_request(text: str, block: Block) -> bool:
    return (
        block.type in {BlockType.LINE, BlockType.HEADING}
        and block.end - block.start <= _LONGEST_READ
        and _request_pattern().search(text[block.start : block.end].rstrip("*_ ")) is not None
    )


def _is_lead_in(text: str, block: Block) -> bool:
    return block.type is BlockType.LINE and text[block.start : block.end].rstrip("*_ ").endswith(_COLONS)


def _ends_section(block: Block) -> bool:
    return block.type in {BlockType.HEADING, BlockType.RULE}


def _find_team(text: str, blocks: Sequence[Block]) -> Iterator[int]:
    """Yield successive lines that describe an agent or tool each: WebSurfer: an assistant that reads web pages."""
    run: list[int] = []
    for number, block in enumerate(blocks):
        if block.type is BlockType.LINE and _agent_pattern().match(text, block.start, block.end):
            run.append(number)
            continue
        if len(run) >= _FEWEST_AGENTS:
            yield from run
        run = []
    if len(run) >= _FEWEST_AGENTS:
        yield from run


@cache
def _request_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(_patterns('request_lead_ins'))})[:：]$", re.IGNORECASE)


@cache
def _agent_pattern() -> re.Pattern[str]:
    return re.compile("|".join(_patterns("agent_descriptions")), re.IGNORECASE)


def _patterns(name: str) -> list[str]:
    return [pattern for language in ("en", "zh") for pattern in words(f"kinds_{language}")[name]]
