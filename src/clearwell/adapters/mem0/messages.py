"""Messages of a conversation, as ``add`` takes them, and the outputs that are captured of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from clearwell.adapters.mem0.owner import MemoryOwner
from clearwell.errors import InvalidInput
from clearwell.records import Json, NewCapture

Messages: TypeAlias = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
ROLE: Final = "role"
ACTOR: Final = "actor_id"
"""In the metadata of an output that was a message: the role, and the name of who wrote it."""
NODE_TYPES: Final = {"assistant": "agent"}
"""Other roles are node types of their own; a ``tool`` is one already."""


def make_captures(messages: Messages, owner: MemoryOwner, metadata: Mapping[str, Any] | None) -> list[NewCapture]:
    """One capture for each message with a text, except for those of the system. Raises InvalidInput if there is none.

    A text alone is a message of the user.
    """
    captures = [
        NewCapture(
            content=text,
            group_id=owner.group,
            session_id=owner.session_id,
            node_id=role,
            node_type=NODE_TYPES.get(role, role),
            agent_id=owner.agent_id,
            metadata=cast(dict[str, Json], {**(metadata or {}), ROLE: role, **({ACTOR: name} if name else {})}),
        )
        for role, name, text in _read_messages(messages)
        if role != "system" and text.strip()
    ]
    if not captures:
        raise InvalidInput("mem0_messages", field="messages")
    return captures


def _read_messages(messages: object) -> Iterator[tuple[str, str | None, str]]:
    """The role, the name and the text of each message."""
    if isinstance(messages, str):
        yield "user", None, messages
    elif isinstance(messages, Mapping):
        name = messages.get("name")
        yield str(messages.get(ROLE) or "user"), str(name) if name else None, _read_text(messages.get("content"))
    elif isinstance(messages, Sequence):
        for message in messages:
            yield from _read_messages(message)
    else:
        raise InvalidInput("mem0_messages", field="messages")


def _read_text(content: object) -> str:
    """The text of a message, whose content may be a list of parts with images among them."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)
