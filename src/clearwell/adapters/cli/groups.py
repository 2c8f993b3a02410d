"""``group`` and ``agent``: what a group and its agents are told."""

from pathlib import Path
from typing import Annotated

import typer

from clearwell.adapters.cli.given import file_text
from clearwell.adapters.cli.printing import Terminal, shortened
from clearwell.adapters.cli.running import AsJson, UsageProblem, ask, person, start
from clearwell.records import KEEP, Agent, Group, GroupChange, Json, Keep
from clearwell.settings import Settings
from clearwell.text.hidden_text import escaped

groups = typer.Typer(help="Show and set a group's system prompt and the schedule of its digest.", rich_markup_mode=None)
agents = typer.Typer(help="Show and set who an agent is to be.", rich_markup_mode=None)

SHOWN_WIDTH = 60
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group (group_id).")]
OfGroup = Annotated[str, typer.Option("--group", "-g", help="The group (group_id).")]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent (agent_id).")]
PromptFile = Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file.")]


@groups.command(name="list")
def show_groups(as_json: AsJson = False) -> None:
    """Show every group that somebody has described."""
    settings, terminal = start()
    found = ask(settings, lambda clearwell: clearwell.memory.groups(by=person()))
    if as_json:
        terminal.json({"groups": [_group_json(one) for one in found]})
    elif not found:
        terminal.tell("cli_group_none")
    else:
        headings = ["cli_head_group", "cli_head_schedule", "cli_head_prompt"]
        terminal.table(headings, [[one.group_id, _schedule(one), _line(one.system_prompt)] for one in found])


@groups.command(name="show")
def show_group(group: GroupName, as_json: AsJson = False) -> None:
    """Show a group's system prompt and the schedule of its digest."""
    settings, terminal = start()
    found = ask(settings, lambda clearwell: clearwell.memory.group(group, by=person()))
    _tell_group(found, terminal, as_json=as_json)


@groups.command(name="set")
def set_group(
    group: GroupName,
    prompt: Annotated[str | None, typer.Option("--prompt", help='The system prompt; "" empties it.')] = None,
    file: PromptFile = None,
    digest_cron: Annotated[
        str | None, typer.Option("--digest-cron", help='When its digest is due, such as "0 6 * * 1"; "": by default.')
    ] = None,
    digest_zone: Annotated[
        str | None, typer.Option("--digest-zone", help='The zone of that, such as Asia/Shanghai; "": by default.')
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set what is given, and leave the rest as it is."""
    settings, terminal = start()
    change = GroupChange(
        system_prompt=_text(prompt, file, settings, "--prompt"),
        digest_cron=_given(digest_cron),
        digest_zone=_given(digest_zone),
    )
    if not change.changed:
        raise UsageProblem("cli_group_nothing", field="--prompt")
    found = ask(settings, lambda clearwell: clearwell.memory.change_group(group, change, by=person()))
    _tell_group(found, terminal, as_json=as_json)


@agents.command(name="list")
def show_agents(group: OfGroup, as_json: AsJson = False) -> None:
    """Show the agents of a group."""
    settings, terminal = start()
    found = ask(settings, lambda clearwell: clearwell.memory.agents(group, by=person()))
    if as_json:
        terminal.json({"agents": [_agent_json(one) for one in found]})
    elif not found:
        terminal.tell("cli_agent_none", group=group)
    else:
        terminal.table(["cli_head_agent", "cli_head_persona"], [[one.agent_id, _line(one.persona)] for one in found])


@agents.command(name="show")
def show_agent(agent: AgentName, group: OfGroup, as_json: AsJson = False) -> None:
    """Show who an agent is to be."""
    settings, terminal = start()
    _tell_agent(
        ask(settings, lambda clearwell: clearwell.memory.agent(group, agent, by=person())), terminal, as_json=as_json
    )


@agents.command(name="set")
def set_agent(
    agent: AgentName,
    group: OfGroup,
    persona: Annotated[str | None, typer.Option("--persona", help="Who the agent is to be.")] = None,
    file: PromptFile = None,
    as_json: AsJson = False,
) -> None:
    """Say who an agent is to be."""
    settings, terminal = start()
    text = _text(persona, file, settings, "--persona")
    if text is KEEP:
        raise UsageProblem("cli_persona_missing", field="--persona")
    found = ask(settings, lambda clearwell: clearwell.memory.put_agent(group, agent, text or "", by=person()))
    _tell_agent(found, terminal, as_json=as_json)


@agents.command(name="remove")
def remove_agent(agent: AgentName, group: OfGroup, as_json: AsJson = False) -> None:
    """Remove an agent's persona. What it said and learnt stays."""
    settings, terminal = start()
    ask(settings, lambda clearwell: clearwell.memory.remove_agent(group, agent, by=person()))
    if as_json:
        terminal.json({"group_id": group, "agent_id": agent, "removed": True})
    else:
        terminal.tell("cli_agent_removed", agent=agent, group=group)


def _text(words: str | None, file: Path | None, settings: Settings, field: str) -> str | Keep | None:
    if words is not None and file is not None:
        raise UsageProblem("cli_text_twice", field=field)
    if file is not None:
        return file_text(file, settings)
    return _given(words)


def _given(value: str | None) -> str | Keep | None:
    return KEEP if value is None else value or None


def _tell_group(group: Group, terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        terminal.json(_group_json(group))
        return
    terminal.tell("cli_group_is", group=group.group_id, schedule=_schedule(group), style="bold")
    terminal.block(escaped(group.system_prompt) or terminal.words("cli_no_prompt"), indent=2)


def _tell_agent(agent: Agent, terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        terminal.json(_agent_json(agent))
        return
    terminal.tell("cli_agent_is", agent=agent.agent_id, group=agent.group_id, style="bold")
    terminal.block(escaped(agent.persona) or terminal.words("cli_no_prompt"), indent=2)


def _schedule(group: Group) -> str:
    return " ".join(part for part in (group.digest_cron, group.digest_zone) if part) or "–"


def _line(text: str) -> str:
    return shortened(escaped(text), SHOWN_WIDTH) or "–"


def _group_json(group: Group) -> Json:
    return {
        "group_id": group.group_id,
        "system_prompt": group.system_prompt,
        "digest_cron": group.digest_cron,
        "digest_zone": group.digest_zone,
        "created_at": None if group.created_at is None else group.created_at.isoformat(),
        "updated_at": None if group.updated_at is None else group.updated_at.isoformat(),
    }


def _agent_json(agent: Agent) -> Json:
    return {
        "group_id": agent.group_id,
        "agent_id": agent.agent_id,
        "persona": agent.persona,
        "created_at": agent.created_at.isoformat(),
        "updated_at": agent.updated_at.isoformat(),
    }
