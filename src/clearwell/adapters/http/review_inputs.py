"""What comes in for review, by structure."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from clearwell.adapters.http.inputs import MAX_PAGE, Grouped, Moment
from clearwell.errors import InvalidInput
from clearwell.records import Action, DecisionRequest, InsightState, NewMemory, Origin, Scope, SourceSelector

MAX_DECISIONS = 100
Id = Annotated[UUID, Field(strict=False)]
Version = Annotated[int | None, Field(ge=1, description="the version that was looked at; 409 where it is another now")]


class OnInsights(StrEnum):
    """What can be decided on an insight."""

    PROMOTE = Action.PROMOTE.value
    REJECT = Action.REJECT.value
    MERGE = Action.MERGE.value
    SNOOZE = Action.SNOOZE.value
    UNDO = Action.UNDO.value


class Choice(Grouped):
    """What to do with one insight. The group may be left out: it is found by the id."""

    group_needed: ClassVar[bool] = False
    version: Version = None

    def wanted(self, insight_id: UUID) -> DecisionRequest:
        raise NotImplementedError


class PromoteOutputInput(Grouped):
    """Promote an output as it is, or with other words. An output never changes, and so it has no version."""

    group_needed: ClassVar[bool] = False

    text: str | None = Field(None, description="the words to promote instead")
    scope: Annotated[Scope | None, Field(strict=False)] = Field(
        None, description="group, or agent: the own experience of agent_id"
    )
    agent_id: str | None = Field(None, description="makes it this agent's own experience")
    supersedes: Id | None = Field(None, description="the memory that this replaces")

    def reader(self) -> str | None:
        """Whose memory it becomes; None is the group's."""
        if self.scope is Scope.AGENT and self.agent_id is None:
            raise InvalidInput("http_field_missing", field="agent_id")
        if self.scope is Scope.GROUP and self.agent_id is not None:
            raise InvalidInput("scope_with_agent", field="agent_id")
        return self.agent_id

    def record(self) -> NewMemory:
        return NewMemory(content=self.text or "", agent_id=self.reader(), supersedes=self.supersedes)


class PromoteInput(PromoteOutputInput, Choice):
    """Promote as it is, or with other words. Both texts are kept."""

    def wanted(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.PROMOTE,
            id=insight_id,
            version=self.version,
            text=self.text,
            agent_id=self.reader(),
            supersedes=self.supersedes,
        )


class RejectInput(Choice):
    reason: str = Field(description="why, for whoever says it again")

    def wanted(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(action=Action.REJECT, id=insight_id, version=self.version, reason=self.reason)


class MergeInput(Choice):
    others: list[Id] = Field(
        alias="with", min_length=1, max_length=50, description="the insights that go into this one"
    )
    text: str | None = Field(None, description="the words of the merged insight; all summaries if left out")

    def wanted(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.MERGE, id=insight_id, version=self.version, others=tuple(self.others), text=self.text
        )


class SnoozeInput(Choice):
    until: Moment | None = Field(None, description="with a time zone")
    days: float | None = Field(None, allow_inf_nan=False, description="7 if until is left out too")

    def wanted(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.SNOOZE, id=insight_id, version=self.version, until=self.until, days=self.days
        )


class UndoInput(Choice):
    reason: str | None = None

    def wanted(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(action=Action.UNDO, id=insight_id, version=self.version, reason=self.reason)


class DecisionInput(BaseModel):
    """One decision of many. Which fields count depends on the action."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Id
    action: Annotated[OnInsights, Field(strict=False)]
    version: Version = None
    text: str | None = None
    agent_id: str | None = None
    supersedes: Id | None = None
    reason: str | None = None
    others: list[Id] = Field(default_factory=list, alias="with")
    until: Moment | None = None
    days: float | None = Field(None, allow_inf_nan=False)

    def wanted(self) -> DecisionRequest:
        return DecisionRequest(
            action=Action(self.action),
            id=self.id,
            version=self.version,
            text=self.text,
            agent_id=self.agent_id,
            supersedes=self.supersedes,
            reason=self.reason,
            others=tuple(self.others),
            until=self.until,
            days=self.days,
        )


class DecideInput(Grouped):
    """Many decisions in one group. Each is made, or has its problem."""

    decisions: list[DecisionInput] = Field(min_length=1, max_length=MAX_DECISIONS)


class DecideItems(Grouped):
    """The same, each decision still to be read: what one of them lacks is its own problem."""

    decisions: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_DECISIONS)


class PromoteManyInput(Grouped):
    """Outputs to promote as they are. Each is promoted, or has its problem."""

    ids: list[str] = Field(min_length=1, max_length=MAX_DECISIONS, description="rows of quarantine")
    origin: Annotated[Origin, Field(strict=False)] = Field(
        Origin.QUARANTINE, description="quarantine, or working: only what is live in working memory"
    )


class RetractInput(Grouped):
    """Without the token of a list: what would be withdrawn. With it: withdraw that."""

    source: Id | None = Field(None, description="a row of quarantine")
    session_id: str | None = None
    agent_id: str | None = None
    token: str | None = Field(None, description="from the list; only what was listed is withdrawn")
    reason: str | None = None

    def what(self) -> SourceSelector:
        return SourceSelector(source=self.source, session_id=self.session_id, agent_id=self.agent_id)


class InsightParameters(Grouped):
    model_config = ConfigDict(extra="forbid", strict=False)

    state: InsightState | None = None
    limit: int = Field(50, ge=1, le=MAX_PAGE)
    before: UUID | None = Field(None, description="the field next of the page before")


class DecisionParameters(Grouped):
    model_config = ConfigDict(extra="forbid", strict=False)

    limit: int = Field(50, ge=1, le=MAX_PAGE)
    before: UUID | None = Field(None, description="the field next of the page before")


EXAMPLES: dict[str, Any] = {
    "promote": {"as it is": {}, "in other words": {"version": 1, "text": "发布窗口定于每周二上午十点。"}},
    "promote_output": {"as it is": {"group_id": "grp-123"}, "in other words": {"text": "发布窗口定于每周二上午十点。"}},
    "reject": {"one": {"version": 1, "reason": "这只是一次测试。"}},
    "merge": {"two": {"with": ["01234567-89ab-7cde-8f01-23456789abcd"]}},
    "snooze": {"a week": {"days": 7}},
    "undo": {"the last decision": {}},
    "decide": {
        "two": {
            "group_id": "grp-123",
            "decisions": [
                {"id": "01234567-89ab-7cde-8f01-23456789abcd", "action": "promote"},
                {"id": "01234567-89ab-7cde-8f01-23456789abce", "action": "reject", "reason": "outdated"},
            ],
        }
    },
    "promote_many": {
        "two": {
            "group_id": "grp-123",
            "ids": ["01234567-89ab-7cde-8f01-23456789abcd", "01234567-89ab-7cde-8f01-23456789abce"],
        }
    },
    "retract": {"list": {"group_id": "grp-123", "session_id": "meeting-1"}},
}
