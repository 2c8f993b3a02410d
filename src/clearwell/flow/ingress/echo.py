"""The echo guard: a memory that an agent repeats is a citation of it, not a new piece of evidence.

Retrieval puts memories into prompts inside fences that carry their ids. What comes back between such fences is taken
for what it is, if it is that memory; what comes back without them is recognised by the words it shares with memories
that were recalled. A sentence that shares its words and changes a fact is no echo: people recall and correct.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from uuid import UUID

from clearwell.caches import MIB, TextCache
from clearwell.comparison import Kind, denies, read_features
from clearwell.flow.context.fencing import escape_markup
from clearwell.messages import catalogue
from clearwell.ports import StatementComparison
from clearwell.records import Relation, Section
from clearwell.text.normalisation import normalise
from clearwell.text.sentences import split_sentences

FENCE = re.compile(
    r"<memory\s+id\s*=\s*[\"'“”]?([0-9a-fA-F-]{36})[\"'“”]?[^>]{0,200}>(.*?)(?:</memory\s*>|\Z)", re.DOTALL
)
HEADING = re.compile(r"^\s*(#{1,6} .*(历史上下文|History).*|\d+\. \[[⚡✅].{0,200}\])\s*$", re.MULTILINE)
ITEM_LABEL = re.compile(r"^\s*\d+\. \[(?:⚡️?|✅)[^\]\n]{0,200}\]\s*", re.MULTILINE)
BLANKS = dict.fromkeys(map(ord, "\u2800\u3164\uffa0"), " ")
"""Characters that are shown as nothing and are no white space."""
SHINGLE = 5
LONGEST = 20_000
MAX_SENTENCES = 200
MAX_COMPARED = 20
"""Sentences that are nearly what was recalled; those that are exactly so cost nothing."""
MAX_NEAR = 5
WHOLE_FENCE = 0.8
SURELY_A_FENCE = 200
ALIKE = 0.95
MIN_SHARED = 0.05


@dataclass(frozen=True, slots=True)
class OwnText:
    """What an agent said itself, and which memories it repeated inside their fences.

    ``shown`` is the whole with a mark in the place of each such memory; None where there is none. ``quoted`` are the
    places of those memories in the whole.
    """

    text: str
    cited: tuple[UUID, ...] = ()
    shown: str | None = None
    quoted: tuple[tuple[int, int], ...] = field(default=(), compare=False)


def find_fenced_ids(text: str) -> tuple[UUID, ...]:
    """Return the ids that fences name, whether or not their content is that memory."""
    found = (_id(fence) for fence in FENCE.finditer(text))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def remove_fences(text: str, memories: Mapping[UUID, str]) -> OwnText:
    """Return the text without the fences whose content is the memory that they name.

    The content of any other fence counts as the agent's own words.
    """
    cited: list[UUID] = []
    quoted: list[tuple[int, int]] = []

    def leave_out(fence: re.Match[str]) -> str:
        memory_id = _id(fence)
        if memory_id is None or not _equals_memory(fence.group(2), memories.get(memory_id, "")):
            return fence.group()
        cited.append(memory_id)
        quoted.append(fence.span())
        return _mark(memory_id)

    shown = FENCE.sub(leave_out, text)
    if not cited:
        return OwnText(text)
    shown = HEADING.sub("", ITEM_LABEL.sub("", shown))
    shown = "\n".join(line for line in shown.splitlines() if line.strip() not in _list_frame_lines()).strip()
    own = shown
    for memory_id in set(cited):
        own = own.replace(_mark(memory_id), " ")
    return OwnText(own.strip(), tuple(dict.fromkeys(cited)), shown, tuple(quoted))


def blank_fences(text: str) -> str:
    """The text with line breaks in the place of fences and of what the context builder puts around memories.

    What stands between fences stays, and every character keeps its place. Blanks in disguise become spaces.
    """
    return _replace_fences(text, len)


def drop_fences(text: str) -> str:
    """The same with a single line break for each, for reading the text as a whole."""
    return _replace_fences(text, lambda removed: min(1, len(removed)))


def _replace_fences(text: str, count_breaks: Callable[[str], int]) -> str:
    text = text.translate(BLANKS)
    if not FENCE.search(text):
        return text

    def blank(removed: str) -> str:
        return "\n" * count_breaks(removed)

    def blank_tags(fence: re.Match[str]) -> str:
        whole, inner = fence.group(), fence.group(2)
        opening, closing = fence.start(2) - fence.start(), fence.end(2) - fence.start()
        return blank(whole[:opening]) + inner + blank(whole[closing:])

    plain = ITEM_LABEL.sub(lambda found: blank(found.group()), FENCE.sub(blank_tags, text))
    plain = HEADING.sub(lambda found: blank(found.group()), plain)
    lines = plain.splitlines(keepends=True)
    return "".join(blank(line) if line.strip() in _list_frame_lines() else line for line in lines)


def _mark(memory_id: UUID) -> str:
    return f"[memory {memory_id}]"


def _id(fence: re.Match[str]) -> UUID | None:
    try:
        return UUID(fence.group(1))
    except ValueError:
        return None


def _equals_memory(inside: str, memory: str) -> bool:
    """Whether the text is the memory, the part of it that an injected one is cut to, or whole sentences of it."""
    plain = normalise(inside).strip("…")
    for known in (memory, escape_markup(memory)):
        whole = normalise(known)
        if whole and plain in whole and len(plain) >= min(WHOLE_FENCE * len(whole), SURELY_A_FENCE):
            return True
    quoted = normal_sentences[inside.strip("… ")]
    return bool(quoted) and quoted <= normal_sentences[escape_markup(memory)]


@cache
def _list_frame_lines() -> frozenset[str]:
    """The lines that the context builder puts around memories: nobody's own words."""
    known = catalogue()
    headings = [f"## {text}" for section in Section for text in known[f"context_{section}"].values()]
    return frozenset((*headings, *known["context_reading"].values()))


@dataclass(frozen=True, slots=True)
class Repeat:
    """How much of a text repeats recalled memories, which those are, and whether nothing else is said."""

    share: float
    of: tuple[UUID, ...] = ()
    whole: bool = False


def measure_repeat(
    text: str, recalled: Mapping[UUID, str], comparison: StatementComparison, *, threshold: float, talk: int
) -> Repeat:
    """Sentence by sentence: what stands in a recalled memory, except small talk around it."""
    near = {} if len(text) > LONGEST else _find_near(text, recalled)
    sentences = _sentences(text) if near else []
    if not near or len(sentences) > MAX_SENTENCES:
        return Repeat(0.0)
    exact = {normal for known in near.values() for normal in normal_sentences[known]}
    nearest = dict(list(near.items())[:MAX_NEAR])
    found: dict[str, bool] = {}
    compared = 0
    for sentence in sentences:
        found[sentence] = normalise(sentence) in exact
        if not found[sentence] and compared < MAX_COMPARED:
            compared += 1
            found[sentence] = _repeats(sentence, nearest, comparison, threshold, talk)
    widths = {sentence: len(normalise(sentence)) for sentence in sentences}
    share = sum(widths[one] for one in found if found[one]) / max(1, sum(widths[one] for one in found))
    rest = [sentence for sentence, there in found.items() if not there]
    return Repeat(share, tuple(near), any(found.values()) and is_small_talk(" ".join(rest), talk))


def is_small_talk(text: str, longest: int) -> bool:
    """Too short to be admitted by itself, and tells, denies and corrects nothing: "I agree." and not "Until May."."""
    if len(text) >= longest or _corrects().search(text):
        return False
    read = read_features(text)
    told = any(token.value is not None or token.kind is Kind.NAME for token in read.tokens)
    return not told and not read.negations and not denies(read)


def _repeats(
    sentence: str, near: Mapping[UUID, str], comparison: StatementComparison, threshold: float, talk: int
) -> bool:
    """Whether the words are those of recalled sentences, and so are the facts."""
    own = shingles[sentence]
    known = [one for text in near.values() for one in _sentences(text)]
    most_shared = sorted(known, key=lambda one: -len(own & shingles[one]))[:3]
    if not most_shared:
        return False
    around = _around(sentence, most_shared[0])
    if around is not None:
        return is_small_talk(around, talk)
    covered = len(own & frozenset().union(*(shingles[one] for one in most_shared))) / len(own)
    if covered < threshold:
        return False
    known_texts = (most_shared[0], " ".join(most_shared))
    return any(comparison.compare(sentence, one, ALIKE).relation is Relation.SAME for one in known_texts)


def _around(sentence: str, known: str) -> str | None:
    """What stands before and after a known sentence that another one holds word for word, if it does."""
    whole, part = (" ".join(text.split()).casefold() for text in (sentence, known))
    before, found, after = whole.partition(part.rstrip(".。!！?？;； "))
    return f"{before} {after}" if found else None


def _find_near(text: str, recalled: Mapping[UUID, str]) -> dict[UUID, str]:
    """The recalled memories that share words with a text, the most first."""
    own = shingles[text[:LONGEST]]
    shared = {memory_id: len(own & shingles[known[:LONGEST]]) for memory_id, known in recalled.items()}
    most_first = sorted(shared, key=lambda memory_id: -shared[memory_id])
    return {one: recalled[one] for one in most_first if shared[one] > MIN_SHARED * min(len(own), 200)}


@cache
def _corrects() -> re.Pattern[str]:
    words = tomllib.loads(files("clearwell.flow.ingress").joinpath("correcting.toml").read_text(encoding="utf-8"))
    english, chinese = "|".join(words["en"]["words"].split()), "|".join(words["zh"]["words"].split())
    return re.compile(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE)


def _sentences(text: str) -> list[str]:
    return [part for part in split_sentences(text) if normalise(part)]


def _read_normal_sentences(text: str) -> frozenset[str]:
    return frozenset(map(normalise, _sentences(text)))


def _read_shingles(text: str) -> frozenset[str]:
    plain = normalise(text)
    return frozenset(plain[start : start + SHINGLE] for start in range(max(1, len(plain) - SHINGLE + 1)))


normal_sentences = TextCache(_read_normal_sentences, max_bytes=8 * MIB, bytes_per_character=22)
shingles = TextCache(_read_shingles, max_bytes=28 * MIB, bytes_per_character=125)
"""All runs of five characters of the normalised text; of a shorter text, itself."""


def name_first(ids: Sequence[UUID]) -> str:
    """The ids in words: the first one, and how many more."""
    more = f" (+{len(ids) - 1})" if len(ids) > 1 else ""
    return f"{ids[0]}{more}"
