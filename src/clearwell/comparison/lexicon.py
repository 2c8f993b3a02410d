"""Look up words in the word lists: synonyms, opposites, negations and stop words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeAlias

import rjieba

from clearwell.text.languages.english import stem
from clearwell.text.words import words

DENYING: Final = ("un", "in", "im", "ir", "il", "dis", "non")
SHORTEST_STEM: Final = 4
"""Minimum number of initial letters that two forms of one word share."""


@cache
def _read_list(name: str) -> frozenset[str]:
    return frozenset(words("en")[name].split())


def are_related_forms(one: str, other: str) -> bool:
    """Return whether two stems are forms of one word: recommend and recommendation, Asia and Asian."""
    shorter = min(len(one), len(other))
    shared = 0
    while shared < shorter and one[shared] == other[shared]:
        shared += 1
    if shared < SHORTEST_STEM or shared < 0.6 * shorter:
        return False
    return all(not rest or rest in _read_list("endings") for rest in (one[shared:], other[shared:]))


def is_negated_form(one: str, other: str) -> bool:
    """Return whether one word is the other with a negative prefix: unreachable and reachable."""
    prefix = one.removesuffix(other)
    return len(other) >= SHORTEST_STEM and prefix in DENYING and one not in _read_list("no_denial")


Poles: TypeAlias = Mapping[str, frozenset[tuple[int, int]]]
_LONGEST_WORD: Final = 40
_SCALES: Final = ("quantity_words", "duty_words")
_AXES: Final = ("complements", "contraries", "opposed_actions")
_PLAIN_LISTS: Final = (
    *("stop", "relations", "clause_words", "list_words"),
    *("negators", "affirmative", "denials", "deniers", "nearly", "restricting", "first_person"),
    "open_questions",
)


class Tie(StrEnum):
    """The relation between two words."""

    SYNONYM = "synonym"
    COMPLEMENT = "complement"
    CONTRARY = "contrary"
    LIKE = "like"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """The word lists of both languages, by key: a stem, a Chinese word, or a phrase joined by underscores."""

    stop: frozenset[str]
    relations: frozenset[str]
    clause_words: frozenset[str]
    list_words: frozenset[str]
    negators: frozenset[str]
    denials: frozenset[str]
    deniers: frozenset[str]
    nearly: frozenset[str]
    affirmative: frozenset[str]
    restricting: frozenset[str]
    first_person: frozenset[str]
    open_questions: frozenset[str]
    """Words that leave open what their clause says."""
    groups: Mapping[str, frozenset[int]]
    complements: Poles
    contraries: Poles
    opposed_actions: Poles
    """What can become of a thing: kept or removed, approved or rejected. Two of them are never true at once."""
    scales: Mapping[str, Mapping[str, int]]
    opposite_characters: frozenset[str]
    surnames: frozenset[str]
    titles: frozenset[str]
    """What can follow a surname instead of a given name."""
    phrases: Mapping[str, Sequence[tuple[str, ...]]]

    def may_carry_facet(self, key: str) -> bool:
        """Return whether a change of this word can change a facet, even if it is a stop word."""
        if key in self.contraries or key in self.complements or key in self.restricting:
            return True
        return any(key in scale for scale in self.scales.values())

    def tie(self, one: str, other: str) -> Tie | None:
        """Return the relation between two different keys, or None."""
        if _are_opposed(self.complements, one, other):
            return Tie.COMPLEMENT
        if _are_opposed(self.contraries, one, other):
            return Tie.CONTRARY
        if not self.groups.get(one, frozenset()).isdisjoint(self.groups.get(other, frozenset())):
            return Tie.SYNONYM
        if one.isascii() and other.isascii():
            if is_negated_form(one, other) or is_negated_form(other, one):
                return Tie.COMPLEMENT
            return Tie.LIKE if are_related_forms(one, other) else None
        return self._chinese_tie(one, other)

    def hooks(self, key: str) -> Iterator[str | int]:
        """Yield index keys of a word, for a fast search: two words without a common index key have no tie."""
        if len(key) > _LONGEST_WORD:
            return
        yield from self.groups.get(key, ())
        for poles in (self.complements, self.contraries):
            yield from (-axis for axis, _ in poles.get(key, ()))
        if not key.isascii():
            yield from key
            if len(key) == 1:
                yield from (pair for pair in self.opposite_characters if key in pair)
        elif len(key) >= SHORTEST_STEM:
            yield key[:SHORTEST_STEM]
            yield from (key[len(prefix) :][:SHORTEST_STEM] for prefix in DENYING if key.startswith(prefix))

    def _chinese_tie(self, one: str, other: str) -> Tie | None:
        if len(one) == len(other):
            changed = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
            if len(changed) == 1 and {"".join(changed[0]), "".join(changed[0][::-1])} & self.opposite_characters:
                return Tie.CONTRARY
        short, long = sorted((one, other), key=len)
        if len(short) > 1 and short in long and len(long) - len(short) <= 1:
            return Tie.LIKE
        return None


def _are_opposed(poles: Poles, one: str, other: str) -> bool:
    theirs = poles.get(other, frozenset())
    return any((axis, 1 - side) in theirs for axis, side in poles.get(one, frozenset()))


def key_of(entry: str) -> tuple[str, ...]:
    """Return the keys of the tokens that an entry of a list has in a text."""
    if entry.isascii():
        return tuple(part if part == "n't" else stem(part) for part in entry.split("_"))
    return tuple(rjieba.cut(entry, hmm=False))


@cache
def lexicon() -> Lexicon:
    """Return the word lists of both languages. They are read once."""
    lists = (words("en"), words("zh"))
    builder = _Builder()
    for one in lists:
        for name in _AXES:
            builder.axes(name, one[name])
        builder.scale_words(one)
    builder.axes("contraries", _inflect(lists[0]["graded"]))
    return builder.build(lists)


def _inflect(pairs: Sequence[str]) -> list[str]:
    """Return each pair of adjectives in the positive, the comparative (-er) and the superlative (-est)."""
    forms = (lambda word: word, lambda word: _grade(word, "er"), lambda word: _grade(word, "est"))
    return [
        " / ".join(" ".join(form(word) for word in side.split()) for side in pair.split("/"))
        for pair in pairs
        for form in forms
    ]


def _grade(word: str, ending: str) -> str:
    if word.endswith("e"):
        return word + ending[1:]
    if word.endswith("y"):
        return word[:-1] + "i" + ending
    if len(word) == 3 and word[1] in "aeiou" and word[2] not in "wxy":
        return word + word[-1] + ending
    return word + ending


class _Builder:
    def __init__(self) -> None:
        self._phrases: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        self._groups: defaultdict[str, set[int]] = defaultdict(set)
        self._poles: dict[str, defaultdict[str, set[tuple[int, int]]]] = {name: defaultdict(set) for name in _AXES}
        self._scales: dict[str, dict[str, int]] = {name: {} for name in _SCALES}
        self._axis = 0
        self._group = 0

    def key(self, entry: str) -> str:
        parts = key_of(entry)
        if len(parts) > 1:
            self._phrases[parts[0]].add(parts)
        return ("_" if parts[0].isascii() else "").join(parts)

    def keys(self, entries: Iterable[str]) -> frozenset[str]:
        return frozenset(self.key(entry) for entry in entries)

    def group(self, entries: Iterable[str]) -> None:
        self._group += 1
        for entry in entries:
            self._groups[self.key(entry)].add(self._group)

    def axes(self, name: str, pairs: Iterable[str]) -> None:
        for pair in pairs:
            self._axis += 1
            for side, entries in enumerate(pair.split("/")):
                if name != "opposed_actions":
                    self.group(entries.split())
                for entry in entries.split():
                    self._poles[name][self.key(entry)].add((self._axis, side))

    def scale_words(self, lists: Mapping[str, Any]) -> None:
        for name in _SCALES:
            for level, entries in enumerate(lists[name]):
                for entry in entries.split():
                    self._scales[name].setdefault(self.key(entry), level)

    def build(self, lists: Sequence[Mapping[str, Any]]) -> Lexicon:
        merged = {
            name: self.keys(entry for one in lists for entry in _entries(one.get(name, ""))) for name in _PLAIN_LISTS
        }
        return Lexicon(
            **merged,
            groups={key: frozenset(groups) for key, groups in self._groups.items()},
            complements={key: frozenset(poles) for key, poles in self._poles["complements"].items()},
            contraries={key: frozenset(poles) for key, poles in self._poles["contraries"].items()},
            opposed_actions={key: frozenset(poles) for key, poles in self._poles["opposed_actions"].items()},
            scales=self._scales,
            opposite_characters=frozenset(lists[1]["opposite_characters"].split()),
            surnames=frozenset(lists[1]["surnames"]),
            titles=frozenset(lists[1]["titles"].split()),
            phrases={first: sorted(some, key=len, reverse=True) for first, some in self._phrases.items()},
        )


def _entries(listed: str | Sequence[str]) -> Sequence[str]:
    return listed.split() if isinstance(listed, str) else listed
