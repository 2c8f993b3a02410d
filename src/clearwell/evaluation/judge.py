"""A judge: whether it passes sound outputs, and finds contradictions and evident inventions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from clearwell.evaluation.calls import Call, CallSeries, EvaluationOptions
from clearwell.evaluation.cases import LANGUAGES, JudgeCase, OutputFault, load_judge_cases
from clearwell.evaluation.requirements import measure_share
from clearwell.evaluation.results import conclude, summarise_calls
from clearwell.evaluation.tokens import TokenTally
from clearwell.ports import Judge
from clearwell.records import (
    Judgement,
    LanguageEvaluation,
    Measure,
    Measurement,
    Mistake,
    ModelEvaluation,
    ModelRole,
)

MEASURE_OF_FAULT: Final = {
    OutputFault.NONE: Measure.SOUND_PASSED,
    OutputFault.CONTRADICTION: Measure.CONTRADICTIONS_FOUND,
    OutputFault.INVENTION: Measure.INVENTIONS_FOUND,
}


@dataclass(frozen=True, slots=True)
class _Question:
    """Asks the judge as the ingress pipeline does."""

    judge: Judge

    async def ask(self, case: JudgeCase) -> Judgement:
        return await self.judge.judge(case.text)


async def evaluate_judge(judge: Judge, tally: TokenTally, options: EvaluationOptions) -> ModelEvaluation:
    """Ask the judge about each output once."""
    cases = load_judge_cases()
    series = CallSeries(options, total=len(cases))
    languages: list[LanguageEvaluation] = []
    for language in LANGUAGES:
        own = [case for case in cases if case.language == language]
        calls = await series.ask(_Question(judge).ask, own)
        languages.append(
            summarise_calls(
                language,
                calls,
                cases=len(own),
                usage=tally.take(),
                prices=options.prices,
                measurements=_measure(calls),
                mistakes=tuple(_find_mistakes(calls)),
            )
        )
    return conclude(ModelRole.JUDGE, judge.model, languages, series, cases=len(cases))


def _measure(calls: Sequence[Call[JudgeCase, Judgement]]) -> tuple[Measurement, ...]:
    hits: dict[Measure, list[bool]] = {measure: [] for measure in MEASURE_OF_FAULT.values()}
    for call in calls:
        if call.answer is not None:
            hits[MEASURE_OF_FAULT[call.case.fault]].append(_is_right(call.case, call.answer))
    hits[Measure.USABLE_ANSWERS] = [call.answer is not None for call in calls]
    return tuple(chain.from_iterable(measure_share(measure, found) for measure, found in hits.items()))


def _is_right(case: JudgeCase, judgement: Judgement) -> bool:
    """The ingress pipeline refuses what is not consistent, whatever the judge calls the fault."""
    return judgement.consistent is (case.fault is OutputFault.NONE)


def _find_mistakes(calls: Sequence[Call[JudgeCase, Judgement]]) -> Iterator[Mistake]:
    for call in calls:
        case = call.case
        if call.failure is not None:
            yield Mistake(case=case.id, measure=Measure.USABLE_ANSWERS, text=case.text, failure=call.failure)
        elif call.answer is not None and not _is_right(case, call.answer):
            yield Mistake(case=case.id, measure=MEASURE_OF_FAULT[case.fault], text=case.text, answer=call.answer.reason)
