"""The echo guard: a memory that an agent repeats is a citation of it, not a new piece of evidence.

Retrieval puts memories into prompts inside fences that carry their ids. What comes back between such fences is taken
for what it is; what comes back without them is recognised by the words it shares with memories that were recalled.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from clearwell.flow.normal import normalised

FENCE = re.compile(
    r"<memory\s+id\s*=\s*[\"'“”]?([0-9a-fA-F-]{36})[\"'“”]?[^>]{0,200}>(.*?)(?:</memory\s*>|\Z)", re.DOTALL
)
HEADING = re.compile(r"^\s*(#{1,6} .*(历史上下文|History).*|\d+\. \[[⚡✅].{0,200}\])\s*$", re.MULTILINE)
ITEM_LABEL = re.compile(r"^\s*\d+\. \[(?:⚡️?|✅)[^\]\n]{0,200}\]\s*", re.MULTILINE)
SHINGLE = 5
LONGEST = 8_000


@dataclass(frozen=True, slots=True)
class Unfenced:
    """A text without the memories that were fenced in it, and which those were."""

    text: str
    cited: tuple[UUID, ...]


def unfenced(text: str) -> Unfenced:
    """What an agent said itself, and the memories that it repeated inside their fences."""
    cited: list[UUID] = []

    def leave_out(found: re.Match[str]) -> str:
        try:
            cited.append(UUID(found.group(1)))
        except ValueError:
            return found.group()
        return " "

    own = FENCE.sub(leave_out, text)
    if not cited:
        return Unfenced(text, ())
    own = HEADING.sub("", ITEM_LABEL.sub("", own))
    return Unfenced(own.strip(), tuple(dict.fromkeys(cited)))


def shingles(text: str) -> frozenset[str]:
    """All runs of five characters of the normalised text; of a shorter text, itself."""
    plain = normalised(text[:LONGEST])
    return frozenset(plain[start : start + SHINGLE] for start in range(max(1, len(plain) - SHINGLE + 1)))


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a text stands in recalled memories, and which of them it repeats most."""

    share: float
    of: tuple[UUID, ...]


def coverage(text: str, recalled: Mapping[UUID, str]) -> Coverage:
    own = shingles(text)
    shared = {memory_id: own & shingles(known) for memory_id, known in recalled.items()}
    covered = frozenset().union(*shared.values()) if shared else frozenset()
    most_first = sorted(shared, key=lambda memory_id: -len(shared[memory_id]))
    repeated = tuple(memory_id for memory_id in most_first if len(shared[memory_id]) > len(own) / 20)
    return Coverage(len(covered) / len(own), repeated)


def first(ids: Sequence[UUID]) -> str:
    """The ids in words: the first one, and how many more."""
    more = f" (+{len(ids) - 1})" if len(ids) > 1 else ""
    return f"{ids[0]}{more}"
