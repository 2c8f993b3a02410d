"""The models that the settings name."""

from contextlib import AsyncExitStack

from clearwell.errors import ConfigurationError
from clearwell.models import (
    OFFLINE_MODEL,
    LLMAssessor,
    LLMJudge,
    LLMSegmenter,
    LLMWriter,
    OfflineEmbedder,
    OpenAIChat,
    OpenAIEmbedder,
)
from clearwell.ports import Embedder, EvidenceAssessor, InsightWriter, Judge, Segmenter, TokenMeter
from clearwell.records import ModelChoice
from clearwell.settings import Settings


def configured_model(settings: Settings) -> ModelChoice:
    if settings.embedder == "offline":
        return ModelChoice(embedder="offline", model=OFFLINE_MODEL)
    return ModelChoice(
        embedder="openai",
        model=settings.embedding_model,
        base_url=settings.embedding_base_url,
        dimensions=settings.embedding_dimensions,
    )


def make_embedder(settings: Settings, *, meter: TokenMeter | None = None) -> Embedder:
    return make_model(configured_model(settings), settings, meter=meter)


def make_model(choice: ModelChoice, settings: Settings, *, meter: TokenMeter | None = None) -> Embedder:
    """The configured model, or the other model of a re-embedding, which has its own key if its address differs."""
    if choice.embedder == "offline":
        return OfflineEmbedder()
    base_url = choice.base_url or settings.embedding_base_url
    key = settings.embedding_api_key if base_url == settings.embedding_base_url else None
    if choice != configured_model(settings):
        key = settings.other_embedding_api_key or key
    return OpenAIEmbedder(
        base_url=base_url,
        model=choice.model,
        api_key=key.get_secret_value() if key else None,
        dimensions=choice.dimensions,
        timeout_seconds=settings.embedding_timeout_seconds,
        retries=settings.embedding_retries,
        batch=settings.embedding_batch,
        meter=meter,
    )


def make_chat(settings: Settings, *, meter: TokenMeter | None = None) -> OpenAIChat | None:
    """Return the chat model of the judge, if one is configured."""
    if settings.judge_base_url is None:
        return None
    return OpenAIChat(
        base_url=settings.judge_base_url,
        model=settings.judge_model,
        api_key=settings.judge_api_key.get_secret_value() if settings.judge_api_key else None,
        timeout_seconds=settings.judge_timeout_seconds,
        concurrency=settings.judge_concurrency,
        budget_per_hour=settings.judge_budget_per_hour,
        budget_per_day=settings.judge_budget_per_day,
        max_tokens=settings.judge_max_tokens,
        longest_wait_seconds=settings.judge_longest_wait_seconds,
        meter=meter,
    )


WRITER_CODES = {
    "judge_address_invalid": "writer_address_invalid",
    "judge_key_invalid": "writer_key_invalid",
    "judge_model_missing": "writer_model_missing",
}


def make_writing_chat(settings: Settings, *, meter: TokenMeter | None = None) -> OpenAIChat | None:
    """Return the chat model that writes insights, if one is configured."""
    if settings.digest_llm_base_url is None:
        return None
    key = settings.digest_llm_api_key
    try:
        return OpenAIChat(
            base_url=settings.digest_llm_base_url,
            model=settings.digest_llm_model,
            api_key=key.get_secret_value() if key else None,
            timeout_seconds=settings.digest_llm_timeout_seconds,
            max_tokens=settings.digest_llm_max_tokens,
            meter=meter,
        )
    except ConfigurationError as error:
        raise ConfigurationError(WRITER_CODES[error.code]) from error


def open_judge(
    settings: Settings, stack: AsyncExitStack, *, meter: TokenMeter | None = None
) -> tuple[Judge, EvidenceAssessor] | tuple[None, None]:
    """Return the judge of outputs and the assessor of evidence, if the judge's chat model is configured.

    Both ask the same model within one budget. The stack closes its connections.
    """
    chat = make_chat(settings, meter=meter)
    if chat is None:
        return None, None
    stack.push_async_callback(chat.close)
    most = settings.judge_max_chars
    return LLMJudge(chat, max_chars=most), LLMAssessor(chat, max_chars=most)


def open_digest_model(
    settings: Settings, stack: AsyncExitStack, *, meter: TokenMeter | None = None
) -> tuple[InsightWriter, Segmenter | None] | tuple[None, None]:
    """Return the writer of insights, if one is configured, and the segmenter, if the same model is to find statements.

    The stack closes its connections.
    """
    chat = make_writing_chat(settings, meter=meter)
    if chat is None:
        return None, None
    stack.push_async_callback(chat.close)
    most = settings.digest_llm_max_chars
    segmenter = LLMSegmenter(chat, max_chars=most) if settings.digest_llm_finds_statements else None
    return LLMWriter(chat, max_chars=most), segmenter
