"""What comes in, by structure: names and types. Values are checked once, by ``clearwell.flow.limits``."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from clearwell.flow.context.budget import MIN_TOKENS
from clearwell.flow.context.builder import MAX_TOKENS, ContextRequest
from clearwell.flow.context.retrieval_node import NodeOptions
from clearwell.flow.retrieval.options import MOST_CHARS, RetrieveOptions
from clearwell.messages import Language
from clearwell.ports import QuarantineFilter
from clearwell.records import Admission, GroupChange, NewCapture, NewMemory, Operator

MAX_CAPTURES = 1_000
MAX_ITEMS = 100
MAX_RESULTS = 100
MAX_PAGE = 200


def _moment(value: object) -> datetime:
    # fromisoformat overlooks a NUL at the end
    if not isinstance(value, str) or not value.isprintable():
        raise PydanticCustomError("moment", "not a time")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise PydanticCustomError("moment", "not a time") from error


Moment = Annotated[datetime, BeforeValidator(_moment)]
Group = Annotated[str, Field(default_factory=str, description="the group, 1 to 200 characters")]
GroupAlias = Annotated[str, Field(default_factory=str, description="another name of group_id")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=0, le=MAX_RESULTS)]


class Grouped(BaseModel):
    """The group under either of its names. A null or empty group is refused; an absent one is the key's only group."""

    model_config = ConfigDict(extra="forbid", strict=True)
    group_needed: ClassVar[bool] = False

    group_id: Group
    project_id: GroupAlias

    @model_validator(mode="after")
    def _one_group(self) -> "Grouped":
        named = {"group_id", "project_id"} & self.model_fields_set
        if len(named) == 2 and self.group_id != self.project_id:
            raise PydanticCustomError("group_twice", "two groups")
        if not named and self.group_needed:
            raise PydanticCustomError("group_missing", "no group")
        return self

    @property
    def named_group(self) -> str | None:
        """The group as the caller named it, None where it named none."""
        if "group_id" in self.model_fields_set:
            return self.group_id
        return self.project_id if "project_id" in self.model_fields_set else None

    @property
    def group(self) -> str:
        return self.named_group or ""


class CaptureInput(Grouped):
    """One output of a node. Without a group it is kept as unassigned."""

    group_needed: ClassVar[bool] = False

    content: str = Field(description="what the node said, up to 1 MiB")
    session_id: str | None = None
    node_id: str | None = None
    node_type: str = "agent"
    agent_id: str | None = None
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="anything; confidence is what the ingress filter looks at"
    )
    occurred_at: Moment | None = Field(None, description="when it was said, with a time zone; now if left out")
    partial: bool = Field(False, description="the node was cancelled or failed while it spoke")

    def record(self) -> NewCapture:
        return NewCapture(
            content=self.content,
            group_id=self.named_group,
            session_id=self.session_id,
            node_id=self.node_id,
            node_type=self.node_type,
            agent_id=self.agent_id,
            occurred_at=self.occurred_at,
            metadata=self.metadata,
            partial=self.partial,
        )


class CheckInput(CaptureInput):
    """An output to try on the filter."""

    group_needed: ClassVar[bool] = True


class CaptureBatch(BaseModel):
    """Many outputs, each of its own group. Each is kept or has its problem."""

    model_config = ConfigDict(extra="forbid", strict=True)

    captures: list[CaptureInput] = Field(min_length=1, max_length=MAX_CAPTURES)


class MemoryInput(BaseModel):
    """A text that becomes knowledge."""

    model_config = ConfigDict(extra="forbid", strict=True)

    content: str = Field(description="the text, up to 1 MiB")
    session_id: str | None = None
    author: str | None = Field(None, description="whose words these are")
    occurred_at: Moment | None = Field(None, description="when it was said, with a time zone")
    agent_id: str | None = Field(None, description="makes it this agent's own experience")
    metadata: dict[str, Any] = Field(default_factory=dict)
    supersedes: Annotated[UUID | None, Field(strict=False)] = Field(
        None, description="the memory that this replaces; its history is kept"
    )

    def record(self) -> NewMemory:
        return NewMemory(
            content=self.content,
            session_id=self.session_id,
            author=self.author,
            occurred_at=self.occurred_at,
            agent_id=self.agent_id,
            metadata=self.metadata,
            supersedes=self.supersedes,
        )


class IngestInput(MemoryInput, Grouped):
    """A text to promote in a group."""


class IngestBatch(Grouped):
    """Many texts to promote in one group. Each is stored or has its problem."""

    items: list[MemoryInput] = Field(min_length=1, max_length=MAX_ITEMS)


class RetrievalInput(Grouped):
    """What may be asked of retrieval."""

    max_results: int | None = Field(None, ge=1, le=MAX_RESULTS, description="15 if left out")
    hot_limit: Limit | None = Field(None, description="most items of working memory; 10 if left out")
    cold_limit: Limit | None = Field(None, description="most items of long-term memory; 5 if left out")
    relevance_threshold: Share | None = Field(None, description="leaves out verified items below this relevance")
    agent_id: str | None = Field(None, description="adds this agent's own memory")
    session_id: str | None = Field(None, description="only what belongs to this session")
    sources: list[str] | None = Field(None, description="the tiers to ask: hot, cold; both if left out")
    time_range_days: float | None = Field(None, description="only what was said in the last so many days")
    since: Moment | None = Field(None, alias="from", description="only what was said at this time or later")
    until: Moment | None = Field(None, alias="to", description="only what was said before this time")
    as_of: Moment | None = Field(
        None, description="what was verified then; leaves working memory out; a time to come means now"
    )
    filters: Any = Field(
        None,
        json_schema_extra={
            "anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}, {"type": "null"}]
        },
        description='conditions on metadata, all to hold: {"source": "minutes", "a.b": {"gte": 3}}; operators: '
        + ", ".join(Operator),
    )
    max_chars: int | None = Field(
        None, ge=0, le=MOST_CHARS, description="cuts each item at a sentence; 500 if left out, 0 leaves items whole"
    )
    explain: bool | None = Field(None, description="adds to each item what its scores were made of")

    def options(self) -> RetrieveOptions:
        return RetrieveOptions(
            max_results=self.max_results,
            hot_limit=self.hot_limit,
            cold_limit=self.cold_limit,
            relevance_threshold=self.relevance_threshold,
            agent_id=self.agent_id,
            session_id=self.session_id,
            sources=self.sources,
            time_range_days=self.time_range_days,
            since=self.since,
            until=self.until,
            as_of=self.as_of,
            filters=self.filters,
            max_chars=self.max_chars,
            explain=bool(self.explain),
        )


class QueryInput(RetrievalInput):
    """A question to working and long-term memory."""

    query: str


class Format(StrEnum):
    TEXT = "text"
    MESSAGES = "messages"
    BOTH = "both"


class Tongue(StrEnum):
    EN = "en"
    ZH = "zh"


class ContextInput(RetrievalInput):
    """What to build a context for."""

    proposal: str = Field(description="what the agent is to speak about now, up to 1 MiB")
    query: str | None = Field(None, description="what to look for in memory; the proposal if left out")
    max_tokens: int | None = Field(None, ge=MIN_TOKENS, le=MAX_TOKENS, description="the budget; 4000 if left out")
    format: Format = Field(Format.BOTH, strict=False, description="what to answer with")
    language: Tongue | None = Field(
        None, strict=False, description="of headings and labels; by Accept-Language if left out"
    )

    def request(self, language: Language) -> ContextRequest:
        return ContextRequest(
            proposal=self.proposal,
            query=self.query,
            max_tokens=self.max_tokens,
            language=language if self.language is None else self.language.value,
            options=self.options(),
        )


class NodeOptionsInput(BaseModel):
    """The properties of a memory-retrieval node."""

    model_config = ConfigDict(extra="forbid", strict=True)

    max_results: int | None = Field(None, ge=1, le=MAX_RESULTS, description="15 if left out")
    time_range_days: float | None = Field(None, description="only what was said in the last so many days")
    relevance_threshold: Share | None = Field(None, description="leaves out verified items below this; 0.7 if left out")
    include_verdicts: bool = Field(
        True, description="also the conclusions of chair and verdict nodes in earlier meetings; false leaves them out"
    )
    agent_id: str | None = Field(None, description="adds this agent's own memory")

    def record(self) -> NodeOptions:
        return NodeOptions(
            max_results=self.max_results,
            time_range_days=self.time_range_days,
            relevance_threshold=self.relevance_threshold,
            include_verdicts=self.include_verdicts,
            agent_id=self.agent_id,
        )


class NodeInput(Grouped):
    """A state of a workflow for the memory-retrieval node."""

    input: dict[str, Any] = Field(description="the state: topic, else content, else document is the query")
    options: NodeOptionsInput = Field(default_factory=NodeOptionsInput)
    language: Tongue | None = Field(None, strict=False, description="of labels; by Accept-Language if left out")


class CaptureParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    wait: bool = Field(False, description="answer when the admission has ended, or after 5 seconds as pending")


class RowParameters(Grouped):
    """The group of a row that is named by its id."""

    model_config = ConfigDict(extra="forbid")
    group_needed: ClassVar[bool] = False


class RowInput(Grouped):
    """The group of a row that is named by its id."""

    group_needed: ClassVar[bool] = False


class RequeueInput(Grouped):
    """Which refused rows to put back."""

    refused_by: str = Field(description="a check, judge_gave_up or admission_failed")


class TombstoneInput(Grouped):
    """A value that must not come back."""

    value: str = Field(description="the text as it was said; it is not kept")
    reason: str = Field(description="why, for whoever says it again")


class GroupInput(BaseModel):
    """What to change of a group. What is left out stays; null empties it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    system_prompt: str | None = Field(None, description="what every agent of the group is told, up to 32 KiB")
    digest_cron: str | None = Field(None, description="when its digest is due: five fields of cron; null: the setting")
    digest_zone: str | None = Field(None, description="the time zone of that, such as Asia/Shanghai; null: the setting")

    def change(self) -> GroupChange:
        return GroupChange(**{name: getattr(self, name) for name in self.model_fields_set})


class AgentInput(BaseModel):
    """Who an agent is to be."""

    model_config = ConfigDict(extra="forbid", strict=True)

    persona: str = Field(description="what this agent is told about itself, up to 32 KiB")


class GroupParameters(Grouped):
    model_config = ConfigDict(extra="forbid", strict=False)


class QuarantineParameters(Grouped):
    """Which rows of quarantine to list."""

    model_config = ConfigDict(extra="forbid", strict=False)

    session_id: str | None = None
    agent_id: str | None = None
    node_type: str | None = None
    admission: Admission | None = None
    since: Moment | None = Field(None, description="captured at this time or later")
    until: Moment | None = Field(None, description="captured before this time")
    limit: int = Field(50, ge=1, le=MAX_PAGE)
    before: UUID | None = Field(None, description="the field next of the page before")

    def where(self) -> QuarantineFilter:
        return QuarantineFilter(
            session_id=self.session_id,
            agent_id=self.agent_id,
            node_type=self.node_type,
            admission=self.admission,
            since=self.since,
            until=self.until,
        )


class DigestInput(Grouped):
    """The group whose quarantine is to be digested."""


class DigestsParameters(Grouped):
    """Which digests to list."""

    model_config = ConfigDict(extra="forbid", strict=False)

    limit: int = Field(50, ge=1, le=MAX_PAGE)
    before: UUID | None = Field(None, description="the field next of the page before")
