"""The fact-check node of a workflow: it checks the claim of a state against memory.

The node takes a state and returns it with ``fact_check``, a text, and ``fact_check_result``, the same as data. An error
never breaks the workflow: the rating is then unknown, and an event says why.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

import structlog

from clearwell.errors import ClearwellError
from clearwell.flow.factcheck.checker import FactChecker, FactCheckOptions
from clearwell.flow.factcheck.claims import read_claims
from clearwell.flow.node_events import EventLog, OnEvent, describe_error, require_state
from clearwell.messages import Language
from clearwell.records import ClaimRating, EventType, FactCheck, Json, NodeRun

log = structlog.get_logger(__name__)

TEXT: Final = "fact_check"
RESULT: Final = "fact_check_result"


class FactCheckRunner(Protocol):
    """Runs the node on a state: the checker of this process, or a server."""

    async def run(
        self, state: object, *, group_id: str, options: FactCheckOptions, language: Language, on_event: OnEvent | None
    ) -> NodeRun:
        """Add ``fact_check`` and ``fact_check_result`` to a state. Errors become events."""
        ...


class StateChecker:
    """Runs the node in this process."""

    def __init__(self, checker: FactChecker) -> None:
        self._checker = checker

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
        events = EventLog(self._checker.clock, on_event)
        await events.emit(EventType.NODE_STATE_CHANGE, status="running")
        fields: Mapping[str, object] = state if isinstance(state, Mapping) else {}
        options = _add_session(options, fields)
        text, result = "", make_failed_result()
        try:
            field, claim = read_claims(require_state(state))
            check = await self._checker.check(claim, group_id, options, language=language)
        except (ClearwellError, OSError, TimeoutError) as error:
            code, message = describe_error(error, language, otherwise="node_fact_check_failed")
            log.warning("claim not checked", group_id=group_id, reason=code)
            self._checker.announce_failure(group_id, options, code)
            await events.emit(EventType.FACT_CHECK_ERROR, code=code, error=message)
        else:
            text, result = check.text, check.to_json()
            await _report(events, field, check, language)
        await events.emit(EventType.NODE_STATE_CHANGE, status="completed", rating=result["rating"])
        return NodeRun(output={**fields, TEXT: text, RESULT: result}, events=tuple(events.emitted))


class FactCheckNode:
    """The node as a function of a workflow: ``state = await node(state)``. It needs no framework."""

    def __init__(
        self,
        runner: FactCheckRunner,
        group_id: str,
        options: FactCheckOptions,
        *,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> None:
        self._runner = runner
        self._group_id = group_id
        self._options = options
        self._language: Language = language
        self._on_event = on_event

    async def __call__(self, state: Mapping[str, object]) -> dict[str, object]:
        return dict((await self.run(state)).output)

    async def run(self, state: object) -> NodeRun:
        """The same, with the events of the run."""
        return await self._runner.run(
            state,
            group_id=self._group_id,
            options=self._options,
            language=self._language,
            on_event=self._on_event,
        )


def make_failed_result() -> dict[str, Json]:
    """The result of a run that checked nothing."""
    return {"rating": ClaimRating.UNKNOWN.value, "claims": []}


def _add_session(options: FactCheckOptions, state: Mapping[str, object]) -> FactCheckOptions:
    """The options of the node, with the session that the state names."""
    session_id = state.get("session_id")
    if options.session_id is not None or not isinstance(session_id, str):
        return options
    return replace(options, session_id=session_id)


async def _report(events: EventLog, field: str, check: FactCheck, language: Language) -> None:
    """Emit what was found, and an error for the claims that could not be rated."""
    cited = dict.fromkeys(str(citation.memory_id) for claim in check.claims for citation in claim.citations)
    ids: list[Json] = [*cited]
    ratings: list[Json] = [claim.rating.value for claim in check.claims]
    degraded: list[Json] = list(check.degraded)
    if (problem := check.problem) is not None:
        code = problem.params["problem_code"]
        await events.emit(EventType.FACT_CHECK_ERROR, code=code, error=problem.say_reason(language))
    await events.emit(
        EventType.FACT_CHECKED,
        rating=check.rating.value,
        ratings=ratings,
        method=check.method.value,
        ids=ids,
        claim_from=field,
        degraded=degraded,
    )
