"""Statements over the rows of the quarantine twin."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from clearwell.ports import OutdatedOutput, SegmentedOutput
from clearwell.records import UNASSIGNED, Admission, Capture, Statement
from clearwell.testing.quarantine import MemoryQuarantine, Row


class MemoryStatements:
    """The statements port over the twin of quarantine."""

    def __init__(self, quarantine: MemoryQuarantine) -> None:
        self._quarantine = quarantine

    async def put(self, group_id: str, outputs: Sequence[SegmentedOutput]) -> None:
        for output in outputs:
            self._quarantine.rows[group_id][output.log_id].segmented = output

    async def read(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Statement]]:
        rows = self._quarantine.rows.get(group_id, {})
        found = {log_id: rows[log_id].segmented for log_id in log_ids if log_id in rows}
        return {log_id: list(output.statements) for log_id, output in found.items() if output is not None}

    async def find_outdated(self, *, version: int, model: str, limit: int) -> Sequence[OutdatedOutput]:
        outdated = [
            OutdatedOutput(group_id=group_id, log_id=log_id)
            for group_id, rows in self._quarantine.rows.items()
            for log_id, row in rows.items()
            if group_id != UNASSIGNED and row.state is not Admission.PENDING and _is_outdated(row, version, model)
        ]
        return outdated[:limit]

    async def read_outputs(self, group_id: str, log_ids: Sequence[UUID]) -> Sequence[Capture]:
        rows = self._quarantine.rows.get(group_id, {})
        captures = [rows[log_id].capture for log_id in log_ids if log_id in rows]
        settled = [one for one in captures if rows[one.id].state is not Admission.PENDING]
        return sorted(settled, key=lambda capture: capture.id)


def _is_outdated(row: Row, version: int, model: str) -> bool:
    if row.segmented is None or row.segmented.version < version:
        return True
    return row.segmented.version == version and row.segmented.model != model
