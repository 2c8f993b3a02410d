"""Sessions, nodes, outputs and contexts: the records on both sides of the middleware.

Sessions and nodes may also be mappings with the same keys. An output is a text, or the protocol's map with ``content``,
``metadata``, ``group_id`` and so on. Values of another type are treated as missing, because what a framework
passes must not break the agent.
"""

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Final, cast
from uuid import UUID

from pydantic_core import to_json

from clearwell.records import ContextItem, Json, Metadata, NewCapture, PromptMessage

QUESTION_FIELDS: Final = ("claim", "topic", "content", "document")
CONFIDENCE_FIELDS: Final = ("confidence", "confidence_score")
RUN: Final = "run"


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a workflow. ``state`` is what its nodes share; the question of a node is read from it."""

    id: str | None = None
    _: KW_ONLY
    group_id: str | None = None
    state: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def from_value(cls, value: "Session | Mapping[str, object]") -> "Session":
        """Accept a session, or a mapping with its fields. Raises TypeError for anything else."""
        if isinstance(value, Session):
            return value
        fields = _require_mapping(value, "session")
        return cls(
            _text(fields, "id", "session_id"),
            group_id=_text(fields, "group_id", "project_id"),
            state=_mapping(fields, "state"),
        )


@dataclass(frozen=True, slots=True)
class Node:
    """A step of a workflow. ``input`` is what it was asked, if that is not in the state of the session."""

    id: str | None = None
    _: KW_ONLY
    type: str = "agent"
    agent_id: str | None = None
    input: str | Mapping[str, object] | None = None

    @classmethod
    def from_value(cls, value: "Node | Mapping[str, object]") -> "Node":
        """Accept a node, or a mapping with its fields. Raises TypeError for anything else."""
        if isinstance(value, Node):
            return value
        fields = _require_mapping(value, "node")
        given = fields.get("input")
        return cls(
            _text(fields, "id", "node_id"),
            type=_text(fields, "type", "node_type") or "agent",
            agent_id=_text(fields, "agent_id"),
            input=given if isinstance(given, str | Mapping) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProblem:
    """Why a context is empty: a stable code, and a sentence in the language of the middleware."""

    code: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """What a node should read before it runs. Memories in it are fenced data, never instructions.

    ``text`` is everything as one text, and ``messages`` the same for a chat API, where a context was built. ``items``
    are the retrieved memories where they are evidence, ``ids`` the ids of the memories in the text. ``state`` is the
    state with ``history_context``, for a memory-retrieval node. ``memories`` are the memories alone with the sentence
    that says how to read them, for frameworks that have prompts and a question of their own. With ``problem`` the rest
    is empty.
    """

    text: str = ""
    memories: str = ""
    messages: tuple[PromptMessage, ...] = ()
    items: tuple[ContextItem, ...] = ()
    ids: tuple[UUID, ...] = ()
    state: Mapping[str, object] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    problem: NodeProblem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExecution:
    """What the middleware knows of an execution: when it began, and the ids of the memories that the node was given.

    It is captured in the metadata under ``run``, so that a meeting can be shown as it was.
    """

    started_at: datetime
    given: tuple[UUID, ...] = ()

    def to_metadata(self) -> Metadata:
        given: list[Json] = [str(one) for one in self.given]
        return {RUN: {"started_at": self.started_at.isoformat(), **({"given": given} if given else {})}}


def read_question(session: Session, node: Node) -> Mapping[str, object]:
    """The fields in which to look for the text that a node asks about. The input of the node comes first."""
    if isinstance(node.input, str):
        return {"topic": node.input}
    return session.state if node.input is None else node.input


def format_output(value: object) -> str:
    """The text of what an agent or a tool returned: a text as it is, anything else as JSON; empty for None."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return to_json(value, fallback=str).decode()
    except ValueError:  # it contains itself, or bytes that are no text
        return str(value)


def make_capture(
    session: Session,
    node: Node,
    output: object,
    *,
    key: str,
    at: datetime,
    default_group: str | None = None,
    reason: str | None = None,
    run: NodeExecution | None = None,
) -> NewCapture | None:
    """The capture of an output, or None if the output has no content.

    ``reason`` says why the output is incomplete: it is then partial, with the reason in its metadata, where ``run`` is
    too.
    """
    fields: Mapping[str, object] = {"content": output} if isinstance(output, str) else _as_mapping(output)
    content = fields.get("content")
    if not isinstance(content, str) or not content.strip():
        return None
    metadata = _mapping(fields, "metadata")
    group = _text(fields, "group_id", "project_id") or session.group_id or default_group
    return NewCapture(
        content=content,
        group_id=group or None,
        session_id=session.id,
        node_id=node.id,
        node_type=node.type,
        agent_id=_text(fields, "agent_id") or _text(metadata, "agent_id") or node.agent_id,
        occurred_at=at,
        metadata={**({} if run is None else run.to_metadata()), **_make_metadata(fields, metadata, reason)},
        partial=reason is not None or fields.get("partial") is True,
        idempotency_key=key,
    )


def _make_metadata(fields: Mapping[str, object], metadata: Mapping[str, object], reason: str | None) -> Metadata:
    """The metadata as JSON, with a confidence that was stated beside it and the reason of a partial output."""
    stated = {name: fields[name] for name in CONFIDENCE_FIELDS if name in fields and name not in metadata}
    given = {**stated, **metadata, **({} if reason is None else {"partial_reason": reason})}
    try:
        clean: Json = json.loads(json.dumps(given, default=str, skipkeys=True))
    except (ValueError, RecursionError):  # it contains itself
        clean = {"metadata_error": "not JSON"}
    return cast(dict[str, Json], clean)


def _require_mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError(f"the {name} must be a {name.title()} or a mapping, not {type(value).__name__}")
    return value


def _as_mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _mapping(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    return _as_mapping(fields.get(name))


def _text(fields: Mapping[str, object], *names: str) -> str | None:
    """The first of these fields that is a text and not empty. Numbers and UUIDs are accepted as ids."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str | int | UUID) and not isinstance(value, bool) and str(value):
            return str(value)
    return None
