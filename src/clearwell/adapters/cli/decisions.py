"""Decisions on insights: find what an ID names, decide, and explain a refusal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from clearwell.adapters.cli.command import UsageProblem
from clearwell.adapters.cli.ids import TypedId, read_id
from clearwell.errors import ClearwellError, Conflict, InvalidInput, NotFound
from clearwell.messages import Language, say
from clearwell.text.hidden_text import escape_hidden
from clearwell.vocabulary import Action, IdKind

if TYPE_CHECKING:
    from uuid import UUID

    from clearwell.client.review_routes import DecisionFields
    from clearwell.client.routes import ApiClient
    from clearwell.views.decisions import DecisionResultView

W = TypeVar("W")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do with one insight."""

    action: Action
    id: UUID
    fields: DecisionFields = field(default_factory=dict)  # type: ignore[assignment]


def read_insight_id(text: str, action: Action, *, group: str) -> TypedId:
    """Read the id of an insight. A decision can be undone by its own id, too."""
    if action is Action.UNDO:
        return read_id(text, IdKind.INSIGHT, IdKind.DECISION, group=group, missing="undo_not_found")
    return read_id(text, IdKind.INSIGHT, group=group)


async def find_insight(client: ApiClient, typed: TypedId, action: Action) -> UUID:
    """The whole id of an insight. If an output is to be promoted by a short id, this says how."""
    try:
        return await typed.find(client)
    except NotFound:
        group, text = typed.group, typed.text
        if action is Action.PROMOTE and (await client.review.find_ids(group, IdKind.ROW, text)).ids:
            raise UsageProblem("cli_review_is_output", field="--from", id=text, group=group) from None
        raise


async def decide_one(client: ApiClient, group: str, choice: Choice) -> DecisionResultView:
    """Decide on one insight. A decision can be undone by its own ID, too; the ID of an output is explained."""
    try:
        return await client.review.decide(group, choice.action, choice.id, **choice.fields)
    except InvalidInput as wrong:
        side = choice.fields.get("side")
        if wrong.code == "promote_side_unknown" and side is not None:
            raise UsageProblem("cli_review_side_unknown", field="--side", id=choice.id, side=side + 1) from None
        raise
    except Conflict as conflict:
        if conflict.code == "insight_has_sides":
            raise SideNeeded(choice.id, conflict) from None
        raise
    except NotFound as missing:
        if missing.code != "insight_not_found":
            raise
        if choice.action is Action.UNDO:
            return await _undo_decision(client, group, choice)
        if choice.action is Action.PROMOTE:
            await _require_no_output(client, group, choice.id)
        raise


class SideNeeded(ClearwellError):
    """An insight with sides was to be promoted without naming one: shows the sides with their numbers."""

    def __init__(self, insight_id: UUID, conflict: Conflict) -> None:
        super().__init__("cli_review_choose_side", id=insight_id)
        self._sides = conflict.current.get("sides")

    def text(self, language: Language = "en") -> str:
        sides = self._sides if isinstance(self._sides, list) else []
        lines = [say("cli_review_side", language, **_number_side(side)) for side in sides]
        return "\n".join([super().text(language), *(f"  {line}" for line in lines)])


def _number_side(side: Mapping[str, object]) -> dict[str, object]:
    """A side as the command line numbers it, from 1."""
    number = int(str(side["side"])) + 1
    return {**side, "side": number, "statement": escape_hidden(str(side["statement"]))}


async def _undo_decision(client: ApiClient, group: str, choice: Choice) -> DecisionResultView:
    try:
        return await client.review.undo(group, choice.id, reason=choice.fields.get("reason"))
    except NotFound:
        raise NotFound("undo_not_found", id=choice.id, group=group) from None


async def _require_no_output(client: ApiClient, group: str, row_id: UUID) -> None:
    """If the ID is not that of an insight but of an output, say how to promote it."""
    try:
        await client.quarantine_row(group, row_id)
    except NotFound:
        return
    raise UsageProblem("cli_review_is_output", field="--from", id=row_id, group=group) from None


async def decide_each(wanted: Sequence[W], act: Callable[[W], Awaitable[R]]) -> list[R | ClearwellError]:
    """Run each one in order and collect results and errors. The error of a single one is raised."""
    if len(wanted) == 1:
        return [await act(wanted[0])]
    results: list[R | ClearwellError] = []
    for one in wanted:
        try:
            results.append(await act(one))
        except ClearwellError as problem:
            results.append(problem)
    return results
