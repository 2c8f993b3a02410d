"""The playground: ask memory as an agent would, and see the items in order and the context that is built from them."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Optional
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
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

    def to_options(self) -> RetrieveOptions:
        return RetrieveOptions(
            agent_id=self.agent,
            max_results=self.max_results,
            hot_threshold=self.hot_threshold,
            relevance_threshold=self.relevance_threshold,
            recent=self.recent,
            explain=True,
        )


@router.get("/g/{group:path}/playground")
async def playground(request: ConsoleRequest, group: str, question: Annotated[Question, Query()]) -> Response:
    if question.q is None:
        return request.page("playground.html", group=group, question=question, found=None, built=None)
    options = question.to_options()
    wanted = ContextRequest(
        proposal=question.q, max_tokens=question.max_tokens, language=request.language, options=options
    )
    found, context = await asyncio.gather(
        request.memory.retrieve(question.q, group=group, options=options),
        request.memory.build_context(wanted, group=group),
    )
    return request.page(
        "playground.html",
        group=group,
        question=question,
        found=RetrievalView.from_record(found, request.language),
        built=ContextView.from_record(context, request.language),
    )
