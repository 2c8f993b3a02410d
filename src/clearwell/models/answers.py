"""Read the answer of a judge: the requested JSON, or a clear YES or NO. Anything else is not an answer.

The JSON may be alone, in a code fence or in prose, but must occur only once. JSON that is copied from the judged text
is not an answer. A YES or NO to "is it consistent?" is accepted in English and Chinese, with or without an explanation.
An answer is unclear if it has both words, begins with "No contradictions" (which means yes), or has an explanation that
says the opposite of the word before it, as from a model that answered another question.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict

from clearwell.models.quotation import escape_hidden
from clearwell.records import Json, Judgement

QUOTE_CHARS: Final = 200
REASON_CHARS: Final = 300
UNSAID: Final = "-"
"""Used as the quotation if a judge reports a finding without a quotation or a reason."""

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

CHARS_READ: Final = 4000
LEAD: Final = r"(?:(?:(?:the|my) )?(?:answer|verdict)(?: is)?|(?:答案|回答|结论|判断)(?:是|为)?)\s{0,3}[:：]?"
YES: Final = r"(?P<yes>yes|consistent|是的?|一致|自洽)"
NO: Final = r"(?P<no>no|inconsistent|not consistent|否|不一致|不自洽)"
STOP: Final = r"[*_`\"'”’)）]+|\s*(?:$|[.,:;!\n。，：；！、—–-])|\s+(?:because|since)\b"
VERDICT: Final = re.compile(
    rf"[\W_]{{0,20}}(?:{LEAD})?[\W_]{{0,20}}(?:{YES}|{NO})(?![\w-])(?P<stop>{STOP})?", re.IGNORECASE
)
BOTH: Final = re.compile(r"\W{0,10}(?:or|and|或者?|和)?\W{0,10}(?:yes|no|是|否)(?!\w|\s+\w)", re.IGNORECASE)
AFTER_STOP: Final = " \t\r\n.,:;!*_`。，：；！、—–-"

FAULT: Final = r"\bcontradict\w*|\binconsisten\w*|\bhallucinat\w*|\bfabricat\w*|矛盾|不一致|不自洽|幻觉|捏造|编造"
CLAIM: Final = re.compile(rf"(?P<fault>{FAULT})|(?P<sound>\bconsistent\b|一致|自洽)", re.IGNORECASE)
CLAUSE_END: Final = re.compile(r"[.,:;!?。，：；！？、\n]")
DENIAL: Final = re.compile(
    r"(?:\b(?:no|not|never|none|neither|nor|without|free of|free from|cannot)\b|n['’]t\b)"
    r"(?:\W+(?!(?:and|but|which|that|so|because)\b)\w+){0,5}\W*$"
    r"|(?:没有?|无|未|不|并非)(?:任何|明显的?|发现|出现|看到|见|包?含有?|有|存在|自相|前后|互相)*$",
    re.IGNORECASE,
)
"""A denial directly before what it denies."""
LINK: Final = re.compile(r"(?:[\s,，、]|and|or|evident|obvious|clear|any|和|或|及|与|明显的?|自相)*", re.IGNORECASE)
"""What can be between two things that are denied together."""


class NoAnswer(ValueError):
    """Neither the JSON that was asked for nor a clear YES or NO."""


class CutAnswer(NoAnswer):
    """JSON that is cut off before its end."""


class Echo(NoAnswer):
    """The answer is copied from the judged text."""


def _parse_flag(value: object) -> object:
    """Accept true and false as strings, because some models write them as such."""
    words = value.strip().lower() if isinstance(value, str) else None
    return {"true": True, "false": False}.get(words, value) if words is not None else value


Flag = Annotated[bool, BeforeValidator(_parse_flag)]


class _Answer(BaseModel):
    """The object of the schema. The quotations are optional, the two findings are not."""

    model_config = ConfigDict(strict=True, extra="ignore")

    contradiction: Flag
    hallucination: Flag
    contradiction_quote: str | None = None
    hallucination_quote: str | None = None
    reason: str | None = None


def read_answer(answer: str, *, content: str) -> Judgement:
    """Read the judgement on ``content``. Raises NoAnswer."""
    text = _strip_thoughts(answer)
    objects = list(_find_objects(text))
    if text.startswith("{") and not (objects and text.startswith(objects[0])):
        raise NoAnswer if text.endswith("}") else CutAnswer
    if len(objects) > 1:
        raise NoAnswer
    said = objects[0] if objects else text
    judgement = _read_json(said) if objects else _read_words(text)
    bare_word = not objects and not judgement.reason
    if not bare_word and is_copied(said, content):
        raise Echo
    return judgement


def is_yes_or_no(answer: str) -> bool:
    """Return whether the answer is a clear YES or NO without JSON."""
    text = _strip_thoughts(answer)
    return "{" not in text and read_yes_no(text) is not None


def extract_object(answer: str) -> str:
    """Return the only JSON object of an answer, or the whole answer if it has none or several."""
    text = _strip_thoughts(answer)
    objects = list(_find_objects(text))
    return objects[0] if len(objects) == 1 else text


def is_copied(said: str, content: str) -> bool:
    """Return whether an answer is part of the text that it is about: the model repeats it instead of judging it."""
    return _normalise(said) in _normalise(content)


def _strip_thoughts(answer: str) -> str:
    """Remove the reasoning that some models put before the answer, if the server did not."""
    return answer.rpartition("</think>")[2].strip()


def _find_objects(text: str) -> Iterator[str]:
    """Yield the JSON objects in a text as they are written, without nested ones."""
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


def _normalise(text: str) -> str:
    """Normalise for a comparison: a model may change spaces and remove escapes in what it copies."""
    return re.sub(r"[\s\\]+", "", text).casefold()


def _read_json(text: str) -> Judgement:
    try:
        found = _Answer.model_validate(json.loads(text, object_pairs_hook=_reject_duplicate_names))
    except (ValueError, RecursionError) as error:
        raise NoAnswer from error
    reason = _shorten(found.reason, REASON_CHARS)
    return Judgement(
        consistent=not (found.contradiction or found.hallucination),
        contradiction=_choose_quote(found.contradiction_quote, reason) if found.contradiction else None,
        hallucination=_choose_quote(found.hallucination_quote, reason) if found.hallucination else None,
        reason=reason,
    )


def _reject_duplicate_names(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Refuse an object that has a name twice: its value is ambiguous."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _read_words(text: str) -> Judgement:
    said = read_yes_no(text)
    if said is None:
        raise NoAnswer
    return Judgement(consistent=said.yes, reason=_shorten(said.explanation, REASON_CHARS))


def _choose_quote(words: str | None, reason: str) -> str:
    return _shorten(words, QUOTE_CHARS) or reason[:QUOTE_CHARS] or UNSAID


def _shorten(words: str | None, limit: int) -> str:
    return escape_hidden(words or "")[:limit]


@dataclass(frozen=True, slots=True)
class YesNo:
    yes: bool
    explanation: str


def read_yes_no(text: str) -> YesNo | None:
    """Read a YES or NO; None if there is none, or it is not clear."""
    text = text[:CHARS_READ]
    said = VERDICT.match(text)
    if said is None or _is_determiner(said):
        return None
    yes, rest = said["yes"] is not None, text[said.end() :]
    if BOTH.match(rest) or _contradicts(rest, yes=yes):
        return None
    return YesNo(yes, rest.lstrip(AFTER_STOP))


def _is_determiner(said: re.Match[str]) -> bool:
    """Return whether NO belongs to the next word, as in "No contradictions", and is not the answer."""
    return (said["no"] or "").lower() == "no" and said["stop"] is None


def _contradicts(explanation: str, *, yes: bool) -> bool:
    faults, sound = _count_claims(explanation)
    return faults > 0 if yes else sound > 0 and faults == 0


def _count_claims(explanation: str) -> tuple[int, int]:
    """Count how often faults are claimed and how often soundness is. A denied fault claims soundness."""
    faults = sound = end = 0
    denied = False
    for claim in CLAIM.finditer(explanation):
        before = explanation[end : claim.start()]
        listed = end > 0 and LINK.fullmatch(before) is not None
        denied = denied if listed else DENIAL.search(CLAUSE_END.split(before)[-1]) is not None
        is_fault = claim["fault"] is not None
        faults += is_fault is not denied
        sound += is_fault is denied
        end = claim.end()
    return faults, sound
