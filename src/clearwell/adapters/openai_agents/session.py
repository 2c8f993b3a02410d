"""``ClearwellSession``: a conversation of the SDK whose answers and tool results are captured.

A conversation is not in memory. The SDK needs it back word for word, and agents cannot read quarantine, where captures
are; so the items stay in a session of the SDK that this one wraps. Memories are not in the conversation either: the SDK
asks a session for its items before it shows it the question. ``ClearwellHooks.add_context`` adds them.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agents import RunContextWrapper, SessionSettings, TResponseInputItem
from agents.memory import Session as ConversationSession

from clearwell.adapters.openai_agents.hooks import has_hooks
from clearwell.adapters.openai_agents.items import read_content, read_message
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.middleware.bridge import MiddlewareBridge


class ClearwellSession:
    """Wraps a session: ``Runner.run(agent, question, session=ClearwellSession(SQLiteSession("standup"), middleware))``.

    What the assistant says and what tools return is captured when the SDK adds it, in the session of the same id. Items
    do not name their agent: it is ``agent_id``. In a run with ``ClearwellHooks``, these capture and the session does
    not. Other methods are those of the wrapped session.
    """

    def __init__(
        self,
        inner: ConversationSession,
        middleware: MemoryMiddleware,
        *,
        group: str | None = None,
        agent_id: str = "assistant",
        tools: bool = True,
    ) -> None:
        self._inner = inner
        self._bridge = MiddlewareBridge(middleware)
        self._group = group
        self._agent_id = agent_id
        self._captures_tools = tools
        self._tools: dict[str, str] = {}
        self._passes_run = "wrapper" in inspect.signature(inner.add_items).parameters

    @property
    def session_id(self) -> str:
        """The id of the conversation, and of the session in memory."""
        return self._inner.session_id

    @session_id.setter
    def session_id(self, value: str) -> None:
        self._inner.session_id = value

    @property
    def session_settings(self) -> SessionSettings | None:
        """The settings of the wrapped session."""
        return self._inner.session_settings

    @session_settings.setter
    def session_settings(self, value: SessionSettings | None) -> None:
        self._inner.session_settings = value

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """The conversation, or its last items."""
        return await self._inner.get_items(limit, **self._pass(wrapper))

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Add items to the conversation, and capture what the assistant says and what tools return."""
        await self._inner.add_items(items, **self._pass(wrapper))
        if not has_hooks(wrapper):
            self._capture(items)

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """Remove the last item from the conversation. What was captured of it stays captured."""
        return await self._inner.pop_item(**self._pass(wrapper))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Remove the conversation. What was captured of it stays captured."""
        await self._inner.clear_session(**self._pass(wrapper))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def _pass(self, wrapper: RunContextWrapper[Any] | None) -> dict[str, Any]:
        """The run as an argument, for an inner session that wants it."""
        return {"wrapper": wrapper} if self._passes_run else {}

    def _capture(self, items: Sequence[TResponseInputItem]) -> None:
        session = Session(self.session_id, group_id=self._group)
        for item in items:
            fields = cast(Mapping[str, object], item)
            kind = fields.get("type")
            if kind == "function_call":
                self._tools[str(fields.get("call_id"))] = str(fields.get("name"))
            elif kind == "function_call_output" and self._captures_tools:
                name = self._tools.pop(str(fields.get("call_id")), "tool")
                node = Node(name, type="tool", agent_id=self._agent_id)
                self._bridge.capture(session, node, read_content(fields.get("output")))
            elif fields.get("role") == "assistant":
                node = Node(self._agent_id, agent_id=self._agent_id)
                self._bridge.capture(session, node, read_message(item))
