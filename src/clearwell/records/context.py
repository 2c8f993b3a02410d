"""A context as it is given to a language model, and what it is made of."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from clearwell.vocabulary import Fate, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """One message as chat APIs take it. Memories are never in the system's."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReport:
    """What became of one memory. ``reason`` is a code of ``clearwell.messages``."""

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
    """What was included, cut and left out. ``tokens`` is never more than ``max_tokens``."""

    max_tokens: int
    tokens: int
    sections: tuple[SectionReport, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltContext:
    """The same context as one text and as messages, and the parts that did not answer."""

    text: str
    messages: tuple[PromptMessage, ...]
    report: ContextReport
    degraded: tuple[str, ...] = ()
