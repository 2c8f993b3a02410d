"""The assessor of evidence: asks a language model which pieces of evidence support or contradict a claim.

The claim and the evidence are shown to the model as data. It cites evidence by number. A citation of anything that it
was not shown is dropped, and a rating without a citation is an error.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clearwell.errors import JudgeUnavailable
from clearwell.messages import Language
from clearwell.models.answers import REASON_CHARS, extract_object, is_copied
from clearwell.models.judge import detect_language
from clearwell.models.prompts import load_prompt
from clearwell.models.quotation import escape_hidden, fence
from clearwell.ports import AnswerForm, ChatMessage, ChatModel
from clearwell.records import AssessedEvidence, Assessment, Evidence, FactCheckMethod, Json, Stance

NAME: Final = "fact_check"
MIN_CHARS: Final = 200
"""Minimum number of characters shown of the claim and of each piece of evidence."""

SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},  # first: a model that gives its reason first judges better
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "stance": {"type": "string", "enum": ["supports", "contradicts"]},
                    "quote": {"type": "string"},
                },
                "required": ["number", "stance", "quote"],
                "additionalProperties": False,
            },
        },
        "rating": {"type": "string", "enum": ["supported", "contradicted", "unknown"]},
    },
    "required": ["reason", "evidence", "rating"],
    "additionalProperties": False,
}
_NEEDED: Final = {"supported": Stance.SUPPORTS, "contradicted": Stance.CONTRADICTS}


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Cited(_Part):
    number: int | str
    stance: str = ""
    quote: str = ""


class _Answer(_Part):
    rating: Literal["supported", "contradicted", "unknown"]
    evidence: list[_Cited] = Field(default_factory=list)
    reason: str = ""


class LLMAssessor:
    """Asks a chat model which evidence supports or contradicts a claim."""

    method: Final = FactCheckMethod.LLM

    def __init__(self, chat: ChatModel, *, max_chars: int = 8000) -> None:
        self._chat = chat
        self._max_chars = max_chars

    @property
    def model(self) -> str | None:
        return self._chat.model

    async def assess(self, claim: str, evidence: Sequence[Evidence]) -> Assessment:
        language = detect_language(claim)
        answer = await self._chat.complete(self._make_messages(claim, evidence, language), form=_make_form(language))
        return self._read_answer(answer, claim, evidence)

    def _make_messages(self, claim: str, evidence: Sequence[Evidence], language: Language) -> list[ChatMessage]:
        parts, nonce = load_prompt(NAME, language), secrets.token_hex(8)
        room = max(MIN_CHARS, self._max_chars // (1 + len(evidence)))
        pieces = [_show(piece, parts, nonce=nonce, room=room) for piece in evidence]
        question = parts["question"].substitute(
            claim=fence(claim, nonce=nonce, max_chars=room).text, evidence="\n\n".join(pieces), id=nonce
        )
        return [ChatMessage("system", parts["system"].substitute()), ChatMessage("user", question)]

    def _read_answer(self, answer: str, claim: str, evidence: Sequence[Evidence]) -> Assessment:
        said = extract_object(answer)
        try:
            found = _Answer.model_validate(json.loads(said))
        except (ValidationError, ValueError, RecursionError) as error:
            # Without the answer itself: it may repeat a memory, and errors are logged.
            raise JudgeUnavailable("assessor_nonsense", model=self.model, chars=len(answer)) from error
        if any(is_copied(said, shown) for shown in (claim, *(piece.content for piece in evidence))):
            raise JudgeUnavailable("judge_echo", model=self.model)
        cited = tuple(_select_cited(found, {piece.number for piece in evidence}))
        needed = _NEEDED.get(found.rating)
        if needed is not None and needed not in {one.stance for one in cited}:
            raise JudgeUnavailable("assessor_uncited", model=self.model, count=len(found.evidence))
        explanation = escape_hidden(found.reason)[:REASON_CHARS]
        return Assessment(evidence=cited, undecided=needed is None, explanation=explanation)


def _show(piece: Evidence, parts: Mapping[str, Template], *, nonce: str, room: int) -> str:
    return parts["verified" if piece.verified else "unverified"].substitute(
        number=piece.number,
        date=f"{piece.said_at:%Y-%m-%d}",
        text=fence(piece.content, nonce=nonce, max_chars=room).text,
    )


def _select_cited(found: _Answer, shown: set[int]) -> Iterator[AssessedEvidence]:
    """Yield the citations of evidence that was shown, each piece once."""
    seen: set[int] = set()
    for cited in found.evidence:
        if cited.number in shown - seen and cited.stance in set(Stance):
            seen.add(int(cited.number))
            yield AssessedEvidence(number=int(cited.number), stance=Stance(cited.stance), quote=cited.quote)


def _make_form(language: Language) -> AnswerForm:
    parts = load_prompt(NAME, language)
    in_json, in_words = parts["in_json"].substitute(), parts["in_words"].substitute()
    return AnswerForm(name=NAME, schema=SCHEMA, in_json=in_json, in_words=in_words)
