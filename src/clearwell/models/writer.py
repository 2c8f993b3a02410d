"""The writer of insights: asks a language model for one statement from several outputs, which it is shown as data.

Each sentence is kept only if it cites an output that the model was shown.
"""

import json
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, combinations
from string import Template
from typing import Final, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clearwell.errors import JudgeUnavailable, WriterUnavailable
from clearwell.messages import Language
from clearwell.models.answers import extract_object
from clearwell.models.judge import detect_language
from clearwell.models.prompts import load_prompt
from clearwell.models.quotation import escape_hidden, fence
from clearwell.ports import AnswerForm, ChatMessage, ChatModel
from clearwell.records import Contradiction, Json, Layer, Sentence, WriterSource, WrittenInsight

NAME: Final = "insight"
MAX_SOURCES: Final = 20
"""More outputs on the same subject add nothing; the first are the most central."""
MIN_CHARS: Final = 200
MAX_SENTENCES: Final = 2
HEADLINE_CHARS: Final[dict[Language, int]] = {"en": 200, "zh": 90}
REASON_CHARS: Final = 300
MAX_CONTRADICTIONS: Final = 10
MAX_SIDES: Final = 4
MIN_SIDES: Final = 2

Sides: TypeAlias = tuple[tuple[UUID, ...], ...]
"""The outputs on each side of a dispute."""

SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "sources": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["text", "sources"],
                "additionalProperties": False,
            },
        },
        "contradictions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sides": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
                    "why": {"type": "string"},
                },
                "required": ["sides", "why"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["sentences", "contradictions"],
    "additionalProperties": False,
}

CODES: Final = {
    "judge_timeout": "writer_timeout",
    "judge_unreachable": "writer_unreachable",
    "judge_rate_limited": "writer_rate_limited",
    "judge_key_refused": "writer_not_accepted",
    "judge_not_found": "writer_not_accepted",
    "judge_refused": "writer_not_accepted",
    "judge_declined": "writer_declined",
    "judge_answer_cut": "writer_cut",
    "judge_answer_empty": "writer_nonsense",
    "judge_budget_spent": "writer_budget_spent",
    "judge_asks_to_wait": "writer_rate_limited",
    "judge_broken_off": "writer_broken_off",
    "judge_closed": "writer_broken_off",
    "judge_answer_too_large": "writer_unreadable",
    "judge_answer_unreadable": "writer_unreadable",
}
"""The error codes of the chat model are named after the judge. These are the equivalent codes of a writer."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Sentence(_Part):
    text: str
    sources: list[int] = Field(default_factory=list)


class _Contradiction(_Part):
    sides: list[list[int]] = Field(default_factory=list)
    why: str = ""


class _Answer(_Part):
    sentences: list[_Sentence]
    contradictions: list[_Contradiction] = Field(default_factory=list)


class LLMWriter:
    """Asks a chat model to summarise several outputs in one or two cited sentences."""

    def __init__(self, chat: ChatModel, *, max_chars: int = 12000) -> None:
        self._chat = chat
        self._max_chars = max_chars

    @property
    def model(self) -> str:
        return self._chat.model

    async def write(self, sources: Sequence[WriterSource]) -> WrittenInsight:
        shown = sources[: min(MAX_SOURCES, max(1, self._max_chars // MIN_CHARS))]
        language = detect_majority_language([source.statement for source in shown])
        try:
            answer = await self._chat.complete(self._make_messages(shown, language), form=_make_form(language))
        except JudgeUnavailable as error:
            raise translate_error(error, self.model) from error
        return self._read_answer(answer, {number: one.log_id for number, one in enumerate(shown, start=1)})

    def _make_messages(self, shown: Sequence[WriterSource], language: Language) -> list[ChatMessage]:
        parts, nonce = load_prompt(NAME, language), secrets.token_hex(8)
        room = max(MIN_CHARS, self._max_chars // len(shown))
        outputs = [_show(number, one, parts, nonce=nonce, room=room) for number, one in enumerate(shown, start=1)]
        question = parts["question"].substitute(output="\n\n".join(outputs), id=nonce)
        return [ChatMessage("system", parts["system"].substitute()), ChatMessage("user", question)]

    def _read_answer(self, answer: str, ids: Mapping[int, UUID]) -> WrittenInsight:
        try:
            found = _Answer.model_validate(json.loads(extract_object(answer)))
        except (ValidationError, ValueError, RecursionError) as error:
            # Without the answer itself: it may repeat an output, and errors are logged.
            raise WriterUnavailable("writer_nonsense", model=self.model, chars=len(answer)) from error
        cited = list(_select_sentences(found, ids))
        if not cited:
            raise WriterUnavailable("writer_uncited", model=self.model, count=len(found.sentences))
        sentences = _fit(cited)
        if not sentences:
            limit = _find_limit(cited[0].text)
            raise WriterUnavailable("writer_too_long", model=self.model, limit=limit)
        disputes = list(_select_disputes(found, ids))
        return WrittenInsight(
            sentences=sentences,
            contradictions=tuple(one for sides, why in disputes for one in _oppose(sides, why)),
            sides=disputes[0][0] if disputes else (),
            dropped=len(found.sentences) - len(sentences),
        )


def translate_error(error: JudgeUnavailable, model: str) -> WriterUnavailable:
    """Return the same error as an error of the digest model."""
    code = CODES.get(error.code, "writer_server_error")
    # Digests are read by operators and reviewers, who may see the address and the server's message.
    return WriterUnavailable(code, **{**error.detail, **error.params, "model": model})


def _show(number: int, source: WriterSource, parts: Mapping[str, Template], *, nonce: str, room: int) -> str:
    statement = fence(source.statement, nonce=nonce, max_chars=room).text
    text = parts["source"].substitute(number=number, statement=statement)
    left = room - len(source.statement)
    if not source.passage or left < MIN_CHARS:
        return text
    passage = fence(source.passage, nonce=nonce, max_chars=left).text
    return f"{text}\n{parts['passage'].substitute(passage=passage)}"


def detect_majority_language(texts: Sequence[str]) -> Language:
    chinese = sum(detect_language(text) == "zh" for text in texts)
    return "zh" if 2 * chinese > len(texts) else "en"


def _make_form(language: Language) -> AnswerForm:
    parts = load_prompt(NAME, language)
    in_json, in_words = parts["in_json"].substitute(), parts["in_words"].substitute()
    return AnswerForm(name=NAME, schema=SCHEMA, in_json=in_json, in_words=in_words)


def _select_sentences(found: _Answer, ids: Mapping[int, UUID]) -> Iterator[Sentence]:
    """Yield the sentences that cite only outputs that were shown. One wrong number excludes the sentence."""
    for sentence in found.sentences:
        text = re.sub(
            r"\s*[\[（(]\s*\d+(?:\s*[,，、]\s*\d+)*\s*[\]）)]\s*(?=[.。!！?？;；]?$)", "", escape_hidden(sentence.text)
        )
        if text and _is_cited(sentence, ids):
            yield Sentence(text=text, sources=tuple(dict.fromkeys(ids[number] for number in sentence.sources)))


def _fit(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Return the first sentences that fit into a headline."""
    limit = _find_limit(sentences[0].text)
    chars = list(accumulate(len(sentence.text) + 1 for sentence in sentences[:MAX_SENTENCES]))
    return tuple(sentence for sentence, end in zip(sentences, chars, strict=False) if end <= limit + 1)


def _find_limit(text: str) -> int:
    return HEADLINE_CHARS[detect_language(text)]


def _is_cited(sentence: _Sentence, ids: Mapping[int, UUID]) -> bool:
    return bool(sentence.text.strip() and sentence.sources) and all(number in ids for number in sentence.sources)


def _select_disputes(found: _Answer, ids: Mapping[int, UUID]) -> Iterator[tuple[Sides, str]]:
    """Yield the sides of each contradiction, and what contradicts. An output on two sides is on neither."""
    for contradiction in found.contradictions[:MAX_CONTRADICTIONS]:
        named = Counter(number for side in contradiction.sides for number in set(side))
        shown = [
            [ids[number] for number in side if number in ids and named[number] == 1] for side in contradiction.sides
        ]
        sides = tuple(tuple(dict.fromkeys(side)) for side in shown if side)[:MAX_SIDES]
        why = escape_hidden(contradiction.why)[:REASON_CHARS]
        if why and len(sides) >= MIN_SIDES:
            yield sides, why


def _oppose(sides: Sides, why: str) -> Iterator[Contradiction]:
    """Yield a contradiction for the first outputs of every two sides."""
    for one, other in combinations(sides, 2):
        yield Contradiction(
            of=one[0], against=other[0], layer=Layer.QUARANTINE, reason="contradiction_by_model", params={"why": why}
        )
