"""What a person wants done with an insight, and the step that does it at the group's desk."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias
from uuid import UUID

from clearwell.ports import Desk
from clearwell.records import Action, Decided, Principal

Step: TypeAlias = Callable[[Desk], Awaitable[Decided]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to do with one insight. Which fields count depends on the action."""

    action: Action
    id: UUID
    version: int | None = None
    text: str | None = None
    agent_id: str | None = None
    supersedes: UUID | None = None
    reason: str | None = None
    others: tuple[UUID, ...] = ()
    until: datetime | None = None
    days: float | None = None


class Moved(Exception):
    """The text changed between being read and being decided on."""

    def __init__(self, insight_id: UUID) -> None:
        super().__init__(insight_id)
        self.insight_id = insight_id


class Preparing(Protocol):
    """One kind of decision: all that takes time is done first, so that what is left at the desk takes none."""

    async def prepared(self, group_id: str, wanted: Wanted, by: Principal) -> Step: ...
