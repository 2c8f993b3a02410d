"""``check``, ``requeue`` and ``counts``: the ingress pipeline by itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from clearwell.adapters.cli.given import (
    Agent,
    Confidence,
    Extra,
    MaybeRowId,
    NodeType,
    Words,
    given_metadata,
    given_text,
    wanted_id,
)
from clearwell.adapters.cli.memory import receipt_json, show_receipt
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, ask, opened, person, run, start
from clearwell.adapters.cli.settling import awaited, lacks_the_judge, settles_here, was_given_up
from clearwell.adapters.cli.verdicts import (
    check_name,
    flags_json,
    refusal,
    show_flags,
    show_verdicts,
    verdict_json,
)
from clearwell.flow.ingress.admission import DryRun
from clearwell.records import Admission, CaptureReceipt, IngressCount, Json, NewCapture, Outcome
from clearwell.settings import FILTER_STAGES, Settings
from clearwell.text.hidden_text import escaped

BY_PATH = ["group", "node_type", *(check for stage in FILTER_STAGES for check in stage)]
"""The checks in the order in which a text meets them."""


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
    new = NewCapture(
        content=given_text(text, settings),
        group_id=group,
        node_type=node_type,
        agent_id=agent,
        metadata=given_metadata(metadata, confidence),
    )
    said = ask(settings, lambda clearwell: clearwell.memory.check(new, by=person()))
    if as_json:
        terminal.json(_said_json(said, terminal))
    else:
        _show_said(said, terminal)


def requeue(
    group: Group,
    row_id: MaybeRowId = None,
    refused_by: Annotated[
        str | None,
        typer.Option(
            "--refused-by", help="Put back everything that this check refused; or judge_gave_up, or admission_failed."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Queue refused outputs again, and show the result for a single one."""
    settings, terminal = start()
    if (row_id is None) is (refused_by is None):
        raise UsageProblem("cli_requeue_what", field="ID")
    if refused_by is not None:
        _requeue_many(group, refused_by, settings, terminal, as_json=as_json)
        return
    log_id = wanted_id(str(row_id), "row_not_refused", group=group)

    async def work() -> tuple[CaptureReceipt, str | None]:
        async with opened(settings) as clearwell:
            row = await clearwell.memory.quarantine_row(group, log_id, by=person())
            judge_wanted = was_given_up(row) and settings.judge_base_url is None
            here = await settles_here(clearwell)
            await clearwell.memory.requeue(group, log_id, by=person(), settle=here and not judge_wanted)
            await clearwell.queue.join()
            note = _note(here=here, judge_wanted=judge_wanted)
            if not here:
                return await awaited(clearwell, group, log_id), note
            row = await clearwell.memory.quarantine_row(group, log_id, by=person())
            receipt = CaptureReceipt(id=log_id, group_id=group, admission=row.admission, verdicts=row.verdicts)
            return replace(receipt, verdicts=()) if judge_wanted else receipt, note

    receipt, note = run(work())
    if as_json:
        terminal.json(receipt_json(receipt, terminal))
        return
    show_receipt(receipt, terminal)
    if note is not None:
        terminal.warn(note)


def _requeue_many(group: str, refused_by: str, settings: Settings, terminal: Terminal, *, as_json: bool) -> None:
    judge_wanted = lacks_the_judge(refused_by, settings)

    async def work() -> tuple[int, str | None]:
        async with opened(settings) as clearwell:
            here = await settles_here(clearwell)
            rows = 0
            while True:
                done = await clearwell.memory.requeue_refused(
                    group, refused_by, by=person(), settle=here and not judge_wanted
                )
                rows += done.rows
                if not done.more:
                    await clearwell.queue.join()
                    return rows, _note(here=here, judge_wanted=judge_wanted) if rows else None

    rows, note = run(work())
    if as_json:
        terminal.json({"requeued": rows})
        return
    terminal.tell("cli_requeued_many", rows=rows, group=group)
    if note is not None:
        terminal.warn(note)


def _note(*, here: bool, judge_wanted: bool) -> str | None:
    if not here:
        return "cli_left_to_server"
    return "cli_left_to_judge" if judge_wanted else None


def counts(group: Group, as_json: AsJson = False) -> None:
    """Show how often each check ended how, by agent."""
    settings, terminal = start()
    found = ask(settings, lambda clearwell: clearwell.memory.ingress_counts(group, by=person()))
    if as_json:
        terminal.json({"counts": [_count_json(one) for one in found]})
    elif not found:
        terminal.tell("cli_counts_none", group=group)
    else:
        _show_counts(found, terminal)


def _show_said(said: DryRun, terminal: Terminal) -> None:
    if said.admission is Admission.REFUSED:
        terminal.tell("cli_dry_refused", reason=refusal(said.verdicts, terminal), style="yellow")
    else:
        terminal.tell("cli_dry_admitted", style="green")
    terminal.tell("cli_dry_nothing_stored")
    show_verdicts(said.verdicts, terminal, measured=True)
    show_flags(said.flags, terminal)


def _said_json(said: DryRun, terminal: Terminal) -> Json:
    return {
        "admission": said.admission.value,
        "stored": False,
        "flags": flags_json(said.flags, terminal),
        "verdicts": [verdict_json(verdict, terminal) for verdict in said.verdicts],
    }


def _show_counts(found: Sequence[IngressCount], terminal: Terminal) -> None:
    """A row for each agent and check, a column for each outcome that there is."""
    outcomes = [outcome for outcome in Outcome if outcome in {one.outcome for one in found}]
    numbers = {(one.agent_id, one.check, one.outcome): one.count for one in found}
    pairs = sorted({(one.agent_id, one.check) for one in found}, key=_place)
    rows = []
    for agent, of in pairs:
        name = terminal.words("cli_no_agent") if agent is None else escaped(agent)
        ended = [str(numbers.get((agent, of, outcome), 0)) for outcome in outcomes]
        rows.append([name, check_name(of, terminal), *ended])
    terminal.table(["cli_head_agent", "cli_head_check", *(f"outcome_{outcome}" for outcome in outcomes)], rows)


def _place(pair: tuple[str | None, str]) -> tuple[str, int, str]:
    agent, of = pair
    return agent or "", BY_PATH.index(of) if of in BY_PATH else len(BY_PATH), of


def _count_json(one: IngressCount) -> Json:
    return {"agent_id": one.agent_id, "check": one.check, "outcome": one.outcome.value, "count": one.count}
