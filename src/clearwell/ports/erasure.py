"""Forgetting in the database."""

from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Protocol
from uuid import UUID

from clearwell.records import (
    AssignedCopy,
    AuditEvent,
    ErasableOutput,
    ErasableText,
    ErasurePlan,
    ForgetReceipt,
    StoredForget,
)


class ErasureStore(Protocol):
    """Reads everything of a group that may hold a text, and erases it."""

    def outputs(self, group_id: str, *, after: UUID | None = None) -> AsyncIterator[Sequence[ErasableOutput]]:
        """All outputs of a group, or those with later ids than this one, in pages."""
        ...

    async def find_originals(self, ids: Sequence[UUID]) -> Sequence[UUID]:
        """Those of these outputs that the reserved group still has."""
        ...

    async def find_assigned(self, originals: Sequence[UUID], *, among: AbstractSet[str] | None) -> list[AssignedCopy]:
        """The rows that were assigned from these outputs, in these groups or in all."""
        ...

    async def insights(self, group_id: str) -> Sequence[ErasableText]:
        """All insights; they refer to their sources and to the memories that they quote."""
        ...

    async def promotions(self, group_id: str) -> Sequence[tuple[UUID, ErasableText]]:
        """All promotions with their memory; they refer to what they were made from."""
        ...

    async def decisions(self, group_id: str) -> Sequence[ErasableText]:
        """All decisions; they refer to their insight, promotion, memory and output."""
        ...

    async def quoting_verdicts(self, group_id: str) -> Sequence[ErasableText]:
        """The outputs whose verdicts quote others, with the ids that they quote."""
        ...

    async def tombstones(self, group_id: str) -> Mapping[bytes, tuple[UUID, str]]:
        """The tombstones of rejected values: id and reason, by the hash of the value."""
        ...

    async def profiles(self, group_id: str) -> tuple[str, Mapping[str, str]]:
        """The system prompt of the group and the personas of its agents."""
        ...

    async def count_copies(self, group_id: str, plan: ErasurePlan) -> Mapping[str, int]:
        """How many stored answers and waiting jobs are erased with the rows of a plan."""
        ...

    async def erase(self, plan: ErasurePlan, receipt: ForgetReceipt, *, event: AuditEvent) -> StoredForget:
        """Erase everything of the plan, store the tombstones and the receipt, in one transaction.

        Returns what is stored; that of another call, if it has used the token meanwhile: then nothing is erased.
        The originals are erased in the reserved group, and the event is recorded there, too.
        """
        ...

    async def find(self, group_id: str, token: str) -> StoredForget | None:
        """Return the forget of a plan with this token."""
        ...

    async def find_unfinished(self) -> Sequence[StoredForget]: ...

    async def finish(self, group_id: str, forget_id: UUID, *, at: datetime) -> None:
        """Record that nothing is left outside of the database."""
        ...

    async def generation(self) -> int:
        """How many forgets there were: when it grows, processes drop the texts that they keep."""
        ...
