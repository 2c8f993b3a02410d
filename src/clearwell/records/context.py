"""A context for a language model, and the report on its parts."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from clearwell.vocabulary import Fate, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """One message of a chat API. Memories are never in the system message."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReport:
    """How one memory was included or omitted. ``reason`` is a code of ``clearwell.messages``."""

    id: UUID
    fate: Fate
    tokens: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionReport:
    section: Section
    fate: Fate
    tokens: int
    reason: str | None = None
    items: tuple[ItemReport, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport:
    """What was included, shortened and omitted. ``tokens`` never exceeds ``max_tokens``."""

    max_tokens: int
    tokens: int
    sections: tuple[SectionReport, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltContext:
    """A context as one text and as messages, and the components that did not respond."""

    text: str
    messages: tuple[PromptMessage, ...]
    report: ContextReport
    degraded: tuple[str, ...] = ()
