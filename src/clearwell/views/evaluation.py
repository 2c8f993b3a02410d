"""The evaluation of the configured models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from pydantic import Field

from clearwell.errors import ClearwellError, JudgeUnavailable
from clearwell.messages import Language, join_names, join_sentences, say
from clearwell.views.view import View
from clearwell.vocabulary import EvaluationStatus, Measure, ModelRole

if TYPE_CHECKING:
    from clearwell.records import LanguageEvaluation, Measurement, Mistake, ModelEvaluation, ModelsEvaluation

GOOD = (EvaluationStatus.GOOD_ENOUGH, EvaluationStatus.NOT_CONFIGURED)


class MeasurementView(View):
    """One measure in one language."""

    measure: Measure
    name: str
    value: float = Field(description="share of the cases, 0 to 1")
    at_least: float | None = Field(description="the smallest value that is good enough")
    at_most: float | None = Field(description="the largest value that is good enough")
    passed: bool

    @classmethod
    def from_record(cls, measurement: Measurement, language: Language) -> Self:
        needed = measurement.requirement
        return cls.read(
            measurement,
            name=say(f"models_measure_{measurement.measure}", language),
            value=round(measurement.value, 4),
            at_least=needed.value if needed is not None and needed.at_least else None,
            at_most=needed.value if needed is not None and not needed.at_least else None,
        )


class MistakeView(View):
    """A case that the model got wrong."""

    case: str
    measure: Measure
    text: str = Field(description="what the model was asked")
    answer: str = Field(description="what it answered, or why there is no answer")

    @classmethod
    def from_record(cls, mistake: Mistake, language: Language) -> Self:
        failure = mistake.failure
        return cls.read(mistake, answer=mistake.answer if failure is None else failure.text(language))


class LanguageEvaluationView(View):
    """What was measured in one language. A call of an embedding model is one text."""

    language: Language
    cases: int
    answered: int = Field(description="cases with a usable answer")
    measurements: tuple[MeasurementView, ...]
    latency_median_ms: float | None
    latency_p95_ms: float | None
    input_tokens_per_call: float | None = Field(description="null if the API reports none, or there is no API")
    output_tokens_per_call: float | None
    cost_per_call: float | None = Field(description="null if the prices are not set")
    mistakes: tuple[MistakeView, ...]

    @classmethod
    def from_record(cls, measured: LanguageEvaluation, language: Language) -> Self:
        latency, usage, calls = measured.latency, measured.usage, max(1, measured.billed)
        return cls.read(
            measured,
            measurements=tuple(MeasurementView.from_record(one, language) for one in measured.measurements),
            latency_median_ms=None if latency is None else round(latency.median * 1000, 2),
            latency_p95_ms=None if latency is None else round(latency.p95 * 1000, 2),
            input_tokens_per_call=None if usage is None else round(usage.input / calls, 1),
            output_tokens_per_call=None if usage is None else round(usage.output / calls, 1),
            cost_per_call=None if measured.cost is None else measured.cost / calls,
            mistakes=tuple(MistakeView.from_record(one, language) for one in measured.mistakes),
        )


class ModelEvaluationView(View):
    """What was measured of one model, and whether it is good enough."""

    role: ModelRole
    model: str | None = Field(description="null if no model is configured")
    cases: int = Field(description="cases in all languages")
    status: EvaluationStatus
    conclusion: str
    reasons: tuple[str, ...] = Field(description="the measures that are not good enough, and what that means")
    advice: tuple[str, ...] = Field(description="what to do")
    problem: str | None = Field(description="why the model could not be asked")
    languages: tuple[LanguageEvaluationView, ...]

    @classmethod
    def from_record(cls, model: ModelEvaluation, language: Language, seconds: float) -> Self:
        answered = sum(one.answered for one in model.languages)
        params = {"seconds": f"{seconds:g}", "answered": answered, "cases": model.cases}
        return cls.read(
            model,
            conclusion=say(f"models_conclusion_{model.status}", language, **params),
            reasons=tuple(_explain_failures(model, language)),
            advice=tuple(note.text(language) for note in model.advice),
            problem=None if model.problem is None else _describe(model.problem, language),
            languages=tuple(LanguageEvaluationView.from_record(one, language) for one in model.languages),
        )


class ModelsEvaluationView(View):
    """The evaluation of all models."""

    ok: bool = Field(description="whether every configured model is good enough")
    currency: str = Field(description="currency of the costs")
    models: tuple[ModelEvaluationView, ...]

    @classmethod
    def from_record(cls, evaluation: ModelsEvaluation, language: Language) -> Self:
        models = tuple(
            ModelEvaluationView.from_record(model, language, evaluation.seconds) for model in evaluation.models
        )
        return cls(ok=all(model.status in GOOD for model in models), currency=evaluation.currency, models=models)


def _explain_failures(model: ModelEvaluation, language: Language) -> Iterator[str]:
    """One sentence for each measure that is not good enough in some language, with what it means."""
    failed: dict[Measure, list[tuple[Language, Measurement]]] = {}
    for measured in model.languages:
        for measurement in measured.measurements:
            if not measurement.passed:
                failed.setdefault(measurement.measure, []).append((measured.language, measurement))
    for measure, found in failed.items():
        named = [
            say("models_value_in", language, value=f"{one.value:.2f}", language=say(f"models_language_{of}", language))
            for of, one in found
        ]
        needed = found[0][1].requirement
        if needed is not None:
            yield say(
                "models_reason_least" if needed.at_least else "models_reason_most",
                language,
                name=say(f"models_measure_{measure}", language),
                values=join_names(named, language),
                needed=f"{needed.value:g}",
                meaning=say(f"models_meaning_{measure}", language),
            )


def _describe(problem: ClearwellError, language: Language) -> str:
    """The text of an error, and for the judge the address and the server's message, which its text leaves out."""
    if not isinstance(problem, JudgeUnavailable) or not problem.detail:
        return problem.text(language)
    return join_sentences([problem.text(language), say("judge_detail", language, **problem.detail)], language)
