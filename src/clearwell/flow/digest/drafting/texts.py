"""Collect the distinct texts of a digest in a fixed order, each with the statements that have it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np

from clearwell.flow.digest.drafting.boilerplate import Boilerplate, find_boilerplate
from clearwell.records import DigestCandidate, Vector
from clearwell.text.normalisation import normalise
from clearwell.text.unicode_forms import normalise_form

UNKNOWN: Final = "unknown"
_SENTENCE_ENDS: Final = (".", "!", "。", "！")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text, and the statements with this text in the order of time. Case, spaces and marks are ignored."""

    said: tuple[DigestCandidate, ...]
    content: str
    """The text without boilerplate."""
    embedding: Vector

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(map(speaker, self.said))

    @property
    def voices(self) -> frozenset[str]:
        """The speakers who said it independently. A later speaker in the same session only quotes the text.

        A fact check that only repeats the claim is not a voice.
        """
        first: dict[str, str] = {}
        for statement in self.said:
            if statement.repeats:
                continue
            first.setdefault(session(statement), speaker(statement))
        return frozenset(first.values())

    @property
    def context(self) -> str:
        """What it is about, if it does not say so itself."""
        return _read_context(self.said[0])

    @property
    def times(self) -> dict[str, datetime]:
        """When each speaker said it last."""
        return {speaker(one): one.occurred_at for one in self.said if not one.repeats}


def speaker(statement: DigestCandidate) -> str:
    """Return the speaker, with case and width of the name ignored. All rows without an agent count as one speaker."""
    return UNKNOWN if statement.agent_id is None else f"agent {_fold(statement.agent_id)}"


def session(statement: DigestCandidate) -> str:
    """Return the session. All rows without a session count as one."""
    return UNKNOWN if statement.session_id is None else f"session {statement.session_id}"


def _fold(name: str) -> str:
    return normalise_form("NFKC", name).casefold().strip()


def collect_distinct(candidates: Sequence[DigestCandidate], similarity: Callable[[float], float]) -> list[Text]:
    """Return the distinct texts in the order of their first statements. Texts without a vector are left out."""
    found: dict[str, list[DigestCandidate]] = {}
    for one in sorted(candidates, key=lambda one: (one.occurred_at, one.place)):
        found.setdefault(normalise(f"{_read_context(one)} {one.text}"), []).append(one)
    having = [(said, vector) for said in found.values() if (vector := _vector(said)) is not None and vector.any()]
    if not having:
        return []
    common = find_boilerplate([said[0].text for said, _ in having], unit([vector for _, vector in having]), similarity)
    return [_make_text(_mark_repeats(said), vector, common) for said, vector in having]


def _read_context(statement: DigestCandidate) -> str:
    """Return the heading that the headline of a statement begins with, if it has one.

    A sentence before it can say the same thing in other words, so it does not count.
    """
    headline, text = statement.headline, statement.text
    context = headline.removesuffix(text).rstrip(" :：") if headline.endswith(text) else ""
    return "" if context.endswith(_SENTENCE_ENDS) else context


def _mark_repeats(said: Sequence[DigestCandidate]) -> Sequence[DigestCandidate]:
    """Mark evidence with the same text as a statement of an agent: it only repeats the claim."""
    if all(one.evidence for one in said):
        return said
    return [replace(one, repeats=True) if one.evidence else one for one in said]


def _make_text(said: Sequence[DigestCandidate], vector: Vector, common: Boilerplate) -> Text:
    content = common.remove_from(said[0].text)
    if content != said[0].text:
        said = [replace(one, headline=common.remove_from(one.headline)) for one in said]
    return Text(said=tuple(said), content=content, embedding=vector)


def find_stripped_texts(
    candidates: Sequence[DigestCandidate], similarity: Callable[[float], float]
) -> dict[tuple[UUID, int], str]:
    """Return by place the text without boilerplate of each statement that has some. Its vector is of the whole text."""
    return {
        one.place: text.content
        for text in collect_distinct(candidates, similarity)
        for one in text.said
        if text.content != one.text
    }


def _vector(said: Sequence[DigestCandidate]) -> Vector | None:
    return next((one.embedding for one in said if one.embedding is not None), None)


def unit(vectors: Sequence[Vector]) -> Vector:
    """Return the vectors as rows of length 1."""
    rows = np.stack(vectors).astype(np.float32, copy=False)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows
