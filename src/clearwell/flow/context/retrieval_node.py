"""The memory-retrieval node of a workflow: it gives the nodes that follow what earlier sessions left.

The node takes a state and returns it with ``history_context`` added. An error never breaks the workflow: the context
is then empty, and an event says why. What the node returns is memory already and is not captured again.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

import structlog

from clearwell.errors import ClearwellError, InvalidInput
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_in_group, resolve_agent
from clearwell.flow.context.fencing import format_history
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.node_events import EventLog, OnEvent, describe_error, require_state
from clearwell.flow.retrieval.options import MAX_RESULTS, RetrieveOptions, plan_retrieval
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.messages import Language
from clearwell.ports import Clock
from clearwell.records import ContextItem, EventType, Json, NodeRun, Principal, Retrieval, Right, Source
from clearwell.settings import Settings
from clearwell.vocabulary import CONCLUDING_NODE_TYPES

log = structlog.get_logger(__name__)

QUERY_FIELDS: Final = ("topic", "content", "document")
HISTORY: Final = "history_context"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """The node's properties. None means the value of the settings.

    With ``recent`` the node also gives the newest entries of working memory, whatever they say, and the state needs
    no text to ask for.
    ``include_verdicts`` also retrieves the conclusions that chair and verdict nodes reached in earlier sessions,
    whatever else is found; without it they are left out.
    """

    max_results: int | None = None
    time_range_days: float | None = None
    relevance_threshold: float | None = None
    hot_threshold: float | None = None
    recent: int | None = None
    include_verdicts: bool = True
    agent_id: str | None = None


class HistoryRetriever:
    """Runs the node on states."""

    def __init__(self, retriever: Retriever, events: EventPublisher, clock: Clock, settings: Settings) -> None:
        self._retriever = retriever
        self._events = events
        self._clock = clock
        self._settings = settings

    def make_node(
        self, group_id: str, options: NodeOptions, *, by: Principal, language: Language, on_event: OnEvent | None
    ) -> "MemoryRetrievalNode":
        """Make the node of a group for this caller. Raises NotAllowed, or InvalidInput if the options are not valid."""
        require_in_group(by, group_id, Right.READ)
        options = replace(options, agent_id=resolve_agent(by, limits.require_id(options.agent_id, "agent_id")))
        self._make_options(options)
        return MemoryRetrievalNode(self, group_id, options, language=language, on_event=on_event)

    async def run(
        self,
        state: object,
        *,
        group_id: str,
        options: NodeOptions,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> NodeRun:
        """Add ``history_context`` to a state. Errors of retrieval become events."""
        events = EventLog(self._clock, on_event)
        await events.emit(EventType.NODE_STATE_CHANGE, status="running")
        history = ""
        fields: Mapping[str, object] = state if isinstance(state, Mapping) else {}
        try:
            field, query = extract_query(require_state(state), required=options.recent is None)
            retrieval = await self._retrieve(query, group_id, options, _read_session(fields))
        except (ClearwellError, OSError, TimeoutError) as error:
            code, message = describe_error(error, language, otherwise="node_retrieval_failed")
            log.warning("history not retrieved", group_id=group_id, reason=code)
            self._events.publish(
                EventType.MEMORY_RETRIEVAL_ERROR,
                group_id,
                agent_id=options.agent_id,
                session_id=_read_session(fields),
                reason=code,
            )
            await events.emit(EventType.MEMORY_RETRIEVAL_ERROR, code=code, error=message)
        else:
            history = format_history(retrieval.items, language)
            ids: list[Json] = [str(item.id) for item in retrieval.items]
            degraded: list[Json] = list(retrieval.degraded)
            await events.emit(
                EventType.MEMORY_RETRIEVED,
                count=len(ids),
                ids=ids,
                query_from=field,
                degraded=degraded,
                note=retrieval.note,
            )
        await events.emit(EventType.NODE_STATE_CHANGE, status="completed", context_length=len(history))
        return NodeRun(output={**fields, HISTORY: history}, events=tuple(events.emitted))

    def _make_options(self, options: NodeOptions) -> RetrieveOptions:
        """Return the options of the node's query. Raises InvalidInput if they are not valid."""
        threshold = options.relevance_threshold
        retrieve_options = RetrieveOptions(
            max_results=options.max_results,
            time_range_days=options.time_range_days,
            relevance_threshold=self._settings.node_relevance_threshold if threshold is None else threshold,
            hot_threshold=options.hot_threshold,
            recent=options.recent,
            agent_id=options.agent_id,
        )
        plan_retrieval(retrieve_options, self._settings, self._clock.now())
        return retrieve_options

    async def _retrieve(self, query: str, group_id: str, options: NodeOptions, session_id: str | None) -> Retrieval:
        """Retrieve the items of the history, and record as recalled those that the node returns."""
        retrieve_options = self._make_options(options)
        found = self._retriever.retrieve(query, group_id, retrieve_options, record=False)
        if options.include_verdicts and query:
            usual, conclusions = await asyncio.gather(
                found, self._retrieve_conclusions(query, group_id, retrieve_options, session_id)
            )
            most = plan_retrieval(retrieve_options, self._settings, self._clock.now()).max_results
            items = _merge_conclusions(usual.items, conclusions.items, most)
            retrieval = replace(usual, items=items, degraded=tuple(sorted({*usual.degraded, *conclusions.degraded})))
        elif options.include_verdicts:
            retrieval = await found
        else:
            usual = await found
            retrieval = replace(
                usual, items=tuple(item for item in usual.items if not _is_earlier_conclusion(item, session_id))
            )
        self._retriever.record_recall(
            group_id, retrieval.items, options.agent_id, degraded=retrieval.degraded, session_id=session_id
        )
        return retrieval

    async def _retrieve_conclusions(
        self, query: str, group_id: str, options: RetrieveOptions, session_id: str | None
    ) -> Retrieval:
        """What chair and verdict nodes concluded in earlier sessions: promoted, or still in working memory."""
        options = replace(options, recent=None)
        verified = replace(options, sources=(Source.COLD,), filters={"node_type": {"in": list(CONCLUDING_NODE_TYPES)}})
        unverified = replace(options, sources=(Source.HOT,), hot_limit=MAX_RESULTS, max_results=MAX_RESULTS)
        cold, hot = await asyncio.gather(
            self._retriever.retrieve(query, group_id, verified, record=False),
            self._retriever.retrieve(query, group_id, unverified, record=False),
        )
        items = [item for item in (*cold.items, *hot.items) if _is_earlier_conclusion(item, session_id)]
        return Retrieval(items=tuple(items), degraded=(*cold.degraded, *hot.degraded))


class NodeRunner(Protocol):
    """Runs the node on a state: the history retriever of this process, or a server."""

    async def run(
        self, state: object, *, group_id: str, options: NodeOptions, language: Language, on_event: OnEvent | None
    ) -> NodeRun:
        """Add ``history_context`` to a state. Errors of retrieval become events."""
        ...


class MemoryRetrievalNode:
    """The node as a function of a workflow: ``state = await node(state)``. It needs no framework."""

    def __init__(
        self,
        history: NodeRunner,
        group_id: str,
        options: NodeOptions,
        *,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> None:
        self._history = history
        self._group_id = group_id
        self._options = options
        self._language: Language = language
        self._on_event = on_event

    async def __call__(self, state: Mapping[str, object]) -> dict[str, object]:
        return dict((await self.run(state)).output)

    async def run(self, state: Mapping[str, object]) -> NodeRun:
        """The same, with the events of the run."""
        return await self._history.run(
            state,
            group_id=self._group_id,
            options=self._options,
            language=self._language,
            on_event=self._on_event,
        )


def extract_query(state: Mapping[str, object], *, required: bool = True) -> tuple[str | None, str]:
    """Return the field and the text to ask for: the topic, else the content, else the document.

    Blank values and values that are not text are skipped. If none is left and one is required, raises InvalidInput.
    """
    for field in QUERY_FIELDS:
        value = state.get(field)
        if isinstance(value, str) and value.strip():
            limits.require_storable(value, field)
            return field, limits.cut_query(value.strip())
    if not required:
        return None, ""
    found = ", ".join(f"{field}: {_describe_value(state, field)}" for field in QUERY_FIELDS)
    raise InvalidInput("node_no_query", field=QUERY_FIELDS[0], limit=" / ".join(QUERY_FIELDS), found=found)


def _describe_value(state: Mapping[str, object], field: str) -> str:
    if field not in state:
        return "–"
    return '""' if isinstance(state[field], str) else type(state[field]).__name__


def _read_session(state: Mapping[str, object]) -> str | None:
    """The current session, if the state names it."""
    value = state.get("session_id")
    return value if isinstance(value, str) else None


def _is_earlier_conclusion(item: ContextItem, session_id: str | None) -> bool:
    """Whether the item is a conclusion. A conclusion of the current session is not history."""
    return item.node_type in CONCLUDING_NODE_TYPES and (session_id is None or item.session_id != session_id)


def _merge_conclusions(
    items: tuple[ContextItem, ...], conclusions: tuple[ContextItem, ...], most: int
) -> tuple[ContextItem, ...]:
    """The items in their order, then the other conclusions. A third of the places is reserved for conclusions."""
    known = {item.id: item for item in (*items, *conclusions)}
    reserved = [item.id for item in conclusions][: max(1, most // 3)]
    others = [item.id for item in known.values() if item.id not in reserved]
    chosen = {*reserved, *others[: most - len(reserved)]}
    return tuple(item for item in known.values() if item.id in chosen)
