"""``group`` and ``agent``: system prompts, digest schedules and personas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.arguments import read_file
from clearwell.adapters.cli.command import AsJson, UsageProblem, ask, start
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.text.hidden_text import escape_hidden

if TYPE_CHECKING:
    from clearwell.settings import Settings
    from clearwell.views.groups import AgentView, GroupView

groups = typer.Typer(help="Show and set system prompts and digest schedules of groups.", rich_markup_mode=None)
agents = typer.Typer(help="Show and set personas of agents.", rich_markup_mode=None)

SHOWN_WIDTH = 60
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group (group_id).")]
OfGroup = Annotated[str, typer.Option("--group", "-g", help="The group (group_id).")]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent (agent_id).")]
PromptFile = Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file.")]


@groups.command(name="list")
def show_groups(as_json: AsJson = False) -> None:
    """List the groups that have a system prompt or a digest schedule."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: client.groups())
    if as_json:
        terminal.answer(found)
    elif not found.groups:
        terminal.tell("cli_group_none")
    else:
        headings = ["cli_head_group", "cli_head_schedule", "cli_head_prompt"]
        rows = [[group.group_id, _schedule(group), _first_words(group.system_prompt)] for group in found.groups]
        terminal.table(headings, rows)


@groups.command(name="show")
def show_group(group: GroupName, as_json: AsJson = False) -> None:
    """Show the system prompt and the digest schedule of a group."""
    settings, terminal = start()
    _show_group(ask(settings, terminal, lambda client: client.group(group)), terminal, as_json=as_json)


@groups.command(name="set")
def set_group(
    group: GroupName,
    prompt: Annotated[str | None, typer.Option("--prompt", help='The system prompt; "" removes it.')] = None,
    file: PromptFile = None,
    digest_cron: Annotated[
        str | None,
        typer.Option("--digest-cron", help='Schedule of the digest, such as "0 6 * * 1"; "" for the default.'),
    ] = None,
    digest_zone: Annotated[
        str | None,
        typer.Option("--digest-zone", help='Time zone of the schedule, such as Asia/Shanghai; "" for the default.'),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change the named properties of a group; the others stay as they are."""
    settings, terminal = start()
    values = {
        "system_prompt": _read_prompt(prompt, file, settings, "--prompt"),
        "digest_cron": digest_cron,
        "digest_zone": digest_zone,
    }
    change = {name: value or None for name, value in values.items() if value is not None}
    if not change:
        raise UsageProblem("cli_group_nothing", field="--prompt")
    changed = ask(settings, terminal, lambda client: client.change_group(group, change))
    _show_group(changed, terminal, as_json=as_json)


@agents.command(name="list")
def show_agents(group: OfGroup, as_json: AsJson = False) -> None:
    """List the agents of a group that have a persona."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: client.agents(group))
    if as_json:
        terminal.answer(found)
    elif not found.agents:
        terminal.tell("cli_agent_none", group=group)
    else:
        rows = [[agent.agent_id, _first_words(agent.persona)] for agent in found.agents]
        terminal.table(["cli_head_agent", "cli_head_persona"], rows)


@agents.command(name="show")
def show_agent(agent: AgentName, group: OfGroup, as_json: AsJson = False) -> None:
    """Show the persona of an agent."""
    settings, terminal = start()
    _show_agent(ask(settings, terminal, lambda client: client.agent(group, agent)), terminal, as_json=as_json)


@agents.command(name="set")
def set_agent(
    agent: AgentName,
    group: OfGroup,
    persona: Annotated[str | None, typer.Option("--persona", help="The persona: who the agent is.")] = None,
    file: PromptFile = None,
    as_json: AsJson = False,
) -> None:
    """Set the persona of an agent."""
    settings, terminal = start()
    text = _read_prompt(persona, file, settings, "--persona")
    if text is None:
        raise UsageProblem("cli_persona_missing", field="--persona")
    put = ask(settings, terminal, lambda client: client.put_agent(group, agent, text))
    _show_agent(put, terminal, as_json=as_json)


@agents.command(name="remove")
def remove_agent(agent: AgentName, group: OfGroup, as_json: AsJson = False) -> None:
    """Remove the persona of an agent. Its outputs and memories stay."""
    settings, terminal = start()
    removed = ask(settings, terminal, lambda client: client.remove_agent(group, agent))
    if as_json:
        terminal.answer(removed)
    else:
        terminal.tell("cli_agent_removed", agent=removed.agent_id, group=removed.group_id)


def _read_prompt(words: str | None, file: Path | None, settings: Settings, option: str) -> str | None:
    if words is not None and file is not None:
        raise UsageProblem("cli_text_twice", field=option)
    return words if file is None else read_file(file, settings)


def _show_group(group: GroupView, terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        terminal.answer(group)
        return
    terminal.tell("cli_group_is", group=group.group_id, schedule=_schedule(group), style="bold")
    terminal.block(escape_hidden(group.system_prompt) or terminal.words("cli_no_prompt"), indent=2)


def _show_agent(agent: AgentView, terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        terminal.answer(agent)
        return
    terminal.tell("cli_agent_is", agent=agent.agent_id, group=agent.group_id, style="bold")
    terminal.block(escape_hidden(agent.persona) or terminal.words("cli_no_prompt"), indent=2)


def _schedule(group: GroupView) -> str:
    return " ".join(part for part in (group.digest_cron, group.digest_zone) if part) or "–"


def _first_words(text: str) -> str:
    return shorten(escape_hidden(text), SHOWN_WIDTH) or "–"
