"""Evaluates the models that the settings name, in this process and without any store."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Final

from clearwell.app.models import make_embedder, open_digest_model, open_judge
from clearwell.app.wiring import make_comparison
from clearwell.errors import ConfigurationError
from clearwell.evaluation import (
    ConfiguredThresholds,
    EvaluationOptions,
    ProgressReport,
    TokenTally,
    advise,
    evaluate_embedder,
    evaluate_judge,
    evaluate_writer,
)
from clearwell.records import EvaluationStatus, ModelEvaluation, ModelRole, ModelsEvaluation, TokenPrices
from clearwell.settings import Settings

WRITER_AT_ONCE: Final = 2
"""As a digest does."""


async def evaluate_models(
    settings: Settings,
    roles: Sequence[ModelRole],
    *,
    seconds: float,
    report: Callable[[ModelRole], ProgressReport] | None = None,
) -> ModelsEvaluation:
    """Evaluate the models of these roles one after the other, each within a time limit."""
    models = [await _evaluate(settings, role, seconds, None if report is None else report(role)) for role in roles]
    return ModelsEvaluation(models=tuple(models), currency=settings.price_currency, seconds=seconds)


async def _evaluate(
    settings: Settings, role: ModelRole, seconds: float, report: ProgressReport | None
) -> ModelEvaluation:
    options = EvaluationOptions(
        seconds=seconds,
        at_once=_choose_concurrency(settings, role),
        prices=_find_prices(settings, role),
        report=report,
    )
    async with AsyncExitStack() as stack:
        try:
            return await _evaluate_configured(settings, role, options, stack)
        except ConfigurationError as error:
            return ModelEvaluation(role=role, status=EvaluationStatus.FAILED, problem=error)


async def _evaluate_configured(
    settings: Settings, role: ModelRole, options: EvaluationOptions, stack: AsyncExitStack
) -> ModelEvaluation:
    tally = TokenTally()
    if role is ModelRole.EMBEDDER:
        embedder = make_embedder(settings, meter=tally)
        stack.push_async_callback(embedder.close)
        thresholds = ConfiguredThresholds(
            similarity=settings.conflict_similarity, relevance=settings.node_relevance_threshold
        )
        return await evaluate_embedder(embedder, make_comparison(settings), thresholds, tally, options)
    if role is ModelRole.JUDGE and (judge := open_judge(settings, stack, meter=tally)[0]) is not None:
        return await evaluate_judge(judge, tally, options)
    if role is ModelRole.WRITER and (writer := open_digest_model(settings, stack, meter=tally)[0]) is not None:
        return await evaluate_writer(writer, tally, options)
    absent = EvaluationStatus.NOT_CONFIGURED
    return ModelEvaluation(role=role, status=absent, advice=advise(role, absent, ()))


def _choose_concurrency(settings: Settings, role: ModelRole) -> int:
    """Use the concurrency of the path, so that latencies are comparable."""
    return {ModelRole.JUDGE: settings.judge_concurrency, ModelRole.WRITER: WRITER_AT_ONCE}.get(role, 1)


def _find_prices(settings: Settings, role: ModelRole) -> TokenPrices:
    prices = {
        ModelRole.EMBEDDER: TokenPrices(input=settings.embedding_price, output=0.0),
        ModelRole.JUDGE: TokenPrices(input=settings.judge_input_price, output=settings.judge_output_price),
        ModelRole.WRITER: TokenPrices(input=settings.digest_llm_input_price, output=settings.digest_llm_output_price),
    }
    return prices[role]
