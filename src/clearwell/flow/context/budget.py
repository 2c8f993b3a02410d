"""The token budget of a context: fits the five sections into a number of tokens.

Memories are dropped first: the agent's own from the last to the first, then the group's. Then the texts are cut: the
proposal to not less than half of the budget, the persona, and the group's prompt. A cut is marked with the length that
is missing, and the report names every part. Nothing is dropped silently, and the proposal is never dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.flow.context.fencing import format_item
from clearwell.flow.retrieval.passages import shorten_item
from clearwell.messages import Language, say
from clearwell.ports import TokenCounter
from clearwell.records import (
    BuiltContext,
    ContextItem,
    ContextReport,
    Fate,
    ItemReport,
    PromptMessage,
    Section,
    SectionReport,
)
from clearwell.text.sentences import cut_at_sentence, ends_sentence

MARK: Final = "…"
"""Marks a cut that is shorter than the sentence that would describe it."""
OVERHEAD: Final = 12
"""Tokens that chat APIs add for two messages."""
MIN_TOKENS: Final = 200
MIN_ITEM_TOKENS: Final = 60
"""An item is cut instead of left out only if this much of it can be kept."""
CERTAIN_ECHO_CHARS: Final = 240
"""From this length on the echo check of the ingress pipeline recognises any part of a memory."""
FIRST_CUT: Final = 1_000
"""The search for a cut starts with this many characters, so that a short cut of a long text is cheap."""
BUDGET, CHARS = "context_reason_budget", "context_reason_chars"
MEMORY_SECTIONS: Final = (Section.GROUP_MEMORY, Section.AGENT_MEMORY)
TEXT_SECTIONS: Final = (Section.GROUP_PROMPT, Section.PERSONA, Section.PROPOSAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMaterial:
    """The whole texts and items of a context, before they are fitted."""

    texts: dict[Section, str]
    items: dict[Section, Sequence[ContextItem]]

    @property
    def size(self) -> int:
        """The number of characters in all texts and items."""
        texts = sum(map(len, self.texts.values()))
        return texts + sum(len(item.content) for items in self.items.values() for item in items)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """An item as it is written into the prompt."""

    item: ContextItem
    text: str
    tokens: int
    fate: Fate


class TokenBudget:
    """Fits sections into ``max_tokens`` as ``counter`` counts them."""

    def __init__(self, counter: TokenCounter, max_tokens: int, language: Language) -> None:
        self._counter = counter
        self._max = max_tokens
        self._language = language

    def fit(self, material: ContextMaterial) -> BuiltContext:
        """Build the context. Raises InvalidInput if not even cut texts fit."""
        room = self._max - OVERHEAD
        texts = self._fit_texts(material.texts, room)
        left = room - sum(self._count_tokens(self._make_block(section, text)) for section, text in texts.items())
        lines = self._fit_items(material.items, left)
        while self._count_total(texts, lines) > self._max and any(lines.values()):
            last = next(section for section in reversed(MEMORY_SECTIONS) if lines[section])
            lines[last].pop()
        while self._count_total(texts, lines) > self._max:
            texts |= self._shorten_longest(material.texts, texts)
        return self._assemble(material, texts, lines)

    def _shorten_longest(self, whole: dict[Section, str], texts: dict[Section, str]) -> dict[Section, str]:
        """Cut the longest text by a tenth, or the next one if it cannot be cut further."""
        for section in sorted(texts, key=lambda section: -self._count_tokens(texts[section])):
            shorter = self._cut_to_fit(whole.get(section, ""), self._count_tokens(texts[section]) * 9 // 10)
            if len(shorter) < len(texts[section]):
                return {section: shorter}
        raise InvalidInput("context_no_room", field="max_tokens", limit=self._max)

    # texts

    def _fit_texts(self, texts: dict[Section, str], room: int) -> dict[Section, str]:
        """The three texts, each whole or cut with a mark."""
        prompt, persona, proposal = (texts.get(section, "") for section in TEXT_SECTIONS)
        kept = min(self._count_tokens(self._make_block(Section.PROPOSAL, proposal)), room // 2)
        prompt = self._fit_text(Section.GROUP_PROMPT, prompt, room - kept)
        before = self._count_tokens(self._make_block(Section.GROUP_PROMPT, prompt))
        persona = self._fit_text(Section.PERSONA, persona, room - kept - before)
        before += self._count_tokens(self._make_block(Section.PERSONA, persona))
        proposal = self._fit_text(Section.PROPOSAL, proposal, room - before)
        return dict(zip(TEXT_SECTIONS, (prompt, persona, proposal), strict=True))

    def _fit_text(self, section: Section, text: str, room: int) -> str:
        if self._count_tokens(self._make_block(section, text)) <= room:
            return text
        return self._cut_to_fit(text, room - self._count_tokens(self._make_block(section, " ")))

    def _cut_to_fit(self, text: str, room: int) -> str:
        """The longest beginning that fits together with the mark of the cut, or the mark alone."""
        longest, tried = len(text) - 1, min(FIRST_CUT, len(text) - 1)
        while tried < longest and self._count_tokens(self._cut_with_mark(text, tried)) <= room:
            tried = min(2 * tried, longest)
        low, high = 0, tried
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if self._count_tokens(self._cut_with_mark(text, middle)) <= room else (low, middle - 1)
            )
        return self._cut_with_mark(text, low)

    def _cut_with_mark(self, text: str, length: int) -> str:
        kept = cut_at_sentence(text, length) if length else ""
        left_out = len(text) - len(kept)
        mark = say("context_cut", self._language, left_out=left_out, length=len(text))
        mark = mark if len(mark) < left_out else MARK
        return f"{kept}\n{mark}" if kept else mark

    # memories

    def _fit_items(self, items: dict[Section, Sequence[ContextItem]], left: int) -> dict[Section, list[_Line]]:
        """As many of the first items of each section as fit, the group's before the agent's."""
        lines: dict[Section, list[_Line]] = {section: [] for section in MEMORY_SECTIONS}
        left -= self._count_tokens(self._instructions) if any(items.values()) else 0
        for section in MEMORY_SECTIONS:
            room = left - self._count_tokens(self._make_heading(section))
            for number, item in enumerate(items.get(section, ()), start=1):
                line = self._fit_item(number, item, room)
                if line is None:
                    return lines
                lines[section].append(line)
                room -= line.tokens
                if line.fate is Fate.CUT:
                    return lines
            if lines[section]:
                left = room
        return lines

    def _fit_item(self, number: int, item: ContextItem, room: int) -> _Line | None:
        """Write the item in a line, cut if the whole does not fit; None if even that does not."""
        whole = self._make_line(number, item, Fate.INCLUDED)
        if whole.tokens <= room:
            return whole
        frame = self._make_line(number, replace(item, content="", cut=True), Fate.CUT).tokens
        if room < frame + MIN_ITEM_TOKENS:
            return None
        low, high = 0, len(item.content) - 1
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._make_line(number, _shorten_item(item, middle), Fate.CUT).tokens <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        shorter = _shorten_item(item, low)
        return self._make_line(number, shorter, Fate.CUT) if _is_quotable(shorter.content) else None

    def _make_line(self, number: int, item: ContextItem, fate: Fate) -> _Line:
        text = format_item(number, item, self._language)
        return _Line(item=item, text=text, tokens=self._count_tokens(text + "\n"), fate=fate)

    # the whole

    def _assemble(
        self, material: ContextMaterial, texts: dict[Section, str], lines: dict[Section, list[_Line]]
    ) -> BuiltContext:
        messages = self._make_messages(texts, lines)
        sections = (
            self._report_text(Section.GROUP_PROMPT, material, texts),
            self._report_text(Section.PERSONA, material, texts),
            self._report_items(Section.GROUP_MEMORY, material, lines),
            self._report_items(Section.AGENT_MEMORY, material, lines),
            self._report_text(Section.PROPOSAL, material, texts),
        )
        report = ContextReport(max_tokens=self._max, tokens=self._count_total(texts, lines), sections=sections)
        return BuiltContext(text="\n\n".join(message.content for message in messages), messages=messages, report=report)

    def _make_messages(self, texts: dict[Section, str], lines: dict[Section, list[_Line]]) -> tuple[PromptMessage, ...]:
        """Prompts of the operator are the system message; memories and the proposal are the user message."""
        prompts = [self._make_block(section, texts[section]) for section in (Section.GROUP_PROMPT, Section.PERSONA)]
        instructions = self._instructions if any(lines.values()) else ""
        memories = [
            f"{self._make_heading(section)}{chr(10).join(line.text for line in lines[section])}"
            for section in MEMORY_SECTIONS
            if lines[section]
        ]
        user_parts = [*memories, self._make_block(Section.PROPOSAL, texts[Section.PROPOSAL])]
        system = "\n\n".join(part for part in (*prompts, instructions) if part)
        user = PromptMessage(role="user", content="\n\n".join(part for part in user_parts if part))
        return (PromptMessage(role="system", content=system), user) if system else (user,)

    def _report_text(self, section: Section, material: ContextMaterial, texts: dict[Section, str]) -> SectionReport:
        whole, kept = material.texts.get(section, ""), texts[section]
        tokens = self._count_tokens(self._make_block(section, kept))
        if not whole:
            return SectionReport(section=section, fate=Fate.EMPTY, tokens=0)
        if kept == whole:
            return SectionReport(section=section, fate=Fate.INCLUDED, tokens=tokens)
        return SectionReport(section=section, fate=Fate.CUT, tokens=tokens, reason=BUDGET)

    def _report_items(
        self, section: Section, material: ContextMaterial, lines: dict[Section, list[_Line]]
    ) -> SectionReport:
        included = {line.item.id: line for line in lines[section]}
        items = tuple(self._report_item(item, included.get(item.id)) for item in material.items.get(section, ()))
        fates = {Fate.LEFT_OUT if item.fate is Fate.LEFT_OUT else included[item.id].fate for item in items}
        tokens = sum(item.tokens for item in items) + (
            self._count_tokens(self._make_heading(section)) if included else 0
        )
        if not items:
            return SectionReport(section=section, fate=Fate.EMPTY, tokens=0)
        if fates == {Fate.INCLUDED}:
            return SectionReport(section=section, fate=Fate.INCLUDED, tokens=tokens, items=items)
        fate = Fate.LEFT_OUT if fates == {Fate.LEFT_OUT} else Fate.CUT
        return SectionReport(section=section, fate=fate, tokens=tokens, reason=BUDGET, items=items)

    def _report_item(self, item: ContextItem, line: _Line | None) -> ItemReport:
        if line is None:
            return ItemReport(id=item.id, fate=Fate.LEFT_OUT, tokens=0, reason=BUDGET)
        if line.fate is Fate.CUT or not (item.cut or item.cut_before):
            reason = BUDGET if line.fate is Fate.CUT else None
            return ItemReport(id=item.id, fate=line.fate, tokens=line.tokens, reason=reason)
        return ItemReport(id=item.id, fate=Fate.CUT, tokens=line.tokens, reason=CHARS)

    # wording and token counts

    def _make_block(self, section: Section, text: str) -> str:
        return f"{self._make_heading(section)}{text}" if text else ""

    def _make_heading(self, section: Section) -> str:
        return f"## {say(f'context_{section}', self._language)}\n"

    @property
    def _instructions(self) -> str:
        return say("context_reading", self._language)

    def _count_tokens(self, text: str) -> int:
        return self._counter.count(text) if text else 0

    def _count_total(self, texts: dict[Section, str], lines: dict[Section, list[_Line]]) -> int:
        return OVERHEAD + sum(self._count_tokens(message.content) for message in self._make_messages(texts, lines))


def _shorten_item(item: ContextItem, length: int) -> ContextItem:
    return replace(shorten_item(item, length), cut=True) if length else replace(item, content="", cut=True)


def _is_quotable(text: str) -> bool:
    """Whether an echo of the cut text will be recognised: it ends with a sentence, or is long enough."""
    return len(text) >= CERTAIN_ECHO_CHARS or ends_sentence(text)
