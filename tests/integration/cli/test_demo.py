"""``demo``: the meetings as a newcomer watches them, in both languages, beside a running server, and with a model."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.integration.cli.program import Program
from tests.servers.chat_api import ChatApi, says
from tests.servers.scripted import reply

Steps = Sequence[dict[str, Any]]


@pytest.fixture
def api() -> Iterator[ChatApi]:
    with ChatApi() as running:
        yield running


def of_kind(steps: Steps, kind: str) -> list[dict[str, Any]]:
    return [step for step in steps if step["kind"] == kind]


@pytest.mark.parametrize(("language", "settled"), [("en", "ten years"), ("zh", "十年")])
def test_the_meetings_show_the_whole_protocol(program: Program, language: str, settled: str) -> None:
    steps: Steps = json.loads(program.good("demo", "--language", language, "--group", "demo-1", "--json").out)
    first, second, third = of_kind(steps, "meeting")
    days = {datetime.fromisoformat(one["at"]).astimezone().date() for one in (first, second, third)}
    assert len(days) == 3
    assert datetime.now(UTC) - datetime.fromisoformat(third["at"]) < timedelta(hours=1)

    outputs = {(one["session_id"], one["node_id"]): one for one in of_kind(steps, "output")}
    refused = {node: one["check"] for (_, node), one in outputs.items() if one["admission"] == "refused"}
    assert refused == {"vendor-page": "instruction", "advocate-aside": "confidence", "critic-thanks": "substance"}
    assert all(one["reason"] for one in outputs.values() if one["admission"] == "refused")
    debate = [outputs["meeting-2", node] for node in ("advocate", "critic")]
    assert [one["check"] for one in debate if "conflict" in one["flags"]] == ["non_duplicate"], "the second one"
    assert outputs["meeting-3", "advocate"]["check"] == "non_duplicate", "it contradicts what is verified"

    nothing, unverified, verified = of_kind(steps, "recall")
    assert nothing["memories"] == []
    assert unverified["memories"]
    assert all(one["label"].startswith("⚡️") for one in unverified["memories"])
    assert verified["memories"][0]["label"].startswith("✅")
    assert settled in verified["memories"][0]["text"]

    assert [one["rating"] for one in of_kind(steps, "fact_check")] == ["unknown", "supported", "contradicted"]
    (digest,) = of_kind(steps, "digest")
    assert len(digest["insights"]) >= 4
    assert len([one for one in digest["insights"] if one["sides"]]) == 1
    decisions = of_kind(steps, "decision")
    assert {one["by"] for one in decisions} == {"demo"}
    assert [one["text"] for one in decisions if one["side"] is not None and settled in one["text"]]
    summary = steps[-1]
    assert (summary["kind"], summary["scripted"], summary["memories"]) == ("summary", True, len(decisions))
    assert summary["seconds"] < 60


def test_a_newcomer_reads_what_became_of_each_output_and_where_to_look(program: Program) -> None:
    ran = program.good("demo")
    assert "no language model is configured (CLEARWELL_DIGEST_LLM_BASE_URL)" in ran.out
    for shown in ("refused by instruction", "⚡️", "✅", "The demo plays the reviewer", "contradicted", "Look around:"):
        assert shown in ran.out
    assert max(len(line) for line in ran.out.splitlines()) < 240
    command = next(line for line in ran.out.splitlines() if " query --group demo-" in line)
    group = command.split("--group ")[1].split()[0]
    answer = program.good("query", "--group", group, "How long must paid invoices be kept?").out
    assert "ten years" in answer
    decided = json.loads(program.good("review", "decisions", "--group", group, "--json").out)
    assert {one["by"] for one in decided["decisions"]} == {"demo"}
    listed = program.good("memories", "list", "--group", group, "--json").json["memories"]
    assert [one for one in listed if one["last_used_at"] is not None], "the agents of the last meeting got them"
    chinese = program.chinese().good("demo").out
    assert "已付款的发票" in chinese
    assert "没有配置语言模型" in chinese


def test_a_running_server_leaves_the_group_alone(served: Program) -> None:
    steps: Steps = json.loads(served.good("demo", "--json").out)
    assert steps[-1]["kind"] == "summary"
    verified = of_kind(steps, "recall")[-1]["memories"]
    assert verified[0]["label"].startswith("✅")
    assert len(of_kind(steps, "digest")) == 1


def test_a_configured_model_speaks_and_the_script_speaks_if_it_fails(program: Program, api: ChatApi) -> None:
    text = "The payment gateway rejected 412 of 9,000 test transactions because of an expired certificate."
    api.usually = says(text)
    speaking = program.but(CLEARWELL_DIGEST_LLM_BASE_URL=api.base_url, CLEARWELL_DIGEST_LLM_MODEL="scripted-1")
    ran = speaking.good("demo", "--json")
    steps: Steps = json.loads(ran.out)
    assert text in {one["text"] for one in of_kind(steps, "output")}
    assert (steps[-1]["scripted"], steps[-1]["problem"]) == (False, None)
    api.usually = reply(500, {"error": {"message": "out of order"}})
    steps = json.loads(speaking.good("demo", "--json").out)
    assert steps[-1]["problem"]
    assert len(of_kind(steps, "output")) >= 12


def test_an_agent_and_an_unknown_language_are_refused(program: Program) -> None:
    refused = program.but(CLEARWELL_ACTOR="agent").run("demo")
    assert (refused.code, refused.out) == (1, "")
    unknown = program.run("demo", "--language", "fr")
    assert (unknown.code, "en or zh, not fr" in unknown.err) == (2, True)
