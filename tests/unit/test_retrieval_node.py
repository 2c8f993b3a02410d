"""The memory-retrieval node: what it asks, what it adds, what it tells, and that it never breaks a workflow."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from clearwell.errors import InvalidInput, NotAllowed
from clearwell.flow.context.retrieval_node import HistoryRetriever, NodeOptions, extract_query
from clearwell.flow.ingress.policies import describe_speakers
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import EventType, NodeEvent, NodeRun, Retrieval
from tests.path import AGENT, LONG, OTHER, Path, said

ANY = NodeOptions(relevance_threshold=0.0)
TOPIC = {"topic": "payment service moved to the new cluster", "kept": [1, {"a": None}]}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"topic": "a", "content": "b", "document": "c"}, ("topic", "a")),
        ({"topic": "", "content": "b", "document": "c"}, ("content", "b")),
        ({"topic": " \n", "content": None, "document": " c "}, ("document", "c")),
        ({"topic": ["a"], "content": {"x": 1}, "document": "c"}, ("document", "c")),
        ({"content": 5, "topic": "t"}, ("topic", "t")),
        ({"document": "d" * 5000}, ("document", "d" * 2000)),
    ],
)
def test_topic_else_content_else_document_is_the_query(state: Mapping[str, object], expected: tuple[str, str]) -> None:
    assert extract_query(state) == expected


@pytest.mark.parametrize("state", [{}, {"topic": ""}, {"topic": 5, "content": None, "document": []}, {"text": "a"}])
async def test_without_text_to_ask_the_history_is_empty_and_an_event_says_why(state: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        extract_query(state)
    run = await Path().memory.acting_as(AGENT).retrieval_node(group="g", language="zh").run(state)
    assert run.output == {**state, "history_context": ""}
    (error,) = [one for one in run.events if one.type is EventType.MEMORY_RETRIEVAL_ERROR]
    assert error.data["code"] == "node_no_query"
    assert "topic / content / document" in str(error.data["error"])


@pytest.mark.parametrize("state", [None, 5, [], "topic"])
async def test_what_is_no_state_breaks_no_workflow(state: object) -> None:
    node = Path().memory.acting_as(AGENT).retrieval_node(group="g")
    assert await node(state) == {"history_context": ""}  # type: ignore[arg-type]
    run = await node.run(state)  # type: ignore[arg-type]
    (error,) = [one for one in run.events if one.type is EventType.MEMORY_RETRIEVAL_ERROR]
    assert error.data["code"] == "node_state_form"
    assert type(state).__name__ in str(error.data["error"])


async def test_the_state_comes_back_with_its_history() -> None:
    path = Path()
    promoted = await path.memory.promote(LONG, group="g")
    node = path.memory.acting_as(AGENT).retrieval_node(group="g", options=ANY)
    state = dict(TOPIC)
    output = await node(state)
    assert state == TOPIC, "what was given is not changed"
    history = output.pop("history_context")
    assert output == TOPIC
    assert isinstance(history, str)
    assert history.startswith("## 历史上下文 / History\n1. [✅ Verified · 2026-01-01 · relevance ")
    assert f'<memory id="{promoted.id}">{LONG}</memory>' in history


async def test_events_come_in_order_to_plain_and_to_async_listeners() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    heard: list[NodeEvent] = []

    async def listen(event: NodeEvent) -> None:
        heard.append(event)

    node = path.memory.acting_as(AGENT).retrieval_node(group="g", options=ANY, on_event=listen)
    run = await node.run(TOPIC)
    assert tuple(heard) == run.events
    await path.memory.acting_as(AGENT).retrieval_node(group="g", options=ANY, on_event=heard.append)(TOPIC)
    assert [one.type for one in heard] == ["node_state_change", "memory_retrieved", "node_state_change"] * 2
    assert [one.data.get("status") for one in heard[:3]] == ["running", None, "completed"]
    assert (heard[1].data["count"], heard[1].data["query_from"]) == (1, "topic")
    assert heard[2].data["context_length"] == len(str(run.output["history_context"]))
    assert LONG not in str(heard), "events carry no content"


class Broken:
    """Retrieval that fails in a way of its own."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def retrieve(self, query: str, group_id: str, options: RetrieveOptions, *, record: bool = True) -> Retrieval:
        raise self._error


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError(), InvalidInput("text_nul", field="query")])
async def test_an_error_of_retrieval_never_breaks_the_workflow(error: Exception) -> None:
    path = Path()
    node = HistoryRetriever(Broken(error), path.program.events, path.clock, path.settings)  # type: ignore[arg-type]
    run = await node.run(TOPIC, group_id="g", options=NodeOptions())
    assert run.output == {**TOPIC, "history_context": ""}
    assert [one.type for one in run.events] == ["node_state_change", "memory_retrieval_error", "node_state_change"]
    assert run.events[1].data["error"]


async def test_what_may_not_be_asked_is_refused_before_the_workflow_runs() -> None:
    memory = Path().memory
    with pytest.raises(NotAllowed):
        memory.acting_as(AGENT).retrieval_node(group="other")
    for options in (NodeOptions(max_results=0), NodeOptions(relevance_threshold=2), NodeOptions(time_range_days=-1)):
        with pytest.raises(InvalidInput):
            memory.acting_as(AGENT).retrieval_node(group="g", options=options)


async def history(path: Path, state: Mapping[str, object] = TOPIC, **options: object) -> NodeRun:
    wanted = replace(ANY, **options)  # type: ignore[arg-type]
    return await path.memory.acting_as(AGENT).retrieval_node(group="g", options=wanted).run(state)


async def test_max_results_and_time_range_hold() -> None:
    path = Path()
    old = path.clock.now() - timedelta(days=30)
    await path.memory.promote(LONG, group="g", occurred_at=old)
    await path.memory.promote(OTHER, group="g")
    assert str((await history(path)).output["history_context"]).count("</memory>") == 2
    assert str((await history(path, max_results=1)).output["history_context"]).count("</memory>") == 1
    recent = str((await history(path, time_range_days=7)).output["history_context"])
    assert LONG not in recent
    assert OTHER in recent


async def test_the_threshold_is_the_nodes_own_setting() -> None:
    path = Path()
    await path.memory.promote(OTHER, group="g")
    assert OTHER in str((await history(path)).output["history_context"])
    usual = await path.memory.acting_as(AGENT).retrieval_node(group="g").run(TOPIC)
    assert usual.output["history_context"] == ""


CONCLUSION = "The chair concluded that the payment service moves only after a rehearsal on the staging cluster."
HOT_CONCLUSION = "The verdict was that nobody may deploy the payment service during the annual sales days in November."


async def with_conclusions() -> Path:
    path = Path()
    for number in range(20):
        await path.memory.promote(f"payment service moved to the new cluster, step {number}", group="g")
    await path.memory.promote(CONCLUSION, group="g", session_id="s0", metadata={"node_type": "chair"})
    verdict = replace(said(HOT_CONCLUSION), node_type="verdict", session_id="s0")
    await path.memory.acting_as(AGENT).capture(verdict, wait=True)
    return path


async def test_conclusions_of_earlier_meetings_are_fetched_or_left_out() -> None:
    path = await with_conclusions()
    with_them = str((await history(path, max_results=6)).output["history_context"])
    assert CONCLUSION in with_them
    assert HOT_CONCLUSION in with_them
    assert with_them.count("</memory>") == 6
    without = str((await history(path, include_verdicts=False)).output["history_context"])
    assert CONCLUSION not in without
    assert HOT_CONCLUSION not in without
    assert "step" in without


async def test_a_conclusion_of_the_meeting_that_runs_is_no_earlier_one() -> None:
    path = await with_conclusions()
    state = {**TOPIC, "session_id": "s0"}
    without = str((await history(path, state, include_verdicts=False)).output["history_context"])
    assert HOT_CONCLUSION in without


async def test_what_the_node_gave_is_an_echo_when_it_is_repeated() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    run = await history(path)
    await path.recalls.flush()
    for text in (LONG, str(run.output["history_context"])):
        receipt = await path.memory.acting_as(AGENT).capture(said(text), wait=True)
        assert [one.reason for one in receipt.verdicts if one.check == "echo"] == ["verdict_echo"]


def test_a_memory_tells_the_one_type_of_node_that_said_it() -> None:
    assert describe_speakers(["chair", "chair"]) == {"node_type": "chair"}
    assert describe_speakers(["agent"]) == describe_speakers(["chair", "agent"]) == describe_speakers([]) == {}


async def test_recent_needs_no_text_and_an_empty_history_says_why() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    node = path.memory.acting_as(AGENT).retrieval_node(group="g", options=NodeOptions(recent=5))
    for state in ({}, {"topic": "What is the capital of France?"}):
        assert LONG in str((await node.run(state)).output["history_context"])
    strict = (
        await path.memory.acting_as(AGENT).retrieval_node(group="g").run({"topic": "What is the capital of France?"})
    )
    assert strict.output["history_context"] == ""
    (retrieved,) = [event for event in strict.events if event.type is EventType.MEMORY_RETRIEVED]
    assert (retrieved.data["count"], retrieved.data["note"]) == (0, "retrieval_left_out")
    everything = path.memory.acting_as(AGENT).retrieval_node(group="g", options=NodeOptions(hot_threshold=0))
    assert LONG in str((await everything.run({"topic": "What is the capital of France?"})).output["history_context"])
