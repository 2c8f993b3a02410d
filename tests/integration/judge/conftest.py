"""A chat API to misbehave, a clock to set, and a judge that uses both."""

from collections.abc import AsyncIterator, Iterator

import pytest

from clearwell.models import LLMJudge, OpenAIChat
from tests.integration.judge.asking import KEY, Time
from tests.servers.chat_api import ChatApi


@pytest.fixture
def api() -> Iterator[ChatApi]:
    with ChatApi() as running:
        yield running


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def judge(api: ChatApi, time: Time) -> AsyncIterator[LLMJudge]:
    chat = OpenAIChat(base_url=api.base_url, model="m", api_key=f"{KEY}\n", timeout_seconds=5, monotonic=time)
    yield LLMJudge(chat)
    await chat.close()
