"""The memory-retrieval node and the fact-check node of a workflow, run by a server."""

from collections.abc import Mapping

import structlog

from clearwell.client.fields import read_fields
from clearwell.client.routes import ApiClient
from clearwell.clock import SystemClock
from clearwell.errors import ClearwellError
from clearwell.flow.context.retrieval_node import HISTORY, QUERY_FIELDS, NodeOptions
from clearwell.flow.factcheck.checker import FactCheckOptions
from clearwell.flow.factcheck.claims import CLAIM
from clearwell.flow.factcheck.node import RESULT, TEXT, make_failed_result
from clearwell.flow.node_events import EventLog, OnEvent
from clearwell.messages import Language
from clearwell.records import ClaimRating, EventType, NodeRun

log = structlog.get_logger(__name__)
SENT_FIELDS = (*QUERY_FIELDS, "session_id")


class RemoteNodeRunner:
    """Has a server run the node. Only the texts that the node reads are sent; the state stays in this process.

    A server that does not answer never breaks the workflow: the history is then empty, and an event says why.
    """

    def __init__(self, routes: ApiClient) -> None:
        self._routes = routes

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
        events = EventLog(SystemClock(), on_event)
        fields: Mapping[str, object] = state if isinstance(state, Mapping) else {}
        texts = {name: fields[name] for name in SENT_FIELDS if isinstance(fields.get(name), str)}
        history = ""
        try:
            answer = await self._routes.run_retrieval_node(group_id, texts, read_fields(options), language=language)
            run = answer.to_record()
        except ClearwellError as error:
            log.warning("history not retrieved", group_id=group_id, reason=error.code)
            await events.emit(EventType.NODE_STATE_CHANGE, status="running")
            await events.emit(EventType.MEMORY_RETRIEVAL_ERROR, code=error.code, error=error.text(language))
            await events.emit(EventType.NODE_STATE_CHANGE, status="completed", context_length=0)
        else:
            history = str(run.output.get(HISTORY, ""))
            for event in run.events:
                await events.add(event)
        return NodeRun(output={**fields, HISTORY: history}, events=tuple(events.emitted))


class RemoteFactCheckRunner:
    """Has a server run the fact-check node. Only the texts that the node reads are sent.

    A server that does not answer never breaks the workflow: the rating is then unknown, and an event says why.
    """

    def __init__(self, routes: ApiClient) -> None:
        self._routes = routes

    async def run(
        self,
        state: object,
        *,
        group_id: str,
        options: FactCheckOptions,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> NodeRun:
        """Add ``fact_check`` and ``fact_check_result`` to a state. Errors become events."""
        events = EventLog(SystemClock(), on_event)
        fields: Mapping[str, object] = state if isinstance(state, Mapping) else {}
        added: dict[str, object] = {TEXT: "", RESULT: make_failed_result()}
        try:
            answer = await self._routes.run_fact_check_node(
                group_id, _select_claims(fields), read_fields(options), language=language
            )
            run = answer.to_record()
        except ClearwellError as error:
            log.warning("claim not checked", group_id=group_id, reason=error.code)
            await events.emit(EventType.NODE_STATE_CHANGE, status="running")
            await events.emit(EventType.FACT_CHECK_ERROR, code=error.code, error=error.text(language))
            await events.emit(EventType.NODE_STATE_CHANGE, status="completed", rating=ClaimRating.UNKNOWN.value)
        else:
            added = {name: run.output[name] for name in added}
            for event in run.events:
                await events.add(event)
        return NodeRun(output={**fields, **added}, events=tuple(events.emitted))


def _select_claims(state: Mapping[str, object]) -> dict[str, object]:
    """The texts of a state that the fact-check node reads."""
    texts = {name: state[name] for name in (CLAIM, *SENT_FIELDS) if isinstance(state.get(name), str)}
    claims = state.get(CLAIM)
    if isinstance(claims, list | tuple):
        texts[CLAIM] = [claim for claim in claims if isinstance(claim, str)]
    return texts
