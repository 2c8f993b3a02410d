"""Seals over audit events, on twins: what is known of a head after a process was killed."""

from collections.abc import Sequence

import pytest

from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.audit.seals import AuditSealer
from clearwell.records import KnownHead
from clearwell.signing import SigningKey
from clearwell.testing import CountedIds, ManualClock, MemoryAudit, MemoryAuditHeads
from clearwell.vocabulary import AuditAction


class Killed(Exception):
    """Ends the process after the seal is committed."""


class KilledHeads(MemoryAuditHeads):
    async def record(self, heads: Sequence[KnownHead]) -> None:
        raise Killed


async def test_a_process_killed_before_it_keeps_its_first_head_leaves_no_warning() -> None:
    clock, audit = ManualClock(), MemoryAudit()
    events, signer = AuditEvents(clock, CountedIds()), SigningKey.generate()
    await audit.add(events.make(AuditAction.ACCEPT_TRAIL, "seal 0", "g", by="ann"))
    heads = KilledHeads(clock)
    with pytest.raises(Killed):
        await AuditSealer(audit, heads, signer, clock).seal_all()
    restarted = MemoryAuditHeads(clock, since=(await heads.state()).since)
    await audit.add(events.make(AuditAction.ACCEPT_TRAIL, "seal 1", "g", by="ann"))
    assert await AuditSealer(audit, restarted, signer, clock).seal_all() == 1
    known = await restarted.find("g")
    assert known is not None
    assert (known.number, known.begun_at) == (2, None)
