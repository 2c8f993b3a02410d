"""From calls to results: times and the status of a model."""

import math
from collections.abc import Sequence
from statistics import median

from clearwell.evaluation.advice import advise
from clearwell.evaluation.calls import AnswerT, Call, CallSeries, CaseT
from clearwell.records import (
    EvaluationStatus,
    LanguageEvaluation,
    Latency,
    ModelEvaluation,
    ModelRole,
)


def summarise_latency(calls: Sequence[Call[CaseT, AnswerT]]) -> Latency | None:
    """The median and the 95th percentile of the calls that were answered."""
    seconds = sorted(call.seconds for call in calls if call.failure is None)
    if not seconds:
        return None
    return Latency(calls=len(seconds), median=median(seconds), p95=seconds[math.ceil(0.95 * len(seconds)) - 1])


def conclude(
    role: ModelRole, model: str, languages: Sequence[LanguageEvaluation], series: CallSeries, *, cases: int
) -> ModelEvaluation:
    """The evaluation of a model, with the status that follows from what was measured and how the calls ended.

    Of a model that could not be asked to the end, languages without any answer are left out.
    """
    languages = [one for one in languages if one.answered or not series.stopped]
    measurements = [measurement for one in languages for measurement in one.measurements]
    if series.problem is not None:
        status = EvaluationStatus.FAILED
    elif series.out_of_time:
        status = EvaluationStatus.INCOMPLETE
    elif all(measurement.passed for measurement in measurements):
        status = EvaluationStatus.GOOD_ENOUGH
    else:
        status = EvaluationStatus.NOT_GOOD_ENOUGH
    return ModelEvaluation(
        role=role,
        model=model,
        status=status,
        cases=cases,
        languages=tuple(languages),
        problem=series.problem,
        advice=advise(role, status, languages),
    )
