"""The context message, and the texts in a list of messages.

The context of an agent is a user message, because memories are data and not instructions. It is inserted into what the
model reads and is never returned to the state, so that it neither piles up in a conversation nor is captured.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

M = TypeVar("M")

CONTEXT_ID: Final = "clearwell-context"
"""The id of the context message. It is fixed, so that a second context replaces the first in every list of messages."""


def insert_context(messages: Sequence[BaseMessage], context: str) -> list[BaseMessage]:
    """Insert the context before the question, which is the last message of a user, or at the end if there is none."""
    others = remove_context(messages)
    if not context:
        return others
    places = [place for place, message in enumerate(others) if isinstance(message, HumanMessage)]
    place = places[-1] if places else len(others)
    return [*others[:place], HumanMessage(content=context, id=CONTEXT_ID), *others[place:]]


def remove_context(messages: Sequence[M]) -> list[M]:
    """The messages without the context message."""
    return [message for message in messages if not is_context(message)]


def is_context(message: object) -> bool:
    """Whether this is the message that ``insert_context`` made."""
    return isinstance(message, BaseMessage) and message.id == CONTEXT_ID


def find_question(messages: Iterable[object]) -> str:
    """The text of the last message of a user; empty if there is none."""
    questions = [read_text(message) for message in messages if isinstance(message, HumanMessage)]
    return questions[-1] if questions else ""


def find_new(messages: Iterable[object], before: Iterable[object]) -> list[BaseMessage]:
    """The messages that were not there before. Messages are compared by their ids; one without an id is new."""
    known = {message.id for message in before if isinstance(message, BaseMessage) and message.id is not None}
    return [
        message
        for message in messages
        if isinstance(message, BaseMessage) and not is_context(message) and message.id not in known
    ]


def list_answers(messages: Iterable[BaseMessage]) -> list[str]:
    """The texts that the model wrote. A message that only calls tools has none."""
    texts = [read_text(message) for message in messages if isinstance(message, AIMessage)]
    return [text for text in texts if text.strip()]


def list_tool_results(messages: Iterable[BaseMessage]) -> list[ToolMessage]:
    """The results of tools among the messages."""
    return [message for message in messages if isinstance(message, ToolMessage)]


def read_text(message: BaseMessage) -> str:
    """The text of a message without its images, tool calls and reasoning."""
    return str(message.text)
