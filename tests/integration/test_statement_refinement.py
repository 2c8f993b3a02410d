"""Statements by the digest model, on a real HTTP server: its quotations replace the statements of the rules."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.flow.ingress.refinement import MAX_ATTEMPTS, merge_segments, place_quotations
from clearwell.flow.ingress.segmentation import segment_output
from clearwell.models import LLMSegmenter, OpenAIChat
from clearwell.records import FoundStatement, NewCapture, QuarantineRow, SegmentKind
from clearwell.settings import Settings
from tests.path import AGENT, LONG, OTHER, Path, said
from tests.servers.chat_api import ChatApi, says
from tests.servers.scripted import reply

REPORT = f"""## Findings

- {LONG}
- {OTHER}

We could look at the queue next. The retention of the logs is thirty days, says the contract.
"""
PROPOSAL = "We could look at the queue next."
KEPT = "The retention of the logs is thirty days, says the contract."
SETTINGS = Settings(digest_llm_base_url="http://127.0.0.1:9", digest_llm_model="test", digest_llm_finds_statements=True)


def lists(*texts: str, kind: str = "claim") -> dict[str, object]:
    return {"statements": [{"text": text, "kind": kind} for text in texts]}


@pytest.fixture
def api() -> Iterator[ChatApi]:
    with ChatApi() as running:
        yield running


@pytest.fixture
async def chat(api: ChatApi) -> AsyncIterator[OpenAIChat]:
    chat = OpenAIChat(base_url=api.base_url, model="test", timeout_seconds=5)
    yield chat
    await chat.close()


def make_path(chat: OpenAIChat, *, max_chars: int = 12000) -> Path:
    return Path(settings=SETTINGS, segmenter=LLMSegmenter(chat, max_chars=max_chars))


async def capture(path: Path, content: str = REPORT) -> UUID:
    return (await path.memory.acting_as(AGENT).capture(said(content), wait=True)).id


async def read(path: Path, log_id: UUID) -> QuarantineRow:
    return await path.memory.quarantine_row(log_id, group="g")


def list_statements(row: QuarantineRow) -> list[str]:
    content = row.capture.content
    return [content[one.segment.start : one.segment.end] for one in row.statements or () if one.segment.is_statement]


async def test_the_statements_of_the_model_replace_those_of_the_rules(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat)
    log_id = await capture(path)
    before = await read(path, log_id)
    assert (before.segmented_by, list_statements(before)) == ("rules", [LONG, OTHER, PROPOSAL, KEPT])
    assert api.requests == []
    api.script += [says(lists(LONG, KEPT, kind="decision"))]
    assert await path.program.statement_refiner.refine_due() == 1
    row = await read(path, log_id)
    assert (row.segmented_by, row.segmenter_problem) == ("test", None)
    assert list_statements(row) == [LONG, KEPT]
    stated = [one for one in row.statements or () if one.segment.is_statement]
    assert {one.segment.kind for one in stated} == {SegmentKind.DECISION}
    assert stated[0].segment.headings == ("Findings",)
    assert all(one.embedding is not None for one in stated)
    assert [one.number for one in row.statements or ()] == list(range(len(row.statements or ())))
    assert await path.program.statement_refiner.refine_due() == 0
    assert await path.statement_updater.update_outdated() == 0
    assert len(api.requests) == 1


async def test_what_is_not_in_the_output_is_dropped(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat)
    log_id = await capture(path)
    api.script += [says(lists(LONG, OTHER.replace("eleven", "twelve"), "Everybody agreed."))]
    assert await path.program.statement_refiner.refine_due() == 1
    assert list_statements(await read(path, log_id)) == [LONG]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("I found two statements.", "writer_nonsense"),
        ('{"statements": [{"text": ', "writer_nonsense"),
        (lists("Everybody agreed."), "segmenter_not_verbatim"),
    ],
)
async def test_the_rules_stay_where_the_answer_is_of_no_use(
    api: ChatApi, chat: OpenAIChat, answer: object, problem: str
) -> None:
    path = make_path(chat)
    log_id = await capture(path)
    api.usually = says(answer)
    assert await path.program.statement_refiner.refine_due() == 0
    row = await read(path, log_id)
    assert (row.segmented_by, row.segmenter_problem) == ("rules", problem)
    assert list_statements(row) == [LONG, OTHER, PROPOSAL, KEPT]
    asked = len(api.requests)
    path.clock.forward(timedelta(days=1))
    assert await path.program.statement_refiner.refine_due() == 0
    assert len(api.requests) == asked


async def test_a_model_that_is_down_is_asked_again_later(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat)
    log_id = await capture(path)
    api.usually = reply(503, "overloaded")
    assert await path.program.statement_refiner.refine_due() == 0
    row = await read(path, log_id)
    assert (row.segmented_by, row.segmenter_problem) == ("rules", "writer_server_error")
    api.usually = says(lists(KEPT))
    assert await path.program.statement_refiner.refine_due() == 0
    path.clock.forward(timedelta(minutes=2))
    assert await path.program.statement_refiner.refine_due() == 1
    assert list_statements(await read(path, log_id)) == [KEPT]


async def test_a_model_that_stays_down_is_not_asked_for_ever(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat)
    await capture(path)
    api.usually = reply(503, "overloaded")
    for _ in range(MAX_ATTEMPTS):
        assert len(await path.statements.find_due(now=path.clock.now(), limit=9)) == 1
        await path.program.statement_refiner.refine_due()
        path.clock.forward(timedelta(hours=1))
    assert await path.statements.find_due(now=path.clock.now(), limit=9) == []


async def test_an_output_that_is_too_long_is_left_to_the_rules(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat, max_chars=200)
    log_id = await capture(path)
    assert await path.program.statement_refiner.refine_due() == 0
    assert (await read(path, log_id)).segmenter_problem == "segmenter_output_too_long"
    assert api.requests == []


async def test_only_admitted_outputs_that_the_digest_considers_are_asked_about(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat)
    agent = path.memory.acting_as(AGENT)
    await agent.capture(said(REPORT, confidence=0.1), wait=True)
    await agent.capture(NewCapture(content=REPORT, group_id="g", node_type="tool"), wait=True)
    await path.statement_updater.update_outdated()
    assert await path.program.statement_refiner.refine_due() == 0
    off = Path(segmenter=None)
    await off.memory.acting_as(AGENT).capture(said(REPORT), wait=True)
    assert await off.statements.find_due(now=off.clock.now(), limit=9) == []
    assert api.requests == []


async def test_statements_are_made_anew_when_the_segmenter_changes(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat)
    log_id = await capture(path)
    api.usually = says(lists(KEPT))
    await path.program.statement_refiner.refine_due()
    output = path.quarantine.rows["g"][log_id].segmented
    assert output is not None
    await path.statements.put("g", [replace(output, model="another")])
    assert await path.statement_updater.update_outdated() == 1
    kept = await read(path, log_id)
    assert (kept.segmented_by, list_statements(kept)) == ("test", [KEPT])
    await path.statements.put("g", [replace(output, segmenter="an older model")])
    assert await path.statement_updater.update_outdated() == 1
    assert (await read(path, log_id)).segmented_by == "rules"
    assert await path.program.statement_refiner.refine_due() == 1
    assert (await read(path, log_id)).segmented_by == "test"


async def test_the_output_is_shown_as_data(api: ChatApi, chat: OpenAIChat) -> None:
    path = make_path(chat)
    await capture(path, f"{LONG} The title of the page is in <b>bold</b> letters.")
    api.script += [says(lists(LONG))]
    await path.program.statement_refiner.refine_due()
    question = api.requests[0].body["messages"][-1]["content"]
    assert "<b>" not in question
    assert r"in \u003cb\u003ebold" in question


def test_quotations_are_found_across_lines_and_only_once() -> None:
    content = "The retention is thirty\ndays. It is final. It is final."
    found = [
        FoundStatement(text, SegmentKind.CLAIM) for text in ("The retention is thirty days.", *3 * ["It is final."])
    ]
    placed = place_quotations(content, found)
    assert [content[one.start : one.end] for one in placed] == [
        "The retention is thirty\ndays.",
        "It is final.",
        "It is final.",
    ]


def test_what_is_left_of_a_segment_is_no_statement() -> None:
    content = f"# Notes\n\nAs agreed on Tuesday, {LONG}\n\n```\nprint(1)\n```"
    start = content.index(LONG)
    placed = place_quotations(content, [FoundStatement(LONG, SegmentKind.CLAIM)])
    merged = merge_segments(content, segment_output(content), placed)
    assert [(one.kind, content[one.start : one.end]) for one in merged] == [
        (SegmentKind.STRUCTURE, "# Notes"),
        (SegmentKind.FRAGMENT, "As agreed on Tuesday,"),
        (SegmentKind.CLAIM, LONG),
        (SegmentKind.CODE, "```\nprint(1)\n```"),
    ]
    assert merged[2].start == start
