"""The evaluation of a chat model, whatever its role: each case once, language by language."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from clearwell.evaluation.calls import AnswerT, Call, CallSeries, EvaluationOptions
from clearwell.evaluation.results import conclude, summarise_latency
from clearwell.evaluation.tokens import TokenTally
from clearwell.messages import LANGUAGES, Language
from clearwell.records import LanguageEvaluation, Measurement, Mistake, ModelEvaluation, ModelRole


class LabelledCase(Protocol):
    """A case in one language."""

    @property
    def language(self) -> Language: ...


CaseT = TypeVar("CaseT", bound=LabelledCase)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTask(Generic[CaseT, AnswerT]):
    """What a chat model is asked, and how its answers are read."""

    role: ModelRole
    model: str
    cases: Sequence[CaseT]
    ask: Callable[[CaseT], Awaitable[AnswerT]]
    measure: Callable[[Sequence[Call[CaseT, AnswerT]]], Sequence[Measurement]]
    find_mistakes: Callable[[Sequence[Call[CaseT, AnswerT]]], Sequence[Mistake]]


async def evaluate_chat_model(
    task: ChatTask[CaseT, AnswerT], tally: TokenTally, options: EvaluationOptions
) -> ModelEvaluation:
    """Ask the model about each case once."""
    series = CallSeries(options, total=len(task.cases))
    languages: list[LanguageEvaluation] = []
    for language in LANGUAGES:
        own = [case for case in task.cases if case.language == language]
        calls = await series.ask(task.ask, own)
        usage = tally.take()
        languages.append(
            LanguageEvaluation(
                language=language,
                cases=len(own),
                answered=sum(call.failure is None for call in calls),
                measurements=tuple(task.measure(calls)),
                latency=summarise_latency(calls),
                usage=usage,
                billed=len(calls),
                cost=None if usage is None else options.prices.cost(usage),
                mistakes=tuple(task.find_mistakes(calls)),
            )
        )
    return conclude(task.role, task.model, languages, series, cases=len(task.cases))
