"""Results of the ingress pipeline, and the history of a row."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from clearwell.messages import Language, catalogue, join_names, join_sentences, say
from clearwell.records.entries import Capture
from clearwell.records.statements import Statement
from clearwell.records.values import Json, Metadata
from clearwell.vocabulary import Admission, Layer, Outcome, TombstoneKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The recorded outcome of one check: the measured value, the threshold and the reason."""

    check: str
    outcome: Outcome
    reason: str
    value: Json = None
    threshold: float | None = None
    params: Metadata = field(default_factory=dict)
    at: datetime | None = None

    def explanation(self, language: Language = "en") -> str:
        """Return the reason as a text."""
        params = {**self.params, "value": _format_value(self.value), "threshold": _format_value(self.threshold)}
        for name in ("problem", "differs", "how"):
            # A sentence within the sentence is stored as its code, so that it can be said in either language.
            inner, of = params.get(f"{name}_code"), params.get(f"{name}_params")
            if isinstance(inner, str):
                params[name] = say(inner, language, **(of if isinstance(of, dict) else {}))
        if isinstance(after := params.get("after"), str) and f"check_{after}" in catalogue():
            params["after"] = say(f"check_{after}", language)
        if isinstance(kinds := params.get("kinds"), dict):
            params["kinds"] = _name_kinds(kinds, language)
        text = say(self._wording(), language, **params)
        if isinstance(new := params.get("new"), str) and isinstance(known := params.get("known"), str):
            between = say("verdict_conflict_between", language, new=new, known=known)
            return join_sentences([text, between], language)
        return text

    def _wording(self) -> str:
        """Return the message code. Some reasons have another message if nothing was tried or quoted."""
        counted_none = self.value == 0 and not isinstance(self.value, bool)
        nothing = counted_none or self.params.get("found") in ("", "-")
        return f"{self.reason}_none" if nothing and f"{self.reason}_none" in catalogue() else self.reason


def _name_kinds(kinds: dict[str, Json], language: Language) -> str:
    """Name kinds of segments, each with its number."""
    named = [f"{say(f'segment_{kind}', language)} {count}" for kind, count in kinds.items()]
    return join_names(named, language) or "–"


def _format_value(value: Json) -> Json:
    """Format a measured value: 50 instead of 50.0, text in quotes, and never rounded up to a threshold."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value).removesuffix(".0") if isinstance(value, float) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The entry or memory that a capture repeats, and its tier."""

    entry_id: UUID
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The findings of a judge in a text. They may quote the text, and must be forgotten together with it.

    ``contradiction`` and ``hallucination`` quote what was found; both are None if the judge only said yes or no.
    """

    consistent: bool
    contradiction: str | None = None
    hallucination: str | None = None
    reason: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressCount:
    """How often a check had an outcome for one agent."""

    agent_id: str | None
    check: str
    outcome: Outcome
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A text that must not be stored again. The text itself is not kept."""

    id: UUID
    group_id: str
    kind: TombstoneKind
    reason: str
    made_by: str
    made_at: datetime
    lifted_by: str | None = None
    lifted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReceipt:
    """The answer to a capture: its id and the state of its admission."""

    id: UUID
    group_id: str
    admission: Admission
    verdicts: tuple[Verdict, ...] = ()
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The result of the ingress pipeline for a text that is not stored."""

    admission: Admission
    verdicts: Sequence[Verdict]
    flags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeued:
    """How many refused rows are pending again, and whether there are more."""

    rows: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SightingRow:
    """One sighting of an entry."""

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """A captured row with its verdicts, for reviewers. A row that is read singly also has sightings and statements.

    ``statements`` are all segments of the output, and None until it was segmented. ``segmented_by`` is "rules" or the
    language model that found them, and ``segmenter_problem`` why that model did not.
    """

    capture: Capture
    admission: Admission
    attempts: int
    settled_at: datetime | None
    flags: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    removed_at: datetime | None = None
    sighting_of: UUID | None = None
    sightings: tuple[SightingRow, ...] | None = None
    statements: tuple[Statement, ...] | None = None
    segmented_by: str | None = None
    segmenter_problem: str | None = None
    next_try_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinePage:
    """Rows of quarantine, newest first. ``next``, if not None, is where the next page begins.

    A page can have fewer rows than asked for, or none, although there are more: one page compares a limited number of
    outputs with its filters.
    """

    rows: tuple[QuarantineRow, ...]
    next: UUID | None
