"""What the tests of the judge ask, and how they look at what became of it."""

import pytest

from clearwell.errors import JudgeUnavailable
from clearwell.models import LLMJudge
from tests.servers.scripted import Request

KEY = "sk-judge-0123456789abcdef"
TEXT = "The migration finished on Monday. It took 40 minutes and no row was lost."
CHINESE = "迁移已于周一完成，耗时四十分钟，没有丢失任何数据。"


class Time:
    """A monotonic clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def failure(judge: LLMJudge, content: str = TEXT) -> JudgeUnavailable:
    """The error of a question, which tells neither the key nor the text."""
    with pytest.raises(JudgeUnavailable) as caught:
        await judge.judge(content)
    told = caught.value.text("en") + caught.value.text("zh") + repr(caught.value) + repr(caught.value.__cause__)
    assert KEY not in told
    assert content not in told
    return caught.value


def asked(request: Request) -> str:
    """What the user's message says."""
    return str(request.body["messages"][-1]["content"])
