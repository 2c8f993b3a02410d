"""Statements over the rows of the quarantine twin."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.ports import DueOutput, OutdatedOutput, SegmentedOutput
from clearwell.records import UNASSIGNED, Admission, Capture, Statement
from clearwell.testing.quarantine import MemoryQuarantine
from clearwell.vocabulary import RULES


class MemoryStatements:
    """The statements port over the twin of quarantine."""

    def __init__(self, quarantine: MemoryQuarantine) -> None:
        self._quarantine = quarantine

    async def put(self, group_id: str, outputs: Sequence[SegmentedOutput]) -> None:
        for output in outputs:
            self._quarantine.rows[group_id][output.log_id].segment(output)

    async def read(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Statement]]:
        rows = self._quarantine.rows.get(group_id, {})
        found = {log_id: rows[log_id].segmented for log_id in log_ids if log_id in rows}
        return {log_id: list(output.statements) for log_id, output in found.items() if output is not None}

    async def find_outdated(
        self, *, version: int, model: str, limit: int, segmenter: str = RULES
    ) -> Sequence[OutdatedOutput]:
        outdated = [
            OutdatedOutput(
                group_id=group_id,
                log_id=log_id,
                keeps_segments=_keeps_segments(row.segmented, version, segmenter),
            )
            for group_id, rows in self._quarantine.rows.items()
            for log_id, row in rows.items()
            if group_id != UNASSIGNED
            and row.state is not Admission.PENDING
            and _is_outdated(row.segmented, version, model, segmenter)
        ]
        return outdated[:limit]

    async def find_due(self, *, now: datetime, limit: int) -> Sequence[DueOutput]:
        due = [
            (row.segmented.due_at, DueOutput(group_id=group_id, log_id=log_id, attempts=row.segmenter_attempts))
            for group_id, rows in self._quarantine.rows.items()
            for log_id, row in rows.items()
            if row.state is not Admission.PENDING
            and row.segmented is not None
            and row.segmented.due_at is not None
            and row.segmented.due_at <= now
        ]
        return [one for _, one in sorted(due, key=lambda pair: pair[0])[:limit]]

    async def lease(self, group_id: str, log_id: UUID, *, now: datetime, until: datetime) -> bool:
        row = self._quarantine.rows.get(group_id, {}).get(log_id)
        if row is None or row.segmented is None or row.segmented.due_at is None or row.segmented.due_at > now:
            return False
        row.segmented = replace(row.segmented, due_at=until)
        return True

    async def postpone(self, group_id: str, log_id: UUID, *, problem: str, due_at: datetime | None) -> None:
        row = self._quarantine.rows[group_id][log_id]
        if row.segmented is not None and row.segmented.due_at is not None:
            row.segmented = replace(row.segmented, due_at=due_at)
            row.segmenter_attempts, row.segmenter_problem = row.segmenter_attempts + 1, problem

    async def find_admitted(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractSet[UUID]:
        rows = self._quarantine.rows.get(group_id, {})
        return {log_id for log_id in log_ids if log_id in rows and rows[log_id].state is Admission.ADMITTED}

    async def read_outputs(self, group_id: str, log_ids: Sequence[UUID]) -> Sequence[Capture]:
        rows = self._quarantine.rows.get(group_id, {})
        captures = [rows[log_id].capture for log_id in log_ids if log_id in rows]
        settled = [one for one in captures if rows[one.id].state is not Admission.PENDING]
        return sorted(settled, key=lambda capture: capture.id)


def _is_outdated(output: SegmentedOutput | None, version: int, model: str, segmenter: str) -> bool:
    if output is None or output.version < version:
        return True
    return output.version == version and (output.model != model or output.segmenter not in (RULES, segmenter))


def _keeps_segments(output: SegmentedOutput | None, version: int, segmenter: str) -> bool:
    return output is not None and output.version == version and output.segmenter == segmenter != RULES
