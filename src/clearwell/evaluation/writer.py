"""A writer of insights: whether it keeps the facts of its sources, invents nothing, and hides no dispute."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final
from uuid import UUID

from clearwell.evaluation.calls import Call, EvaluationOptions
from clearwell.evaluation.cases import WriterCase, load_writer_cases
from clearwell.evaluation.chat import ChatTask, evaluate_chat_model
from clearwell.evaluation.requirements import measure_share
from clearwell.evaluation.tokens import TokenTally
from clearwell.flow.digest.inventions import find_invented
from clearwell.flow.digest.summaries import join_sentences
from clearwell.ports import InsightWriter
from clearwell.records import (
    Measure,
    Measurement,
    Mistake,
    ModelEvaluation,
    ModelRole,
    WriterSource,
    WrittenInsight,
)

SPACE: Final = re.compile(r"\s+")


async def evaluate_writer(writer: InsightWriter, tally: TokenTally, options: EvaluationOptions) -> ModelEvaluation:
    """Have the text of each group of sources written once, as a digest does."""

    async def ask(case: WriterCase) -> WrittenInsight:
        sources = [WriterSource(log_id=UUID(int=number), statement=text) for number, text in enumerate(case.sources, 1)]
        return await writer.write(sources)

    task = ChatTask(
        role=ModelRole.WRITER,
        model=writer.model,
        cases=load_writer_cases(),
        ask=ask,
        measure=_measure,
        find_mistakes=_find_mistakes,
    )
    return await evaluate_chat_model(task, tally, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What a writer made of a case."""

    case: WriterCase
    text: str
    facts: tuple[bool, ...]
    """For each fact, whether one of its wordings is in the text."""
    invented: tuple[str, ...]
    hides_dispute: bool


def _read_result(case: WriterCase, written: WrittenInsight) -> _Result:
    text = join_sentences(written.sentences)
    bare = _remove_spaces(text)
    said = [_remove_spaces(value) in bare for value in case.disputed]
    return _Result(
        case=case,
        text=text,
        facts=tuple(any(_remove_spaces(wording) in bare for wording in fact) for fact in case.facts),
        invented=(
            *find_invented(text, case.sources),
            *(words for words in case.absent if _remove_spaces(words) in bare),
        ),
        hides_dispute=any(said) and not all(said) and not written.contradictions,
    )


def _remove_spaces(text: str) -> str:
    """Spaces between Chinese characters and digits are a matter of style."""
    return SPACE.sub("", text)


def _read_results(calls: Sequence[Call[WriterCase, WrittenInsight]]) -> list[_Result]:
    return [_read_result(call.case, call.answer) for call in calls if call.answer is not None]


def _measure(calls: Sequence[Call[WriterCase, WrittenInsight]]) -> tuple[Measurement, ...]:
    results = _read_results(calls)
    disputes = [not result.hides_dispute for result in results if result.case.disputed]
    return (
        *measure_share(Measure.FACTS_KEPT, [kept for result in results for kept in result.facts]),
        *measure_share(Measure.NOTHING_INVENTED, [not result.invented for result in results]),
        *measure_share(Measure.DISPUTES_SHOWN, disputes),
        *measure_share(Measure.USABLE_ANSWERS, [call.answer is not None for call in calls]),
    )


def _find_failures(calls: Sequence[Call[WriterCase, WrittenInsight]]) -> Iterator[Mistake]:
    for call in calls:
        if call.failure is not None:
            text = " / ".join(call.case.sources)
            yield Mistake(case=call.case.id, measure=Measure.USABLE_ANSWERS, text=text, failure=call.failure)


def _find_mistakes(calls: Sequence[Call[WriterCase, WrittenInsight]]) -> tuple[Mistake, ...]:
    return (*_find_failures(calls), *chain.from_iterable(map(_find_faults, _read_results(calls))))


def _find_faults(result: _Result) -> Iterator[Mistake]:
    wrong = {
        Measure.FACTS_KEPT: not all(result.facts),
        Measure.NOTHING_INVENTED: bool(result.invented),
        Measure.DISPUTES_SHOWN: result.hides_dispute,
    }
    for measure in (measure for measure, is_wrong in wrong.items() if is_wrong):
        yield Mistake(case=result.case.id, measure=measure, text=" / ".join(result.case.sources), answer=result.text)
