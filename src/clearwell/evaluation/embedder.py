"""An embedding model: whether it separates meanings, and whether the thresholds of Clearwell fit its scale.

The order of cosines is measured without any threshold: a paraphrase of a statement should be nearer to it than another
fact on the same subject, and much nearer than an unrelated statement; a question should be nearest to the statement
that answers it. The other measures use the calibrated scale and the configured thresholds. A model can separate
meanings well and still fail there, if its cosines are crowded in a range that its curve does not expect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from clearwell.evaluation.calls import Call, CallSeries, EvaluationOptions
from clearwell.evaluation.cases import CaseKind, EmbedderCase, load_embedder_cases
from clearwell.evaluation.requirements import measure_share
from clearwell.evaluation.results import conclude, summarise_latency
from clearwell.evaluation.tokens import TokenTally
from clearwell.messages import LANGUAGES
from clearwell.ports import Embedder, StatementComparison
from clearwell.records import (
    LanguageEvaluation,
    Measure,
    Measurement,
    Mistake,
    ModelEvaluation,
    ModelRole,
    Relation,
    ScaleBounds,
    Vector,
)

WARM_UP: Final = ("ready?",)
LOWER, UPPER = 10, 98
"""Percentiles of texts that belong together, and of others."""

CaseTexts: TypeAlias = tuple[str, ...]
Matrix: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredThresholds:
    """The configured thresholds: similarity of related statements, and relevance of an answer."""

    similarity: float
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The cases of one language with their cosines. Row and column of a matrix are the numbers of cases."""

    cases: Sequence[EmbedderCase]
    texts: Mapping[CaseKind, Matrix]
    """The cosine of each text with each statement of a kind."""
    questions: Mapping[CaseKind, Matrix]
    """The cosine of each question with each statement of a kind."""
    relations: Mapping[CaseKind, Sequence[Relation]]
    """What the ingress pipeline decides on each text and its own statement of a kind."""

    @property
    def unrelated(self) -> list[float]:
        """The cosines of each text with the texts and the near statements of other cases."""
        return [*_off_diagonal(self.texts[CaseKind.TEXT]), *_off_diagonal(self.texts[CaseKind.NEAR])]

    @property
    def off_topic(self) -> list[float]:
        """The cosines of each question with the texts and the near statements of other cases."""
        return [*_off_diagonal(self.questions[CaseKind.TEXT]), *_off_diagonal(self.questions[CaseKind.NEAR])]

    @property
    def nearest(self) -> list[str]:
        """For each question, the nearest of all texts and near statements."""
        candidates = [case.text for case in self.cases] + [case.near for case in self.cases]
        cosines = np.concatenate([self.questions[CaseKind.TEXT], self.questions[CaseKind.NEAR]], axis=1)
        return [candidates[int(place)] for place in cosines.argmax(axis=1)]


async def evaluate_embedder(
    embedder: Embedder,
    comparison: StatementComparison,
    thresholds: ConfiguredThresholds,
    tally: TokenTally,
    options: EvaluationOptions,
) -> ModelEvaluation:
    """Embed the statements of each language in one call, as admission does, and the questions one by one."""
    cases = load_embedder_cases()
    series = CallSeries(options, total=1 + len(LANGUAGES) + len(cases))
    # The first call loads the model or opens the connection, which is not what a call takes.
    await series.ask(embedder.embed, [WARM_UP])
    languages: list[LanguageEvaluation] = []
    for language in LANGUAGES:
        tally.take()
        own = [case for case in cases if case.language == language]
        statements: CaseTexts = tuple(case.statement(kind) for case in own for kind in CaseKind)
        asked: list[CaseTexts] = [(case.question,) for case in own]
        batches = await series.ask(embedder.embed, [statements])
        questions = await series.ask(embedder.embed, asked)
        if series.stopped:
            break
        sample = _make_sample(own, _stack(batches), _stack(questions), embedder, comparison)
        usage = tally.take()
        languages.append(
            LanguageEvaluation(
                language=language,
                cases=len(own),
                answered=len(own),
                measurements=_measure(sample, embedder, thresholds),
                latency=summarise_latency(questions),
                usage=usage,
                billed=len(own) * (len(CaseKind) + 1),
                cost=None if usage is None else options.prices.cost(usage),
                mistakes=_find_mistakes(sample),
                scale=_read_scale(sample, embedder),
            )
        )
    return conclude(ModelRole.EMBEDDER, embedder.model, languages, series, cases=len(cases))


def _stack(calls: Sequence[Call[CaseTexts, list[Vector]]]) -> Matrix:
    return np.array([vector for call in calls for vector in call.answer or ()], dtype=np.float64)


def _make_sample(
    cases: Sequence[EmbedderCase],
    statements: Matrix,
    questions: Matrix,
    embedder: Embedder,
    comparison: StatementComparison,
) -> Sample:
    vectors = {kind: statements[number :: len(CaseKind)] for number, kind in enumerate(CaseKind)}
    texts = {kind: vectors[CaseKind.TEXT] @ vectors[kind].T for kind in CaseKind}
    relations = {
        kind: [
            comparison.compare(case.statement(kind), case.text, embedder.similarity(cosine)).relation
            for case, cosine in zip(cases, _diagonal(texts[kind]), strict=True)
        ]
        for kind in CaseKind
    }
    asked = {kind: questions @ vectors[kind].T for kind in CaseKind}
    return Sample(cases=cases, texts=texts, questions=asked, relations=relations)


def _measure(sample: Sample, embedder: Embedder, thresholds: ConfiguredThresholds) -> tuple[Measurement, ...]:
    paraphrases, near = _diagonal(sample.texts[CaseKind.PARAPHRASE]), _diagonal(sample.texts[CaseKind.NEAR])
    answers = _diagonal(sample.questions[CaseKind.TEXT])
    hits: dict[Measure, list[bool]] = {
        Measure.ABOVE_UNRELATED: [one > other for one, other in product(paraphrases, sample.unrelated)],
        Measure.ABOVE_NEAR: [one > other for one, other in product(paraphrases, near)],
        Measure.QUESTIONS_ANSWERED: [
            nearest == case.text for case, nearest in zip(sample.cases, sample.nearest, strict=True)
        ],
        Measure.PARAPHRASES_SIMILAR: [embedder.similarity(one) >= thresholds.similarity for one in paraphrases],
        Measure.UNRELATED_SIMILAR: [embedder.similarity(one) >= thresholds.similarity for one in sample.unrelated],
        Measure.FALSE_DUPLICATES: [
            relation is Relation.SAME
            for kind in (CaseKind.CONFLICT, CaseKind.NEAR)
            for relation in sample.relations[kind]
        ],
        Measure.DUPLICATES_FOUND: [relation is Relation.SAME for relation in sample.relations[CaseKind.PARAPHRASE]],
        Measure.ANSWERS_RELEVANT: [embedder.relevance(one) >= thresholds.relevance for one in answers],
        Measure.OTHERS_RELEVANT: [embedder.relevance(one) >= thresholds.relevance for one in sample.off_topic],
    }
    return tuple(chain.from_iterable(measure_share(measure, found) for measure, found in hits.items()))


def _read_scale(sample: Sample, embedder: Embedder) -> ScaleBounds:
    paraphrases, answers = _diagonal(sample.texts[CaseKind.PARAPHRASE]), _diagonal(sample.questions[CaseKind.TEXT])
    return ScaleBounds(
        paraphrases=embedder.similarity(float(np.percentile(paraphrases, LOWER))),
        unrelated=embedder.similarity(float(np.percentile(sample.unrelated, UPPER))),
        answers=embedder.relevance(float(np.percentile(answers, LOWER))),
        others=embedder.relevance(float(np.percentile(sample.off_topic, UPPER))),
    )


def _find_mistakes(sample: Sample) -> tuple[Mistake, ...]:
    unanswered = [
        Mistake(case=case.id, measure=Measure.QUESTIONS_ANSWERED, text=case.question, answer=nearest)
        for case, nearest in zip(sample.cases, sample.nearest, strict=True)
        if nearest != case.text
    ]
    duplicates = [
        Mistake(case=case.id, measure=Measure.FALSE_DUPLICATES, text=case.text, answer=case.statement(kind))
        for kind in (CaseKind.CONFLICT, CaseKind.NEAR)
        for case, relation in zip(sample.cases, sample.relations[kind], strict=True)
        if relation is Relation.SAME
    ]
    return (*unanswered, *duplicates)


def _diagonal(matrix: Matrix) -> list[float]:
    return [float(cosine) for cosine in np.diagonal(matrix)]


def _off_diagonal(matrix: Matrix) -> list[float]:
    return [float(cosine) for cosine in matrix[~np.eye(len(matrix), dtype=bool)]]
