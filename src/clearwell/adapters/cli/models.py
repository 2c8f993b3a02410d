"""``models check``: how good the configured models are.

It runs in this process, because the models are settings of the process: it needs neither a server nor a store, and it
checks what a ``clearwell serve`` with the same settings would use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, log_to_stderr, run, start
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.vocabulary import EvaluationStatus, ModelRole

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from clearwell.evaluation import ProgressReport
    from clearwell.settings import Settings
    from clearwell.views.evaluation import (
        LanguageEvaluationView,
        MeasurementView,
        ModelEvaluationView,
        ModelsEvaluationView,
    )

models = typer.Typer(help="Check the embedding model, the judge and the digest model.", rich_markup_mode=None)

NOT_GOOD_ENOUGH, NOT_CHECKED = 1, 3
"""Exit codes: a model is not good enough; a model could not be asked, or not about all cases."""
UNASKED = (EvaluationStatus.FAILED, EvaluationStatus.INCOMPLETE)
STYLES = {EvaluationStatus.GOOD_ENOUGH: ("✓", "green"), EvaluationStatus.NOT_CONFIGURED: ("–", "")}
PRICE_SETTINGS = {
    ModelRole.EMBEDDER: ("CLEARWELL_EMBEDDING_PRICE",),
    ModelRole.JUDGE: ("CLEARWELL_JUDGE_INPUT_PRICE", "CLEARWELL_JUDGE_OUTPUT_PRICE"),
    ModelRole.WRITER: ("CLEARWELL_DIGEST_LLM_INPUT_PRICE", "CLEARWELL_DIGEST_LLM_OUTPUT_PRICE"),
}
TEXT_WIDTH = 100


@models.callback()
def _start() -> None:
    """Without it a group of one command would be that command."""


@models.command()
def check(
    only: Annotated[
        list[ModelRole] | None, typer.Option("--only", help="Check only this model; can be repeated.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, max=3600, help="The time limit for each model.")
    ] = 180.0,
    mistakes: Annotated[bool, typer.Option("--mistakes", help="Show the cases with a wrong answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure the configured models on labelled cases: accuracy, latency, tokens and cost.

    It makes 27 calls to the embedding model, 32 to the judge and 14 to the digest model. Exit codes: 0 every
    configured model is good enough, 1 a model is not, 3 a model could not be asked or not about all cases.
    """
    settings, terminal = start()
    evaluation = _evaluate(settings, terminal, tuple(only or ModelRole), seconds)
    if as_json:
        terminal.answer(evaluation)
    else:
        show_evaluation(evaluation, terminal, mistakes=mistakes)
    statuses = {model.status for model in evaluation.models}
    if EvaluationStatus.NOT_GOOD_ENOUGH in statuses:
        raise typer.Exit(NOT_GOOD_ENOUGH)
    if statuses.intersection(UNASKED):
        raise typer.Exit(NOT_CHECKED)


def _evaluate(
    settings: Settings, terminal: Terminal, roles: Sequence[ModelRole], seconds: float
) -> ModelsEvaluationView:
    import logging

    from clearwell.app import evaluate_models
    from clearwell.views.evaluation import ModelsEvaluationView

    # Failed calls are part of the result; their warnings would only be in the way of the progress bar.
    log_to_stderr(terminal, level=logging.ERROR)
    with show_progress(terminal) as report:
        evaluation = run(evaluate_models(settings, roles, seconds=seconds, report=report))
    return ModelsEvaluationView.from_record(evaluation, terminal.language)


@contextmanager
def show_progress(terminal: Terminal) -> Iterator[Callable[[ModelRole], ProgressReport] | None]:
    """A bar for each model on stderr, if that is a terminal."""
    if not terminal.err.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=terminal.err, transient=True) as bar:
        yield _Bars(terminal, bar).begin


class _Bars:
    """One bar for each model, begun when it is the model's turn."""

    def __init__(self, terminal: Terminal, progress: Progress) -> None:
        self._terminal = terminal
        self._progress = progress

    def begin(self, role: ModelRole) -> ProgressReport:
        task = self._progress.add_task(self._terminal.words(f"models_role_{role}"), total=None)
        return partial(self._advance, task)

    def _advance(self, task: TaskID, done: int, total: int) -> None:
        self._progress.update(task, completed=done, total=total)


def show_evaluation(evaluation: ModelsEvaluationView, terminal: Terminal, *, mistakes: bool) -> None:
    for model in evaluation.models:
        _show_model(model, terminal, evaluation.currency, mistakes=mistakes)
        terminal.line()


def _show_model(model: ModelEvaluationView, terminal: Terminal, currency: str, *, mistakes: bool) -> None:
    name = terminal.words(f"models_role_{model.role}")
    terminal.line(name if model.model is None else terminal.format_pair(name, model.model), "bold")
    if model.languages:
        headings = ["models_heading_measure", *(f"models_language_{one.language}" for one in model.languages)]
        rows = [*_list_measurements(model), *_list_costs(model, terminal, currency)]
        terminal.table([*headings, "models_heading_needed"], rows)
        _explain_missing_cost(model, terminal)
    sign, color = STYLES.get(model.status, ("✗", "red"))
    terminal.line(f"{sign} {model.conclusion}", color)
    for line in (*((model.problem,) if model.problem is not None else ()), *model.reasons):
        terminal.line(f"  {line}")
    for line in model.advice:
        terminal.line(f"  → {line}")
    if mistakes:
        _show_mistakes(model, terminal)


def _explain_missing_cost(model: ModelEvaluationView, terminal: Terminal) -> None:
    counted = any(one.input_tokens_per_call is not None for one in model.languages)
    if counted and all(one.cost_per_call is None for one in model.languages):
        terminal.tell("models_no_price", style="dim", settings=terminal.join_names(PRICE_SETTINGS[model.role]))
    elif not counted and model.role is not ModelRole.EMBEDDER:
        terminal.tell("models_no_tokens", style="dim")


def _list_measurements(model: ModelEvaluationView) -> Iterator[list[str]]:
    """One row for each measure, with a column for each language."""
    by_measure: dict[str, dict[str, MeasurementView]] = {}
    for language in model.languages:
        for measurement in language.measurements:
            by_measure.setdefault(measurement.name, {})[language.language] = measurement
    for name, found in by_measure.items():
        values = [_show_value(found.get(language.language)) for language in model.languages]
        yield [name, *values, _show_need(next(iter(found.values())))]


def _show_value(measurement: MeasurementView | None) -> str:
    if measurement is None:
        return "–"
    return f"{measurement.value:.2f}" + ("" if measurement.passed else " ✗")


def _show_need(measurement: MeasurementView) -> str:
    if measurement.at_least is not None:
        return f"≥ {measurement.at_least:g}"
    return "–" if measurement.at_most is None else f"≤ {measurement.at_most:g}"


def _list_costs(model: ModelEvaluationView, terminal: Terminal, currency: str) -> Iterator[list[str]]:
    """Times, tokens and cost, as far as they are known."""
    unit = "text" if model.role is ModelRole.EMBEDDER else "call"
    yield [terminal.words("models_latency"), *(_show_latency(one) for one in model.languages), ""]
    if any(one.input_tokens_per_call is not None for one in model.languages):
        yield [terminal.words(f"models_tokens_{unit}"), *(_show_tokens(one, model) for one in model.languages), ""]
    if any(one.cost_per_call is not None for one in model.languages):
        costs = [_show_cost(one, currency) for one in model.languages]
        yield [terminal.words(f"models_cost_{unit}"), *costs, ""]


def _show_latency(measured: LanguageEvaluationView) -> str:
    if measured.latency_median_ms is None or measured.latency_p95_ms is None:
        return "–"
    return f"{measured.latency_median_ms:.0f} / {measured.latency_p95_ms:.0f} ms"


def _show_tokens(measured: LanguageEvaluationView, model: ModelEvaluationView) -> str:
    if measured.input_tokens_per_call is None:
        return "–"
    taken = f"{measured.input_tokens_per_call:.0f}"
    return taken if model.role is ModelRole.EMBEDDER else f"{taken} + {measured.output_tokens_per_call or 0:.0f}"


def _show_cost(measured: LanguageEvaluationView, currency: str) -> str:
    return "–" if measured.cost_per_call is None else f"{measured.cost_per_call * 1000:.4g} {currency}"


def _show_mistakes(model: ModelEvaluationView, terminal: Terminal) -> None:
    names = {one.measure: one.name for language in model.languages for one in language.measurements}
    found = [mistake for language in model.languages for mistake in language.mistakes]
    if found:
        terminal.line()
        terminal.tell("models_mistakes", count=len(found))
    for mistake in found:
        terminal.line(f"  {mistake.case} · {names.get(mistake.measure, mistake.measure)}", "bold")
        terminal.line(f"    {shorten(mistake.text, TEXT_WIDTH)}")
        terminal.line(f"    → {shorten(mistake.answer, TEXT_WIDTH)}")
