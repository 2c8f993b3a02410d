"""The judge of self-consistency: asks a language model about one text, which is shown to it as data."""

import re
import secrets
from dataclasses import replace
from typing import Final

from clearwell.errors import JudgeUnavailable
from clearwell.messages import Language
from clearwell.models.answers import SCHEMA, CutAnswer, Echo, NoAnswer, is_yes_or_no, read_answer
from clearwell.models.prompts import load_prompt
from clearwell.models.quotation import FencedText, fence
from clearwell.ports import AnswerForm, ChatMessage, ChatModel
from clearwell.records import Judgement

NAME: Final = "self_consistency"
HAN: Final = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")
OTHER_WORDS: Final = re.compile(r"[A-Za-z]+|[\u3040-\u30ff]")
"""Latin words and kana: text with kana is Japanese, although it has Han characters."""


class LLMJudge:
    """Asks a chat model whether a text contradicts itself or evidently makes things up."""

    def __init__(self, chat: ChatModel, *, max_chars: int = 8000) -> None:
        self._chat = chat
        self._max_chars = max_chars

    @property
    def model(self) -> str:
        return self._chat.model

    async def judge(self, content: str) -> Judgement:
        nonce = secrets.token_hex(8)
        shown = fence(content, nonce=nonce, max_chars=self._max_chars)
        language = detect_language(content[: self._max_chars])
        answer = await self._chat.complete(_make_messages(shown, nonce, language), form=_make_form(language))
        return replace(self._read_answer(answer, content), cut=shown.left_out > 0)

    def _read_answer(self, answer: str, content: str) -> Judgement:
        try:
            return read_answer(answer, content=content)
        except CutAnswer as error:
            raise JudgeUnavailable("judge_answer_cut", model=self.model) from error
        except Echo as error:
            raise JudgeUnavailable("judge_echo", model=self.model) from error
        except NoAnswer as error:
            # Without the answer itself: it may repeat the text, and errors are logged.
            raise JudgeUnavailable("judge_nonsense", model=self.model, chars=len(answer)) from error


def detect_language(text: str) -> Language:
    """Return Chinese if a text has more Han characters than other words, else English."""
    return "zh" if len(HAN.findall(text)) > len(OTHER_WORDS.findall(text)) else "en"


def _make_messages(shown: FencedText, nonce: str, language: Language) -> list[ChatMessage]:
    parts = load_prompt(NAME, language)
    note = "\n\n" + parts["left_out"].substitute(count=shown.left_out) if shown.left_out else ""
    question = parts["question"].substitute(output=shown.text + note, id=nonce)
    return [ChatMessage("system", parts["system"].substitute()), ChatMessage("user", question)]


def _make_form(language: Language) -> AnswerForm:
    parts = load_prompt(NAME, language)
    in_json, in_words = parts["in_json"].substitute(), parts["in_words"].substitute()
    return AnswerForm(name=NAME, schema=SCHEMA, in_json=in_json, in_words=in_words, is_in_words=is_yes_or_no)
