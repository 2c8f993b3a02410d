"""The fact-check node of a workflow: it checks the claim of a state against memory.

The node takes a state and returns it with ``fact_check``, a text, and ``fact_check_result``, the same as data. An error
never breaks the workflow: the rating is then unknown, and an event says why.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import structlog

from clearwell.errors import ClearwellError, InvalidInput
from clearwell.flow.factcheck.checker import FactChecker, FactCheckOptions
from clearwell.flow.factcheck.claims import read_claims
from clearwell.flow.node_events import EventLog, OnEvent
from clearwell.messages import Language
from clearwell.records import ClaimRating, EventType, FactCheck, Json, NodeRun

log = structlog.get_logger(__name__)

TEXT: Final = "fact_check"
RESULT: Final = "fact_check_result"


class FactCheckNode:
    """The node as a function of a workflow: ``state = await node(state)``. It needs no framework."""

    def __init__(
        self,
        checker: FactChecker,
        group_id: str,
        options: FactCheckOptions,
        *,
        language: Language = "en",
        on_event: OnEvent | None = None,
    ) -> None:
        self._checker = checker
        self._group_id = group_id
        self._options = options
        self._language: Language = language
        self._on_event = on_event

    async def __call__(self, state: Mapping[str, object]) -> dict[str, object]:
        return dict((await self.run(state)).output)

    async def run(self, state: object) -> NodeRun:
        """The same, with the events of the run."""
        events = EventLog(self._checker.clock, self._on_event)
        await events.emit(EventType.NODE_STATE_CHANGE, status="running")
        fields: Mapping[str, object] = state if isinstance(state, Mapping) else {}
        text, result = "", _make_failed_result()
        try:
            if not isinstance(state, Mapping):
                raise InvalidInput("node_state_form", field="state", type=type(state).__name__)
            field, check = await self._check(fields)
        except (ClearwellError, OSError, TimeoutError) as error:
            code = error.code if isinstance(error, ClearwellError) else "node_fact_check_failed"
            message = error.text(self._language) if isinstance(error, ClearwellError) else type(error).__name__
            log.warning("claim not checked", group=self._group_id, reason=code)
            self._checker.announce_failure(self._group_id, self._read_options(fields), code)
            await events.emit(EventType.FACT_CHECK_ERROR, code=code, error=message)
        else:
            text, result = check.text, check.to_json()
            await self._report(events, field, check)
        await events.emit(EventType.NODE_STATE_CHANGE, status="completed", rating=result["rating"])
        return NodeRun(output={**fields, TEXT: text, RESULT: result}, events=tuple(events.emitted))

    async def _check(self, state: Mapping[str, object]) -> tuple[str, FactCheck]:
        field, claim = read_claims(state)
        options = self._read_options(state)
        return field, await self._checker.check(claim, self._group_id, options, language=self._language)

    def _read_options(self, state: Mapping[str, object]) -> FactCheckOptions:
        """The options of the node, with the session that the state names."""
        session_id = state.get("session_id")
        if self._options.session_id is not None or not isinstance(session_id, str):
            return self._options
        return replace(self._options, session_id=session_id)

    async def _report(self, events: EventLog, field: str, check: FactCheck) -> None:
        """Emit what was found, and an error for the claims that could not be rated."""
        ids: list[Json] = [
            *dict.fromkeys(str(citation.memory_id) for claim in check.claims for citation in claim.citations)
        ]
        ratings: list[Json] = [claim.rating.value for claim in check.claims]
        degraded: list[Json] = list(check.degraded)
        if (problem := check.problem) is not None:
            await events.emit(
                EventType.FACT_CHECK_ERROR,
                code=problem.params["problem_code"],
                error=problem.say_reason(self._language),
            )
        await events.emit(
            EventType.FACT_CHECKED,
            rating=check.rating.value,
            ratings=ratings,
            method=check.method.value,
            ids=ids,
            claim_from=field,
            degraded=degraded,
        )


def _make_failed_result() -> dict[str, Json]:
    return {"rating": ClaimRating.UNKNOWN.value, "claims": []}
