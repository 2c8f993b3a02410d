"""Fencing: memories in a prompt are data between tags, one line each, with their label before them.

The content of a memory can neither end its fence nor begin another one, and contains no hidden characters and no line
breaks. ``format_history`` writes a list of memories for the nodes that follow in a workflow.
"""

import re
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Final
from uuid import UUID

from clearwell.messages import Language, say
from clearwell.records import ContextItem, Source
from clearwell.text.flags import find_flags
from clearwell.text.hidden_markup import find_hidden_markup
from clearwell.text.hidden_text import strip_hidden
from clearwell.text.normalisation import normalise
from clearwell.text.unicode_forms import normalise_form
from clearwell.vocabulary import Flag

_ENTITY: Final = re.compile(r"&(?=#?\w{1,32};)")
_CONTROL_WORD: Final = re.compile(
    r"\[(?=\s*/?\s*(?:INST|SYS|SYSTEM|SYSTEM_PROMPT|USER|ASSISTANT|TOOLS?|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|THINK"
    r"|MEMORY)\s*\])",
    re.IGNORECASE,
)
"""The beginning of [INST] and similar words, which some servers interpret even inside a message."""
_BRACKETS: Final = str.maketrans(dict.fromkeys("<＜﹤", "&lt;") | dict.fromkeys(">＞﹥", "&gt;"))
_OPENERS: Final = "<＜﹤‹«〈《⟨⟪❬❮❰⧼⦑⦓˂ᐸᚲ≺⋖≪⪻𐊊"
_TAG: Final = re.compile(rf"([{_OPENERS}])(?=[\s/\\|!⁄∕╱⟋⧸／＼]{{0,8}}(\w{{1,40}}))")
_NAME: Final = re.compile(r"[^\w.@:/-]+")
MEMORY: Final = "memory"
OPENING: Final = "<memory id="
LONGEST_NAME: Final = 40
NAMELESS: Final = "_"
HEADING: Final = "## 历史上下文 / History"
SHOWN_FLAGS: Final = (Flag.CONFLICT, Flag.CONTRADICTION, Flag.NEAR_REJECTED, Flag.INSTRUCTION_LIKE)


def escape_markup(text: str) -> str:
    """The text in one line, with tags, entities, control words and what looks like our own tag escaped."""
    line = " ".join(strip_hidden(text).split())
    line = _ENTITY.sub("&amp;", line).translate(_BRACKETS)
    return _CONTROL_WORD.sub("&#91;", _TAG.sub(partial(_escape_tag, word=MEMORY), line))


def escape_fences(text: str) -> str:
    """Escape only what looks like our own tag, and remove invisible characters."""
    return _TAG.sub(partial(_escape_tag, word=MEMORY), strip_hidden(text))


def _escape_tag(found: re.Match[str], *, word: str) -> str:
    return "&lt;" if normalise(found.group(2)).startswith(word) else found.group(1)


def fence(memory_id: UUID, text: str) -> str:
    """Put a text into the fence of a memory."""
    return f'{OPENING}"{memory_id}">{escape_markup(text)}</memory>'


def quote_memories(text: str, language: Language = "en") -> str:
    """The memories in a prompt without the rest of it, after the sentence that says how to read them.

    No other text of a prompt can have such a line, because what looks like our own tag is escaped in it.
    """
    lines = [line for line in text.splitlines() if OPENING in line]
    return "\n".join([say("context_reading", language), "", HEADING, *lines]) if lines else ""


def format_item(number: int, item: ContextItem, language: Language) -> str:
    """Write an item in one line: its number, its label, and its text in the fence."""
    text = ("…" if item.cut_before else "") + item.content.rstrip() + ("…" if item.cut else "")
    return f"{number}. [{format_label(item, language)}] {fence(item.id, text)}"


def format_label(item: ContextItem, language: Language) -> str:
    """Write the label of an item: verified or not, when, by whom, how relevant, and its flags."""
    day = item.occurred_at or item.promoted_at or item.created_at
    withdrawn = "" if item.withdrawn_at is None else f"{item.withdrawn_at:%Y-%m-%d}"
    parts = [say(f"label_{item.label}", language, day=withdrawn), f"{day:%Y-%m-%d}"]
    if item.source is Source.HOT and item.agent_id:
        name = number_agent(item.agent_id) if item.agent_name is None else format_agent_name(item.agent_name)
        parts.append(say("history_agent", language, agent=name))
    if item.relevance is not None:
        relevance = f"{item.relevance:.2f}"
        parts.append(
            relevance if item.source is Source.HOT else say("history_relevance", language, relevance=relevance)
        )
    parts += [say(f"flag_{flag}_name", language) for flag in SHOWN_FLAGS if flag in item.flags]
    if item.conflicts_with:
        parts.append(say(f"flag_{Flag.CONFLICTS_VERIFIED}_name", language))
    if find_hidden_markup(item.content):
        parts.append(say("history_hidden", language))
    elif Flag.HIDDEN_TEXT in item.flags or strip_hidden(item.content) != item.content:
        parts.append(say("history_hidden_removed", language))
    return " · ".join(parts)


def number_agent(agent_id: str) -> str:
    """A number for an agent that no operator has named: the same for the same agent, and nothing that it chose."""
    return "#" + blake2b(agent_id.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()


def format_agent_name(agent_id: str) -> str:
    """Write the name that an operator gave an agent so that it is safe outside a fence."""
    name = _NAME.sub("_", normalise_form("NFC", strip_hidden(agent_id))).strip("_")
    is_instruction = find_flags(agent_id, {}) or find_flags(name.replace("_", " "), {})
    return NAMELESS if is_instruction or not name else name[:LONGEST_NAME]


def format_history(items: Sequence[ContextItem], language: Language = "en") -> str:
    """Write ``history_context`` as Markdown: a heading and one line for each item; empty if there are none."""
    lines = [format_item(number, item, language) for number, item in enumerate(items, start=1)]
    return "\n".join([HEADING, *lines]) if lines else ""
