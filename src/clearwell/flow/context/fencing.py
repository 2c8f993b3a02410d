"""Memories as they are put into a prompt: data between tags, one line each, with the label before them.

What stands in a memory can neither end its fence nor begin another, hides nothing, and speaks from no other line.
"""

import re
import unicodedata
from functools import partial
from typing import Final
from uuid import UUID

from clearwell.messages import Language, say
from clearwell.records import ContextItem
from clearwell.text.hidden_text import flags_of
from clearwell.text.normalisation import normalised

_EMOJI: Final = "\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_SCRIPTS: Final = "\u0600-\u08ff\u0900-\u0dff"
_UNSEEN: Final = re.compile(
    "(?P<needed>"
    "\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f"  # the flags of countries within countries
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_SCRIPTS}])[\u200c\u200d](?=[{_SCRIPTS}])"
    f"|(?<=[{_EMOJI}0-9#*\u00a9\u00ae\u203c\u2049\u2122\u2139])\ufe0f"
    ")|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_ENTITY: Final = re.compile(r"&(?=#?\w{1,32};)")
_CONTROL_WORD: Final = re.compile(
    r"\[(?=\s*/?\s*(?:INST|SYS|SYSTEM|SYSTEM_PROMPT|USER|ASSISTANT|TOOLS?|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|THINK"
    r"|MEMORY)\s*\])",
    re.IGNORECASE,
)
"""The beginning of [INST] and its like, which some servers read as an order even inside a message."""
_BRACKETS: Final = str.maketrans(dict.fromkeys("<＜﹤", "&lt;") | dict.fromkeys(">＞﹥", "&gt;"))
_OPENERS: Final = "<＜﹤‹«〈《⟨⟪❬❮❰⧼⦑⦓˂ᐸᚲ≺⋖≪⪻𐊊"
_TAG: Final = re.compile(rf"([{_OPENERS}])(?=[\s/\\|!⁄∕╱⟋⧸／＼]{{0,8}}(\w{{1,40}}))")
_NAME: Final = re.compile(r"[^\w.@:/-]+")
MEMORY: Final = "memory"
LONGEST_NAME: Final = 40
NAMELESS: Final = "_"
SHOWN_FLAGS: Final = ("conflict", "near_rejected", "instruction_like")


def shown(text: str) -> str:
    """The text without what a reader does not see, but for what emoji and some scripts need."""
    return _UNSEEN.sub(lambda found: found.group("needed") or "", text)


def harmless(text: str) -> str:
    """One paragraph in which nothing is a tag or a control word, or looks like one of ours."""
    line = " ".join(shown(text).split())
    line = _ENTITY.sub("&amp;", line).translate(_BRACKETS)
    return _CONTROL_WORD.sub("&#91;", _TAG.sub(partial(_escaped, word=MEMORY), line))


def without_fences(text: str) -> str:
    """The text as it is, but for tags that pretend to be ours, and what a reader does not see."""
    return _TAG.sub(partial(_escaped, word=MEMORY), shown(text))


def _escaped(found: re.Match[str], *, word: str) -> str:
    return "&lt;" if normalised(found.group(2)).startswith(word) else found.group(1)


def fenced(memory_id: UUID, text: str) -> str:
    return f'<memory id="{memory_id}">{harmless(text)}</memory>'


def line_of(number: int, item: ContextItem, language: Language) -> str:
    """An item as DESIGN has it: its number, its label, and its text in the fence."""
    text = item.content.rstrip() + ("…" if item.cut else "")
    return f"{number}. [{label_of(item, language)}] {fenced(item.id, text)}"


def label_of(item: ContextItem, language: Language) -> str:
    """What a reader must know of an item: verified or not, when, by whom, how relevant, and what to mind."""
    day = item.occurred_at or item.promoted_at or item.created_at
    parts = [say(f"label_{item.label}", language), f"{day:%Y-%m-%d}"]
    if not item.verified and item.agent_id:
        parts.append(say("history_agent", language, agent=name_of(item.agent_id)))
    if item.relevance is not None:
        relevance = f"{item.relevance:.2f}"
        parts.append(say("history_relevance", language, relevance=relevance) if item.verified else relevance)
    parts += [say(f"history_{flag}", language) for flag in SHOWN_FLAGS if flag in item.flags]
    if shown(item.content) != item.content:
        parts.append(say("history_hidden_removed", language))
    return " · ".join(parts)


def name_of(agent_id: str) -> str:
    """A name as it may stand outside a fence: agents name themselves, and must not speak by it."""
    name = _NAME.sub("_", unicodedata.normalize("NFC", shown(agent_id))).strip("_")
    speaks = flags_of(agent_id, {}) or flags_of(name.replace("_", " "), {})
    return NAMELESS if speaks or not name else name[:LONGEST_NAME]
