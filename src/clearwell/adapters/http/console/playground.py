"""The playground: ask memory as an agent would, and see the items in order and the context that is built from them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Optional
from clearwell.adapters.http.console.memories import read_memories
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.errors import InvalidInput, WrongStructure
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import Fate, Source
from clearwell.views.context import ContextView
from clearwell.views.flaws import invalid_structure
from clearwell.views.memories import RetrievalView, RetrievedMemoryView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

FIELDS = {"query": "q", "proposal": "q", "agent_id": "agent", "sources": "tier"}
"""The fields of the form whose options have other names."""


class Question(BaseModel):
    """What to ask, and with which options."""

    model_config = ConfigDict(frozen=True)

    q: Optional[str] = None
    agent: Optional[str] = None
    max_results: Optional[int] = None
    hot_threshold: Optional[float] = None
    relevance_threshold: Optional[float] = None
    recent: Optional[int] = None
    max_tokens: Optional[int] = None
    tier: Optional[Source] = None
    as_of: Optional[datetime] = None

    @property
    def moment(self) -> datetime | None:
        """The time to ask for. A form sends it without a zone, and means UTC."""
        return None if self.as_of is None else self.as_of.replace(tzinfo=self.as_of.tzinfo or UTC)

    def to_options(self) -> RetrieveOptions:
        return RetrieveOptions(
            agent_id=self.agent,
            max_results=self.max_results,
            hot_threshold=self.hot_threshold,
            relevance_threshold=self.relevance_threshold,
            recent=self.recent,
            sources=None if self.tier is None else (self.tier,),
            as_of=self.moment,
            explain=True,
            record=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an agent would be given. ``texts`` are those of the items and of the memories that they contradict."""

    found: RetrievalView
    built: ContextView
    texts: Mapping[UUID, str]
    wholes: Mapping[UUID, str]
    """The whole texts of the memories, of which an item is one chunk."""

    def goes_on(self, item: RetrievedMemoryView) -> bool:
        """Whether the text of an item goes on after what is shown."""
        return item.cut or not self._whole(item).rstrip().endswith(item.content.rstrip())

    def begins_before(self, item: RetrievedMemoryView) -> bool:
        """Whether the text of an item begins before what is shown."""
        return item.cut_before or not self._whole(item).lstrip().startswith(item.content.lstrip())

    def _whole(self, item: RetrievedMemoryView) -> str:
        whole = self.wholes.get(item.id, "")
        return whole if item.content.strip() in whole else item.content  # an earlier version has another text

    @property
    def degraded(self) -> list[str]:
        """What did not respond, for the items or for the context."""
        return sorted({*self.found.degraded, *self.built.degraded})

    @property
    def frame_tokens(self) -> int:
        """The tokens of the context that are of no section: instructions, and what chat APIs add."""
        report = self.built.report
        return report.tokens - sum(section.tokens for section in report.sections)

    @property
    def is_cut_off(self) -> bool:
        """Whether memories were omitted although tokens are left."""
        report = self.built.report
        items = (item for section in report.sections for item in section.items)
        return report.tokens < report.max_tokens and any(item.fate is Fate.LEFT_OUT for item in items)


@router.get("/g/{group:path}/playground")
async def playground(request: ConsoleRequest, group: str) -> Response:
    """The form, and the answer to what it asks. What is wrong with a field is said beside it, and nothing is lost."""
    answer, problems = None, dict[str, str]()
    try:
        answer = await ask(request, group, read_question(request.query_params))
    except WrongStructure as error:
        problems = {flaw.field: flaw.text(request.language) for flaw in error.flaws}
    except InvalidInput as error:
        problems = {FIELDS.get(error.field, error.field): error.text(request.language)}
    return request.page(
        "playground.html",
        group=group,
        status=422 if problems else 200,
        sent=request.query_params,
        answer=answer,
        problems=problems,
        tiers=tuple(Source),
    )


def read_question(sent: Mapping[str, str]) -> Question:
    """Read the fields of the form. Raises InvalidInput, which names the wrong ones."""
    try:
        return Question.model_validate(dict(sent))
    except ValidationError as error:
        raise invalid_structure(error.errors()) from None


async def ask(request: ConsoleRequest, group: str, question: Question) -> Answer | None:
    """Retrieve and build the context; None before anything was asked. Raises InvalidInput."""
    if question.q is None and "q" in request.query_params:
        raise InvalidInput("console_question_missing", field="q")
    if question.q is None:
        return None
    options = question.to_options()
    wanted = ContextRequest(
        proposal=question.q, max_tokens=question.max_tokens, language=request.language, options=options
    )
    found, context = await asyncio.gather(
        request.memory.retrieve(question.q, group=group, options=options),
        request.memory.build_context(wanted, group=group),
    )
    named = {other for item in found.items for other in item.conflicts_with}
    memories = await read_memories(request, group, named | {item.id for item in found.items if item.verified})
    wholes = {memory_id: memory.content for memory_id, memory in memories.items()}
    return Answer(
        found=RetrievalView.from_record(found, request.language),
        built=ContextView.from_record(context, request.language),
        texts={**wholes, **{item.id: item.content for item in found.items}},
        wholes=wholes,
    )
