"""The texts in items of a conversation, and the context among them.

The context of an agent is an item of the user, because memories are data and not instructions.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from agents import (
    ItemHelpers,
    ModelResponse,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    TResponseInputItem,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage

from clearwell.middleware.nodes import format_output


def find_question(items: Sequence[TResponseInputItem]) -> tuple[int, str] | None:
    """The place and the text of the question: the last message of a user, else the last message of anyone.

    The history of a handoff can be one message of the assistant. None if there is no message with a text.
    """
    texts = [(place, item.get("role"), read_message(item)) for place, item in enumerate(items)]
    messages = [(place, role, text) for place, role, text in texts if text.strip()]
    asked = [message for message in messages if message[1] == "user"] or messages
    return (asked[-1][0], asked[-1][2]) if asked else None


def insert_context(items: Sequence[TResponseInputItem], place: int, context: str) -> list[TResponseInputItem]:
    """The items with the context as an item of the user before this place."""
    added = cast(TResponseInputItem, {"role": "user", "content": context})
    return [*items[:place], added, *items[place:]]


def read_message(item: TResponseInputItem) -> str:
    """The text of a message; empty for items that are none, such as calls of tools."""
    fields = cast(Mapping[str, object], item)
    return read_content(fields.get("content")) if "role" in fields else ""


def read_content(content: object) -> str:
    """A text, or the texts among the parts of a content. Images, files and refusals have none."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def read_response(response: ModelResponse) -> str:
    """What a model wrote: its text, else the arguments of the call that it made instead."""
    messages = [ItemHelpers.extract_text(item) for item in response.output if isinstance(item, ResponseOutputMessage)]
    if text := "\n".join(message for message in messages if message):
        return text
    calls = [item.arguments for item in response.output if isinstance(item, ResponseFunctionToolCall)]
    return calls[0] if len(calls) == 1 and calls[0].strip() not in ("", "{}") else ""


def read_tool_result(result: object) -> str:
    """The text of what a tool returned. Images and files have none."""
    parts = [*result] if isinstance(result, list | tuple) else [result]
    if not parts or not all(
        isinstance(part, ToolOutputText | ToolOutputImage | ToolOutputFileContent) for part in parts
    ):
        return format_output(result)
    return "\n".join(part.text for part in parts if isinstance(part, ToolOutputText))
