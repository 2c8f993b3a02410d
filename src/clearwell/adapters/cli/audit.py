"""``audit list``, ``audit verify``, ``audit head`` and ``audit accept``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearwell.adapters.cli.arguments import check_time, parse_id
from clearwell.adapters.cli.command import AsJson, UsageProblem, ask, run, start
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id, shorten_ids
from clearwell.vocabulary import AuditFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearwell.flow.audit.acceptance import AcceptedTrail
    from clearwell.messages import Language
    from clearwell.records import Principal
    from clearwell.settings import Settings
    from clearwell.views.audit import AuditEventView, AuditReportView

audit = typer.Typer(
    help="List who did what and who was refused, and verify that nothing of it was changed.", rich_markup_mode=None
)

SUBJECT_WIDTH, DETAIL_WIDTH = 80, 80
NOT_CONTINUED = (AuditFault.TRAIL_CUT, AuditFault.TRAIL_REPLACED)

AuditGroup = Annotated[
    str | None, typer.Option("--group", "-g", help="The group; without it, the events of the whole installation.")
]


@audit.command(name="list")
def show_all(
    group: AuditGroup = None,
    actor: Annotated[str | None, typer.Option("--actor", help="Only those of this key, person or job.")] = None,
    action: Annotated[str | None, typer.Option("--action", help="Only this action, as the list names it.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only those from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only those before this time.")] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="ID", help="Continue after the page that ends with this event.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="At most this many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List audit events, newest first."""
    from clearwell.views.audit import find_action

    settings, terminal = start()
    filters: dict[str, Any] = {
        "actor": actor,
        "action": None if action is None else find_action(action),
        "since": check_time(since, "--since"),
        "until": check_time(until, "--until"),
        "before": None if before is None else parse_id(before, "audit_event_not_found"),
        "limit": limit,
    }
    page = ask(settings, terminal, lambda client: client.audit_events(group, **filters))
    if as_json:
        terminal.answer(page)
        return
    if not page.events:
        terminal.tell("cli_audit_none")
        return
    headings = ["cli_head_when", "cli_head_made_by", "cli_head_action", "cli_head_subject", "cli_head_detail"]
    terminal.table(headings, [_row(event, terminal.language) for event in page.events])
    if page.next is not None:
        terminal.tell("cli_audit_more", id=str(page.next))


@audit.command()
def verify(
    group: AuditGroup = None,
    head: Annotated[
        Path | None, typer.Option("--head", metavar="FILE", help="A head that `audit head` wrote before.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify that no event was changed, removed or inserted. Exits with 1 if one was."""
    settings, terminal = start()
    exported = None if head is None else _read_head(head)
    report = ask(settings, terminal, lambda client: client.verify_audit(group, head=exported))
    if as_json:
        terminal.answer(report)
    else:
        _show_report(report, terminal, group=group, with_head=head is not None)
    if not report.intact:
        raise typer.Exit(1)


@audit.command(name="head")
def show_head(
    group: AuditGroup = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Write it to this file instead of printing it.")
    ] = None,
) -> None:
    """Print the last seal as JSON, to be kept outside of the database."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: client.audit_head(group))
    if file is None:
        terminal.answer(found)
        return
    file.write_text(json.dumps(found.model_dump(mode="json"), indent=2) + "\n", encoding="utf-8")
    terminal.tell("cli_audit_head_written", file=file, number=found.number)


@audit.command()
def accept(
    group: AuditGroup = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every trail that is no longer sealed or has a new head.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Continue a trail as it is stored now, after the database was restored.

    It works on the data folder of this machine. What was known before is recorded in the trail.
    """
    from clearwell.adapters.cli.connection import operator

    settings, terminal = start()
    by = operator(settings, "accept trail")
    if every and group is not None:
        raise UsageProblem("cli_audit_accept_both", field="--all")
    accepted = run(_accept(settings, group, by, every=every))
    if as_json:
        from clearwell.views.audit import AcceptedTrailsView

        terminal.answer(AcceptedTrailsView.from_records(accepted))
        return
    for trail in accepted:
        name = trail.group_id or terminal.words("audit_subject_installation")
        terminal.tell("cli_audit_accepted", group=name, known=trail.known_seal, stored=trail.stored_seal)
    if not accepted:
        terminal.tell("cli_audit_accept_none")


async def _accept(settings: Settings, group: str | None, by: Principal, *, every: bool) -> Sequence[AcceptedTrail]:
    from clearwell.app import open_acceptance
    from clearwell.records import INSTALLATION
    from clearwell.servers import running_postgres

    async with running_postgres(settings) as postgres, open_acceptance(settings, postgres.url) as acceptance:
        if every:
            return await acceptance.accept_all(by=by.name)
        return [await acceptance.accept(group or INSTALLATION, by=by.name)]


def _read_head(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageProblem("cli_audit_head_invalid", field="--head", file=path) from error
    if not isinstance(value, dict):
        raise UsageProblem("cli_audit_head_invalid", field="--head", file=path)
    return value


def _show_report(report: AuditReportView, terminal: Terminal, *, group: str | None, with_head: bool) -> None:
    counts = {"events": report.sealed_events, "seals": report.seals, "unsealed": report.unsealed_events}
    if report.intact:
        terminal.tell("cli_audit_intact", style="green", **counts)
        if not with_head:
            option = "" if group is None else f" --group {shlex.quote(group)}"
            terminal.tell("cli_audit_without_head", group=option)
        _show_warnings(report, terminal)
        return
    terminal.tell("cli_audit_broken", style="red", count=len(report.findings), **counts)
    headings = ["cli_head_fault", "cli_head_seal", "cli_head_event"]
    rows = [
        [
            terminal.words(f"audit_fault_{finding.fault}"),
            "–" if finding.seal is None else str(finding.seal),
            "–" if finding.event_id is None else shorten_id(finding.event_id),
        ]
        for finding in report.findings
    ]
    terminal.table(headings, rows)
    if report.more:
        terminal.tell("cli_audit_more_findings")
    if any(finding.fault in NOT_CONTINUED for finding in report.findings):
        terminal.tell("cli_audit_not_sealed")
    _show_warnings(report, terminal)


def _show_warnings(report: AuditReportView, terminal: Terminal) -> None:
    for warning in report.warnings:
        at = "" if report.begun_at is None else terminal.moment(report.begun_at)
        terminal.warn(f"audit_warning_{warning}", at=at)


def _row(event: AuditEventView, language: Language) -> list[str]:
    from clearwell.views.audit import name_action

    detail = " ".join(f"{name}={_write(value)}" for name, value in event.detail.items()) or "–"
    return [
        f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}",
        escape_hidden(event.actor_name),
        escape_hidden(name_action(event.action, language)),
        shorten(shorten_ids(escape_hidden(event.subject)), SUBJECT_WIDTH),
        shorten(shorten_ids(escape_hidden(detail)), DETAIL_WIDTH),
    ]


def _write(value: object) -> str:
    """A value of a detail, without the signs of JSON."""
    match value:
        case dict():
            return ", ".join(f"{name}: {_write(inner)}" for name, inner in value.items())
        case list():
            return ", ".join(map(_write, value))
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)
