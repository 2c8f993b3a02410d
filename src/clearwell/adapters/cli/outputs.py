"""``review promote --from``: outputs become knowledge straight from quarantine or working memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import UsageProblem, person
from clearwell.app import Clearwell
from clearwell.errors import ClearwellError, NotFound
from clearwell.records import Json, NewMemory, PromotionResult


class From(StrEnum):
    """What an id names that is to be promoted."""

    INSIGHT = "insight"
    QUARANTINE = "quarantine"
    WORKING = "working"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Which outputs to promote, and what is to differ from what they say."""

    group_id: str
    ids: Sequence[UUID]
    origin: From
    text: NewMemory

    async def promoted(self, clearwell: Clearwell) -> list[PromotionResult | ClearwellError]:
        """Each by itself, in order. The problem of a single one is raised."""
        if len(self.ids) == 1:
            return [await self._one(clearwell, self.ids[0])]
        return [await self._or_problem(clearwell, one) for one in self.ids]

    async def _or_problem(self, clearwell: Clearwell, one: UUID) -> PromotionResult | ClearwellError:
        try:
            return await self._one(clearwell, one)
        except ClearwellError as problem:
            return problem

    async def _one(self, clearwell: Clearwell, one: UUID) -> PromotionResult:
        review = clearwell.review
        promote = review.promote_entry if self.origin is From.WORKING else review.promote_row
        return await promote(self.group_id, one, self.text, by=person())


def output_json(one: PromotionResult | ClearwellError, terminal: Terminal) -> Json:
    if isinstance(one, ClearwellError):
        return {"problem": one.code, "detail": one.text(terminal.language)}
    return {
        "status": "promoting" if one.waiting else "promoted",
        "id": str(one.id),
        "promotion_id": str(one.promotion_id),
        "decision_id": None if one.decision_id is None else str(one.decision_id),
        "chunks": one.chunks,
        "already": one.already,
    }


def tell_output(output: UUID, result: PromotionResult | ClearwellError, terminal: Terminal) -> None:
    if isinstance(result, ClearwellError):
        terminal.fail(result.text(terminal.language))
        return
    code = "cli_decided_promoting" if result.waiting else "cli_decided_promoted"
    terminal.tell(f"{code}_already" if result.already else code, style="green", insight=output, id=result.id)


async def require_no_output(clearwell: Clearwell, group_id: str, missing: NotFound, given: UUID) -> None:
    """Where there is no such insight but an output by this id, say how that is promoted."""
    try:
        await clearwell.memory.quarantine_row(group_id, given, by=person())
    except NotFound:
        raise missing from None
    raise UsageProblem("cli_review_is_output", field="--from", id=given, group=group_id) from None
