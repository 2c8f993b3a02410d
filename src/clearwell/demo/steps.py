"""The steps of the demo, as the command line prints them and ``--json`` returns them."""

import re
from datetime import datetime
from html import unescape
from typing import Literal
from uuid import UUID

from pydantic import Field, RootModel

from clearwell.messages import Language
from clearwell.records import Admission, FactCheck, Insight, Outcome, QuarantineRow
from clearwell.views.memories import say_label
from clearwell.views.view import View

MEMORY_LINE = re.compile(
    r'^\d+\. \[(?P<label>[^\]]*)\] <memory id="(?P<id>[^"]*)">(?P<text>.*)</memory>$', re.MULTILINE
)
"""A line of ``history_context``."""


class MeetingStep(View):
    """A meeting begins."""

    kind: Literal["meeting"] = "meeting"
    session_id: str
    topic: str
    at: datetime


def _read_fenced(text: str) -> str:
    """A text as a person reads it: in a fence signs are escaped, and a claim has tags of its own."""
    return unescape(text).replace("<claim>", "“").replace("</claim>", "”")


class RecalledMemory(View):
    """A memory that the council read, with the label that it read."""

    id: UUID
    label: str = Field(examples=["✅ Verified · 2026-11-14 · relevance 0.96"])
    text: str


class RecallStep(View):
    """What the memory-retrieval node gave the council before anybody spoke."""

    kind: Literal["recall"] = "recall"
    session_id: str
    memories: tuple[RecalledMemory, ...]
    problem: str | None = None

    @classmethod
    def read_history(cls, session_id: str, history: str, problem: str | None) -> "RecallStep":
        found = [
            RecalledMemory(id=UUID(line["id"]), label=line["label"], text=_read_fenced(line["text"]))
            for line in MEMORY_LINE.finditer(history)
        ]
        return cls(session_id=session_id, memories=tuple(found), problem=problem)


class OutputStep(View):
    """A node spoke. Its output is in quarantine, and the ingress pipeline has decided on it."""

    kind: Literal["output"] = "output"
    id: UUID
    session_id: str
    node_id: str
    node_type: str
    agent_id: str | None
    text: str
    admission: Admission
    check: str | None = Field(description="the check that refused it, or that flagged it")
    reason: str | None
    flags: tuple[str, ...]

    @classmethod
    def from_record(cls, row: QuarantineRow, language: Language) -> "OutputStep":
        wanted = Outcome.FAIL if row.admission is Admission.REFUSED else Outcome.FLAG
        verdict = next((one for one in row.verdicts if one.outcome is wanted), None)
        return cls(
            id=row.capture.id,
            session_id=row.capture.session_id or "",
            node_id=row.capture.node_id or "",
            node_type=row.capture.node_type,
            agent_id=row.capture.agent_id,
            text=row.capture.content,
            admission=row.admission,
            check=None if verdict is None else verdict.check,
            reason=None if verdict is None else verdict.explanation(language),
            flags=row.flags,
        )


class FactCheckStep(View):
    """The fact check of a claim by what memory says."""

    kind: Literal["fact_check"] = "fact_check"
    session_id: str
    claim: str
    rating: str = Field(examples=["supported", "contradicted", "unknown"])
    method: str = Field(examples=["llm", "rules"])
    reason: str
    evidence: tuple[RecalledMemory, ...]

    @classmethod
    def from_record(cls, session_id: str, checked: FactCheck, language: Language) -> "FactCheckStep":
        (claim,) = checked.claims
        evidence = [
            RecalledMemory(id=one.memory_id, label=say_label(one.label, language), text=one.sentence or "")
            for one in claim.citations
        ]
        return cls(
            session_id=session_id,
            claim=claim.claim,
            rating=claim.rating,
            method=checked.method,
            reason=claim.say_reason(language),
            evidence=tuple(evidence),
        )


class InsightLine(View):
    """An insight of the digest."""

    id: UUID
    summary: str
    agents: tuple[str, ...]
    flags: tuple[str, ...]
    sides: tuple[str, ...]

    @classmethod
    def from_record(cls, insight: Insight) -> "InsightLine":
        agents = {source.agent_id for source in insight.sources if source.agent_id is not None}
        return cls(
            id=insight.id,
            summary=insight.summary,
            agents=tuple(sorted(agents)),
            flags=insight.flags,
            sides=tuple(side.statement for side in insight.sides),
        )


class DigestStep(View):
    """The digest was made: what a reviewer decides on."""

    kind: Literal["digest"] = "digest"
    id: UUID
    at: datetime
    outputs: int
    insights: tuple[InsightLine, ...]


class DecisionStep(View):
    """The person of the demo has promoted an insight."""

    kind: Literal["decision"] = "decision"
    insight_id: UUID
    action: Literal["promote"] = "promote"
    by: str
    side: int | None = Field(description="the place of the chosen side, if there were two")
    text: str
    memory_id: UUID


class OutputFate(View):
    """What became of one output."""

    id: UUID
    session_id: str
    node_id: str
    admission: Admission
    check: str | None
    live: bool = Field(description="it is still in working memory")
    memory_ids: tuple[UUID, ...] = Field(description="the verified memories that rest on it")


class SummaryStep(View):
    """The end: what became of each output, and in which group to look."""

    kind: Literal["summary"] = "summary"
    group_id: str
    scripted: bool
    problem: str | None = Field(description="why the language model was replaced by the script, if it was")
    outputs: tuple[OutputFate, ...]
    memories: int
    seconds: float


Step = MeetingStep | RecallStep | OutputStep | FactCheckStep | DigestStep | DecisionStep | SummaryStep


class StepsView(RootModel[tuple[Step, ...]]):
    """The steps of the meetings, in their order."""
