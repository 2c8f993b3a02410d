"""Reads a clear YES or NO to "is it consistent?", with or without an explanation, in English or Chinese.

What is not clear is no answer: both words, "No contradictions" (which means yes), or an explanation that says the
opposite of the word before it, as from a model that has answered another question.
"""

import re
from dataclasses import dataclass
from typing import Final

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
"""Ends right before what it denies."""
LINK: Final = re.compile(r"(?:[\s,，、]|and|or|evident|obvious|clear|any|和|或|及|与|明显的?|自相)*", re.IGNORECASE)
"""Between two things that are denied together."""


@dataclass(frozen=True, slots=True)
class YesNo:
    yes: bool
    explanation: str


def yes_no(text: str) -> YesNo | None:
    """The answer; None where it is none, or not clear."""
    text = text[:CHARS_READ]
    said = VERDICT.match(text)
    if said is None or _is_determiner(said):
        return None
    yes, rest = said["yes"] is not None, text[said.end() :]
    if BOTH.match(rest) or _gainsays(rest, yes=yes):
        return None
    return YesNo(yes, rest.lstrip(AFTER_STOP))


def _is_determiner(said: re.Match[str]) -> bool:
    """The answer NO stops after the word; "No contradictions" does not."""
    return (said["no"] or "").lower() == "no" and said["stop"] is None


def _gainsays(explanation: str, *, yes: bool) -> bool:
    faults, sound = _claims(explanation)
    return faults > 0 if yes else sound > 0 and faults == 0


def _claims(explanation: str) -> tuple[int, int]:
    """How often a fault is claimed, and how often soundness is. A denied fault is a claim of soundness."""
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
