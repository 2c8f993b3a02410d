"""Fit the five sections into a budget of tokens.

Memories go first: the agent's own from the last to the first, then the group's. What must be said is then cut where it
can be seen: the proposal down to half of the budget, the persona, the group's prompt. A cut names how much is missing,
and the report names every part; nothing is dropped silently, the proposal never at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.flow.context.fencing import format_item
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
from clearwell.text.sentences import cut_at_sentence

MARK: Final = "…"
"""Of a cut that leaves out less than it takes to say so."""
OVERHEAD: Final = 12
"""What chat APIs add for two messages."""
LEAST_TOKENS: Final = 200
LEAST_OF_AN_ITEM: Final = 60
"""An item is cut rather than left out only where this much of it can be kept."""
SURELY_KNOWN: Final = 240
FIRST_TRIED: Final = 1_000
"""Characters with which the search for a cut begins, so that a short cut of a long text costs little."""
SENTENCE_ENDS: Final = ("。", "！", "？", "；", ".", "!", "?", ";")
BUDGET, CHARS = "context_reason_budget", "context_reason_chars"
MEMORIES: Final = (Section.GROUP_MEMORY, Section.AGENT_MEMORY)
SAID: Final = (Section.GROUP_PROMPT, Section.PERSONA, Section.PROPOSAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that could be said."""

    said: dict[Section, str]
    items: dict[Section, Sequence[ContextItem]]

    @property
    def size(self) -> int:
        """Characters of everything."""
        texts = sum(map(len, self.said.values()))
        return texts + sum(len(item.content) for items in self.items.values() for item in items)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    item: ContextItem
    text: str
    tokens: int
    fate: Fate


class Budget:
    def __init__(self, counter: TokenCounter, max_tokens: int, language: Language) -> None:
        self._counter = counter
        self._max = max_tokens
        self._language = language

    def fitted(self, material: Material) -> BuiltContext:
        room = self._max - OVERHEAD
        said = self._said(material.said, room)
        left = room - sum(self._cost(self._block(section, text)) for section, text in said.items())
        lines = self._lines(material.items, left)
        while self._count(said, lines) > self._max and any(lines.values()):
            last = next(section for section in reversed(MEMORIES) if lines[section])
            lines[last].pop()
        while self._count(said, lines) > self._max:
            said |= self._shorter(material.said, said)
        return self._built(material, said, lines)

    def _shorter(self, whole: dict[Section, str], said: dict[Section, str]) -> dict[Section, str]:
        """The longest of what is said, a tenth shorter; the next where that one cannot be."""
        for section in sorted(said, key=lambda one: -self._cost(said[one])):
            shorter = self._cut(whole.get(section, ""), self._cost(said[section]) * 9 // 10)
            if len(shorter) < len(said[section]):
                return {section: shorter}
        raise InvalidInput("context_no_room", field="max_tokens", limit=self._max)

    # what must be said

    def _said(self, texts: dict[Section, str], room: int) -> dict[Section, str]:
        """The three texts, each whole or visibly cut."""
        prompt, persona, proposal = (texts.get(section, "") for section in SAID)
        kept = min(self._cost(self._block(Section.PROPOSAL, proposal)), room // 2)
        prompt = self._within(Section.GROUP_PROMPT, prompt, room - kept)
        before = self._cost(self._block(Section.GROUP_PROMPT, prompt))
        persona = self._within(Section.PERSONA, persona, room - kept - before)
        before += self._cost(self._block(Section.PERSONA, persona))
        proposal = self._within(Section.PROPOSAL, proposal, room - before)
        return dict(zip(SAID, (prompt, persona, proposal), strict=True))

    def _within(self, section: Section, text: str, room: int) -> str:
        if self._cost(self._block(section, text)) <= room:
            return text
        return self._cut(text, room - self._cost(self._block(section, " ")))

    def _cut(self, text: str, room: int) -> str:
        """The longest beginning that fits together with the mark of the cut; the mark alone where nothing does."""
        longest, tried = len(text) - 1, min(FIRST_TRIED, len(text) - 1)
        while tried < longest and self._cost(self._marked(text, tried)) <= room:
            tried = min(2 * tried, longest)
        low, high = 0, tried
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._cost(self._marked(text, middle)) <= room else (low, middle - 1)
        return self._marked(text, low)

    def _marked(self, text: str, length: int) -> str:
        kept = cut_at_sentence(text, length) if length else ""
        left_out = len(text) - len(kept)
        mark = say("context_cut", self._language, left_out=left_out, length=len(text))
        mark = mark if len(mark) < left_out else MARK
        return f"{kept}\n{mark}" if kept else mark

    # memories

    def _lines(self, items: dict[Section, Sequence[ContextItem]], left: int) -> dict[Section, list[_Line]]:
        """As many of the first items of each section as there is room for, the group's before the agent's."""
        lines: dict[Section, list[_Line]] = {section: [] for section in MEMORIES}
        left -= self._cost(self._reading) if any(items.values()) else 0
        for section in MEMORIES:
            room = left - self._cost(self._heading(section))
            for number, item in enumerate(items.get(section, ()), start=1):
                line = self._line(number, item, room)
                if line is None:
                    return lines
                lines[section].append(line)
                room -= line.tokens
                if line.fate is Fate.CUT:
                    return lines
            if lines[section]:
                left = room
        return lines

    def _line(self, number: int, item: ContextItem, room: int) -> _Line | None:
        """The item in a line, cut if only that fits, or None."""
        whole = self._as_line(number, item, Fate.INCLUDED)
        if whole.tokens <= room:
            return whole
        frame = self._as_line(number, replace(item, content="", cut=True), Fate.CUT).tokens
        if room < frame + LEAST_OF_AN_ITEM:
            return None
        low, high = 0, len(item.content) - 1
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._as_line(number, _shortened(item, middle), Fate.CUT).tokens <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        shorter = _shortened(item, low)
        return self._as_line(number, shorter, Fate.CUT) if _is_a_quotation(shorter.content) else None

    def _as_line(self, number: int, item: ContextItem, fate: Fate) -> _Line:
        text = format_item(number, item, self._language)
        return _Line(item=item, text=text, tokens=self._cost(text + "\n"), fate=fate)

    # the whole

    def _built(self, material: Material, said: dict[Section, str], lines: dict[Section, list[_Line]]) -> BuiltContext:
        messages = self._messages(said, lines)
        sections = (
            self._report_of_text(Section.GROUP_PROMPT, material, said),
            self._report_of_text(Section.PERSONA, material, said),
            self._report_of_items(Section.GROUP_MEMORY, material, lines),
            self._report_of_items(Section.AGENT_MEMORY, material, lines),
            self._report_of_text(Section.PROPOSAL, material, said),
        )
        report = ContextReport(max_tokens=self._max, tokens=self._count(said, lines), sections=sections)
        return BuiltContext(text="\n\n".join(one.content for one in messages), messages=messages, report=report)

    def _messages(self, said: dict[Section, str], lines: dict[Section, list[_Line]]) -> tuple[PromptMessage, ...]:
        """What the operator wrote speaks as the system; memories and the proposal are matter."""
        prompts = [self._block(section, said[section]) for section in (Section.GROUP_PROMPT, Section.PERSONA)]
        reading = self._reading if any(lines.values()) else ""
        memories = [
            f"{self._heading(section)}{chr(10).join(line.text for line in lines[section])}"
            for section in MEMORIES
            if lines[section]
        ]
        matter = [*memories, self._block(Section.PROPOSAL, said[Section.PROPOSAL])]
        system = "\n\n".join(part for part in (*prompts, reading) if part)
        user = PromptMessage(role="user", content="\n\n".join(part for part in matter if part))
        return (PromptMessage(role="system", content=system), user) if system else (user,)

    def _report_of_text(self, section: Section, material: Material, said: dict[Section, str]) -> SectionReport:
        given, kept = material.said.get(section, ""), said[section]
        tokens = self._cost(self._block(section, kept))
        if not given:
            return SectionReport(section=section, fate=Fate.EMPTY, tokens=0)
        if kept == given:
            return SectionReport(section=section, fate=Fate.INCLUDED, tokens=tokens)
        return SectionReport(section=section, fate=Fate.CUT, tokens=tokens, reason=BUDGET)

    def _report_of_items(
        self, section: Section, material: Material, lines: dict[Section, list[_Line]]
    ) -> SectionReport:
        taken = {line.item.id: line for line in lines[section]}
        items = tuple(self._report_of_item(item, taken.get(item.id)) for item in material.items.get(section, ()))
        fates = {Fate.LEFT_OUT if item.fate is Fate.LEFT_OUT else taken[item.id].fate for item in items}
        tokens = sum(item.tokens for item in items) + (self._cost(self._heading(section)) if taken else 0)
        if not items:
            return SectionReport(section=section, fate=Fate.EMPTY, tokens=0)
        if fates == {Fate.INCLUDED}:
            return SectionReport(section=section, fate=Fate.INCLUDED, tokens=tokens, items=items)
        fate = Fate.LEFT_OUT if fates == {Fate.LEFT_OUT} else Fate.CUT
        return SectionReport(section=section, fate=fate, tokens=tokens, reason=BUDGET, items=items)

    def _report_of_item(self, item: ContextItem, line: _Line | None) -> ItemReport:
        if line is None:
            return ItemReport(id=item.id, fate=Fate.LEFT_OUT, tokens=0, reason=BUDGET)
        if line.fate is Fate.CUT or not item.cut:
            reason = BUDGET if line.fate is Fate.CUT else None
            return ItemReport(id=item.id, fate=line.fate, tokens=line.tokens, reason=reason)
        return ItemReport(id=item.id, fate=Fate.CUT, tokens=line.tokens, reason=CHARS)

    # words and what they cost

    def _block(self, section: Section, text: str) -> str:
        return f"{self._heading(section)}{text}" if text else ""

    def _heading(self, section: Section) -> str:
        return f"## {say(f'context_{section}', self._language)}\n"

    @property
    def _reading(self) -> str:
        return say("context_reading", self._language)

    def _cost(self, text: str) -> int:
        return self._counter.count(text) if text else 0

    def _count(self, said: dict[Section, str], lines: dict[Section, list[_Line]]) -> int:
        return OVERHEAD + sum(self._cost(one.content) for one in self._messages(said, lines))


def _shortened(item: ContextItem, length: int) -> ContextItem:
    return replace(item, content=cut_at_sentence(item.content, length) if length else "", cut=True)


def _is_a_quotation(text: str) -> bool:
    """Whole sentences, or so much that the echo guard knows where it is from."""
    return len(text) >= SURELY_KNOWN or text.endswith(SENTENCE_ENDS)
