"""Contexts that were built for an agent, and runs of the memory-retrieval node."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language, say
from clearwell.views.view import View, is_absent
from clearwell.vocabulary import EventType, Fate, Section

if TYPE_CHECKING:
    from clearwell.records import BuiltContext, ContextReport, ItemReport, NodeRun, SectionReport


class PromptMessageView(View):
    """One message in the format of chat APIs."""

    role: str = Field(examples=["system", "user"])
    content: str


class ContextItemView(View):
    """Whether a memory was included, shortened or omitted."""

    id: UUID
    fate: Fate
    tokens: int
    reason: str | None
    reason_text: str | None

    @classmethod
    def from_record(cls, item: ItemReport, language: Language) -> Self:
        return cls.read(item, reason_text=_say_reason(item.reason, language))

    def to_record(self) -> ItemReport:
        from clearwell.records import ItemReport

        return self.make(ItemReport)


class ContextSectionView(View):
    """Whether a section and each memory in it was included, shortened or omitted."""

    section: Section
    fate: Fate
    tokens: int
    reason: str | None
    reason_text: str | None
    items: tuple[ContextItemView, ...]

    @classmethod
    def from_record(cls, section: SectionReport, language: Language) -> Self:
        items = tuple(ContextItemView.from_record(item, language) for item in section.items)
        return cls.read(section, reason_text=_say_reason(section.reason, language), items=items)

    def to_record(self) -> SectionReport:
        from clearwell.records import SectionReport

        return self.make(SectionReport, items=tuple(item.to_record() for item in self.items))


class ContextReportView(View):
    """What was included, shortened and omitted."""

    max_tokens: int
    tokens: int = Field(description="tokens of the context, by the counter; never more than max_tokens")
    sections: tuple[ContextSectionView, ...]

    @classmethod
    def from_record(cls, report: ContextReport, language: Language) -> Self:
        sections = tuple(ContextSectionView.from_record(section, language) for section in report.sections)
        return cls.read(report, sections=sections)

    def to_record(self) -> ContextReport:
        from clearwell.records import ContextReport

        return self.make(ContextReport, sections=tuple(section.to_record() for section in self.sections))


class ContextView(View):
    """A context for a language model, with its report."""

    text: str | None = Field(None, exclude_if=is_absent, description="the context as one text")
    messages: tuple[PromptMessageView, ...] | None = Field(
        None, exclude_if=is_absent, description="the context as messages for a chat API"
    )
    report: ContextReportView
    degraded: tuple[str, ...] = Field(description="components that did not respond", examples=[[], ["prompts"]])

    @classmethod
    def from_record(cls, built: BuiltContext, language: Language, *, text: bool = True, messages: bool = True) -> Self:
        """``text`` and ``messages`` say in which of its two forms the context is given."""
        return cls(
            text=built.text if text else None,
            messages=tuple(PromptMessageView.read(message) for message in built.messages) if messages else None,
            report=ContextReportView.from_record(built.report, language),
            degraded=built.degraded,
        )

    def to_record(self) -> BuiltContext:
        """The context in both forms. A form that was not asked for is empty."""
        from clearwell.records import BuiltContext, PromptMessage

        return self.make(
            BuiltContext,
            text=self.text or "",
            messages=tuple(message.make(PromptMessage) for message in self.messages or ()),
            report=self.report.to_record(),
        )


class NodeEventView(View):
    """An event of a run of the node."""

    type: EventType
    at: datetime
    data: dict[str, Any]


class NodeRunView(View):
    """The state with history_context added, and the events of the run."""

    output: dict[str, Any]
    events: tuple[NodeEventView, ...]

    @classmethod
    def from_record(cls, run: NodeRun) -> Self:
        return cls.read(run, events=tuple(NodeEventView.read(event) for event in run.events))

    def to_record(self) -> NodeRun:
        from clearwell.records import NodeEvent, NodeRun

        return self.make(NodeRun, events=tuple(event.make(NodeEvent) for event in self.events))


def _say_reason(reason: str | None, language: Language) -> str | None:
    return None if reason is None else say(reason, language)
