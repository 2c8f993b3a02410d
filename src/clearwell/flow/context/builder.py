"""The context builder: the prompt that an agent receives.

It has five sections in the protocol's order: the group's system prompt, the agent's persona, the group's memory, the
agent's own memory, and the proposal. Prompt and persona, which an operator wrote, are the system message. Memories
are data: they are fenced and labelled in the user message, and are never instructions.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import structlog

from clearwell.errors import InvalidInput, Unavailable
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_in_group, resolve_agent
from clearwell.flow.context.budget import MIN_TOKENS, ContextMaterial, TokenBudget
from clearwell.flow.context.fencing import escape_fences
from clearwell.flow.retrieval.options import RetrieveOptions, plan_retrieval
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.messages import Language
from clearwell.offload import offload
from clearwell.ports import Clock, GroupStore, TokenCounter
from clearwell.records import (
    BuiltContext,
    ContextItem,
    Fate,
    Principal,
    Prompts,
    Retrieval,
    Right,
    Scope,
    Section,
    Source,
)
from clearwell.settings import Settings

log = structlog.get_logger(__name__)
MAX_TOKENS = 2_000_000
PROMPTS = "prompts"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What to build a context for. None means the value of the settings; for ``query`` it means the proposal."""

    proposal: str
    query: str | None = None
    max_tokens: int | None = None
    language: Language = "en"
    options: RetrieveOptions = field(default_factory=RetrieveOptions)


class ContextBuilder:
    """Builds contexts from the prompts of a group and the memories that retrieval returns."""

    def __init__(
        self, groups: GroupStore, retriever: Retriever, counter: TokenCounter, clock: Clock, settings: Settings
    ) -> None:
        self._clock = clock
        self._groups = groups
        self._retriever = retriever
        self._counter = counter
        self._settings = settings

    async def build(
        self, group_id: str, request: ContextRequest, *, by: Principal, counter: TokenCounter | None = None
    ) -> BuiltContext:
        """Build the context of the agent that the request or the key names, or of none. It never exceeds its budget.

        For long texts ``counter`` is called from another thread. Raises NotAllowed or InvalidInput.
        """
        require_in_group(by, group_id, Right.READ)
        limits.require_text(request.proposal, "proposal", max_bytes=self._settings.max_content_bytes)
        if request.query is not None:
            limits.require_text(request.query, "query", max_bytes=self._settings.max_query_bytes)
        agent_id = resolve_agent(by, limits.require_id(request.options.agent_id, "agent_id"))
        max_tokens = self._resolve_max_tokens(request)
        query = limits.cut_query(request.query or request.proposal)
        options = request.options.for_agent(agent_id)
        (prompts, missing), of_group, own = await asyncio.gather(
            self._fetch_prompts(group_id, agent_id),
            self._retriever.retrieve(query, group_id, options.for_agent(None), record=False, withdrawn=not by.is_agent),
            self._retrieve_own(query, group_id, options, withdrawn=not by.is_agent),
        )
        group_items, own_items = _share_places(of_group.items, own.items, self._resolve_max_results(options))
        material = ContextMaterial(
            texts={
                Section.GROUP_PROMPT: prompts.system_prompt.strip(),
                Section.PERSONA: prompts.persona.strip(),
                Section.PROPOSAL: await offload(len(request.proposal), escape_fences, request.proposal),
            },
            items={Section.GROUP_MEMORY: group_items, Section.AGENT_MEMORY: own_items},
        )
        budget = TokenBudget(counter or self._counter, max_tokens, request.language)
        built = await offload(material.size, budget.fit, material)
        degraded = tuple(sorted({*of_group.degraded, *own.degraded, *missing}))
        if options.record or by.is_agent:
            included = _list_included(built)
            items = [item for item in (*group_items, *own_items) if item.id in included]
            self._retriever.record_recall(group_id, items, agent_id, degraded=degraded)
        return replace(built, degraded=degraded)

    def _resolve_max_tokens(self, request: ContextRequest) -> int:
        max_tokens = self._settings.context_max_tokens if request.max_tokens is None else request.max_tokens
        if not MIN_TOKENS <= max_tokens <= MAX_TOKENS:
            limit = f"{MIN_TOKENS}..{MAX_TOKENS}"
            raise InvalidInput("context_budget", field="max_tokens", limit=limit, value=max_tokens)
        return max_tokens

    def _resolve_max_results(self, options: RetrieveOptions) -> int:
        """The most memories of both sections together."""
        return plan_retrieval(options, self._settings, self._clock.now()).max_results

    async def _retrieve_own(self, query: str, group_id: str, options: RetrieveOptions, *, withdrawn: bool) -> Retrieval:
        """Retrieve the agent's own verified memories, without those of the group."""
        if options.agent_id is None or (options.sources is not None and Source.COLD not in options.sources):
            return Retrieval(items=())
        limit = min(self._settings.agent_memory_limit, self._resolve_max_results(options))
        if limit == 0:
            return Retrieval(items=())
        own = replace(options, scope=Scope.AGENT, sources=(Source.COLD,), cold_limit=limit, max_results=limit)
        return await self._retriever.retrieve(query, group_id, own, record=False, withdrawn=withdrawn)

    async def _fetch_prompts(self, group_id: str, agent_id: str | None) -> tuple[Prompts, Sequence[str]]:
        """Read the prompts. If the database does not answer, the context is built without them and says so."""
        try:
            async with asyncio.timeout(self._settings.retrieve_timeout_seconds):
                return await self._groups.prompts(group_id, agent_id), ()
        except (Unavailable, TimeoutError) as error:
            log.warning("context degraded", part=PROMPTS, reason=getattr(error, "code", "timeout"))
            return Prompts(), (PROMPTS,)


def _share_places(
    of_group: Sequence[ContextItem], own: Sequence[ContextItem], most: int
) -> tuple[Sequence[ContextItem], Sequence[ContextItem]]:
    """The memories of the group and the agent's own, at most this many together and none twice.

    A third of the places is reserved for the agent's own memories; what one section does not need the other gets.
    """
    known = {item.id for item in of_group}
    own = [item for item in own if item.id not in known]
    reserved = min(len(own), most // 3 if most > 2 else most - 1)
    group_items = of_group[: most - reserved]
    return group_items, own[: most - len(group_items)]


def _list_included(built: BuiltContext) -> frozenset[UUID]:
    """The ids of the memories that are in the context."""
    sections = built.report.sections
    return frozenset(item.id for section in sections for item in section.items if item.fate is not Fate.LEFT_OUT)
