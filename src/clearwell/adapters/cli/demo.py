"""``demo``: a council of agents that meets on three days, to watch what becomes of what agents say."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, log_to_stderr, program, run, start
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.text.short_ids import shorten_id, shorten_ids
from clearwell.vocabulary import Flag

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from clearwell.demo.steps import (
        DecisionStep,
        DigestStep,
        FactCheckStep,
        InsightLine,
        MeetingStep,
        OutputStep,
        RecalledMemory,
        RecallStep,
        Step,
        SummaryStep,
    )
    from clearwell.messages import Language
    from clearwell.settings import Settings

TEXT_WIDTH = 84
"""How much of a text is shown in a line."""
LETTERS = "abcdefgh"
RATINGS = {"supported": "green", "contradicted": "red"}


def demo(
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="The group of the meetings; a new one by default.")
    ] = None,
    language: Annotated[str | None, typer.Option("--language", help="The language of the meetings: en or zh.")] = None,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Use the scripts even if a language model is configured.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Watch a small council of agents use the memory, in under a minute.

    Three meetings on three days: outputs are quarantined, refused or admitted, recalled unverified, reviewed in a
    digest, promoted, and recalled verified. It writes to a group of its own.
    """
    from clearwell.adapters.cli.connection import operator
    from clearwell.adapters.cli.welcome import demo_group

    settings, terminal = start()
    operator(settings, "run demo")
    spoken = _choose_language(language, terminal)
    log_to_stderr(terminal, level=logging.ERROR)
    run(_show_meetings(settings, terminal, group or demo_group(), spoken, scripted=scripted, as_json=as_json))


def _choose_language(language: str | None, terminal: Terminal) -> Language:
    from clearwell.adapters.cli.command import UsageProblem
    from clearwell.messages import LANGUAGES, is_language

    if language is None:
        return terminal.language
    if is_language(language):
        return language
    raise UsageProblem("demo_language_unknown", field="--language", limit=", ".join(LANGUAGES), language=language)


async def _show_meetings(
    settings: Settings, terminal: Terminal, group: str, language: Language, *, scripted: bool, as_json: bool
) -> None:
    from clearwell.demo import hold_meetings
    from clearwell.servers import running_servers

    printer = StepPrinter(terminal, group)
    if not as_json:
        printer.show_start(settings, scripted=scripted)
    steps: list[Step] = []
    async with running_servers(settings) as servers:
        async for step in hold_meetings(settings, servers, group=group, language=language, scripted=scripted):
            steps.append(step)
            if not as_json:
                printer.show(step)
    if as_json:
        from clearwell.demo.steps import StepsView

        terminal.answer(StepsView(tuple(steps)))


class StepPrinter:
    """Prints the steps as they happen, a few lines each."""

    def __init__(self, terminal: Terminal, group: str) -> None:
        self._terminal = terminal
        self._group = group
        self._meetings = 0
        self._insights: dict[UUID, tuple[int, InsightLine]] = {}

    def show_start(self, settings: Settings, *, scripted: bool) -> None:
        self._terminal.tell("demo_start", style="bold", group=self._group)
        model = None if scripted or settings.digest_llm_base_url is None else settings.digest_llm_model
        if model is not None:
            self._terminal.tell("demo_speaks_model", model=model)
        elif scripted:
            self._terminal.tell("demo_speaks_script")
        else:
            self._terminal.tell("demo_speaks_script_only")

    def show(self, step: Step) -> None:
        match step.kind:
            case "meeting":
                self._show_meeting(step)
            case "recall":
                self._show_recall(step)
            case "output":
                self._show_output(step)
            case "fact_check":
                self._show_fact_check(step)
            case "digest":
                self._show_digest(step)
            case "decision":
                self._show_decision(step)
            case "summary":
                self._show_summary(step)

    def _show_heading(self, text: str, at: datetime | None = None) -> None:
        when = "" if at is None else f" · {at.astimezone():%Y-%m-%d %H:%M}"
        self._terminal.line()
        self._terminal.line(f"━━ {text}{when}", "bold cyan")

    def _show_meeting(self, step: MeetingStep) -> None:
        self._meetings += 1
        self._show_heading(self._terminal.words("demo_meeting", number=self._meetings), step.at)
        self._terminal.line(f"   {step.topic}", "bold")

    def _show_recall(self, step: RecallStep) -> None:
        if step.problem is not None:
            self._terminal.line(f"   {step.problem}", "red")
        self._terminal.line()
        self._terminal.line("   " + self._terminal.words("demo_recall" if step.memories else "demo_recall_nothing"))
        for memory in step.memories:
            self._show_memory(memory)

    def _show_memory(self, memory: RecalledMemory) -> None:
        label = memory.label.split(" · ")[0]
        self._terminal.block(f"{label}  {_one_line(memory.text, TEXT_WIDTH * 2)}", indent=5)

    def _show_output(self, step: OutputStep) -> None:
        self._terminal.line()
        name = step.node_id if step.node_type != "tool" else f"{step.node_id} ({step.node_type})"
        self._terminal.line(f"   {name}", "bold")
        self._terminal.block(f"“{_one_line(step.text, TEXT_WIDTH * 2)}”", indent=5)
        if step.admission == "refused":
            text = self._terminal.words(
                "demo_refused", check=self._name_check(step.check), reason=shorten_ids(step.reason or "")
            )
            self._terminal.block(f"✗ {text}", "red", indent=5)
            return
        self._terminal.line(f"     ⚡️ {self._terminal.words('demo_admitted')}", "yellow")
        if Flag.CONFLICT in step.flags and step.reason is not None:
            self._terminal.block(f"! {_one_line(shorten_ids(step.reason), TEXT_WIDTH * 2)}", "magenta", indent=5)

    def _show_fact_check(self, step: FactCheckStep) -> None:
        self._terminal.line()
        self._terminal.line(f"   {self._terminal.words('demo_fact_check')}", "bold")
        self._terminal.line(f"     “{_one_line(step.claim)}”")
        rating = self._terminal.words(f"rating_{step.rating}")
        text = self._terminal.words("demo_rated", rating=rating, reason=step.reason)
        self._terminal.line(f"     → {text}", RATINGS.get(step.rating, ""))
        for memory in step.evidence[:2]:
            self._show_memory(memory)

    def _show_digest(self, step: DigestStep) -> None:
        self._show_heading(self._terminal.words("demo_review"), step.at)
        self._terminal.line(
            "   " + self._terminal.words("demo_digest", outputs=step.outputs, insights=len(step.insights))
        )
        self._terminal.line("   " + self._terminal.words("demo_reviewer"))
        self._insights = {insight.id: (number, insight) for number, insight in enumerate(step.insights, start=1)}

    def _show_decision(self, step: DecisionStep) -> None:
        number, insight = self._insights[step.insight_id]
        agents = self._terminal.join_names(insight.agents)
        self._terminal.line()
        if step.side is None:
            self._terminal.block(f"{number}. {insight.summary}", indent=3)
            self._terminal.line(f"      ✅ {self._terminal.words('demo_promoted', agents=agents)}", "green")
            return
        self._terminal.line(f"   {number}. {self._terminal.words('demo_disagree', agents=agents)}")
        for letter, side in zip(LETTERS, insight.sides, strict=False):
            self._terminal.block(f"{letter}) {side}", indent=6)
        chosen = self._terminal.words("demo_promoted_side", side=LETTERS[step.side])
        self._terminal.line(f"      ✅ {chosen}", "green")

    def _show_summary(self, step: SummaryStep) -> None:
        self._show_heading(self._terminal.words("demo_summary", group=step.group_id))
        if step.problem is not None:
            self._terminal.warn("demo_model_failed", reason=step.problem)
        rows = []
        for output in step.outputs:
            if output.admission == "refused":
                became = self._terminal.words("demo_became_refused", check=self._name_check(output.check))
            elif output.memory_ids:
                became = self._terminal.words("demo_became_verified", memories=len(output.memory_ids))
            else:
                became = self._terminal.words("demo_became_working" if output.live else "demo_became_expired")
            rows.append((output.session_id, output.node_id, became))
        self._terminal.table(["demo_column_meeting", "demo_column_node", "demo_column_became"], rows)
        self._terminal.line()
        self._terminal.tell("demo_seconds", memories=step.memories, seconds=step.seconds)
        self._show_commands(step)

    def _show_commands(self, step: SummaryStep) -> None:
        self._terminal.line()
        self._terminal.tell("demo_look", style="bold")
        refused = next((output for output in step.outputs if output.admission == "refused"), step.outputs[0])
        question = self._terminal.words("demo_question")
        for command in (
            f'query --group {step.group_id} "{question}"',
            f"explain --group {step.group_id} {shorten_id(refused.id)}",
            f"working list --group {step.group_id}",
            f"review decisions --group {step.group_id}",
        ):
            self._terminal.command(f"  {program()} {command}", "cyan")

    def _name_check(self, check: str | None) -> str:
        return self._terminal.name(f"check_{check}", check or "?")


def _one_line(text: str, width: int = TEXT_WIDTH) -> str:
    return shorten(" ".join(text.split()), width)
