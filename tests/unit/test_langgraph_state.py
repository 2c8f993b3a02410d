"""The channels of a graph's state: questions, contexts and outputs."""

from dataclasses import dataclass

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel

from clearwell.adapters.chat.messages import CONTEXT_ID, insert_context
from clearwell.adapters.langgraph.state import (
    add_context,
    read_channels,
    read_output,
    read_state,
    remove_from_output,
)

QUESTION = HumanMessage("When is the launch?", id="q")
ANSWER = AIMessage("The launch is on Friday.", id="a")
RESULT = ToolMessage("42 rows", tool_call_id="1", name="count_rows", id="t")
CONTEXT = "1. [✅ Verified] <memory id=…>…</memory>"


class Model(BaseModel):
    topic: str = ""
    history_context: str = ""


@dataclass(frozen=True)
class Record:
    topic: str = ""


def test_context_is_a_user_message_before_the_question() -> None:
    messages = insert_context([SystemMessage("Be brief."), ANSWER, QUESTION, RESULT], CONTEXT)
    assert [type(message) for message in messages] == [
        SystemMessage,
        AIMessage,
        HumanMessage,
        HumanMessage,
        ToolMessage,
    ]
    assert messages[2].content == CONTEXT


def test_second_context_replaces_the_first() -> None:
    messages = insert_context(insert_context([QUESTION], CONTEXT), "newer")
    assert [message.content for message in messages] == ["newer", QUESTION.content]


def test_no_context_leaves_the_state_as_it_is() -> None:
    state = {"messages": [QUESTION]}
    assert add_context(state, "", channel=None) is state


def test_context_goes_to_the_history_without_messages() -> None:
    assert add_context({"topic": "launch"}, CONTEXT, channel=None) == {"topic": "launch", "history_context": CONTEXT}
    assert add_context(Model(topic="launch"), CONTEXT, channel=None) == Model(topic="launch", history_context=CONTEXT)


def test_named_channel_takes_the_context() -> None:
    state = add_context({"messages": [QUESTION], "notes": ""}, CONTEXT, channel="notes")
    assert state == {"messages": [QUESTION], "notes": CONTEXT}


def test_dataclass_without_the_channel_stays_as_it_is() -> None:
    state = Record(topic="launch")
    assert add_context(state, CONTEXT, channel=None) is state


def test_question_is_the_topic_or_the_last_user_message() -> None:
    assert read_state({"messages": [QUESTION, ANSWER]})["content"] == "When is the launch?"
    assert "content" not in read_state({"messages": [QUESTION], "topic": "launch"})
    assert read_state({"messages": [QUESTION], "topic": " "})["content"] == "When is the launch?"


def test_channels_of_every_kind_of_state() -> None:
    assert read_channels(Model(topic="a")) == {"topic": "a", "history_context": ""}
    assert read_channels(Record(topic="a")) == {"topic": "a"}
    assert read_channels([QUESTION]) == {"messages": [QUESTION]}
    assert read_channels(7) == {}


@pytest.mark.parametrize(
    "output",
    [
        {"messages": [ANSWER]},
        {"messages": ANSWER},
        {"messages": [{"role": "assistant", "content": "The launch is on Friday."}]},
        {"messages": [QUESTION, ANSWER]},
        [ANSWER],
        ANSWER,
        Command(goto="next", update={"messages": [ANSWER]}),
        Command(update=[("messages", [ANSWER])]),
        [Command(update={"messages": [ANSWER]}), {"count": 1}],
        {"content": "The launch is on Friday.", "title": "Launch"},
        {"answer": "The launch is on Friday.", "count": 1},
        {"answer": "The launch is on Friday.", "topic": "launch"},
        "The launch is on Friday.",
    ],
)
def test_text_of_an_output(output: object) -> None:
    assert read_output(output, {"messages": [QUESTION], "topic": "launch"}).text == "The launch is on Friday."


@pytest.mark.parametrize(
    "output", [None, {}, {"messages": []}, {"count": 3}, {"a": "x", "b": "y"}, Command(goto="next"), {"answer": " "}, 7]
)
def test_output_without_a_text(output: object) -> None:
    assert read_output(output, {}).text == ""


def test_named_channel_is_the_text() -> None:
    assert read_output({"for": "yes", "against": "no"}, {}, channel="against").text == "no"
    assert read_output({"for": "yes"}, {}, channel="against").text == ""


def test_messages_of_earlier_turns_are_not_read_again() -> None:
    before = {"messages": [QUESTION, ANSWER]}
    assert read_output({"messages": [QUESTION, ANSWER]}, before).text == ""
    assert read_output({"messages": [QUESTION, ANSWER, AIMessage("At noon.", id="b")]}, before).text == "At noon."


def test_tool_results_are_apart_from_the_text() -> None:
    output = read_output({"messages": [RESULT, ANSWER]}, {})
    assert output.text == "The launch is on Friday."
    assert [tool.name for tool in output.tools] == ["count_rows"]


def test_context_message_is_neither_read_nor_returned() -> None:
    messages = insert_context([QUESTION, ANSWER], CONTEXT)
    outputs: list[object] = [{"messages": messages}, messages, Command(update={"messages": messages})]
    for output in outputs:
        assert CONTEXT_ID not in str(remove_from_output(output))
        assert read_output(output, {}).text == "The launch is on Friday."


def test_other_outputs_are_returned_as_they_are() -> None:
    for output in (None, {"messages": [ANSWER]}, Command(goto="next"), 7, [ANSWER]):
        assert remove_from_output(output) is output
