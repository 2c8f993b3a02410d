"""Reads what a judge answered: the JSON that was asked for, or a clear YES or NO. Anything else is no answer.

The JSON may stand alone, in a code fence or in prose, but only once, and not where the very text that was to be
judged holds it: then it is a quotation.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict

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
BRACES_TRIED: Final = 50


class NoAnswer(ValueError):
    """Neither the JSON that was asked for nor a clear YES or NO."""


class CutAnswer(NoAnswer):
    """JSON that ends in its middle."""


class Echo(NoAnswer):
    """The answer is a piece of the text that was to be judged."""


def _flag(value: object) -> object:
    """Some models write true and false as words."""
    words = value.strip().lower() if isinstance(value, str) else None
    return {"true": True, "false": False}.get(words, value) if words is not None else value


Flag = Annotated[bool, BeforeValidator(_flag)]


class _Answer(BaseModel):
    """The object of the schema. Quotations may be missing, the two findings may not."""

    model_config = ConfigDict(strict=True, extra="ignore")

    contradiction: Flag
    hallucination: Flag
    contradiction_quote: str | None = None
    hallucination_quote: str | None = None
    reason: str | None = None


def read_answer(answer: str, *, content: str) -> Judgement:
    """The judgement on ``content``. Raises NoAnswer."""
    text = _aloud(answer)
    objects = list(_objects(text))
    if text.startswith("{") and not (objects and text.startswith(objects[0])):
        raise NoAnswer if text.endswith("}") else CutAnswer
    if len(objects) > 1:
        raise NoAnswer
    said = objects[0] if objects else text
    judgement = _from_json(said) if objects else _from_words(text)
    bare_word = not objects and not judgement.reason
    if not bare_word and _plain(said) in _plain(content):
        raise Echo
    return judgement


def is_yes_or_no(answer: str) -> bool:
    """Whether it is a clear word without the JSON: the answer to a question in words."""
    text = _aloud(answer)
    return "{" not in text and yes_no(text) is not None


def only_object(answer: str) -> str:
    """The one JSON object of an answer, in prose or in a code fence; an answer with none or many as it is."""
    text = _aloud(answer)
    objects = list(_objects(text))
    return objects[0] if len(objects) == 1 else text


def _aloud(answer: str) -> str:
    """Without the thoughts of models that think aloud, on servers that do not take them out."""
    return answer.rpartition("</think>")[2].strip()


def _objects(text: str) -> Iterator[str]:
    """The JSON objects in a text, each as it is written, but not those inside another."""
    start, decoder = -1, json.JSONDecoder()
    for _ in range(BRACES_TRIED):
        start = text.find("{", start + 1)
        if start < 0:
            return
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        yield text[start:end]
        start = end - 1


def _plain(text: str) -> str:
    """For comparing: a model may change the spaces and take the escapes out of what it copies."""
    return re.sub(r"[\s\\]+", "", text).casefold()


def _from_json(text: str) -> Judgement:
    try:
        found = _Answer.model_validate(json.loads(text, object_pairs_hook=_once))
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
