"""The playground: ask memory as an agent would, and see the items in order and the context that is built from them."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Optional
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import Source
from clearwell.views.context import ContextView
from clearwell.views.memories import RetrievalView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)


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


@router.get("/g/{group:path}/playground")
async def playground(request: ConsoleRequest, group: str, question: Annotated[Question, Query()]) -> Response:
    if question.q is None:
        return request.page(
            "playground.html", group=group, question=question, found=None, built=None, tiers=tuple(Source)
        )
    options = question.to_options()
    wanted = ContextRequest(
        proposal=question.q, max_tokens=question.max_tokens, language=request.language, options=options
    )
    found, context = await asyncio.gather(
        request.memory.retrieve(question.q, group=group, options=options),
        request.memory.build_context(wanted, group=group),
    )
    view = RetrievalView.from_record(found, request.language)
    return request.page(
        "playground.html",
        group=group,
        question=question,
        found=view,
        texts={item.id: item.content for item in view.results},
        built=ContextView.from_record(context, request.language),
        tiers=tuple(Source),
    )
