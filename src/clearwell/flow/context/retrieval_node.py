"""The memory-retrieval node: what earlier meetings left, put before the nodes that follow.

It takes a state and returns it with ``history_context`` added. Whatever goes wrong, the workflow goes on: the context
is then empty, and an event says why. What it returns is memory already and is not captured again.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import structlog

from clearwell.errors import ClearwellError, InvalidInput
from clearwell.flow import limits
from clearwell.flow.context.history import history_context
from clearwell.flow.retrieval.options import RetrieveOptions, wanted
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.messages import Language
from clearwell.ports import Clock
from clearwell.records import ContextItem, Json, NodeEvent, NodeEventType, NodeRun, Retrieval, Source
from clearwell.settings import Settings

log = structlog.get_logger(__name__)

QUERY_FIELDS: Final = ("topic", "content", "document")
CONCLUDING: Final = ("chair", "verdict")
"""The types of nodes that reach conclusions."""
LONGEST_QUERY: Final = 2_000
HISTORY: Final = "history_context"

OnEvent = Callable[[NodeEvent], Awaitable[None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """The node's properties. None: as the settings say.

    ``include_verdicts`` also fetches the conclusions that chair and verdict nodes reached in earlier meetings, whatever
    else is found; without it they are left out.
    """

    max_results: int | None = None
    time_range_days: float | None = None
    relevance_threshold: float | None = None
    include_verdicts: bool = True
    agent_id: str | None = None


class HistoryRetriever:
    """Runs the node for one state at a time."""

    def __init__(self, retriever: Retriever, clock: Clock, settings: Settings) -> None:
        self._retriever = retriever
        self._clock = clock
        self._settings = settings

    async def run(
        self,
        state: object,
        *,
        group_id: str,
        options: NodeOptions,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> NodeRun:
        events: list[NodeEvent] = []

        async def tell(kind: NodeEventType, **data: Json) -> None:
            event = NodeEvent(type=kind, at=self._clock.now(), data=data)
            events.append(event)
            told = None if on_event is None else on_event(event)
            if inspect.isawaitable(told):
                await told

        await tell(NodeEventType.STATE_CHANGE, status="running")
        history = ""
        fields: Mapping[str, object] = state if isinstance(state, Mapping) else {}
        try:
            if not isinstance(state, Mapping):
                raise InvalidInput("node_state_form", field="state", type=type(state).__name__)
            field, query = query_of(fields)
            found = await self._found(query, group_id, options, _session_of(fields))
        except (ClearwellError, OSError, TimeoutError) as error:
            code = error.code if isinstance(error, ClearwellError) else "node_retrieval_failed"
            said = error.text(language) if isinstance(error, ClearwellError) else type(error).__name__
            log.warning("history not retrieved", group=group_id, reason=code)
            await tell(NodeEventType.ERROR, code=code, error=said)
        else:
            history = history_context(found.items, language)
            ids: list[Json] = [str(item.id) for item in found.items]
            degraded: list[Json] = list(found.degraded)
            await tell(NodeEventType.RETRIEVED, count=len(ids), ids=ids, query_from=field, degraded=degraded)
        await tell(NodeEventType.STATE_CHANGE, status="completed", context_length=len(history))
        return NodeRun(output={**fields, HISTORY: history}, events=tuple(events))

    def asked(self, options: NodeOptions) -> RetrieveOptions:
        """What the node asks of retrieval. Raises InvalidInput for what cannot be asked."""
        threshold = options.relevance_threshold
        asked = RetrieveOptions(
            max_results=options.max_results,
            time_range_days=options.time_range_days,
            relevance_threshold=self._settings.node_relevance_threshold if threshold is None else threshold,
            agent_id=options.agent_id,
        )
        wanted(asked, self._settings, self._clock.now())
        return asked

    async def _found(self, query: str, group_id: str, options: NodeOptions, session_id: str | None) -> Retrieval:
        asked = self.asked(options)
        usual = self._retriever.look(query, group_id, asked)
        if not options.include_verdicts:
            found = await usual
            items = [item for item in found.items if not _is_earlier_conclusion(item, session_id)]
            return self._noted(replace(found, items=tuple(items)), group_id, options.agent_id)
        found, concluded = await asyncio.gather(usual, self._conclusions(query, group_id, asked, session_id))
        most = self._settings.max_results if options.max_results is None else options.max_results
        merged = _merged(found.items, concluded.items, most)
        degraded = tuple(sorted({*found.degraded, *concluded.degraded}))
        return self._noted(replace(found, items=merged, degraded=degraded), group_id, options.agent_id)

    async def _conclusions(
        self, query: str, group_id: str, asked: RetrieveOptions, session_id: str | None
    ) -> Retrieval:
        """What chair and verdict nodes concluded in earlier meetings: promoted, or still in working memory."""
        of_nodes = {"node_type": {"in": list(CONCLUDING)}}
        cold, hot = await asyncio.gather(
            self._retriever.look(query, group_id, replace(asked, sources=(Source.COLD,), filters=of_nodes)),
            self._retriever.look(
                query,
                group_id,
                replace(asked, sources=(Source.HOT,), hot_limit=self._settings.working_size, max_results=100),
            ),
        )
        items = [item for item in (*cold.items, *hot.items) if _is_earlier_conclusion(item, session_id)]
        return Retrieval(items=tuple(items), degraded=(*cold.degraded, *hot.degraded))

    def _noted(self, found: Retrieval, group_id: str, agent_id: str | None) -> Retrieval:
        if "working_memory" not in found.degraded:
            self._retriever.record_recall(group_id, [item.id for item in found.items], agent_id)
        return found


class MemoryRetrievalNode:
    """The node as a function of a workflow: ``state = await node(state)``. Needs no framework."""

    def __init__(self, run: Callable[[Mapping[str, object]], Awaitable[NodeRun]]) -> None:
        self._run = run

    async def __call__(self, state: Mapping[str, object]) -> dict[str, object]:
        return dict((await self._run(state)).output)

    async def run(self, state: Mapping[str, object]) -> NodeRun:
        """The same, with what happened on the way."""
        return await self._run(state)


def query_of(state: Mapping[str, object]) -> tuple[str, str]:
    """What to ask: the topic, else the content, else the document. What is no text, or blank, is passed over."""
    for field in QUERY_FIELDS:
        value = state.get(field)
        if isinstance(value, str) and value.strip():
            limits.require_storable(value, field)
            return field, value.strip()[:LONGEST_QUERY]
    found = ", ".join(f"{field}: {_kind(state, field)}" for field in QUERY_FIELDS)
    raise InvalidInput("node_no_query", field=QUERY_FIELDS[0], limit=" / ".join(QUERY_FIELDS), found=found)


def _kind(state: Mapping[str, object], field: str) -> str:
    if field not in state:
        return "–"
    return '""' if isinstance(state[field], str) else type(state[field]).__name__


def _session_of(state: Mapping[str, object]) -> str | None:
    """The meeting that runs now, where the state names it."""
    value = state.get("session_id")
    return value if isinstance(value, str) else None


def _is_earlier_conclusion(item: ContextItem, session_id: str | None) -> bool:
    """A conclusion of the meeting that runs now is no history."""
    return item.node_type in CONCLUDING and (session_id is None or item.session_id != session_id)


def _merged(items: tuple[ContextItem, ...], conclusions: tuple[ContextItem, ...], most: int) -> tuple[ContextItem, ...]:
    """The items in their order, then conclusions that are not among them; a third of the places is the conclusions'."""
    known = {item.id: item for item in (*items, *conclusions)}
    reserved = [item.id for item in conclusions][: max(1, most // 3)]
    others = [item.id for item in known.values() if item.id not in reserved]
    chosen = {*reserved, *others[: most - len(reserved)]}
    return tuple(item for item in known.values() if item.id in chosen)
