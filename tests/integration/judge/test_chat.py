"""The chat client against servers of many dialects: forms, limits, budget, time-outs."""

import asyncio
import json
import socket
from collections.abc import Callable

import pytest

from clearwell.errors import ConfigurationError, JudgeUnavailable
from clearwell.models import LLMJudge, OpenAIChat
from clearwell.ports import ChatMessage
from clearwell.settings import Settings
from tests.integration.judge.asking import CHINESE, KEY, TEXT, Time, asked, failure
from tests.servers.chat_api import (
    BARE_400,
    LM_STUDIO_NO_OBJECT,
    NO_SCHEMA,
    TORN,
    ChatApi,
    Crowd,
    new_openai_model,
    only,
    says,
    sound,
    way,
)
from tests.servers.scripted import Behaviour, Request, hang, reply


@pytest.mark.parametrize("refusal", NO_SCHEMA.values(), ids=NO_SCHEMA)
async def test_a_server_without_schemas_is_asked_for_plain_json_and_remembered(
    api: ChatApi, judge: LLMJudge, refusal: Behaviour
) -> None:
    api.usually = only("json_object", "text", otherwise=refusal)
    assert (await judge.judge(TEXT)).consistent
    assert (await judge.judge(TEXT)).consistent
    assert [way(request) for request in api.requests] == ["json_schema", "json_object", "json_object"]
    assert "JSON" in asked(api.requests[1])


@pytest.mark.parametrize(
    ("content", "said", "consistent"),
    [
        (TEXT, "YES. Everything fits.", True),
        (TEXT, "NO. The total is given twice.", False),
        (CHINESE, "是", True),
        (CHINESE, "否。两处日期互相矛盾。", False),
        (TEXT, "CONSISTENT", True),
        (TEXT, json.dumps(TORN), False),
    ],
)
@pytest.mark.parametrize("refusal", [BARE_400, LM_STUDIO_NO_OBJECT], ids=["bare 400", "named"])
async def test_a_server_without_any_form_is_asked_for_yes_or_no(
    api: ChatApi, judge: LLMJudge, refusal: Behaviour, content: str, said: str, consistent: bool
) -> None:
    api.usually = only("text", otherwise=refusal, then=says(said))
    assert (await judge.judge(content)).consistent is consistent
    assert (await judge.judge(content)).consistent is consistent
    assert [way(request) for request in api.requests] == ["json_schema", "json_object", "text", "text"]
    assert "response_format" not in api.requests[2].body
    assert ("YES" if content == TEXT else "“是”") in asked(api.requests[2])


@pytest.mark.parametrize(
    ("content", "said", "consistent"), [(TEXT, "NO", False), (TEXT, "Yes.", True), (CHINESE, "否", False)]
)
async def test_a_word_to_the_question_in_json_is_asked_for_in_words(
    api: ChatApi, judge: LLMJudge, time: Time, content: str, said: str, consistent: bool
) -> None:
    api.usually = says(said)
    assert (await judge.judge(content)).consistent is consistent
    assert (await judge.judge(content)).consistent is consistent
    assert [way(request) for request in api.requests] == ["json_schema", "text", "text"], "and it is remembered"
    asked_for = "Is the output consistent" if content == TEXT else "是否前后一致"
    assert all(asked_for in asked(request) for request in api.requests), "a word means the same either way"
    api.usually = sound
    time.now += 6 * 3600
    await judge.judge(content)
    assert way(api.requests[-1]) == "json_schema"


async def test_a_schema_is_asked_for_again_after_hours(api: ChatApi, judge: LLMJudge, time: Time) -> None:
    api.usually = only("json_object", otherwise=NO_SCHEMA["vllm"])
    await judge.judge(TEXT)
    api.usually = sound
    time.now += 6 * 3600 - 1
    await judge.judge(TEXT)
    time.now += 1
    await judge.judge(TEXT)
    await judge.judge(TEXT)
    assert [way(request) for request in api.requests][1:] == [
        "json_object",
        "json_object",
        "json_schema",
        "json_schema",
    ]


async def test_a_refusal_from_a_server_that_knows_schemas_is_about_the_request(api: ChatApi, judge: LLMJudge) -> None:
    await judge.judge(TEXT)
    api.script.append(reply(400, {"error": {"message": "maximum context length is 4096 tokens"}}))
    error = await failure(judge)
    assert error.code == "judge_refused"
    assert "maximum context length" in error.detail["said"]
    assert len(api.requests) == 2


async def test_newer_models_are_asked_without_what_they_refuse(api: ChatApi, judge: LLMJudge) -> None:
    api.usually = new_openai_model
    assert (await judge.judge(TEXT)).consistent
    assert (await judge.judge(TEXT)).consistent
    assert len(api.requests) == 4
    assert api.requests[-1].body["max_completion_tokens"] == 1000
    assert {"max_tokens", "temperature"}.isdisjoint(api.requests[-1].body)
    assert way(api.requests[-1]) == "json_schema"


@pytest.mark.parametrize(("value", "wait"), [("7", 7.0), ("1.5", 1.5), ("999999999", 900.0), ("soon", None)])
async def test_retry_after_is_handed_on(api: ChatApi, judge: LLMJudge, value: str, wait: float | None) -> None:
    api.script.append(reply(429, Retry_After=value))
    assert (await failure(judge)).retry_after == wait


async def test_a_wait_that_is_cut_short_is_said(api: ChatApi, judge: LLMJudge) -> None:
    api.script.append(reply(429, Retry_After="86400"))
    error = await failure(judge)
    assert error.code == "judge_asks_to_wait"
    assert "86400 s" in error.text("en")
    assert "900 秒后再次调用" in error.text("zh")


async def test_the_servers_words_are_cut_and_the_key_taken_out(api: ChatApi, judge: LLMJudge) -> None:
    api.script.append(reply(401, {"error": {"message": f"{KEY} is wrong, so is sk-other\n" + "x " * 10_000}}))
    said = (await failure(judge)).detail["said"]
    assert said.startswith("*** is wrong, so is *** x x")
    assert len(said) == 200


async def test_what_a_capture_caller_may_read_has_neither_the_address_nor_the_servers_words(
    api: ChatApi, judge: LLMJudge
) -> None:
    api.script.extend([reply(401, "bad key sk-SECRET"), reply(500, "oops"), reply(429, "slow"), reply(404, "gone")])
    for words in ("bad key", "oops", "slow", "gone"):
        error = await failure(judge)
        told = error.text("en") + error.text("zh") + str(error.params)
        assert words not in told
        assert "127.0.0.1" not in told
        assert words in error.detail["said"]
        assert "SECRET" not in error.detail["said"]
        assert "127.0.0.1" in error.detail["where"]


@pytest.mark.parametrize("blanks", range(760, 800, 7))
async def test_no_cut_leaves_half_of_the_key(api: ChatApi, judge: LLMJudge, blanks: int) -> None:
    api.script.append(reply(500, " " * blanks + KEY))
    assert KEY[:6] not in (await failure(judge)).detail["said"]


async def test_a_server_that_hangs_is_left(api: ChatApi) -> None:
    chat = OpenAIChat(base_url=api.base_url, model="m", timeout_seconds=0.1)
    api.script.append(hang)
    assert (await failure(LLMJudge(chat))).code == "judge_timeout"
    await chat.close()
    assert len(api.requests) == 1


async def test_nobody_listening() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        chat = OpenAIChat(base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1", model="m")
        error = await failure(LLMJudge(chat))
    await chat.close()
    assert error.code == "judge_unreachable"
    assert (await failure(LLMJudge(chat))).code == "judge_closed"


async def test_no_more_questions_at_once_than_allowed(api: ChatApi) -> None:
    loop, arrived = asyncio.get_running_loop(), asyncio.Semaphore(0)
    crowd = Crowd(entered=lambda: loop.call_soon_threadsafe(arrived.release))
    api.usually = crowd
    chat = OpenAIChat(base_url=api.base_url, model="m", concurrency=2)
    judge = LLMJudge(chat)
    asking = [asyncio.create_task(judge.judge(TEXT)) for _ in range(6)]
    for number in range(6):
        await arrived.acquire()
        if number >= 1:
            crowd.let_go()
    crowd.let_go()
    assert all(found.consistent for found in await asyncio.gather(*asking))
    await chat.close()
    assert (crowd.most, len(api.requests)) == (2, 6)


def budgeted(api: ChatApi, time: Callable[[], float], calls: int) -> OpenAIChat:
    return OpenAIChat(base_url=api.base_url, model="m", budget_per_hour=calls, monotonic=time)


async def test_the_budget_is_kept_in_any_hour(api: ChatApi, time: Time) -> None:
    chat = budgeted(api, time, 2)
    judge = LLMJudge(chat)
    await judge.judge(TEXT)
    time.now += 600
    await judge.judge(TEXT)
    time.now += 1200
    error = await failure(judge)
    assert (error.code, error.retry_after) == ("judge_budget_spent", 1800.0)
    assert "1800 s" in error.text()
    time.now += 1799.9
    assert (await failure(judge)).retry_after == pytest.approx(0.1)
    time.now += 0.2
    await judge.judge(TEXT)
    assert (await failure(judge)).retry_after == pytest.approx(599.9)
    await chat.close()
    assert len(api.requests) == 3


async def test_the_budget_of_a_day_is_kept_too(api: ChatApi, time: Time) -> None:
    chat = OpenAIChat(base_url=api.base_url, model="m", budget_per_hour=2, budget_per_day=3, monotonic=time)
    judge = LLMJudge(chat)
    for _ in range(2):
        await judge.judge(TEXT)
    assert (await failure(judge)).code == "judge_budget_spent"
    time.now += 3600
    await judge.judge(TEXT)
    error = await failure(judge)
    assert (error.code, error.retry_after) == ("judge_day_spent", 23 * 3600.0)
    assert "CLEARWELL_JUDGE_BUDGET_PER_DAY" in error.text()
    await chat.close()
    assert len(api.requests) == 3


async def test_what_cost_nothing_is_not_counted(api: ChatApi, time: Time) -> None:
    chat = budgeted(api, time, 1)
    judge = LLMJudge(chat)
    api.script.extend([reply(429), reply(401), reply(404)])
    codes = [(await failure(judge)).code for _ in range(3)]
    assert codes == ["judge_rate_limited", "judge_key_refused", "judge_not_found"]
    api.script.extend([NO_SCHEMA["vllm"], sound])
    await judge.judge(TEXT)
    assert (await failure(judge)).code == "judge_budget_spent"
    await chat.close()


async def test_a_server_error_is_counted(api: ChatApi, time: Time) -> None:
    chat = budgeted(api, time, 1)
    api.script.append(reply(500))
    assert (await failure(LLMJudge(chat))).code == "judge_server_error"
    assert (await failure(LLMJudge(chat))).code == "judge_budget_spent"
    await chat.close()


async def test_a_cancelled_caller_frees_its_place(api: ChatApi) -> None:
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()

    def hang_and_tell(_: Request) -> None:
        loop.call_soon_threadsafe(arrived.set)

    chat = OpenAIChat(base_url=api.base_url, model="m", concurrency=1)
    api.script.append(hang_and_tell)
    waiting = asyncio.create_task(LLMJudge(chat).judge(TEXT))
    await arrived.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await LLMJudge(chat).judge(TEXT)).consistent
    await chat.close()


async def test_the_chat_can_be_asked_without_a_form(api: ChatApi) -> None:
    chat = OpenAIChat(base_url=f"{api.base_url}/?api-version=1", model=" m ")
    api.script.append(says("a digest"))
    messages = [ChatMessage("system", "Summarise."), ChatMessage("user", "text \ud800")]
    assert await chat.complete(messages) == "a digest"
    api.script.append(BARE_400)
    with pytest.raises(JudgeUnavailable, match="400"):
        await chat.complete(messages)
    await chat.close()
    assert "response_format" not in api.requests[0].body
    assert asked(api.requests[0]) == "text ?"
    assert api.requests[0].path == "/v1/chat/completions?api-version=1"
    assert "Authorization" not in api.requests[0].headers


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"base_url": "localhost:11434/v1"}, "judge_address_invalid"),
        ({"base_url": "ftp://host/v1"}, "judge_address_invalid"),
        ({"api_key": "sk-密钥"}, "judge_key_invalid"),
        ({"model": " "}, "judge_model_missing"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(given: dict[str, str], code: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIChat(**({"base_url": "http://localhost/v1", "model": "m"} | given))  # type: ignore[arg-type]
    assert caught.value.code == code
    assert "密钥" not in repr(caught.value)


def test_there_is_no_judge_unless_an_address_is_set() -> None:
    settings = Settings(judge_base_url="")
    assert settings.judge_base_url is None
    assert (settings.judge_timeout_seconds, settings.judge_concurrency, settings.judge_budget_per_hour) == (20, 2, 600)
    assert (settings.judge_max_chars, settings.judge_max_tokens, settings.judge_attempts) == (8000, 1000, 24)
