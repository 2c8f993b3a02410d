"""Reads what a judge answered: the JSON that was asked for, or a clear YES or NO. Anything else is no answer.

The whole answer must be the JSON object (bare or in one code fence), or begin with the word. JSON somewhere in prose
does not count: it may be a quotation of the very text that was to be judged.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from clearwell.models.fence import visible
from clearwell.models.yes_no import yes_no
from clearwell.records import Json, Judgement

QUOTE_CHARS: Final = 200
REASON_CHARS: Final = 300
UNSAID: Final = "-"
"""Stands for a quotation that a judge owes us: it found something and said neither what nor why."""

SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},  # first: a model that gives its reason first judges better
        "contradiction": {"type": "boolean"},
        "contradiction_quote": {"type": "string"},
        "hallucination": {"type": "boolean"},
        "hallucination_quote": {"type": "string"},
    },
    "required": ["reason", "contradiction", "contradiction_quote", "hallucination", "hallucination_quote"],
    "additionalProperties": False,
}
CODE_FENCE: Final = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL | re.IGNORECASE)


class NoAnswer(ValueError):
    """Neither the JSON that was asked for nor a clear YES or NO."""


class CutAnswer(NoAnswer):
    """JSON that ends in its middle."""


class Echo(NoAnswer):
    """The answer is a piece of the text that was to be judged."""


class _Answer(BaseModel):
    """The object of the schema. Quotations may be missing, the two findings may not."""

    model_config = ConfigDict(strict=True, extra="ignore")

    contradiction: bool
    hallucination: bool
    contradiction_quote: str | None = None
    hallucination_quote: str | None = None
    reason: str | None = None


def read_answer(answer: str, *, content: str) -> Judgement:
    """The judgement on ``content``. Raises NoAnswer."""
    # Models that think aloud, on servers that do not take it out.
    text = answer.rpartition("</think>")[2].strip()
    if block := CODE_FENCE.fullmatch(text):
        text = block[1]
    judgement = _from_json(text) if text.startswith("{") else _from_words(text)
    bare_word = not text.startswith("{") and not judgement.reason
    if not bare_word and _plain(text) in _plain(content):
        raise Echo
    return judgement


def _plain(text: str) -> str:
    """For comparing: a model may change the spaces and take the escapes out of what it copies."""
    return re.sub(r"[\s\\]+", "", text).casefold()


def _from_json(text: str) -> Judgement:
    try:
        found = _Answer.model_validate(json.loads(text, object_pairs_hook=_once))
    except json.JSONDecodeError as error:
        raise (NoAnswer if text.endswith("}") else CutAnswer) from error
    except (ValueError, RecursionError) as error:
        raise NoAnswer from error
    reason = _short(found.reason, REASON_CHARS)
    return Judgement(
        consistent=not (found.contradiction or found.hallucination),
        contradiction=_quote(found.contradiction_quote, reason) if found.contradiction else None,
        hallucination=_quote(found.hallucination_quote, reason) if found.hallucination else None,
        reason=reason,
    )


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """An object that says a thing twice says nothing."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _from_words(text: str) -> Judgement:
    said = yes_no(text)
    if said is None:
        raise NoAnswer
    return Judgement(consistent=said.yes, reason=_short(said.explanation, REASON_CHARS))


def _quote(words: str | None, reason: str) -> str:
    return _short(words, QUOTE_CHARS) or reason[:QUOTE_CHARS] or UNSAID


def _short(words: str | None, limit: int) -> str:
    return visible(words or "")[:limit]
