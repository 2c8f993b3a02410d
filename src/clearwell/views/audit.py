"""The audit trail: events, the head, and the report of a verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field, JsonValue, RootModel

from clearwell.messages import LANGUAGES, Language, catalogue, say
from clearwell.views.view import View
from clearwell.vocabulary import AuditAction, AuditFault, AuditWarning

if TYPE_CHECKING:
    from clearwell.flow.audit.acceptance import AcceptedTrail
    from clearwell.records import AuditEvent, AuditFinding, AuditHead, AuditReport


def name_action(action: str, language: Language) -> str:
    """An action in words. One of another version of Clearwell, which has none here, is shown as it was recorded."""
    code = f"audit_action_{action.replace(' ', '_')}"
    return say(code, language) if code in catalogue() else action


def find_action(name: str) -> str:
    """The code of an action that is given in words of either language. Anything else is returned as it is."""
    codes = {name_action(action, language): action.value for action in AuditAction for language in LANGUAGES}
    return codes.get(name, name)


class AuditEventView(View):
    """Who did what to what, or was refused. It has ids and numbers, never a text."""

    id: UUID
    group_id: str = Field(description="empty for events of the whole installation")
    at: datetime
    actor: str = Field(description="a key, a person or a job")
    actor_name: str
    action: str = Field(description="what was done; refused, if it was not")
    subject: str = Field(description="what it was done to; for a refusal, what was attempted")
    detail: dict[str, JsonValue]

    @classmethod
    def from_record(cls, event: AuditEvent, key_names: Mapping[str, str]) -> Self:
        return cls.read(event, actor_name=key_names.get(event.actor, event.actor))

    def to_record(self) -> AuditEvent:
        from clearwell.records import AuditEvent

        return self.make(AuditEvent)


class AuditPageView(View):
    """Events, newest first. next, if not null, is the value of before for the next page."""

    events: tuple[AuditEventView, ...]
    next: UUID | None

    @classmethod
    def from_records(cls, events: Sequence[AuditEvent], limit: int, key_names: Mapping[str, str]) -> Self:
        """A page of ``limit`` events, made from one more event if there is one."""
        views = tuple(AuditEventView.from_record(event, key_names) for event in events[:limit])
        return cls(events=views, next=views[-1].id if len(events) > limit else None)


class AuditHeadView(View):
    """The last seal of a trail. Keep it outside of the database, to find out later whether the end was removed."""

    group_id: str
    number: int = Field(description="the number of the seal; 0 if nothing was sealed")
    root: str = Field(description="the hash over all events up to here")
    sealed_at: datetime | None
    signature: str
    public_key: str = Field(description="the Ed25519 key that verifies the signature, in base64")

    @classmethod
    def from_record(cls, head: AuditHead) -> Self:
        return cls.read(head)

    def to_record(self) -> AuditHead:
        from clearwell.records import AuditHead

        return self.make(AuditHead)


class AuditFindingView(View):
    """One thing that is wrong with the trail, and where."""

    fault: AuditFault
    seal: int | None = Field(description="the number of the seal")
    event_id: UUID | None

    @classmethod
    def from_record(cls, finding: AuditFinding) -> Self:
        return cls.read(finding)

    def to_record(self) -> AuditFinding:
        from clearwell.records import AuditFinding

        return self.make(AuditFinding)


class AuditReportView(View):
    """The result of a verification."""

    group_id: str
    intact: bool = Field(description="whether nothing is wrong")
    seals: int
    sealed_events: int
    unsealed_events: int = Field(description="events of the last seconds, which have no seal yet")
    findings: tuple[AuditFindingView, ...]
    more: bool = Field(description="whether there are more findings than listed")
    head: AuditHeadView
    warnings: tuple[AuditWarning, ...] = Field(description="what cannot be excluded, although nothing is wrong")
    begun_at: datetime | None = Field(
        description="when the head of this trail was begun again: nothing before is compared"
    )

    @classmethod
    def from_record(cls, report: AuditReport) -> Self:
        return cls.read(
            report,
            findings=tuple(AuditFindingView.from_record(finding) for finding in report.findings),
            head=AuditHeadView.from_record(report.head),
        )

    def to_record(self) -> AuditReport:
        from clearwell.records import AuditReport

        return self.make(
            AuditReport,
            findings=tuple(finding.to_record() for finding in self.findings),
            head=self.head.to_record(),
        )


class AcceptedTrailView(View):
    """A trail that is continued as it is stored. A number is 0 if there was no seal."""

    group_id: str
    known_seal: int
    stored_seal: int


class AcceptedTrailsView(RootModel[tuple[AcceptedTrailView, ...]]):
    """The trails that are continued."""

    @classmethod
    def from_records(cls, trails: Sequence[AcceptedTrail]) -> Self:
        return cls(tuple(AcceptedTrailView.read(trail) for trail in trails))
