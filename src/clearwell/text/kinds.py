"""Classify segments: decide which lines and sentences of an output are claims and decisions.

The rules use the first words of a segment, its content, and the heading and lead-in above it. The word lists are in
``words/kinds_en.toml`` and ``words/kinds_zh.toml``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from clearwell.text.imperatives import continues_instruction, has_verb, is_imperative
from clearwell.text.marks import remove_marks
from clearwell.text.words import words
from clearwell.vocabulary import SegmentKind

_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")
_SPEAKER: Final = re.compile(r"\[[^\]\n]{1,80}\]\s*(?:[^:：\n]{1,40}[:：]\s*)?")
"""The time and the speaker before a turn of a conversation."""
_LABEL: Final = re.compile(r"(?P<label>[^:：\n]{1,60})[:：]\s+(?=\S)")
_PROPERTY: Final = re.compile(
    r"(?:purpose|goals?|aim|role|function|responsibility|duty|description)$|\S*[_().]\S*$|\w+\(.*\)$"
)
"""A label followed by a description that reads like an instruction, such as the name of a function."""
_CODE_LABEL: Final = re.compile(r"[*_]{0,2}`[^`\n]{1,60}`[*_]{0,2}[:：]")
_SUBJECT: Final = re.compile(r"(?:the|an?|each|every|no|if|when) ")
"""The beginning of a sentence that is not an imperative."""
_PROMISE: Final = re.compile(r"(?:if|when|once|as soon as) [^,;]{1,80}, (?:i|we)(?:['’]ll| will| shall)\b")
"""What the speaker does afterwards, behind an instruction."""
_CLAUSE_END: Final = re.compile(r"[,;] |[，；：]|[.!。！] ?(?=.)")
_STATEMENTS: Final = frozenset({SegmentKind.CLAIM, SegmentKind.DECISION})
_STATES_VALUE: Final = re.compile(
    r"(?:是|为|共|不超过|至少|不少于)[^，。；]{0,12}\d|\b(?:is|are|was|were|takes?|took|lasts?|costs?) [^,.;]{0,20}\d"
)
"""An item that states a value is a fact, also in a plan: the window is 15 minutes."""
_REASON: Final = re.compile(r"; |[；：]")
_NOUN_PHRASE: Final = re.compile(r"(?:the|an?) (?:\S+ ){1,20}\S+$")
_NAMED: Final = re.compile(r"[\u3400-\u9fff]{2}|\b[A-Z]\w+ [A-Z]\w+")
"""A name of two words, or in Chinese."""
_DASH: Final = re.compile(r"\w\S* [-–—] \w")
_PROTOCOL_MARK: Final = re.compile(r"</?[A-Za-z][^>\n]{0,60}>.{0,40}|[A-Z_]{4,}[.!]?")
_QUESTION: Final = re.compile(r"[?？]$|^[\"'“‘(（「『].*[?？][\"'”’)）」』]+$|吗[。”’」』]*$", re.DOTALL)
"""A question. A sentence that ends with one in quotation marks is none: The paper is titled "Which is better?"."""
_LOG_LINE: Final = re.compile(
    r"Traceback \(|File \"[^\"]+\", line|Error \w+ing [^:]{1,60}: |\w*(?:Error|Exception|Warning): |\^+$|[~=\-_*]{4,}$|https?://\S+$"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG)\]?[:\s]|\$ \w|>>> |!\[[^\]]*\]\(\S+\)$"
)
_STATUS: Final = re.compile(
    r"no (?:(?!(?:was|were|is|are|has|have|had|will|can)\b)[\w-]+ ){1,4}"
    r"(?:found|detected|available|returned|matched|provided|specified|given)(?: [\w -]{1,60})?[.!]?"
)
"""A message of a program, without a verb."""
_PROGRESS: Final = re.compile(r"\(?\w+ing\b.{0,100}(?:\.{3}|…)(?: ?(?:done|ok|\d{1,3} ?%))?[.!]?", re.IGNORECASE)
_FAILURE: Final = re.compile(r"(?:could not|cannot|unable to|failed to|not able to) [a-z]+ ")
"""What a program reports, without a subject: what it does, and what failed."""
_CONJUNCTION: Final = re.compile(r"(?:and|or|but|nor|because|which|whereas)\b(?!.*,)")
"""The beginning of a clause without its main clause."""
_TASK: Final = re.compile(r"^\[(?P<done>[ xX✓✔])\]\s+")
"""The box of a task in a list, ticked or not."""
_CODE_LINE: Final = re.compile(
    r"(?:def|class|import|const|let|var|function|public|private|static|package|struct|fn|async) [\w.*{]+.*$"
    r"|from \S+ import "
    r"|return\b[^.]*$|(?:if|for|while|elif|with|try|else|except|switch)\b.*[:{]$|@\w+(?:\(.*\))?$|#include|#!/|</?\w+[^>]*>$"
    r"|[{}\[\]();,]+$|(?:pip|npm|git|sudo|apt|apt-get|cd|curl|docker|python3?|conda|brew) [\w./-]+"
    r"|SELECT |'''|\"\"\"|//|/\*|<!--"
)
_CODE_END: Final = re.compile(r"[;{]$|^[\w.\[\]\"']+ ?[-+*/]?=[^=]|^[\w.]+\(.*\)$|==|!=|&&|\|\||=>|->")
_CODE_SPAN: Final = re.compile(r"`[^`\n]*`")
_PROSE: Final = re.compile(r"[A-Za-z]{2,},? [a-z]{2,},? [a-z]{2,}")
_FILE_NAME: Final = re.compile(r"[\w./\\-]+\.\w{1,5}")
_NAME: Final = re.compile(r"(?<=[\w,;:'’)] )[\"'“‘]?[A-Z][\w’'-]+|(?<=\w )[A-Z]{2,}")
_DIGIT: Final = re.compile(r"\d")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_LONG_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_LATIN_WORD: Final = re.compile(r"[A-Za-z][!-~]*")
_CHINESE_END: Final = re.compile(r"[\u3400-\u9fff].*[。！？；]$", re.DOTALL)
_PARTICLE: Final = re.compile(r"[的了是在为被把将]")
_PAUSES: Final = ",;: "
_POINTING: Final = re.compile(
    r"(?:(?:however|currently|additionally|also|but|and|so|therefore|thus), )?"
    r"(?:this|these|those|it|its|they|their|he|she|such|both|that (?:is|was)|the (?:same|latter|former))\b"
    r"|[这那该其它他她此]"
)
"""The beginning of a sentence that refers to something before it."""
_SHORT_ENGLISH: Final = 4
_SHORT_CHINESE: Final = 8
_MAX_NOTICES: Final = 3
_FEWEST_WORDS: Final = 3
_FEWEST_CHARACTERS: Final = 5
_FEWEST_IN_ROW: Final = 4


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one language."""

    notices: re.Pattern[str]
    consequences: re.Pattern[str]
    chatter: re.Pattern[str]
    longest_chatter: int
    soft: re.Pattern[str]
    findings: re.Pattern[str]
    instructions: re.Pattern[str]
    intentions: re.Pattern[str]
    decisions: re.Pattern[str]
    open_headings: re.Pattern[str]
    instruction_headings: re.Pattern[str]
    description_headings: re.Pattern[str]
    actions: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence or line to be classified, with its context."""

    text: str
    """The text as it is written, without its list marker."""
    above: str = ""
    """The nearest heading and the lead-in above it."""
    in_list: bool = False
    in_table: bool = False
    after_instruction: bool = False
    """Whether the sentence before it in its paragraph is an instruction."""


def classify(passage: Passage) -> SegmentKind:
    """Return the kind of a sentence, a line or a row of a table."""
    task = _TASK.match(passage.text) if passage.in_list else None
    if task is not None:
        if not task["done"].strip():
            return SegmentKind.INTENTION
        passage = replace(passage, text=passage.text[task.end() :], above="")
    text = passage.text
    if _PROTOCOL_MARK.fullmatch(text):
        return SegmentKind.FRAGMENT
    if _LOG_LINE.match(text):
        return SegmentKind.PAGE
    if is_code(text):
        return SegmentKind.CODE
    bare = remove_marks(_skip_speaker(text))
    chinese = is_chinese(bare)
    if passage.in_table:
        return SegmentKind.CLAIM if _says_something(bare, chinese) else SegmentKind.FRAGMENT
    if bare.endswith((":", "：")):
        return SegmentKind.STRUCTURE
    if _QUESTION.search(bare):
        return SegmentKind.QUESTION
    return _classify_sentence(bare, passage, chinese)


def _classify_sentence(bare: str, passage: Passage, chinese: bool) -> SegmentKind:
    rules = _rules("zh" if chinese else "en")
    if not _CODE_LABEL.match(passage.text):
        bare = _skip_notices(bare, rules)
    lower = bare.lower()
    length = _count_words(bare, chinese)
    if rules.chatter.match(lower) and (length <= rules.longest_chatter or not _is_specific(bare, lower, rules)):
        return _classify_after_chatter(bare, rules)
    if not _has_words(bare, chinese) or (not passage.in_list and opens_with_conjunction(bare)):
        return SegmentKind.FRAGMENT
    if rules.actions.match(lower) or _is_program_message(bare, lower, rules):
        return SegmentKind.PAGE
    if rules.instructions.search(lower) or (not chinese and _tells_to_act(lower, passage)):
        return SegmentKind.CLAIM if _adds_claim(bare, lower, rules) else SegmentKind.INSTRUCTION
    if rules.decisions.search(lower):
        return SegmentKind.DECISION
    if rules.intentions.search(lower):
        return SegmentKind.INTENTION
    if rules.soft.match(lower) and not _is_specific(bare, lower, rules):
        return SegmentKind.CHATTER
    return _classify_by_context(bare, lower, passage, chinese)


def _classify_after_chatter(bare: str, rules: _Rules) -> SegmentKind:
    """Return the kind of a sentence that opens as small talk: a claim if a later clause states a number, a name or a
    finding."""
    pause = _CLAUSE_END.search(bare)
    rest = bare[pause.end() :].lstrip() if pause else ""
    if not rest or not _is_specific(rest, rest.lower(), rules) or rules.chatter.match(rest.lower()):
        return SegmentKind.CHATTER
    kind = _classify_sentence(rest, Passage(rest), is_chinese(rest))
    return kind if kind in _STATEMENTS else SegmentKind.CHATTER


def _is_program_message(bare: str, lower: str, rules: _Rules) -> bool:
    """Return whether a sentence is what programs print: a status, a progress or a failure, without a reason."""
    if _PROGRESS.fullmatch(bare) or (_STATUS.fullmatch(lower) and not _NAME.search(bare)):
        return True
    return _FAILURE.match(lower) is not None and not rules.consequences.search(lower)


def _skip_notices(bare: str, rules: _Rules) -> str:
    """Return the sentence without introductory words that only announce it."""
    for _ in range(_MAX_NOTICES):
        notice = rules.notices.match(bare.lower())
        if notice is None or notice.end() == len(bare):
            break
        bare = bare[notice.end() :]
    return bare


def _adds_claim(bare: str, lower: str, rules: _Rules) -> bool:
    """Return whether an instruction also states a fact: what happens otherwise, or a claim behind it."""
    consequence = rules.consequences.search(lower)
    if consequence and not is_imperative(lower[consequence.end() :].lstrip(_PAUSES)):
        return True
    stop = _REASON.search(bare)
    if stop is None:
        return False
    reason = bare[stop.end() :]
    chinese = is_chinese(reason)
    if _PROMISE.match(reason.lower()) or (chinese and not rules.findings.search(reason)):
        return False
    return _classify_sentence(reason, Passage(reason), chinese) is SegmentKind.CLAIM


def _classify_by_context(bare: str, lower: str, passage: Passage, chinese: bool) -> SegmentKind:
    if passage.in_list:
        above = remove_marks(passage.above).lower()
        rules = _rules("zh" if is_chinese(above) else "en")
        if rules.open_headings.search(above) and not _STATES_VALUE.search(lower):
            return SegmentKind.INTENTION
        if rules.instruction_headings.search(above) and not (
            _is_specific(bare, lower, rules) or (not chinese and _describes(lower))
        ):
            return SegmentKind.INSTRUCTION
    if chinese or has_verb(lower) or (passage.in_list and _names_property(bare, lower, passage.text)):
        return SegmentKind.CLAIM
    return SegmentKind.FRAGMENT


def _describes(lower: str) -> bool:
    """Return whether an English line is a sentence about something: The score is shown at the top."""
    label = _LABEL.match(lower)
    return _SUBJECT.match(lower, label.end() if label else 0) is not None and has_verb(lower)


def _names_property(bare: str, lower: str, text: str) -> bool:
    """Return whether a line without a verb states a property: Weight: 4 kg, Owner: Li Na, `main.py`: Entry point."""
    label = _LABEL.match(lower)
    if label is None:
        return _DASH.search(bare) is not None
    if _DIGIT.search(bare) or _NAMED.search(bare, label.end()) or _CODE_LABEL.match(text):
        return True
    return is_imperative(lower[label.end() :]) or _NOUN_PHRASE.match(lower, label.end()) is not None


def is_code(text: str) -> bool:
    """Return whether a line is code, a command or only the name of a file."""
    if _FILE_NAME.fullmatch(text):
        return True
    if not (_CODE_LINE.match(text) or _CODE_END.search(text)):
        return False
    outside = _CODE_SPAN.sub("", text)
    return not (_PROSE.search(outside) or is_chinese(outside))


def opens_with_conjunction(line: str) -> bool:
    """Return whether a line is a part of the sentence before it: it begins with a conjunction in lower case."""
    return _CONJUNCTION.match(line) is not None


def remove_task_box(line: str) -> str:
    """Return a line without the box of a task before it."""
    return _TASK.sub("", line) if line.startswith("[") else line


def may_be_claim(text: str) -> bool:
    """Return whether a line can be a claim if the output has no other: a few words that are not small talk."""
    bare = remove_marks(_skip_speaker(text))
    chinese = is_chinese(bare)
    if (
        _PROTOCOL_MARK.fullmatch(text)
        or _QUESTION.search(bare)
        or _rules("zh" if chinese else "en").chatter.match(bare.lower())
    ):
        return False
    return _has_words(bare, chinese, fewest=_FEWEST_WORDS) and not opens_with_conjunction(bare)


def needs_context(bare: str) -> bool:
    """Return whether a statement needs its context: it is a part of a sentence, or refers to something with "this"."""
    if is_chinese(bare):
        return len(bare) < _SHORT_CHINESE or points_back(bare)
    lower = bare.lower()
    if _LABEL.match(bare):
        return False
    if len(lower.split()) < _SHORT_ENGLISH or bare[:1].islower() or not has_verb(lower):
        return True
    return points_back(bare) or is_imperative(lower)


def points_back(bare: str) -> bool:
    """Return whether a statement begins with a word that refers to something before it: this, they, 该."""
    return _POINTING.match(bare.lower()) is not None


@cache
def tool_output_pattern() -> re.Pattern[str]:
    """Return the pattern of lines that announce the output of a tool. It matches from the beginning of the line."""
    announcements = "|".join(part for language in ("en", "zh") for part in words(f"kinds_{language}")["tool_output"])
    return re.compile(rf"^[ \t>*#-]{{0,8}}(?:{announcements})", re.IGNORECASE | re.MULTILINE)


def is_chinese(text: str) -> bool:
    """Return whether a text is Chinese rather than English: it has at least two Chinese characters per Latin word.

    Fewer are enough in a sentence that ends or is joined as Chinese sentences are: Redis 的 maxmemory 是 4GB。
    """
    if text.isascii():
        return False
    characters = len(_CHINESE.findall(text))
    others = len(_LATIN_WORD.findall(text))
    if characters >= 2 * others or characters == 0:
        return characters > 0
    return _CHINESE_END.search(text) is not None or (characters >= others and _PARTICLE.search(text) is not None)


def _says_something(row: str, chinese: bool) -> bool:
    """Return whether a row of a table has a number and a word, or enough words."""
    if _DIGIT.search(row):
        return _WORD.search(row) is not None
    return _count_words(row, chinese) >= _FEWEST_IN_ROW and (chinese or len(_LONG_WORD.findall(row)) > 1)


def _skip_speaker(text: str) -> str:
    speaker = _SPEAKER.match(text)
    return text[speaker.end() :] or text if speaker else text


def _count_words(bare: str, chinese: bool) -> int:
    return len(_CHINESE.findall(bare)) if chinese else len(bare.split())


def _has_words(bare: str, chinese: bool, fewest: int = 0) -> bool:
    """Return whether a line has enough different words for a statement. In Chinese, its characters are counted."""
    if chinese:
        different = set(_CHINESE.findall(bare)) | set(_LATIN_WORD.findall(bare))
        return len(different) >= (fewest or _FEWEST_CHARACTERS)
    return len(set(bare.split())) >= _FEWEST_WORDS


def _is_specific(bare: str, lower: str, rules: _Rules) -> bool:
    """Return whether a sentence has a number, a name, a cause or a finding."""
    return bool(_DIGIT.search(bare) or _NAME.search(bare) or rules.findings.search(lower))


def _tells_to_act(lower: str, passage: Passage) -> bool:
    """Return whether an English sentence begins with a verb, possibly after the label of a list item.

    After the name of a function, the word "purpose" or below a heading like "features", it is a description, unless the
    heading or lead-in also announces instructions.
    """
    label = _LABEL.match(lower)
    described = label is not None and passage.in_list and _SUBJECT.match(lower, label.end())
    if not described and (is_imperative(lower) or (passage.after_instruction and continues_instruction(lower))):
        return True
    if label is None or not is_imperative(lower[label.end() :]):
        return False
    rules, above = _rules("en"), passage.above.lower()
    if not passage.in_list:
        return rules.instruction_headings.search(label["label"]) is not None
    if not (
        _PROPERTY.match(label["label"]) or _CODE_LABEL.match(passage.text) or rules.description_headings.search(above)
    ):
        return True
    return bool(rules.instruction_headings.search(above) or rules.open_headings.search(above))


@cache
def _rules(language: str) -> _Rules:
    lists = words(f"kinds_{language}")
    return _Rules(
        notices=_any_of(lists["notices"]),
        consequences=_any_of(lists["consequences"], inside=language == "en"),
        chatter=_any_of(lists["chatter_openings"]),
        longest_chatter=lists["longest_chatter"],
        soft=_any_of(lists["soft_openings"]),
        findings=_any_of(lists["findings"], inside=language == "en"),
        instructions=_any_of(lists["instructions"], inside=language == "en"),
        intentions=_any_of(pattern.replace("<work>", _working_verbs(language)) for pattern in lists["intentions"]),
        decisions=_any_of(lists["decisions"], inside=language == "en"),
        open_headings=_any_of(lists["open_headings"], inside=language == "en"),
        instruction_headings=_any_of(lists["instruction_headings"], inside=language == "en"),
        description_headings=_any_of(lists["description_headings"], inside=language == "en"),
        actions=_any_of(lists["actions"]),
    )


def _working_verbs(language: str) -> str:
    """Return a pattern of the verbs for what an agent does next."""
    return "|".join(words(f"kinds_{language}")["work"].split())


def _any_of(patterns: Iterable[str], *, inside: bool = False) -> re.Pattern[str]:
    """Return one pattern for all. Patterns that are searched inside English text match from the beginning of a word."""
    found = "|".join(patterns)
    return re.compile(rf"\b(?:{found})" if inside else f"(?:{found})")
