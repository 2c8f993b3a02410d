"""The segmenter: asks a language model for the claims and decisions in an output, which it is shown as data."""

import json
import secrets
from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from clearwell.errors import JudgeUnavailable, WriterUnavailable
from clearwell.messages import Language
from clearwell.models.answers import extract_object
from clearwell.models.judge import detect_language
from clearwell.models.prompts import load_prompt
from clearwell.models.quotation import FencedText, fence
from clearwell.models.writer import translate_error
from clearwell.ports import AnswerForm, ChatMessage, ChatModel
from clearwell.records import FoundStatement, Json, SegmentKind

NAME: Final = "statements"

SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "kind": {"type": "string", "enum": ["claim", "decision"]},
                },
                "required": ["text", "kind"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["statements"],
    "additionalProperties": False,
}


class _Statement(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    kind: Literal["claim", "decision"] = "claim"


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    statements: list[_Statement]


class LLMSegmenter:
    """Asks a chat model to quote the claims and decisions in an output."""

    def __init__(self, chat: ChatModel, *, max_chars: int = 12000) -> None:
        self._chat = chat
        self._max_chars = max_chars

    @property
    def model(self) -> str:
        return self._chat.model

    def accepts(self, content: str) -> bool:
        return len(content) <= self._max_chars and not self._fence(content).left_out

    async def find_statements(self, content: str) -> Sequence[FoundStatement]:
        language = detect_language(content)
        try:
            answer = await self._chat.complete(self._make_messages(content, language), form=_make_form(language))
        except JudgeUnavailable as error:
            raise translate_error(error, self.model) from error
        try:
            found = _Answer.model_validate(json.loads(extract_object(answer)))
        except (ValidationError, ValueError, RecursionError) as error:
            # Without the answer itself: it repeats the output, and errors are logged.
            raise WriterUnavailable("writer_nonsense", model=self.model, chars=len(answer)) from error
        return [FoundStatement(one.text, SegmentKind(one.kind)) for one in found.statements]

    def _make_messages(self, content: str, language: Language) -> list[ChatMessage]:
        parts, nonce = load_prompt(NAME, language), secrets.token_hex(8)
        question = parts["question"].substitute(output=self._fence(content, nonce).text, id=nonce)
        return [ChatMessage("system", parts["system"].substitute()), ChatMessage("user", question)]

    def _fence(self, content: str, nonce: str = "") -> FencedText:
        return fence(content, nonce=nonce, max_chars=self._max_chars)


def _make_form(language: Language) -> AnswerForm:
    parts = load_prompt(NAME, language)
    in_json, in_words = parts["in_json"].substitute(), parts["in_words"].substitute()
    return AnswerForm(name=NAME, schema=SCHEMA, in_json=in_json, in_words=in_words)
