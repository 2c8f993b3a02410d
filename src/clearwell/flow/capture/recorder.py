"""The recorder: checks an output of a node and stores it as a row of quarantine."""

from collections.abc import Sequence

from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_right, resolve_agent
from clearwell.ports import CaptureStore, Clock, Ids, Stored
from clearwell.records import UNASSIGNED, Capture, IdempotencyKey, NewCapture, Outcome, Principal, Right, Verdict
from clearwell.settings import Settings


class CaptureRecorder:
    """Checks and commits outputs. It does nothing else, because the caller waits for it."""

    def __init__(self, captures: CaptureStore, clock: Clock, ids: Ids, settings: Settings) -> None:
        self._captures = captures
        self._clock = clock
        self._ids = ids
        self._settings = settings

    def accept(self, new: NewCapture, *, by: Principal) -> Capture:
        """Check an output and make its row. Raises InvalidInput or NotAllowed."""
        require_right(by, Right.CAPTURE)
        if new.group_id is not None:
            require_group_covered(by, limits.require_group(new.group_id))
        now = self._clock.now()
        return Capture(
            id=self._ids.new(),
            group_id=UNASSIGNED if new.group_id is None else new.group_id,
            session_id=limits.require_id(new.session_id, "session_id"),
            node_id=limits.require_id(new.node_id, "node_id"),
            node_type=limits.require_id(new.node_type, "node_type") or "agent",
            agent_id=resolve_agent(by, limits.require_id(new.agent_id, "agent_id")),
            content=limits.require_text(new.content, "content", max_bytes=self._settings.max_content_bytes),
            metadata=limits.require_metadata(new.metadata, self._settings),
            partial=new.partial,
            occurred_at=limits.require_moment(new.occurred_at, "occurred_at") or now,
            created_at=now,
            captured_by=by.name,
        )

    async def keep(self, captures: Sequence[Capture], *, request: IdempotencyKey | None = None) -> list[Stored]:
        """Commit rows of one group. Rows without a group are stored as refused."""
        settled = [self._make_refusal()] if captures[0].group_id == UNASSIGNED else []
        return await self._captures.add(captures, request=request, settled=settled)

    def _make_refusal(self) -> Verdict:
        return Verdict(check="group", outcome=Outcome.FAIL, reason="verdict_no_group", at=self._clock.now())
