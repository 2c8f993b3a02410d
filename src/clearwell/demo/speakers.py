"""Who speaks in the council: the script, or a language model that is configured for digests."""

from typing import Protocol

from clearwell.demo.script import Meeting, Turn
from clearwell.errors import ClearwellError
from clearwell.messages import Language, say
from clearwell.middleware import NodeContext
from clearwell.ports import ChatMessage, ChatModel


class Speaker(Protocol):
    """Says what a node of the meeting says."""

    async def speak(self, meeting: Meeting, turn: Turn, context: NodeContext) -> str: ...


class ScriptedSpeaker:
    """Says what the script says, whatever the context is."""

    async def speak(self, meeting: Meeting, turn: Turn, context: NodeContext) -> str:  # noqa: ARG002
        return turn.text


class ModelSpeaker:
    """Asks a language model for the turns of the debate and of the chair. The rest is scripted.

    If the model fails, the script speaks, and ``problem`` says why.
    """

    def __init__(self, chat: ChatModel, language: Language) -> None:
        self._chat = chat
        self._language: Language = language
        self.problem: str | None = None

    async def speak(self, meeting: Meeting, turn: Turn, context: NodeContext) -> str:
        if turn in meeting.asides or not context.messages:
            return turn.text
        task = ChatMessage(role="user", content=say("demo_task", self._language, topic=meeting.topic))
        messages = [ChatMessage(role=one.role, content=one.content) for one in context.messages]
        try:
            return (await self._chat.complete([*messages, task])).strip() or turn.text
        except ClearwellError as error:
            self.problem = error.text(self._language)
            return turn.text
