"""The channels of a graph's state: what a node asks, where its context goes, and what it wrote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Final, cast

from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages
from langgraph.types import Command
from pydantic import BaseModel

from clearwell.adapters.chat.messages import (
    find_new,
    find_question,
    insert_context,
    is_context,
    list_answers,
    list_tool_results,
    remove_context,
)
from clearwell.flow.context.retrieval_node import HISTORY, QUERY_FIELDS

MESSAGES: Final = "messages"
CONTENT: Final = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOutput:
    """What a node wrote: its texts, and the results of the tools that it ran."""

    texts: tuple[str, ...] = ()
    tools: tuple[ToolMessage, ...] = ()

    @property
    def text(self) -> str:
        """All of what it wrote; empty if it wrote nothing."""
        return "\n\n".join(self.texts)


def read_channels(state: object) -> dict[str, object]:
    """The channels of a state, which may be a mapping, a pydantic model, a dataclass or a list of messages."""
    if isinstance(state, Mapping):
        return dict(state)
    if isinstance(state, BaseModel):
        return {name: getattr(state, name) for name in type(state).model_fields}
    if is_dataclass(state) and not isinstance(state, type):
        return {field.name: getattr(state, field.name) for field in fields(state)}
    return {MESSAGES: state} if _is_messages(state) else {}


def read_state(channels: Mapping[str, object]) -> dict[str, object]:
    """The channels that memory reads, with the question of the user as the content if no channel has a text to ask."""
    texts = {name: value for name, value in channels.items() if name != MESSAGES}
    if any(isinstance(texts.get(name), str) and str(texts[name]).strip() for name in QUERY_FIELDS):
        return texts
    return {**texts, CONTENT: find_question(_list_messages(channels))}


def add_context(state: object, context: str, *, channel: str | None) -> object:
    """Return the state as the node reads it: with a context message, or with the context in a channel.

    Without ``channel`` it is a message if the state has messages, else the channel ``history_context``. A model or
    dataclass that does not have the channel stays as it is.
    """
    if not context:
        return state
    channels = read_channels(state)
    name = channel or (MESSAGES if MESSAGES in channels else HISTORY)
    if name == MESSAGES:
        return _set_channel(state, MESSAGES, insert_context(_list_messages(channels), context))
    return _set_channel(state, name, context)


def remove_from_output(output: object) -> object:
    """Return the output of a node without the context message, which a subgraph returns with its other messages."""
    if isinstance(output, Command):
        update = remove_from_output(output.update)
        return output if update is output.update else replace(output, update=update)
    if isinstance(output, Mapping) and any(is_context(message) for message in _list_messages(output)):
        return {**output, MESSAGES: remove_context(_list_messages(output))}
    if _is_messages(output) and any(is_context(message) for message in _as_list(output)):
        return remove_context(_as_list(output))
    return output


def read_output(output: object, before: Mapping[str, object], *, channel: str | None = None) -> NodeOutput:
    """Read what a node wrote.

    It is the text of ``channel`` if that is named; else what the model wrote into the messages; else the channel
    ``content``; else the text that the node changed, if it changed only one.
    """
    if isinstance(output, str):
        return NodeOutput(texts=_drop_blank([output]))
    updates = _list_updates(output)
    new = [message for update in updates for message in find_new(_list_messages(update), _list_messages(before))]
    texts = [text for update in updates for text in _read_texts(update, before, channel)]
    return NodeOutput(texts=_drop_blank(texts), tools=tuple(list_tool_results(new)))


def _read_texts(update: Mapping[str, object], before: Mapping[str, object], channel: str | None) -> list[str]:
    if channel is not None and channel != MESSAGES:
        value = update.get(channel)
        return [value] if isinstance(value, str) else []
    if MESSAGES in update:
        return list_answers(find_new(_list_messages(update), _list_messages(before)))
    changed = {name: value for name, value in update.items() if isinstance(value, str) and value != before.get(name)}
    if CONTENT in changed:
        return [changed[CONTENT]]
    return list(changed.values()) if len(changed) == 1 else []


def _drop_blank(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip())


def _list_updates(output: object) -> list[Mapping[str, object]]:
    """The updates of an output: a mapping, a message, a state object, a command, or a list of these."""
    if output is None:
        return []
    if isinstance(output, Command):
        return _list_updates(output.update)
    if isinstance(output, BaseMessage):
        return [{MESSAGES: [output]}]
    if _is_pairs(output):
        return [dict(cast(Sequence[tuple[str, object]], output))]
    if isinstance(output, list | tuple) and not _is_messages(output):
        return [update for part in output for update in _list_updates(part)]
    channels = read_channels(output)
    return [channels] if channels else []


def _set_channel(state: object, name: str, value: object) -> object:
    if isinstance(state, Mapping):
        return {**state, name: value}
    if isinstance(state, BaseModel):
        return state.model_copy(update={name: value}) if name in type(state).model_fields else state
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, **{name: value}) if hasattr(state, name) else state
    return value if name == MESSAGES and _is_messages(state) else state


def _list_messages(channels: Mapping[str, object]) -> list[BaseMessage]:
    value = channels.get(MESSAGES)
    if isinstance(value, BaseMessage):
        return [value]
    return [message for one in _as_list(value) for message in _convert(one)]


def _convert(value: object) -> list[BaseMessage]:
    """A message, or what LangGraph also accepts as one; nothing if it is neither."""
    if isinstance(value, BaseMessage):
        return [value]
    try:
        return convert_to_messages([value])  # type: ignore[list-item]
    except (ValueError, TypeError, NotImplementedError):
        return []


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, Iterable) else []


def _is_messages(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, BaseMessage) for one in value)


def _is_pairs(value: object) -> bool:
    """Whether this is an update as pairs of a channel and its value."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in value)
    )
