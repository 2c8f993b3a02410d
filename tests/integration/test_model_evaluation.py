"""The evaluation of models against real servers: good, bad and broken ones, and the bundled embedding model."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clearwell.app import evaluate_models
from clearwell.evaluation.cases import load_embedder_cases, load_judge_cases, load_writer_cases
from clearwell.messages import Language
from clearwell.records import EvaluationStatus, Measure, ModelRole, ModelsEvaluation
from clearwell.settings import Settings
from clearwell.views.evaluation import ModelEvaluationView, ModelsEvaluationView
from tests.servers.chat_api import TORN, ChatApi, completion, only, says, sound
from tests.servers.embedding_api import EmbeddingApi
from tests.servers.models import find_judge_case, knowing_embedder, knowing_judge, writer_of
from tests.servers.scripted import Behaviour, Reply, Request, hang, reply

KEY = "sk-models-0123456789abcdef"
JUDGE, WRITER, EMBEDDER = ModelRole.JUDGE, ModelRole.WRITER, ModelRole.EMBEDDER


@pytest.fixture
def chat() -> Iterator[ChatApi]:
    with ChatApi() as running:
        yield running


@pytest.fixture
def embeddings() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as running:
        yield running


def judged_by(api: ChatApi, **more: Any) -> Settings:
    return Settings(judge_base_url=api.base_url, judge_model="m", judge_api_key=KEY, **more)


def written_by(api: ChatApi, **more: Any) -> Settings:
    return Settings(digest_llm_base_url=api.base_url, digest_llm_model="m", digest_llm_api_key=KEY, **more)


def embedded_by(api: EmbeddingApi, **more: Any) -> Settings:
    return Settings(embedder="openai", embedding_base_url=api.base_url, embedding_model="m", **more)


async def evaluate(
    settings: Settings, role: ModelRole, *, seconds: float = 60.0, language: Language = "en"
) -> ModelEvaluationView:
    evaluation = await evaluate_models(settings, [role], seconds=seconds)
    assert KEY not in repr(evaluation)
    (model,) = ModelsEvaluationView.from_record(evaluation, language).models
    return model


def values(model: ModelEvaluationView) -> dict[Measure, list[float]]:
    found: dict[Measure, list[float]] = {}
    for language in model.languages:
        for measurement in language.measurements:
            found.setdefault(measurement.measure, []).append(measurement.value)
    return found


async def test_a_judge_that_is_always_right_is_good_enough(chat: ChatApi) -> None:
    chat.usually = knowing_judge
    model = await evaluate(judged_by(chat, judge_input_price=2.0, judge_output_price=10.0), JUDGE)
    assert (model.status, model.conclusion, model.model) == (EvaluationStatus.GOOD_ENOUGH, "Good enough.", "m")
    assert set(chain_values(model)) == {1.0}
    assert len(chat.requests) == len(load_judge_cases())
    for language in model.languages:
        assert (language.input_tokens_per_call, language.output_tokens_per_call) == (400, 50)
        assert language.cost_per_call == pytest.approx((400 * 2 + 50 * 10) / 1_000_000)
        assert 0 < (language.latency_median_ms or 0) <= (language.latency_p95_ms or 0)
        assert language.mistakes == ()


def chain_values(model: ModelEvaluationView) -> list[float]:
    return [value for found in values(model).values() for value in found]


async def test_a_judge_that_finds_everything_sound_misses_faults(chat: ChatApi) -> None:
    chat.usually = sound
    model = await evaluate(judged_by(chat), JUDGE, language="zh")
    assert model.status is EvaluationStatus.NOT_GOOD_ENOUGH
    assert values(model)[Measure.SOUND_PASSED] == [1.0, 1.0]
    assert values(model)[Measure.CONTRADICTIONS_FOUND] == [0.0, 0.0]
    assert any("发现自相矛盾：英文为 0.00、中文为 0.00，要求至少 0.75" in reason for reason in model.reasons)
    assert model.languages[0].input_tokens_per_call is None
    assert {mistake.measure for mistake in model.languages[0].mistakes} == {
        Measure.CONTRADICTIONS_FOUND,
        Measure.INVENTIONS_FOUND,
    }


async def test_a_judge_that_refuses_everything_fails_on_sound_outputs(chat: ChatApi) -> None:
    chat.usually = says(TORN)
    model = await evaluate(judged_by(chat), JUDGE)
    assert model.status is EvaluationStatus.NOT_GOOD_ENOUGH
    (reason,) = model.reasons
    assert reason.startswith("sound outputs passed: 0.00 in English, 0.00 in Chinese; at least 0.85 is needed.")
    assert "stay out of working memory" in reason
    assert model.advice[0].startswith("Use another CLEARWELL_JUDGE_MODEL")


async def test_a_judge_that_is_good_in_one_language_is_told_by_language(chat: ChatApi) -> None:
    chat.usually = lambda request: (
        knowing_judge(request) if find_judge_case(request).language == "en" else sound(request)
    )
    model = await evaluate(judged_by(chat), JUDGE)
    assert values(model)[Measure.CONTRADICTIONS_FOUND] == [1.0, 0.0]
    assert all("in Chinese" in reason and "in English" not in reason for reason in model.reasons)


async def test_a_judge_that_talks_is_unusable_but_asked_about_everything(chat: ChatApi) -> None:
    chat.usually = says("I am not sure what you mean.")
    model = await evaluate(judged_by(chat), JUDGE)
    assert model.status is EvaluationStatus.NOT_GOOD_ENOUGH
    assert len(chat.requests) == len(load_judge_cases())
    assert values(model) == {Measure.USABLE_ANSWERS: [0.0, 0.0]}
    assert "neither the requested JSON nor a clear YES or NO" in model.languages[0].mistakes[0].answer


async def test_a_server_without_schemas_is_measured_in_words(chat: ChatApi) -> None:
    chat.usually = only(
        "text", otherwise=reply(400, {"error": "response_format is not supported"}), then=says("YES. Nothing is wrong.")
    )
    model = await evaluate(judged_by(chat), JUDGE)
    assert values(model)[Measure.USABLE_ANSWERS] == [1.0, 1.0]


BROKEN: dict[str, tuple[Behaviour, str]] = {
    "key": (reply(401, {"error": {"message": f"bad key {KEY}"}}), "CLEARWELL_{}_API_KEY"),
    "model": (reply(404, {"error": {"message": "no such model"}}), "CLEARWELL_{}_MODEL"),
    "page": (reply(200, "<html>"), "CLEARWELL_{}_BASE_URL"),
}


@pytest.mark.parametrize("kind", sorted(BROKEN))
@pytest.mark.parametrize("role", [JUDGE, WRITER])
async def test_a_broken_api_is_named_with_its_address_and_what_to_do(chat: ChatApi, role: ModelRole, kind: str) -> None:
    chat.usually, setting = BROKEN[kind]
    settings = judged_by(chat) if role is JUDGE else written_by(chat)
    model = await evaluate(settings, role)
    assert (model.status, model.conclusion) == (EvaluationStatus.FAILED, "Could not be checked:")
    assert model.problem is not None
    assert chat.base_url.removeprefix("http://") + "/chat/completions" in model.problem
    assert setting.format("JUDGE" if role is JUDGE else "DIGEST_LLM") in model.problem
    assert len(chat.requests) <= 2, "asked no more often than it takes at once"


async def test_a_server_that_is_not_there_is_named(chat: ChatApi) -> None:
    settings = Settings(judge_base_url="http://127.0.0.1:1/v1", judge_model="m")
    model = await evaluate(settings, JUDGE, language="zh")
    assert model.status is EvaluationStatus.FAILED
    assert "无法连接评审模型的对话 API" in (model.problem or "")
    assert "127.0.0.1:1/v1/chat/completions" in (model.problem or "")


async def test_an_api_that_keeps_failing_is_not_asked_about_everything(chat: ChatApi) -> None:
    chat.usually = reply(500, "broken")
    model = await evaluate(judged_by(chat, judge_concurrency=1), JUDGE)
    assert model.status is EvaluationStatus.FAILED
    assert len(chat.requests) == 3


async def test_an_api_that_hangs_is_left_when_the_time_is_over(chat: ChatApi) -> None:
    chat.usually = hang
    model = await evaluate(written_by(chat), WRITER, seconds=0.2)
    assert model.status is EvaluationStatus.INCOMPLETE
    assert model.conclusion == ("Not finished: 0 of 14 cases were answered within 0.2 s. No conclusion can be drawn.")
    assert "--seconds" in model.advice[0]


async def test_a_writer_that_quotes_is_good_enough(chat: ChatApi) -> None:
    chat.usually = writer_of(lambda case: case.sources[0])
    model = await evaluate(written_by(chat), WRITER)
    assert (model.status, model.reasons) == (EvaluationStatus.GOOD_ENOUGH, ())
    assert set(chain_values(model)) == {1.0}
    assert len(chat.requests) == len(load_writer_cases())


async def test_a_writer_that_invents_values_fails(chat: ChatApi) -> None:
    chat.usually = writer_of(lambda case: f"{case.sources[0]} 97,531")
    model = await evaluate(written_by(chat), WRITER)
    assert model.status is EvaluationStatus.NOT_GOOD_ENOUGH
    assert values(model)[Measure.NOTHING_INVENTED] == [0.0, 0.0]
    assert values(model)[Measure.FACTS_KEPT] == [1.0, 1.0]
    assert any("values that no agent said" in reason for reason in model.reasons)


async def test_a_writer_that_follows_instructions_in_its_sources_fails(chat: ChatApi) -> None:
    chat.usually = writer_of(lambda case: case.sources[-1])
    model = await evaluate(written_by(chat), WRITER)
    assert [round(value, 2) for value in values(model)[Measure.NOTHING_INVENTED]] == [0.86, 0.86]
    assert {mistake.case for one in model.languages for mistake in one.mistakes} == {"en-instruction", "zh-instruction"}


async def test_a_writer_that_takes_a_side_or_drops_facts_fails(chat: ChatApi) -> None:
    chat.usually = writer_of(lambda case: case.sources[0], disputes=False)
    model = await evaluate(written_by(chat), WRITER)
    assert values(model)[Measure.DISPUTES_SHOWN] == [0.0, 0.0]
    chat.usually = writer_of(lambda _: "There is news about it.")
    model = await evaluate(written_by(chat), WRITER)
    assert values(model)[Measure.FACTS_KEPT] == [0.0, 0.0]
    assert values(model)[Measure.DISPUTES_SHOWN] == [1.0, 1.0]


async def test_an_embedding_model_that_knows_meanings_is_good_enough(embeddings: EmbeddingApi) -> None:
    embeddings.usually = knowing_embedder()
    model = await evaluate(embedded_by(embeddings, embedding_price=0.1), EMBEDDER)
    assert (model.status, model.reasons) == (EvaluationStatus.GOOD_ENOUGH, ())
    found = values(model)
    assert found[Measure.ABOVE_NEAR] == found[Measure.QUESTIONS_ANSWERED] == [1.0, 1.0]
    assert found[Measure.UNRELATED_SIMILAR] == found[Measure.OTHERS_RELEVANT] == [0.0, 0.0]
    assert len(embeddings.requests) == 1 + 2 + len(load_embedder_cases())
    assert {one.input_tokens_per_call for one in model.languages} == {7.0}
    assert model.languages[0].cost_per_call == pytest.approx(7 * 0.1 / 1_000_000)


async def test_crowded_cosines_need_other_thresholds(embeddings: EmbeddingApi) -> None:
    embeddings.usually = knowing_embedder(crowded=1.7)
    model = await evaluate(embedded_by(embeddings), EMBEDDER)
    assert model.status is EvaluationStatus.NOT_GOOD_ENOUGH
    assert values(model)[Measure.ABOVE_NEAR] == [1.0, 1.0]
    assert values(model)[Measure.UNRELATED_SIMILAR] == [1.0, 1.0]
    assert any("similarity thresholds do not fit its scale" in advice for advice in model.advice)


async def test_a_model_of_the_same_vector_for_everything_is_to_be_changed(embeddings: EmbeddingApi) -> None:
    embeddings.usually = same_vector
    model = await evaluate(embedded_by(embeddings), EMBEDDER)
    assert values(model)[Measure.ABOVE_UNRELATED] == [0.0, 0.0]
    assert model.advice[0].startswith("Use another embedding model")


def same_vector(request: Request) -> Reply:
    rows = [{"index": number, "embedding": [1.0, 2.0]} for number, _ in enumerate(request.body["input"])]
    return Reply(body=json.dumps({"data": rows}).encode())


async def test_a_model_of_words_without_meaning_is_not_good_enough(embeddings: EmbeddingApi) -> None:
    model = await evaluate(embedded_by(embeddings), EMBEDDER)
    assert model.status is EvaluationStatus.NOT_GOOD_ENOUGH
    assert max(values(model)[Measure.ABOVE_NEAR]) < 0.6
    assert min(values(model)[Measure.QUESTIONS_ANSWERED]) < 0.3


async def test_a_broken_embedding_api_is_named_with_its_address(embeddings: EmbeddingApi) -> None:
    embeddings.usually = reply(401, {"error": {"message": "no"}})
    model = await evaluate(embedded_by(embeddings), EMBEDDER)
    assert model.status is EvaluationStatus.FAILED
    assert embeddings.base_url.removeprefix("http://") + "/embeddings" in (model.problem or "")
    assert len(embeddings.requests) == 1
    assert model.languages == ()


async def test_the_bundled_model_is_good_enough() -> None:
    """These figures are the ground of the requirements for embedding models."""
    model = await evaluate(Settings(), EMBEDDER)
    assert (model.status, model.model) == (EvaluationStatus.GOOD_ENOUGH, "use-multilingual-v3")
    found = {measure: [round(value, 2) for value in of] for measure, of in values(model).items()}
    assert found[Measure.ABOVE_UNRELATED] == [1.0, 1.0]
    assert found[Measure.ABOVE_NEAR] == [0.76, 0.87]
    assert found[Measure.QUESTIONS_ANSWERED] == [0.75, 1.0]
    assert model.languages[0].input_tokens_per_call is None


@pytest.mark.parametrize("role", [JUDGE, WRITER])
async def test_a_model_that_is_not_configured_is_no_problem(role: ModelRole) -> None:
    model = await evaluate(Settings(), role)
    assert model.status is EvaluationStatus.NOT_CONFIGURED
    assert "_BASE_URL" in model.advice[0]


async def test_wrong_settings_are_told_as_a_problem_of_the_model() -> None:
    model = await evaluate(Settings(judge_base_url="http://127.0.0.1:1/v1"), JUDGE)
    assert model.status is EvaluationStatus.FAILED
    assert "CLEARWELL_JUDGE_MODEL" in (model.problem or "")


async def test_the_answer_can_be_read_back(chat: ChatApi) -> None:
    chat.usually = lambda _: completion("{")
    evaluation: ModelsEvaluation = await evaluate_models(judged_by(chat), [JUDGE, WRITER], seconds=30)
    view = ModelsEvaluationView.from_record(evaluation, "zh")
    assert ModelsEvaluationView.model_validate_json(view.model_dump_json()) == view
    assert not view.ok
