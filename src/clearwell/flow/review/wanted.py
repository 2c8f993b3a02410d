"""What a person wants done with an insight, and the step that does it at the group's desk."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias
from uuid import UUID

from clearwell.ports import DecisionTransaction
from clearwell.records import DecisionRequest, DecisionResult, Principal

Step: TypeAlias = Callable[[DecisionTransaction], Awaitable[DecisionResult]]


class Moved(Exception):
    """The text changed between being read and being decided on."""

    def __init__(self, insight_id: UUID) -> None:
        super().__init__(insight_id)
        self.insight_id = insight_id


class Preparing(Protocol):
    """One kind of decision: all that takes time is done first, so that what is left at the desk takes none."""

    async def prepared(self, group_id: str, wanted: DecisionRequest, by: Principal) -> Step: ...
