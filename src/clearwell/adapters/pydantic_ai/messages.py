"""The texts in messages of a run, and the context among them.

The context of an agent is a part of the user, because memories are data and not instructions. It is inserted into what
one request sends, and never into the history of the run.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)

from clearwell.middleware.nodes import format_output


def find_question(messages: Sequence[ModelMessage]) -> tuple[int, str] | None:
    """The place of the message with the question, and its text: the last that a user wrote; None if there is none.

    A tool can return contents for the user's side of the conversation. They are no question, unless there is no other.
    """
    asked = [
        (place, any(isinstance(part, ToolReturnPart) for part in message.parts), text)
        for place, message in enumerate(messages)
        if isinstance(message, ModelRequest) and (text := read_prompt(message)).strip()
    ]
    questions = [found for found in asked if not found[1]] or asked
    return (questions[-1][0], questions[-1][2]) if questions else None


def insert_context(messages: Sequence[ModelMessage], place: int, context: str) -> list[ModelMessage]:
    """The messages with the context as a part of the user before the question. The given messages do not change."""
    request = messages[place]
    if not isinstance(request, ModelRequest):
        return [*messages]
    first = next(number for number, part in enumerate(request.parts) if isinstance(part, UserPromptPart))
    parts = [*request.parts[:first], UserPromptPart(context), *request.parts[first:]]
    return [*messages[:place], replace(request, parts=parts), *messages[place + 1 :]]


def read_prompt(request: ModelRequest) -> str:
    """What the user wrote in a message, without images and other files."""
    return "\n".join(text for part in request.parts if isinstance(part, UserPromptPart) for text in _list_texts(part))


def read_unfinished(messages: Sequence[ModelMessage]) -> str:
    """What a model had written when its run was stopped; empty if its last response was complete."""
    last = messages[-1] if messages else None
    if not isinstance(last, ModelResponse) or last.state == "complete":
        return ""
    return last.text or ""


def read_tool_result(name: str, call_id: str, result: Any) -> str:
    """The text of what a tool returned, as the model reads it, without images and other files."""
    value = result.return_value if isinstance(result, ToolReturn) else result
    try:
        return ToolReturnPart(name, value, call_id).model_response_str()
    except ValueError:  # it cannot be written as JSON
        return format_output(value)


def _list_texts(part: UserPromptPart) -> list[str]:
    if isinstance(part.content, str):
        return [part.content]
    texts = [item.content if isinstance(item, TextContent) else item for item in part.content]
    return [text for text in texts if isinstance(text, str)]
