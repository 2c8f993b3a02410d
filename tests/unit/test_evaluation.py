"""The evaluation of models: its cases are sound, its calls are bounded, and its advice follows from the figures."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from clearwell.adapters.cli.models import check
from clearwell.errors import JudgeUnavailable, Unavailable
from clearwell.evaluation.advice import advise
from clearwell.evaluation.calls import MAX_IN_A_ROW, Call, CallSeries, EvaluationOptions
from clearwell.evaluation.cases import (
    CaseKind,
    OutputFault,
    WriterCase,
    load_embedder_cases,
    load_judge_cases,
    load_writer_cases,
)
from clearwell.evaluation.requirements import REQUIREMENTS
from clearwell.evaluation.results import summarise_latency
from clearwell.flow.digest.inventions import find_invented
from clearwell.messages import LANGUAGES, Language, catalogue
from clearwell.models.judge import detect_language
from clearwell.records import (
    EvaluationStatus,
    LanguageEvaluation,
    Measure,
    Measurement,
    ModelRole,
    ScaleBounds,
    TokenPrices,
    TokenUsage,
)

ROOT = Path(__file__).parents[2]


def test_cases_have_names_of_their_own_and_are_as_many_in_both_languages() -> None:
    for cases in (load_embedder_cases(), load_judge_cases(), load_writer_cases()):
        assert len({case.id for case in cases}) == len(cases)
        assert all(case.id.startswith(f"{case.language}-") for case in cases)
        assert len(set(Counter(case.language for case in cases).values())) == 1
    faults = Counter((case.language, case.fault) for case in load_judge_cases())
    assert {count for (_, fault), count in faults.items() if fault is not OutputFault.NONE} == {4}


def test_the_documentation_and_the_help_state_the_number_of_calls() -> None:
    calls = [1 + len(LANGUAGES) + len(load_embedder_cases()), len(load_judge_cases()), len(load_writer_cases())]
    assert [int(number) for number in re.findall(r"\d+(?= calls| to the)", check.__doc__ or "")] == calls
    for page, words in (("models.md", "makes {}, {} and {} calls"), ("models.zh.md", "调用 {}、{} 和 {} 次")):
        assert words.format(*calls) in (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")


def test_cases_are_written_in_their_language() -> None:
    statements = [(case.language, case.statement(kind)) for case in load_embedder_cases() for kind in CaseKind]
    outputs = [(case.language, case.text) for case in load_judge_cases()]
    sources = [(case.language, source) for case in load_writer_cases() for source in case.sources]
    for language, text in (*statements, *outputs, *sources):
        assert detect_language(text) == language, text


def test_no_text_occurs_twice_in_the_cases_of_a_model() -> None:
    statements = [case.statement(kind) for case in load_embedder_cases() for kind in CaseKind]
    outputs = [case.text for case in load_judge_cases()]
    sources = list(chain.from_iterable(case.sources for case in load_writer_cases()))
    for texts in (statements, outputs, sources):
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("case", load_writer_cases(), ids=lambda case: case.id)
def test_what_a_writer_must_write_stands_in_its_sources(case: WriterCase) -> None:
    everything = " ".join(case.sources)
    assert all(any(wording in everything for wording in fact) for fact in case.facts)
    assert all(value in everything for value in (*case.disputed, *case.absent))
    assert len(case.sources) >= 2
    assert find_invented(everything, case.sources) == []


@pytest.mark.parametrize("measure", sorted(set(Measure) - {Measure.DUPLICATES_FOUND}))
def test_every_measure_has_a_requirement_a_name_and_a_meaning(measure: Measure) -> None:
    assert measure in REQUIREMENTS
    assert {f"models_measure_{measure}", f"models_meaning_{measure}"} <= set(catalogue())


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("The gateway times out above 500 concurrent requests.", []),
        ("The gateway times out above five hundred requests, both agents say.", []),
        ("Two agents report timeouts above 500 requests.", []),
        ("The gateway times out above 600 concurrent requests.", ["600"]),
        ("The gateway in Dublin times out above 500 requests.", ["Dublin"]),
        ("The gateway in EU-WEST times out above 500 requests since March 4.", ["march 4"]),
    ],
)
def test_a_value_or_name_that_no_source_has_is_invented(text: str, invented: list[str]) -> None:
    sources = ["The gateway in eu-west times out above 500 concurrent requests.", "It stops at 500."]
    assert find_invented(text, sources) == invented


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("华南区网关在并发超过五百时超时。", []),
        ("华南区网关在并发超过 800 时超时。", ["800"]),
        ("华南区网关在并发超过 500 时超时，持续三十分钟。", ["三十分钟"]),
        ("两个智能体都表示，华南区网关在并发 500 时超时。", []),
    ],
)
def test_an_invented_value_is_found_in_chinese(text: str, invented: list[str]) -> None:
    assert find_invented(text, ["华南区支付网关在并发超过 500 时开始超时。", "并发 500 就超时。"]) == invented


class Answers:
    """A model that fails as it is told, then answers with the case."""

    def __init__(self, *failures: Unavailable | None) -> None:
        self.failures = list(failures)
        self.asked: list[int] = []

    async def ask(self, case: int) -> int:
        self.asked.append(case)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return case


DOWN, ODD, SLOW = (JudgeUnavailable(code) for code in ("judge_key_refused", "judge_nonsense", "judge_timeout"))
OPTIONS = EvaluationOptions(seconds=30)


async def test_a_failure_of_one_answer_does_not_stop_the_series() -> None:
    model, series = Answers(ODD, None, ODD, ODD, ODD), CallSeries(OPTIONS, total=6)
    calls = await series.ask(model.ask, range(6))
    assert [call.answer for call in calls] == [None, 1, None, None, None, 5]
    assert not series.stopped


async def test_a_model_that_cannot_be_asked_is_asked_once() -> None:
    model, series = Answers(DOWN), CallSeries(OPTIONS, total=6)
    assert len(await series.ask(model.ask, range(6))) == 1
    assert series.problem is DOWN
    assert await series.ask(model.ask, range(6)) == []
    assert model.asked == [0]


async def test_failures_that_may_pass_stop_the_series_in_a_row_only() -> None:
    now_and_then, series = Answers(*[SLOW, SLOW, None] * 2), CallSeries(OPTIONS, total=6)
    await series.ask(now_and_then.ask, range(6))
    assert not series.stopped
    always, series = Answers(*[SLOW] * 6), CallSeries(OPTIONS, total=6)
    assert len(await series.ask(always.ask, range(6))) == MAX_IN_A_ROW
    assert series.problem is SLOW


async def test_no_call_lasts_longer_than_the_time_that_is_left() -> None:
    async def hang(_: int) -> int:
        await asyncio.Event().wait()
        return 0

    series = CallSeries(EvaluationOptions(seconds=0.01, at_once=2), total=3)
    assert await series.ask(hang, range(3)) == []
    assert series.out_of_time


async def test_progress_is_reported_and_the_order_of_the_cases_is_kept() -> None:
    seen: list[tuple[int, int]] = []
    options = replace(OPTIONS, at_once=3, report=lambda done, total: seen.append((done, total)))
    calls = await CallSeries(options, total=4).ask(Answers().ask, range(4))
    assert [call.answer for call in calls] == [0, 1, 2, 3]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_latency_is_that_of_answered_calls() -> None:
    calls: list[Call[int, int]] = [Call(case=one, seconds=one / 10, answer=one) for one in range(1, 21)]
    latency = summarise_latency([*calls, Call(case=0, seconds=99.0, failure=SLOW)])
    assert latency is not None
    assert (latency.calls, latency.median, latency.p95) == (20, 1.05, 1.9)
    assert summarise_latency([Call(case=0, seconds=99.0, failure=SLOW)]) is None


def test_a_cost_needs_the_prices_of_the_tokens_that_were_used() -> None:
    assert TokenPrices(input=2.0, output=10.0).cost(TokenUsage(500_000, 100_000)) == 2.0
    assert TokenPrices(input=2.0).cost(TokenUsage(500_000, 1)) is None
    assert TokenPrices(input=2.0).cost(TokenUsage(500_000)) == 1.0
    assert TokenPrices().cost(TokenUsage(1)) is None


def measured(language: Language, scale: ScaleBounds, **values: float) -> LanguageEvaluation:
    measurements = tuple(
        Measurement(measure=Measure(name), value=value, requirement=REQUIREMENTS[Measure(name)])
        for name, value in values.items()
    )
    return LanguageEvaluation(language=language, cases=1, answered=1, measurements=measurements, scale=scale)


def advised(*languages: LanguageEvaluation) -> list[tuple[str, object]]:
    notes = advise(ModelRole.EMBEDDER, EvaluationStatus.NOT_GOOD_ENOUGH, languages)
    return [(note.code, dict(note.params)) for note in notes]


def test_a_model_that_orders_meanings_badly_is_to_be_changed() -> None:
    scale = ScaleBounds(paraphrases=0.9, unrelated=0.1, answers=0.9, others=0.1)
    assert advised(measured("en", scale, above_near=0.2, unrelated_similar=0.9)) == [("models_change_embedder", {})]


def test_thresholds_that_do_not_fit_are_placed_between_the_classes_of_both_languages() -> None:
    english = measured(
        "en", ScaleBounds(paraphrases=0.8, unrelated=0.6, answers=0.9, others=0.5), unrelated_similar=0.4
    )
    chinese = measured("zh", ScaleBounds(paraphrases=0.7, unrelated=0.5, answers=0.6, others=0.65), others_relevant=0.2)
    assert advised(english, chinese) == [
        ("models_similarity_between", {"low": "0.60", "high": "0.70"}),
        ("models_relevance_none", {}),
    ]


@pytest.mark.parametrize("role", [ModelRole.JUDGE, ModelRole.WRITER])
def test_what_to_do_is_said_in_both_languages(role: ModelRole) -> None:
    for status in EvaluationStatus:
        for note in advise(role, status, ()):
            assert all(note.text(language) != note.code for language in LANGUAGES)
