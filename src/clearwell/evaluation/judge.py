"""A judge: whether it passes sound outputs, and finds contradictions and evident inventions."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from clearwell.evaluation.calls import Call, EvaluationOptions
from clearwell.evaluation.cases import JudgeCase, OutputFault, load_judge_cases
from clearwell.evaluation.chat import ChatTask, evaluate_chat_model
from clearwell.evaluation.requirements import measure_share
from clearwell.evaluation.tokens import TokenTally
from clearwell.ports import Judge
from clearwell.records import Judgement, Measure, Measurement, Mistake, ModelEvaluation, ModelRole

MEASURE_OF_FAULT: Final = {
    OutputFault.NONE: Measure.SOUND_PASSED,
    OutputFault.CONTRADICTION: Measure.CONTRADICTIONS_FOUND,
    OutputFault.INVENTION: Measure.INVENTIONS_FOUND,
}


async def evaluate_judge(judge: Judge, tally: TokenTally, options: EvaluationOptions) -> ModelEvaluation:
    """Ask the judge about each output once, as the ingress pipeline does."""

    async def ask(case: JudgeCase) -> Judgement:
        return await judge.judge(case.text)

    task = ChatTask(
        role=ModelRole.JUDGE,
        model=judge.model,
        cases=load_judge_cases(),
        ask=ask,
        measure=_measure,
        find_mistakes=_find_mistakes,
    )
    return await evaluate_chat_model(task, tally, options)


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


def _find_mistakes(calls: Sequence[Call[JudgeCase, Judgement]]) -> tuple[Mistake, ...]:
    return tuple(_list_mistakes(calls))


def _list_mistakes(calls: Sequence[Call[JudgeCase, Judgement]]) -> Iterator[Mistake]:
    for call in calls:
        case = call.case
        if call.failure is not None:
            yield Mistake(case=case.id, measure=Measure.USABLE_ANSWERS, text=case.text, failure=call.failure)
        elif call.answer is not None and not _is_right(case, call.answer):
            yield Mistake(case=case.id, measure=MEASURE_OF_FAULT[case.fault], text=case.text, answer=call.answer.reason)
