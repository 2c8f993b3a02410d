"""Calls to a model: limited in time, and stopped early if the model cannot be asked at all."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from clearwell.errors import Unavailable
from clearwell.records import TokenPrices

CaseT = TypeVar("CaseT")
AnswerT = TypeVar("AnswerT")
ProgressReport: TypeAlias = Callable[[int, int], None]
"""Receives how many cases are done, and how many there are."""

ABOUT_ONE_ANSWER: Final = frozenset(
    {
        "judge_nonsense", "judge_echo", "judge_declined", "judge_answer_cut", "judge_answer_empty",
        "writer_nonsense", "writer_uncited", "writer_too_long", "writer_declined", "writer_cut",
    }
)  # fmt: skip
"""Failures of a single answer: the next one may be good."""
MAY_PASS: Final = frozenset(
    {
        "judge_timeout", "judge_broken_off", "judge_rate_limited", "judge_server_error",
        "writer_timeout", "writer_broken_off", "writer_rate_limited", "writer_server_error",
    }
)  # fmt: skip
"""Failures of the API that may pass. All others stop the series at once."""
MAX_IN_A_ROW: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """The limits of an evaluation, the prices of the model's tokens, and who is told about progress."""

    seconds: float
    at_once: int = 1
    prices: TokenPrices = field(default_factory=TokenPrices)
    report: ProgressReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[CaseT, AnswerT]):
    """One case that a model was asked about: its answer, or why there is none."""

    case: CaseT
    seconds: float
    answer: AnswerT | None = None
    failure: Unavailable | None = None


class CallSeries:
    """Asks one model about ``total`` cases, as many at once and within such time as the options say.

    ``problem`` is the failure that stopped it, and ``out_of_time`` says that the time was not enough.
    """

    def __init__(
        self, options: EvaluationOptions, *, total: int, monotonic: Callable[[], float] = time.perf_counter
    ) -> None:
        self._total = total
        self._at_once = options.at_once
        self._report = options.report
        self._monotonic = monotonic
        self._end = monotonic() + options.seconds
        self._done = 0
        self._failed_in_a_row = 0
        self.problem: Unavailable | None = None
        self.out_of_time = False

    @property
    def stopped(self) -> bool:
        return self.problem is not None or self.out_of_time

    async def ask(
        self, question: Callable[[CaseT], Awaitable[AnswerT]], cases: Sequence[CaseT]
    ) -> list[Call[CaseT, AnswerT]]:
        """Ask about the cases; returns the calls in the order of the cases, without those that were not made."""
        calls: dict[int, Call[CaseT, AnswerT]] = {}
        waiting = iter(enumerate(cases))
        await asyncio.gather(*(self._ask_waiting(question, waiting, calls) for _ in range(self._at_once)))
        return [calls[number] for number in sorted(calls)]

    async def _ask_waiting(
        self,
        question: Callable[[CaseT], Awaitable[AnswerT]],
        waiting: Iterator[tuple[int, CaseT]],
        calls: dict[int, Call[CaseT, AnswerT]],
    ) -> None:
        for number, case in waiting:
            call = None if self.stopped else await self._call(question, case)
            if call is None:
                return
            calls[number] = call
            self._done += 1
            if self._report is not None:
                self._report(self._done, self._total)

    async def _call(self, question: Callable[[CaseT], Awaitable[AnswerT]], case: CaseT) -> Call[CaseT, AnswerT] | None:
        """Make one call, within what is left of the time; None if that is not enough."""
        started = self._monotonic()
        try:
            async with asyncio.timeout(max(0.0, self._end - started)):
                answer = await question(case)
        except TimeoutError:
            self.out_of_time = True
            return None
        except Unavailable as failure:
            self._note_failure(failure)
            return Call(case=case, seconds=self._monotonic() - started, failure=failure)
        self._failed_in_a_row = 0
        return Call(case=case, seconds=self._monotonic() - started, answer=answer)

    def _note_failure(self, failure: Unavailable) -> None:
        if failure.code in ABOUT_ONE_ANSWER:
            return
        self._failed_in_a_row += 1
        if failure.code not in MAY_PASS or self._failed_in_a_row >= MAX_IN_A_ROW:
            self.problem = self.problem or failure
