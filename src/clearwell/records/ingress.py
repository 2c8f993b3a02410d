"""What the ingress filter found, and the fate of a row."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from clearwell.messages import Language, catalogue, say
from clearwell.records.entries import Capture
from clearwell.records.values import Json, Metadata
from clearwell.vocabulary import Admission, Layer, Outcome, TombstoneKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The recorded outcome of one check: what was measured, against what, and why it ended so."""

    check: str
    outcome: Outcome
    reason: str
    value: Json = None
    threshold: float | None = None
    params: Metadata = field(default_factory=dict)
    at: datetime | None = None

    def explanation(self, language: Language = "en") -> str:
        """The reason in words."""
        params = {**self.params, "value": _said(self.value), "threshold": _said(self.threshold)}
        for name in ("problem", "differs"):
            # A sentence within the sentence is stored as its code, so that it can be said in either language.
            inner, of = params.get(f"{name}_code"), params.get(f"{name}_params")
            if isinstance(inner, str):
                params[name] = say(inner, language, **(of if isinstance(of, dict) else {}))
        if isinstance(after := params.get("after"), str) and f"check_{after}" in catalogue():
            params["after"] = say(f"check_{after}", language)
        return say(self._wording(), language, **params)

    def _wording(self) -> str:
        """Some reasons have another sentence for nothing: no try made, nothing quoted."""
        counted_none = self.value == 0 and not isinstance(self.value, bool)
        nothing = counted_none or self.params.get("found") in ("", "-")
        return f"{self.reason}_none" if nothing and f"{self.reason}_none" in catalogue() else self.reason


def _said(value: Json) -> Json:
    """A measured value as people write it: 50 and not 50.0, text in quotes, and never rounded up to a threshold."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value).removesuffix(".0") if isinstance(value, float) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The entry that a capture said again, and the tier it is in."""

    entry_id: UUID
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge found in a text. Its words may quote the text, and are to be forgotten with it.

    ``contradiction`` and ``hallucination`` quote what was found; both are None where a judge said only yes or no.
    """

    consistent: bool
    contradiction: str | None = None
    hallucination: str | None = None
    reason: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressCount:
    """How often one check ended one way for one agent."""

    agent_id: str | None
    check: str
    outcome: Outcome
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A value that must not come back. The value itself is not kept."""

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
    """The answer to a capture: where it is kept and where its admission stands."""

    id: UUID
    group_id: str
    admission: Admission
    verdicts: tuple[Verdict, ...] = ()
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeued:
    """How many refused rows are pending again, and whether there are more."""

    rows: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAgain:
    """One time that an entry was said again."""

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """The whole fate of a captured row, for reviewers."""

    capture: Capture
    admission: Admission
    attempts: int
    settled_at: datetime | None
    flags: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    removed_at: datetime | None = None
    sighting_of: UUID | None = None
    sightings: tuple[SeenAgain, ...] | None = None
    next_try_at: datetime | None = None
