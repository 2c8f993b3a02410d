"""What reviewers read of quarantine: captured outputs, and how often each ingress check had each outcome."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from clearwell.errors import NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_reviewer
from clearwell.ports import AdmissionStore, QuarantineFilter, QuarantineStore
from clearwell.records import IngressCount, Principal, QuarantinePage, QuarantineRow


class QuarantineReader:
    """Reads quarantine for callers with the right to review. Agents cannot read it."""

    def __init__(self, quarantine: QuarantineStore, admissions: AdmissionStore) -> None:
        self._quarantine = quarantine
        self._admissions = admissions

    async def row(self, group_id: str, log_id: UUID, *, by: Principal) -> QuarantineRow:
        """Return one captured output with everything that happened to it. Raises NotFound."""
        require_reviewer(by, group_id)
        row = await self._quarantine.get(group_id, log_id)
        if row is None:
            raise NotFound("row_not_found", id=log_id, group=group_id)
        return row

    async def page(
        self, group_id: str, *, by: Principal, where: QuarantineFilter | None, before: UUID | None, limit: int
    ) -> QuarantinePage:
        """Return a page of captured outputs, newest first. Raises InvalidInput if ``where`` is invalid."""
        require_reviewer(by, group_id)
        wanted = _check_filter(where or QuarantineFilter())
        return await self._quarantine.page(group_id, where=wanted, before=before, limit=limit)

    async def rows(
        self, group_id: str, *, by: Principal, where: QuarantineFilter | None, before: UUID | None, limit: int
    ) -> Sequence[QuarantineRow]:
        """Return this many captured outputs, newest first, from as many pages as it takes."""
        found: list[QuarantineRow] = []
        while True:
            page = await self.page(group_id, by=by, where=where, before=before, limit=limit - len(found))
            found += page.rows
            if page.next is None or len(found) >= limit:
                return found
            before = page.next

    async def counts(self, group_id: str, *, by: Principal) -> Sequence[IngressCount]:
        """Return how often each check had each outcome, by agent."""
        require_reviewer(by, group_id)
        return await self._admissions.read_counts(group_id)


def _check_filter(where: QuarantineFilter) -> QuarantineFilter:
    return replace(
        where,
        session_id=limits.require_id(where.session_id, "session_id"),
        agent_id=limits.require_id(where.agent_id, "agent_id"),
        node_type=limits.require_id(where.node_type, "node_type"),
        flag=limits.require_id(where.flag, "flag"),
        words=None if where.words is None else where.words.strip() or None,
        since=limits.require_moment(where.since, "since"),
        until=limits.require_moment(where.until, "until"),
    )
