"""The context builder: what an agent is told before it speaks.

Five sections in the protocol's order: the group's system prompt, the agent's persona, the group's memory, the agent's
own experience, the proposal at hand. What an operator wrote speaks as the system. What was remembered is matter: it
stands in fences, with its label, in the user's message, and what it says is never an instruction.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import structlog

from clearwell.errors import InvalidInput, Unavailable
from clearwell.flow.context.budget import LEAST_TOKENS, Budget, Material
from clearwell.flow.context.fencing import escape_fences
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.messages import Language
from clearwell.offload import offload
from clearwell.ports import GroupStore, TokenCounter
from clearwell.records import BuiltContext, Fate, Prompts, Retrieval, Scope, Section, Source
from clearwell.settings import Settings

log = structlog.get_logger(__name__)
MOST_TOKENS = 2_000_000
LONGEST_QUERY = 2_000
PROMPTS = "prompts"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What to build a context for. None: as the settings say; the query is the proposal unless it is given."""

    proposal: str
    query: str | None = None
    max_tokens: int | None = None
    language: Language = "en"
    options: RetrieveOptions = field(default_factory=RetrieveOptions)


class ContextBuilder:
    def __init__(self, groups: GroupStore, retriever: Retriever, counter: TokenCounter, settings: Settings) -> None:
        self._groups = groups
        self._retriever = retriever
        self._counter = counter
        self._settings = settings

    async def build(
        self, group_id: str, agent_id: str | None, request: ContextRequest, *, counter: TokenCounter | None = None
    ) -> BuiltContext:
        """The context of one agent, or of nobody in particular. Never more than its budget.

        For long texts ``counter`` is called from another thread.
        """
        max_tokens = self._max_tokens(request)
        query = (request.query or request.proposal)[:LONGEST_QUERY]
        options = request.options.for_agent(agent_id)
        (prompts, prompts_down), of_group, own = await asyncio.gather(
            self._prompts(group_id, agent_id),
            self._retriever.retrieve(query, group_id, options.for_agent(None), record=False),
            self._own(query, group_id, options),
        )
        group_items = of_group.items
        known = {item.id for item in group_items}
        own_items = [item for item in own.items if item.id not in known]
        material = Material(
            said={
                Section.GROUP_PROMPT: prompts.system_prompt.strip(),
                Section.PERSONA: prompts.persona.strip(),
                Section.PROPOSAL: await offload(len(request.proposal), escape_fences, request.proposal),
            },
            items={Section.GROUP_MEMORY: group_items, Section.AGENT_MEMORY: own_items},
        )
        budget = Budget(counter or self._counter, max_tokens, request.language)
        built = await offload(material.size, budget.fitted, material)
        degraded = tuple(sorted({*of_group.degraded, *own.degraded, *prompts_down}))
        if "working_memory" not in degraded:
            self._retriever.record_recall(group_id, _given(built), agent_id)
        return replace(built, degraded=degraded)

    def _max_tokens(self, request: ContextRequest) -> int:
        wanted = self._settings.context_max_tokens if request.max_tokens is None else request.max_tokens
        if not LEAST_TOKENS <= wanted <= MOST_TOKENS:
            limit = f"{LEAST_TOKENS}..{MOST_TOKENS}"
            raise InvalidInput("context_budget", field="max_tokens", limit=limit, value=wanted)
        return wanted

    async def _own(self, query: str, group_id: str, options: RetrieveOptions) -> Retrieval:
        """The agent's own experience: verified memories of its own, beside which the group's do not count."""
        if options.agent_id is None or (options.sources is not None and Source.COLD not in options.sources):
            return Retrieval(items=())
        limit = self._settings.agent_memory_limit
        wanted = replace(options, scope=Scope.AGENT, sources=(Source.COLD,), cold_limit=limit, max_results=limit)
        return await self._retriever.retrieve(query, group_id, wanted, record=False)

    async def _prompts(self, group_id: str, agent_id: str | None) -> tuple[Prompts, Sequence[str]]:
        """The prompts. Where they cannot be had the context is built without them, and says so."""
        try:
            async with asyncio.timeout(self._settings.retrieve_timeout_seconds):
                return await self._groups.prompts(group_id, agent_id), ()
        except (Unavailable, TimeoutError) as error:
            log.warning("context degraded", part=PROMPTS, reason=getattr(error, "code", "timeout"))
            return Prompts(), (PROMPTS,)


def _given(built: BuiltContext) -> list[UUID]:
    return [item.id for section in built.report.sections for item in section.items if item.fate is not Fate.LEFT_OUT]
