"""Forgetting: the preview and the receipt."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field

from clearwell.views.view import View

if TYPE_CHECKING:
    from clearwell.records import ErasurePlan, ForgetReceipt


class AssignedCopyView(View):
    """The row that an output without a group has in a group that it was assigned to."""

    group_id: str
    id: UUID


class ForgetPreviewView(View):
    """Everything that forgetting would touch, by ids. Nothing was changed yet."""

    token: str = Field(description="stands for this list; send it to forget")
    until: UUID = Field(UUID(int=0), description="what there was up to this id is listed")
    things: int = Field(description="how many things are removed or emptied")
    counts: dict[str, int] = Field(
        description="the things by kind, and what goes with them: entries of working memory, stored answers, recalls, "
        "events of the stream, and jobs that wait"
    )
    outputs: tuple[UUID, ...] = Field(description="outputs that are removed, with verdicts, statements and vectors")
    insights: tuple[UUID, ...] = Field(description="insights that rest on them")
    promotions: tuple[UUID, ...] = Field(description="promotions whose text is emptied")
    memories: tuple[UUID, ...] = Field(description="memories that are withdrawn and removed")
    decisions: tuple[UUID, ...] = Field(description="decisions whose texts are emptied")
    quoting_insights: tuple[UUID, ...] = Field(description="insights that stay and lose what they quote")
    verdicts_of: tuple[UUID, ...] = Field(description="outputs that stay, whose verdicts lose what they quote")
    tombstones: tuple[UUID, ...] = Field(description="tombstones of rejected texts that become those of forgotten ones")
    later: tuple[UUID, ...] = Field((), description="outputs that arrived meanwhile and are removed with the others")
    originals: tuple[UUID, ...] = Field(
        (), description="outputs without a group that were assigned to this one; they are removed, too"
    )
    assigned_elsewhere: tuple[AssignedCopyView, ...] = Field(
        (), description="rows of other groups that were assigned from the same outputs; they stay"
    )
    agents: tuple[str, ...] = Field(description="agents whose personas are removed")
    profile: bool = Field(description="whether the system prompt of the group is emptied")
    released: tuple[UUID, ...] = Field(description="outputs that stay and that the next digest reads again")
    values: int = Field(description="how many values get a tombstone")

    @classmethod
    def from_record(cls, plan: ErasurePlan) -> Self:
        copies = tuple(AssignedCopyView(group_id=one.group_id, id=one.id) for one in plan.assigned_elsewhere)
        return cls.read(plan, values=len(plan.value_hashes), assigned_elsewhere=copies)

    def to_record(self) -> ErasurePlan:
        from clearwell.records import COPIES, AssignedCopy, ErasurePlan

        counted = {kind: self.counts[kind] for kind in COPIES if kind in self.counts}
        copies = tuple(AssignedCopy(group_id=one.group_id, id=one.id) for one in self.assigned_elsewhere)
        return self.make(ErasurePlan, value_hashes=(b"",) * self.values, assigned_elsewhere=copies, copies=counted)


class ForgetReceiptView(View):
    """What was forgotten, when and by whom, signed. It has nothing of what was forgotten."""

    id: UUID
    group_id: str
    kind: str = Field(description="quarantine, session, agent, memory, subject or group")
    at: datetime
    by: str
    counts: dict[str, int]
    outputs: tuple[UUID, ...]
    memories: tuple[UUID, ...]
    released: tuple[UUID, ...]
    originals: tuple[UUID, ...] = Field((), description="outputs without a group that were removed, too")
    tombstones: int = Field(description="how many values cannot come back")
    signature: str
    public_key: str = Field(description="the Ed25519 key that verifies the signature, in base64")

    @classmethod
    def from_record(cls, receipt: ForgetReceipt) -> Self:
        return cls.read(receipt, counts=dict(receipt.counts))

    def to_record(self) -> ForgetReceipt:
        from clearwell.records import ForgetReceipt

        return self.make(ForgetReceipt)
