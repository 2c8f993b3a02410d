"""The protocol's two routes, promote a text and ask working and long-term memory, and one memory by its id."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Discriminator, Field, Tag

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import (
    MANY,
    MAX_RESULTS,
    ONE,
    Acknowledge,
    GroupedBody,
    GroupParameters,
    Id,
    KeepInvisible,
    Moment,
    RequestBody,
    Share,
)
from clearwell.adapters.http.request import ApiRequest, ApiRoute, mark_replay
from clearwell.errors import ClearwellError
from clearwell.flow.retrieval.options import MAX_CHARS, RetrieveOptions
from clearwell.records import NewMemory, Operator, Scope
from clearwell.views.memories import IngestedBatchView, IngestedView, RetrievalView, VerifiedMemoryView
from clearwell.views.provenance import MemoryOriginView

router = APIRouter(tags=["memory"], route_class=ApiRoute)

MAX_ITEMS = 100
Limit = Annotated[int, Field(ge=0, le=MAX_RESULTS)]


class MemoryInput(RequestBody):
    """A text to promote."""

    content: str = Field(description="the text, up to 1 MiB")
    session_id: str | None = None
    author: str | None = Field(None, description="who said it")
    occurred_at: Moment | None = Field(None, description="when it was said, with a time zone")
    agent_id: str | None = Field(None, description="makes it a memory of this agent only")
    metadata: dict[str, Any] = Field(default_factory=dict)
    supersedes: Id | None = Field(None, description="the memory that this supersedes; its history is kept")
    acknowledge: Acknowledge = Field(default_factory=list)
    keep_invisible: KeepInvisible = False

    def to_record(self) -> NewMemory:
        return NewMemory(
            content=self.content,
            session_id=self.session_id,
            author=self.author,
            occurred_at=self.occurred_at,
            agent_id=self.agent_id,
            metadata=self.metadata,
            supersedes=self.supersedes,
            acknowledge=tuple(self.acknowledge),
            keep_invisible=self.keep_invisible,
        )


class MemoryParameters(GroupParameters):
    """Which memories may be read."""

    agent_id: str | None = Field(None, description="include the memories of this agent")


class IngestInput(MemoryInput, GroupedBody):
    """A text to promote in a group."""


class IngestBatch(GroupedBody):
    """Many texts to promote in one group. The answer has a result or a problem for each."""

    items: list[MemoryInput] = Field(min_length=1, max_length=MAX_ITEMS)


class RetrievalInput(GroupedBody):
    """The options of retrieval."""

    max_results: int | None = Field(
        None, ge=1, le=MAX_RESULTS, description="the largest number of items; 15 by default"
    )
    hot_limit: Limit | None = Field(None, description="the largest number of unverified items; 10 by default")
    cold_limit: Limit | None = Field(None, description="the largest number of verified items; 5 by default")
    relevance_threshold: Share | None = Field(None, description="exclude verified items with a lower relevance")
    hot_threshold: Share | None = Field(
        None, description="exclude unverified items with a lower relevance; 0.35 by default"
    )
    recent: int | None = Field(
        None,
        ge=1,
        le=MAX_RESULTS,
        description="return the newest entries of working memory, whatever they say; the query may be omitted",
    )
    agent_id: str | None = Field(None, description="include the memories of this agent")
    session_id: str | None = Field(None, description="only items of this session")
    sources: list[str] | None = Field(None, description="the tiers to search: hot, cold; both by default")
    time_range_days: float | None = Field(None, description="only what was said within this number of days")
    since: Moment | None = Field(None, alias="from", description="only what was said at this time or later")
    until: Moment | None = Field(None, alias="to", description="only what was said before this time")
    as_of: Moment | None = Field(
        None,
        description="only what was verified at this time, without working memory; a future time means now. "
        "What was withdrawn since is labelled, and needs the right to review or administer",
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
        None,
        ge=0,
        le=MAX_CHARS,
        description="shorten each item at the end of a sentence; 500 by default, 0 for the full text",
    )
    explain: bool | None = Field(None, description="add the parts of the scores to each item")
    scope: Annotated[Scope | None, Field(strict=False)] = Field(
        None, description="only the memory of the group, or only that of agent_id; both by default"
    )
    record: bool | None = Field(
        None,
        description="false if a person looks: the items do not count as given to an agent. What an agent asks for "
        "always counts",
    )

    def to_options(self) -> RetrieveOptions:
        return RetrieveOptions(
            max_results=self.max_results,
            hot_limit=self.hot_limit,
            cold_limit=self.cold_limit,
            relevance_threshold=self.relevance_threshold,
            hot_threshold=self.hot_threshold,
            recent=self.recent,
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
            scope=self.scope,
            record=self.record is not False,
        )


class QueryInput(RetrievalInput):
    """A query to working memory and long-term memory."""

    query: str = Field("", description="required unless recent is given; without it only working memory is read")


INGEST_EXAMPLES = openapi.examples(
    one={"group_id": "grp-123", "content": "项目最终决定采用微服务架构，以提高可扩展性和部署灵活性。"},
    many={
        "group_id": "grp-123",
        "items": [
            {"content": "发布窗口定于每周二上午十点。", "author": "王芳", "occurred_at": "2026-11-14T09:30:00+08:00"},
            {"content": "Backups are kept for thirty days.", "session_id": "s-1", "metadata": {"source": "minutes"}},
        ],
    },
)
QUERY_EXAMPLES = openapi.examples(
    query={"group_id": "grp-123", "query": "项目的架构决策是什么？"},
    options={
        "group_id": "grp-123",
        "query": "How long are backups kept?",
        "from": "2026-11-01T00:00:00Z",
        "sources": ["cold"],
        "filters": {"source": "minutes", "review.score": {"gte": 3}},
        "explain": True,
    },
    recent={"group_id": "grp-123", "recent": 10},
)


def _form_of(body: dict[str, Any]) -> str:
    return MANY if "items" in body else ONE


IngestBody = Annotated[
    Annotated[IngestInput, Tag(ONE)] | Annotated[IngestBatch, Tag(MANY)],
    Discriminator(_form_of),
    Body(openapi_examples=INGEST_EXAMPLES),
]


@router.post(
    "/api/v1/memory/ingest",
    summary="Promote a text to long-term memory",
    description="A decision of a person. The memory can be retrieved as soon as the response arrives. Use items: "
    "[...] for up to 100 texts at once; the answer has a result or a problem for each. Entries "
    "of working memory that say what supersedes names are removed (removed). Requires the scope review.",
    response_description="Stored as verified memory.",
    responses=openapi.problems(*openapi.WRITES),
)
async def ingest(request: ApiRequest, response: Response, wanted: IngestBody) -> IngestedView | IngestedBatchView:
    group_id, key = request.group(wanted), request.idempotency_key
    items = wanted.items if isinstance(wanted, IngestBatch) else [wanted]
    texts = [item.to_record() for item in items]
    results = await request.memory.promote_many(texts, group=group_id, idempotency_key=key)
    mark_replay(response, results)
    if isinstance(wanted, IngestBatch):
        return IngestedBatchView.from_records(results, request.language)
    (result,) = results
    if isinstance(result, ClearwellError):
        raise result
    return IngestedView.from_record(result)


@router.post(
    "/api/v1/memory/query",
    summary="Search working memory and long-term memory",
    description="Searches both tiers; each item has its source, score and label. If one tier is down, the other "
    "one answers and degraded names the missing one. Without the embedding model, long-term memory is"
    " searched by words only, and score is the share of the words of the query. Quarantine is never "
    "searched. Requires the scope read.",
    response_description="The items.",
    responses=openapi.problems(*openapi.QUERIES),
)
async def query(
    request: ApiRequest, question: Annotated[QueryInput, Body(openapi_examples=QUERY_EXAMPLES)]
) -> RetrievalView:
    found = await request.memory.retrieve(question.query, group=request.group(question), options=question.to_options())
    return RetrievalView.from_record(found, request.language)


@router.get(
    "/api/v1/memories/{id}",
    summary="Read a verified memory",
    description="The whole text. A memory that was withdrawn is not found here. Requires the scope read.",
    response_description="The memory.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def memory(
    request: ApiRequest,
    memory_id: Annotated[UUID, Path(alias="id")],
    parameters: Annotated[MemoryParameters, Query()],
) -> VerifiedMemoryView:
    group_id = request.group(parameters)
    found = await request.memory.memory(memory_id, group=group_id, agent_id=parameters.agent_id)
    return VerifiedMemoryView.from_record(found, request.language)


@router.get(
    "/api/v1/memories/{id}/promotion",
    summary="Read who promoted a memory, and whose outputs it is based on",
    description="For agents: it has no text of an output. Reviewers get the outputs from /memories/{id}/origin. "
    "Requires the scope read.",
    response_description="The origin of the memory.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def memory_origin(
    request: ApiRequest,
    memory_id: Annotated[UUID, Path(alias="id")],
    parameters: Annotated[MemoryParameters, Query()],
) -> MemoryOriginView:
    group_id = request.group(parameters)
    found = await request.memory.memory_origin(memory_id, group=group_id, agent_id=parameters.agent_id)
    return MemoryOriginView.read(found)
