"""``models check``: what it prints, its exit codes, and that it needs neither servers nor stores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.program import Program
from tests.servers.chat_api import ChatApi, sound
from tests.servers.models import knowing_judge, writer_of
from tests.servers.scripted import reply


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Without any server: the models are settings of the process."""
    return Program(tmp_path, {"CLEARWELL_DATA_DIR": str(tmp_path / "data")})


@pytest.fixture
def api() -> Iterator[ChatApi]:
    with ChatApi() as running:
        yield running


def judged_by(program: Program, api: ChatApi, **more: str) -> Program:
    return program.but(CLEARWELL_JUDGE_BASE_URL=api.base_url, CLEARWELL_JUDGE_MODEL="scripted-1", **more)


def written_by(program: Program, api: ChatApi) -> Program:
    return program.but(CLEARWELL_DIGEST_LLM_BASE_URL=api.base_url, CLEARWELL_DIGEST_LLM_MODEL="scripted-1")


def test_the_bundled_model_alone_is_checked_without_a_store(program: Program, tmp_path: Path) -> None:
    ran = program.good("models", "check")
    assert "Embedding model: use-multilingual-v3" in ran.out
    assert "✓ Good enough." in ran.out
    assert ran.out.count("– Not configured.") == 2
    assert "CLEARWELL_JUDGE_BASE_URL" in ran.out
    assert "CLEARWELL_DIGEST_LLM_BASE_URL" in ran.out
    assert ran.err == "", "no progress where there is no terminal"
    assert not (tmp_path / "data").exists()


def test_a_good_judge_is_shown_with_times_tokens_and_cost(program: Program, api: ChatApi) -> None:
    api.usually = knowing_judge
    judged = judged_by(program, api)
    ran = judged.good("models", "check", "--only", "judge")
    assert "Judge: scripted-1" in ran.out
    assert "400 + 50" in ran.out
    assert "set CLEARWELL_JUDGE_INPUT_PRICE, CLEARWELL_JUDGE_OUTPUT_PRICE" in ran.out
    assert "Embedding model" not in ran.out
    priced = judged.but(
        CLEARWELL_JUDGE_INPUT_PRICE="2", CLEARWELL_JUDGE_OUTPUT_PRICE="10", CLEARWELL_PRICE_CURRENCY="CNY"
    )
    told = priced.chinese().good("models", "check", "--only", "judge").out
    assert "评审模型：scripted-1" in told
    assert "1.3 CNY" in told
    assert "✓ 质量达标。" in told


def test_a_bad_judge_ends_with_1_and_says_what_that_means(program: Program, api: ChatApi) -> None:
    api.usually = sound
    ran = judged_by(program, api).run("models", "check", "--only", "judge", "--mistakes")
    assert ran.code == 1
    assert "✗ Not good enough:" in ran.out
    assert "contradictions found: 0.00 in English, 0.00 in Chinese; at least 0.75 is needed." in ran.out
    assert "Outputs that contradict themselves will enter working memory." in ran.out
    assert "Cases with a wrong answer: 16" in ran.out
    assert "en-contradiction-total · contradictions found" in ran.out
    assert "The API reports no tokens." in ran.out


def test_a_broken_api_ends_with_3_and_names_the_address(program: Program, api: ChatApi) -> None:
    api.usually = reply(401, {"error": {"message": "invalid key"}})
    ran = written_by(program, api).run("models", "check", "--only", "writer")
    assert ran.code == 3
    assert "✗ Could not be checked:" in ran.out
    assert api.base_url.removeprefix("http://") in ran.out
    assert "CLEARWELL_DIGEST_LLM_API_KEY" in ran.out


def test_json_is_all_that_is_printed(program: Program, api: ChatApi) -> None:
    api.usually = reply(500, "broken")
    ran = judged_by(program, api).run("models", "check", "--only", "judge", "--only", "writer", "--json")
    assert ran.code == 3
    assert ran.json["ok"] is False
    assert [(model["role"], model["status"]) for model in ran.json["models"]] == [
        ("judge", "failed"),
        ("writer", "not_configured"),
    ]
    api.usually = writer_of(lambda case: case.sources[0])
    ran = written_by(program, api).good("models", "check", "--only", "writer", "--json")
    (model,) = ran.json["models"]
    assert (ran.json["ok"], model["status"]) == (True, "good_enough")
    assert [language["language"] for language in model["languages"]] == ["en", "zh"]
    assert model["languages"][0]["output_tokens_per_call"] == 50


def test_a_wrong_call_ends_with_2(program: Program) -> None:
    assert program.run("models", "check", "--only", "oracle").code == 2
    assert program.run("models", "check", "--seconds", "0").code == 2
