"""Erasure is SQL. Tests of it run on PostgreSQL; the twin only says that nothing was ever forgotten."""

from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from uuid import UUID

from clearwell.ports import ErasureStore
from clearwell.records import (
    AssignedCopy,
    AuditEvent,
    ErasableOutput,
    ErasableText,
    ErasurePlan,
    ForgetReceipt,
    StoredForget,
)


class NoErasure(ErasureStore):
    def outputs(self, group_id: str, *, after: UUID | None = None) -> AsyncIterator[Sequence[ErasableOutput]]:
        raise NotImplementedError

    async def find_originals(self, ids: Sequence[UUID]) -> Sequence[UUID]:
        raise NotImplementedError

    async def find_assigned(self, originals: Sequence[UUID], *, among: AbstractSet[str] | None) -> list[AssignedCopy]:
        raise NotImplementedError

    async def insights(self, group_id: str) -> Sequence[ErasableText]:
        raise NotImplementedError

    async def promotions(self, group_id: str) -> Sequence[tuple[UUID, ErasableText]]:
        raise NotImplementedError

    async def decisions(self, group_id: str) -> Sequence[ErasableText]:
        raise NotImplementedError

    async def quoting_verdicts(self, group_id: str) -> Sequence[ErasableText]:
        raise NotImplementedError

    async def tombstones(self, group_id: str) -> Mapping[bytes, tuple[UUID, str]]:
        raise NotImplementedError

    async def profiles(self, group_id: str) -> tuple[str, Mapping[str, str]]:
        raise NotImplementedError

    async def count_copies(self, group_id: str, plan: ErasurePlan) -> Mapping[str, int]:
        raise NotImplementedError

    async def erase(self, plan: ErasurePlan, receipt: ForgetReceipt, *, event: AuditEvent) -> StoredForget:
        raise NotImplementedError

    async def find(self, group_id: str, token: str) -> StoredForget | None:
        raise NotImplementedError

    async def find_unfinished(self) -> Sequence[StoredForget]:
        return []

    async def finish(self, group_id: str, forget_id: UUID, *, at: datetime) -> None:
        raise NotImplementedError

    async def generation(self) -> int:
        return 0
