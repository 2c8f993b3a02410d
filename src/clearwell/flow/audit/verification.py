"""Verification of the audit trail: compares every event with its signature and its seal, and the seals with each other.

The check rests on nothing in the database: the key is elsewhere, and so is an exported head.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from clearwell.flow.audit.seals import FIRST_ROOT, make_head
from clearwell.ports import AuditStore, Clock, SignatureState, Signer
from clearwell.records import AuditEvent, AuditFault, AuditFinding, AuditHead, AuditReport, AuditSeal

SEALS_AT_ONCE: Final = 100
EVENTS_AT_ONCE: Final = 1000
MOST_FINDINGS: Final = 1000
UNSEALED_AT_MOST: Final = timedelta(seconds=10)
"""How long an event may be without a seal while a worker runs."""


@dataclass(slots=True)
class TrailState:
    """What a verification has seen so far."""

    number: int = 0
    root: bytes = FIRST_ROOT
    last: AuditSeal | None = None
    sealed: set[UUID] = field(default_factory=set)
    unsealed: int = 0
    head_seen: bool = False
    findings: list[AuditFinding] = field(default_factory=list)

    def report(self, fault: AuditFault, *, seal: int | None = None, event_id: UUID | None = None) -> None:
        self.findings.append(AuditFinding(fault=fault, seal=seal, event_id=event_id))


class AuditVerifier:
    """Verifies the trail of a group with the key of the installation."""

    def __init__(self, audit: AuditStore, signer: Signer, clock: Clock) -> None:
        self._audit = audit
        self._signer = signer
        self._clock = clock

    async def verify(self, group_id: str, head: AuditHead | None = None) -> AuditReport:
        """Verify every event of a group; with a ``head`` also that nothing since then is missing at the end."""
        state = TrailState()
        await self._verify_seals(group_id, head, state)
        await self._verify_others(group_id, state)
        if head is not None:
            self._verify_head(group_id, head, state)
        return AuditReport(
            group_id=group_id,
            seals=0 if state.last is None else state.last.number,
            sealed_events=len(state.sealed),
            unsealed_events=state.unsealed,
            findings=tuple(state.findings[:MOST_FINDINGS]),
            more=len(state.findings) > MOST_FINDINGS,
            head=make_head(group_id, state.last, self._signer),
        )

    async def _verify_seals(self, group_id: str, head: AuditHead | None, state: TrailState) -> None:
        while seals := await self._audit.seals(group_id, after=state.number, limit=SEALS_AT_ONCE):
            for seal in seals:
                self._verify_seal(seal, state)
                await self._verify_sealed_events(seal, state)
                if head is not None and seal.number == head.number and seal.root.hex() == head.root:
                    state.head_seen = True

    def _verify_seal(self, seal: AuditSeal, state: TrailState) -> None:
        for missing in range(state.number + 1, seal.number):
            state.report(AuditFault.SEAL_REMOVED, seal=missing)
        follows = seal.number == state.number + 1
        whole = len(seal.event_ids) == len(seal.event_hashes)
        signature = self._signer.verify(seal.to_bytes(), seal.signature)
        if signature is SignatureState.UNKNOWN_KEY:
            state.report(AuditFault.UNKNOWN_KEY, seal=seal.number)
        elif (
            signature is not SignatureState.VALID or not whole or (follows and seal.make_root(state.root) != seal.root)
        ):
            state.report(AuditFault.SEAL_CHANGED, seal=seal.number)
        state.number, state.root, state.last = seal.number, seal.root, seal

    async def _verify_sealed_events(self, seal: AuditSeal, state: TrailState) -> None:
        events = await self._audit.read(seal.group_id, seal.event_ids)
        expected = dict(zip(seal.event_ids, seal.event_hashes, strict=False))
        for event_id, event_hash in expected.items():
            event = events.get(event_id)
            if event is None:
                state.report(AuditFault.REMOVED, seal=seal.number, event_id=event_id)
            elif event.hash != event_hash:
                state.report(AuditFault.CHANGED, seal=seal.number, event_id=event_id)
            elif (fault := self._verify_event(event, first=seal.number == 1)) is not None:
                state.report(fault, seal=seal.number, event_id=event_id)
        state.sealed.update(seal.event_ids)

    async def _verify_others(self, group_id: str, state: TrailState) -> None:
        """Verify the events that no seal covers: those of the last seconds, and what was put in from outside."""
        oldest = self._clock.now() - UNSEALED_AT_MOST
        after: UUID | None = None
        while events := await self._audit.scan(group_id, after=after, limit=EVENTS_AT_ONCE):
            for event in events:
                if event.id not in state.sealed:
                    self._verify_unsealed(event, state, late=event.at < oldest)
            after = events[-1].id

    def _verify_unsealed(self, event: AuditEvent, state: TrailState, *, late: bool) -> None:
        state.unsealed += 1
        fault = self._verify_event(event, first=state.last is None)
        if fault is None and late:
            fault = AuditFault.UNSEALED
        if fault is not None:
            state.report(fault, event_id=event.id)

    def _verify_event(self, event: AuditEvent, *, first: bool) -> AuditFault | None:
        """Return what is wrong with an event. Only those of the first seal may be from before there were signatures."""
        if event.signature is None:
            return None if first else AuditFault.INSERTED
        match self._signer.verify(event.to_bytes(), event.signature):
            case SignatureState.VALID:
                return None
            case SignatureState.UNKNOWN_KEY:
                return AuditFault.UNKNOWN_KEY
            case _:
                return AuditFault.INSERTED

    def _verify_head(self, group_id: str, head: AuditHead, state: TrailState) -> None:
        """Compare the trail with a head that was exported before."""
        if head.number == 0 and head.group_id == group_id:
            return
        signed = self._signer.verify(head.to_bytes(), bytes.fromhex(head.signature)) is SignatureState.VALID
        if head.group_id != group_id or not signed:
            state.report(AuditFault.HEAD_INVALID, seal=head.number)
        elif state.number < head.number:
            state.report(AuditFault.TAIL_REMOVED, seal=head.number)
        elif not state.head_seen:
            state.report(AuditFault.SEAL_CHANGED, seal=head.number)
