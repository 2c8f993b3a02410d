"""Who settles what a command kept or put back: this process, or a running server that decides by other settings.

A command has the settings of its own shell. Where a server runs with others, its judge and its thresholds count.
"""

import asyncio
import time
from uuid import UUID

from clearwell.adapters.cli.running import person
from clearwell.app import Clearwell
from clearwell.errors import WorkingMemoryUnavailable
from clearwell.flow.ingress.checks import SELF_CONSISTENCY
from clearwell.records import Admission, CaptureReceipt, NewCapture, QuarantineRow
from clearwell.settings import Settings

GAVE_UP = "judge_gave_up"
LOOK_SECONDS = 0.2


async def settles_here(clearwell: Clearwell) -> bool:
    """Not where servers run and none of them would decide as this process."""
    try:
        return not await clearwell.stores.heartbeats.leaves_to_others()
    except WorkingMemoryUnavailable:
        return True


def lacks_the_judge(refused_by: str, settings: Settings) -> bool:
    """Whether rows were refused for want of a judge's answer, and there is none here to ask."""
    return refused_by in {SELF_CONSISTENCY, GAVE_UP} and settings.judge_base_url is None


def was_given_up(row: QuarantineRow) -> bool:
    return any(verdict.reason == f"verdict_{GAVE_UP}" for verdict in row.verdicts)


async def captured(clearwell: Clearwell, new: NewCapture) -> CaptureReceipt:
    """Keep an output, and where it stands once whoever settles it has done so, or some seconds later."""
    if await settles_here(clearwell):
        return await clearwell.memory.capture(new, by=person(), wait=True)
    log_id = await clearwell.memory.log_quarantine(
        new.session_id,
        new.node_id,
        new.content,
        new.metadata,
        by=person(),
        group_id=new.group_id,
        node_type=new.node_type,
        agent_id=new.agent_id,
        occurred_at=new.occurred_at,
    )
    return await awaited(clearwell, new.group_id or "", log_id)


async def awaited(clearwell: Clearwell, group_id: str, log_id: UUID) -> CaptureReceipt:
    """Where a row stands that another process settles: it looks for work every few seconds."""
    until = time.monotonic() + clearwell.settings.wait_seconds + clearwell.settings.sweep_seconds
    while True:
        row = await clearwell.memory.quarantine_row(group_id, log_id, by=person())
        if row.admission is not Admission.PENDING or time.monotonic() > until:
            return CaptureReceipt(id=log_id, group_id=group_id, admission=row.admission, verdicts=row.verdicts)
        await asyncio.sleep(LOOK_SECONDS)
