"""Digests, insights and their sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from clearwell.messages import Language, join_sentences, say
from clearwell.records.ingress import Verdict
from clearwell.records.statements import Statement
from clearwell.records.values import Json, Metadata, Vector
from clearwell.vocabulary import Admission, DigestStatus, InsightState, Layer, SegmentKind, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRow:
    """A row of quarantine, and those of its claims and decisions that no insight is based on yet."""

    log_id: UUID
    content: str
    agent_id: str | None
    session_id: str | None
    node_id: str | None
    node_type: str
    occurred_at: datetime
    confidence: float | None
    admission: Admission
    flags: tuple[str, ...] = ()
    considered: int = 0
    statements: tuple[Statement, ...] = ()
    captured_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestCandidate:
    """A claim or decision that a digest considers, and the row that it is part of.

    ``statement`` is the text of the row at ``span``, ``text`` the same on one line without marks, and ``headline``
    the same with its heading or lead-in if it needs one. An insight never rests on ``evidence`` alone,
    and evidence that only ``repeats`` a claim which it checked is no voice for it.
    """

    log_id: UUID
    number: int
    span: tuple[int, int]
    kind: SegmentKind
    statement: str
    text: str
    headline: str
    agent_id: str | None
    session_id: str | None
    node_id: str | None
    node_type: str
    occurred_at: datetime
    confidence: float | None
    admission: Admission
    flags: tuple[str, ...] = ()
    evidence: bool = False
    repeats: bool = False
    captured_by: str = ""
    embedding: Vector | None = field(default=None, compare=False, repr=False)

    @property
    def place(self) -> tuple[UUID, int]:
        """The row and the number of the statement in it."""
        return self.log_id, self.number


def stated_confidence(metadata: Mapping[str, object]) -> float | None:
    """Return the confidence of an output, or None unless it is a number from 0 to 1."""
    stated = metadata.get("confidence")
    if stated is None:
        stated = metadata.get("confidence_score")
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        return None
    return float(stated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two statements that cannot both be true: a source of the insight, and another row or a verified memory."""

    of: UUID
    against: UUID
    layer: Layer
    reason: str
    params: Metadata = field(default_factory=dict)

    def explanation(self, language: Language = "en") -> str:
        """Return the reason as a text."""
        return say_stored(self.reason, self.params, language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message about how an insight or a digest was made, by its code."""

    code: str
    params: Metadata = field(default_factory=dict)

    def text(self, language: Language = "en") -> str:
        return say_stored(self.code, self.params, language)

    def to_json(self) -> dict[str, Json]:
        return {"code": self.code, "params": dict(self.params)}

    @classmethod
    def of(cls, stored: Json) -> "Note":
        """Return the note that ``to_json`` stored."""
        found = stored if isinstance(stored, dict) else {}
        params = found.get("params")
        return cls(code=str(found.get("code", "")), params=params if isinstance(params, dict) else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of a summary, and the rows that it is based on."""

    text: str
    sources: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSource:
    """The part of a row that a writer receives: the statement that the insight is about, and the text around it."""

    log_id: UUID
    statement: str
    passage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenInsight:
    """The result of a writer for the sources of an insight."""

    sentences: tuple[Sentence, ...]
    contradictions: tuple[Contradiction, ...] = ()
    sides: tuple[tuple[UUID, ...], ...] = ()
    """The outputs on each side of the first contradiction."""
    dropped: int = 0
    """The number of sentences that cite no source of the insight, or are too many."""


def say_stored(code: str, params: Metadata, language: Language) -> str:
    """Return a stored message in ``language``. Messages inside it or after it are stored by their codes."""
    for name in ("problem", "differs"):
        inner, of = params.get(f"{name}_code"), params.get(f"{name}_params")
        if isinstance(inner, str):
            params = {**params, name: say(inner, language, **(of if isinstance(of, dict) else {}))}
    more = params.get("more")
    after = [say_stored(one.code, one.params, language) for one in map(Note.of, more if isinstance(more, list) else [])]
    return join_sentences([say(code, language, **params), *after], language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The number of agents, sessions, days and rows that support an insight.

    ``keys`` is the number of keys that these were captured with, 0 if by the local person. An agent chooses its name
    itself, and one key can give many names.
    """

    agents: int = 0
    sessions: int = 0
    days: int = 0
    rows: int = 0
    keys: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightSide:
    """One of the sides of an insight whose sources contradict each other: its statement and who supports it."""

    statement: str
    log_ids: tuple[UUID, ...]
    support: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightSource:
    """A row that an insight is based on, with the statement of it that the insight is about.

    ``statement`` is ``content[span[0]:span[1]]`` of the whole row, and ``number`` counts the segments of the row.
    ``side`` is the index of its side in the insight's ``sides``.
    """

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    node_id: str | None
    node_type: str
    occurred_at: datetime
    confidence: float | None
    admission: Admission
    content: str
    flags: tuple[str, ...] = ()
    statement: str | None = None
    number: int | None = None
    span: tuple[int, int] | None = None
    side: int | None = None
    captured_by: str = ""
    verdicts: tuple[Verdict, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    """A candidate for long-term memory, with everything that it is based on."""

    id: UUID
    group_id: str
    digest_id: UUID
    version: int
    state: InsightState
    summary: str
    written_by: Writer
    sources: tuple[InsightSource, ...]
    contradictions: tuple[Contradiction, ...]
    flags: tuple[str, ...]
    support: Support
    score: float
    created_at: datetime
    changed_at: datetime
    snoozed_until: datetime | None = None
    merged_into: UUID | None = None
    embedding: Vector | None = field(default=None, compare=False, repr=False)
    embedding_model: str | None = None
    sentences: tuple[Sentence, ...] = ()
    notes: tuple[Note, ...] = ()
    sides: tuple[InsightSide, ...] = ()
    """Empty unless sources contradict each other, and then the side with the most support first."""
    promoted_text: str | None = field(default=None, compare=False)
    """What was promoted, where the insight is promoted: a side, or the words of a person. It is read, never stored."""

    @property
    def cited(self) -> tuple[Sentence, ...]:
        """The sentences that are still part of the summary, which a person may have edited."""
        return tuple(one for one in self.sentences if one.text in self.summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """One digest, with its insights once it is done."""

    id: UUID
    group_id: str
    status: DigestStatus
    requested_by: str
    created_at: datetime
    due_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempts: int = 0
    progress: float = 0.0
    note: str | None = None
    note_params: Metadata = field(default_factory=dict)
    report: Metadata = field(default_factory=dict)
    insights: Sequence[Insight] = ()

    def explanation(self, language: Language = "en") -> str | None:
        """Return the note as a text: the stage, why it waits or failed, or a remark on the result."""
        return None if self.note is None else say_stored(self.note, self.note_params, language)
