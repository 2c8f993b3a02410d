"""``check``, ``counts``, ``admit`` and ``requeue``: the ingress pipeline by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.arguments import (
    Agent,
    Confidence,
    Extra,
    MaybeRowId,
    NodeType,
    RowId,
    Words,
    parse_metadata,
    read_text,
)
from clearwell.adapters.cli.command import AsJson, Group, UsageProblem, ask, run, start
from clearwell.adapters.cli.ids import TypedId, read_id
from clearwell.adapters.cli.memory import show_receipt
from clearwell.adapters.cli.verdicts import name_check, show_flags, show_refusal, show_verdicts
from clearwell.text.hidden_text import escape_hidden
from clearwell.vocabulary import Admission, IdKind, IngressCheck, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearwell.adapters.cli.connection import Connection
    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.client.routes import ApiClient
    from clearwell.settings import Settings
    from clearwell.views.captures import CaptureView, DryRunView, IngressCountView, QuarantineRowView

JUDGE_GAVE_UP = "judge_gave_up"


def check(
    group: Group,
    text: Words = None,
    node_type: NodeType = "agent",
    agent: Agent = None,
    confidence: Confidence = None,
    metadata: Extra = "{}",
    as_json: AsJson = False,
) -> None:
    """Run the ingress checks on a text without storing it."""
    settings, terminal = start()
    content, details = read_text(text, settings), parse_metadata(metadata, confidence)
    dry_run = ask(
        settings,
        terminal,
        lambda client: client.check(group, content, node_type=node_type, agent_id=agent, metadata=details),
    )
    if as_json:
        terminal.answer(dry_run)
    else:
        _show_dry_run(dry_run, terminal)


def _show_dry_run(dry_run: DryRunView, terminal: Terminal) -> None:
    if dry_run.admission is Admission.REFUSED:
        show_refusal("cli_dry_refused", dry_run.verdicts, terminal)
    else:
        terminal.tell("cli_dry_admitted", style="green")
    terminal.tell("cli_dry_nothing_stored")
    show_verdicts(dry_run.verdicts, terminal, measured=True)
    show_flags([flag.flag for flag in dry_run.flags], terminal)


def counts(group: Group, as_json: AsJson = False) -> None:
    """Show how often each check had each outcome, by agent."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: client.ingress_counts(group))
    if as_json:
        terminal.answer(found)
    elif not found.counts:
        terminal.tell("cli_counts_none", group=group)
    else:
        _show_counts(found.counts, terminal)


def _show_counts(counts: Sequence[IngressCountView], terminal: Terminal) -> None:
    """A row for each agent and check, a column for each outcome that there is."""
    from clearwell.settings import CHECK_STAGES

    order = [IngressCheck.GROUP, IngressCheck.NODE_TYPE, *(check for stage in CHECK_STAGES for check in stage)]
    outcomes = [outcome for outcome in Outcome if outcome in {count.outcome for count in counts}]
    numbers = {(count.agent_id, count.check, count.outcome): count.count for count in counts}
    places: dict[str, int] = {check: place for place, check in enumerate(order)}
    pairs = sorted(
        {(count.agent_id, count.check) for count in counts},
        key=lambda pair: (pair[0] or "", places.get(pair[1], len(order)), pair[1]),
    )
    rows = []
    for agent, of in pairs:
        name = terminal.words("cli_no_agent") if agent is None else escape_hidden(agent)
        ended = [str(numbers.get((agent, of, outcome), 0)) for outcome in outcomes]
        rows.append([name, name_check(of, terminal), *ended])
    terminal.table(["cli_head_agent", "cli_head_check", *(f"outcome_{outcome}" for outcome in outcomes)], rows)


def admit(
    row_id: RowId,
    group: Group,
    reason: Annotated[str | None, typer.Option("--reason", help="Why the refusal was wrong.")] = None,
    as_json: AsJson = False,
) -> None:
    """Admit a refused output to working memory, as a person."""
    settings, terminal = start()
    row = read_id(row_id, IdKind.ROW, group=group)

    async def act(client: ApiClient) -> CaptureView:
        return await client.admit_refused(group, await row.find(client), reason=reason)

    receipt = ask(settings, terminal, act)
    if as_json:
        terminal.answer(receipt)
    else:
        terminal.tell("cli_admitted_by_person", id=receipt.id, group=group, style="green")


def assign(row_id: RowId, group: Group, as_json: AsJson = False) -> None:
    """Assign an output that was captured without a group to a group."""
    from clearwell.records import UNASSIGNED

    settings, terminal = start()
    row = read_id(row_id, IdKind.ROW, group=UNASSIGNED)

    async def act(client: ApiClient) -> CaptureView:
        return await client.assign(group, await row.find(client))

    receipt = ask(settings, terminal, act)
    if as_json:
        terminal.answer(receipt)
    else:
        terminal.tell("cli_assigned", id=receipt.id, group=group, style="green")


def requeue(
    group: Group,
    row_id: MaybeRowId = None,
    refused_by: Annotated[
        str | None,
        typer.Option(
            "--refused-by", help="Queue everything that this check refused; also judge_gave_up or admission_failed."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Queue refused outputs for the ingress checks again."""
    settings, terminal = start()
    if (row_id is None) is (refused_by is None):
        raise UsageProblem("cli_requeue_what", field="ID")
    if refused_by is not None:
        rows, note = run(_requeue_many(settings, terminal, group, _read_check(refused_by, terminal)))
        if as_json:
            from clearwell.views.captures import RequeuedView

            terminal.answer(RequeuedView(requeued=rows, more=False))
            return
        terminal.tell("cli_requeued_many", rows=rows, group=group)
    else:
        row = read_id(str(row_id), IdKind.ROW, group=group, missing="row_not_refused")
        receipt, note = run(_requeue_row(settings, terminal, group, row))
        if as_json:
            terminal.answer(receipt)
            return
        show_receipt(receipt.group_id, receipt.id, receipt.admission, receipt.verdicts, terminal)
    if note is not None:
        terminal.warn(note)


def _read_check(typed: str, terminal: Terminal) -> str:
    """A check by its code, or as the command line prints it, such as non-duplicate."""
    return next((check for check in IngressCheck if typed == name_check(check, terminal)), typed)


async def _requeue_row(
    settings: Settings, terminal: Terminal, group: str, typed: TypedId
) -> tuple[CaptureView, str | None]:
    """Queue one output again; return it, and a message if this command does not admit it itself."""
    from clearwell.adapters.cli.connection import connect
    from clearwell.views.captures import CaptureView

    async with connect(settings, terminal) as connection:
        row_id = await typed.find(connection.client)
        left_to_server = connection.leaves_admissions
        left_to_judge = _leave_to_judge(
            connection, _is_refused_by_judge(await connection.client.quarantine_row(group, row_id))
        )
        await connection.client.requeue(group, row_id)
        if left_to_judge:
            receipt = CaptureView(id=row_id, group_id=group, admission=Admission.PENDING, verdicts=())
        else:
            row = await connection.wait_for_admission(group, row_id)
            receipt = CaptureView(id=row.id, group_id=row.group_id, admission=row.admission, verdicts=row.verdicts)
        return receipt, _note(left_to_server=left_to_server, left_to_judge=left_to_judge)


async def _requeue_many(settings: Settings, terminal: Terminal, group: str, refused_by: str) -> tuple[int, str | None]:
    """Queue what a check refused; return how many, and a message if this command does not admit them itself."""
    from clearwell.adapters.cli.connection import connect
    from clearwell.adapters.cli.known_groups import require_group

    async with connect(settings, terminal) as connection:
        left_to_server = connection.leaves_admissions
        left_to_judge = _leave_to_judge(connection, refused_by in {IngressCheck.SELF_CONSISTENCY, JUDGE_GAVE_UP})
        await require_group(connection.client, group, terminal)
        rows = 0
        while True:
            done = await connection.client.requeue_refused(group, refused_by)
            rows += done.requeued
            if not done.more:
                return rows, _note(left_to_server=left_to_server, left_to_judge=left_to_judge) if rows else None


def _leave_to_judge(connection: Connection, judge_wanted: bool) -> bool:
    """Whether rows wait for a judge that is not here. A running server decides by its own settings."""
    if connection.program is None or connection.leaves_admissions:
        return False
    if not judge_wanted or connection.settings.judge_base_url is not None:
        return False
    connection.leave_admissions()
    return True


def _is_refused_by_judge(row: QuarantineRowView) -> bool:
    return any(
        verdict.check == IngressCheck.SELF_CONSISTENCY and verdict.outcome is Outcome.FAIL for verdict in row.verdicts
    )


def _note(*, left_to_server: bool, left_to_judge: bool) -> str | None:
    if left_to_server:
        return "cli_left_to_server"
    return "cli_left_to_judge" if left_to_judge else None
