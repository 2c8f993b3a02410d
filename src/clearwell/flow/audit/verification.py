"""Verification of the audit trail: compares every event with its signature and its seal, and the seals with each other.

The check rests on nothing in the database: the key is elsewhere, and so are the heads that are known here and a head
that was exported.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

from clearwell.flow.audit.seals import EVENTS_AT_ONCE, FIRST_ROOT, SEALS_AT_ONCE, make_head
from clearwell.ports import AuditHeads, AuditStore, Clock, SignatureState, Signer
from clearwell.records import (
    INSTALLATION,
    AuditEvent,
    AuditFault,
    AuditFinding,
    AuditHead,
    AuditReport,
    AuditSeal,
    AuditWarning,
    HeadsState,
    KnownHead,
)
from clearwell.vocabulary import HeadsProblem

MAX_FINDINGS: Final = 1000
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
    known: KnownHead | None = None
    known_seen: bool = False
    signed_since: datetime | None = None
    """From when on every event is signed, as far as it is known."""
    findings: list[AuditFinding] = field(default_factory=list)

    def report(self, fault: AuditFault, *, seal: int | None = None, event_id: UUID | None = None) -> None:
        self.findings.append(AuditFinding(fault=fault, seal=seal, event_id=event_id))


class AuditVerifier:
    """Verifies the trail of a group with the key of the installation."""

    def __init__(self, audit: AuditStore, heads: AuditHeads, signer: Signer, clock: Clock) -> None:
        self._audit = audit
        self._heads = heads
        self._signer = signer
        self._clock = clock

    async def verify(self, group_id: str, head: AuditHead | None = None) -> AuditReport:
        """Verify every event of a group, and that its seals continue the head that is known here, and an exported one.

        The known head is read first: seals that are made meanwhile only follow it.
        """
        heads = await self._heads.state()
        state = TrailState(known=await self._heads.find(group_id))
        state.signed_since = await self._find_first_signature(group_id, heads.since)
        await self._verify_seals(group_id, head, state)
        await self._verify_others(group_id, state)
        self._verify_known(state)
        if head is not None:
            self._verify_head(group_id, head, state)
        return AuditReport(
            group_id=group_id,
            seals=0 if state.last is None else state.last.number,
            sealed_events=len(state.sealed),
            unsealed_events=state.unsealed,
            findings=tuple(state.findings[:MAX_FINDINGS]),
            more=len(state.findings) > MAX_FINDINGS,
            head=make_head(group_id, state.last, self._signer),
            warnings=_list_warnings(heads, state.known),
            begun_at=None if state.known is None else state.known.begun_at,
        )

    async def _find_first_signature(self, group_id: str, since: datetime | None) -> datetime | None:
        """The earliest time at which an event was signed: heads are younger than signatures.

        Only a valid signature counts, so that nobody can move the time by an event of their own.
        """
        found = [] if since is None else [since]
        for trail in {group_id, INSTALLATION}:
            events = await self._audit.scan(trail, after=None, limit=EVENTS_AT_ONCE)
            found += islice((event.at for event in events if self._is_signed(event)), 1)
        return min(found, default=None)

    def _is_signed(self, event: AuditEvent) -> bool:
        signature = event.signature
        return signature is not None and self._signer.verify(event.to_bytes(), signature) is SignatureState.VALID

    async def _verify_seals(self, group_id: str, head: AuditHead | None, state: TrailState) -> None:
        while seals := await self._audit.seals(group_id, after=state.number, limit=SEALS_AT_ONCE):
            for seal in seals:
                self._verify_seal(seal, state)
                await self._verify_sealed_events(seal, state)
                if head is not None and seal.number == head.number and seal.root.hex() == head.root:
                    state.head_seen = True
                if state.known is not None and (seal.number, seal.root) == (state.known.number, state.known.root):
                    state.known_seen = True

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
            elif (fault := self._verify_event(event, state, first=seal.number == 1)) is not None:
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
        fault = self._verify_event(event, state, first=state.last is None and state.known is None)
        if fault is None and late:
            fault = AuditFault.UNSEALED
        if fault is not None:
            state.report(fault, event_id=event.id)

    def _verify_event(self, event: AuditEvent, state: TrailState, *, first: bool) -> AuditFault | None:
        """Return what is wrong with an event. Only those of the first seal may be from before there were signatures."""
        if event.signature is None:
            older = state.signed_since is None or event.at < state.signed_since
            return None if first and older else AuditFault.INSERTED
        match self._signer.verify(event.to_bytes(), event.signature):
            case SignatureState.VALID:
                return None
            case SignatureState.UNKNOWN_KEY:
                return AuditFault.UNKNOWN_KEY
            case _:
                return AuditFault.INSERTED

    def _verify_known(self, state: TrailState) -> None:
        """Compare the trail with the head that is known here, and say where it was cut."""
        if state.known is None or state.known_seen:
            return
        if state.number < state.known.number:
            state.report(AuditFault.TRAIL_CUT, seal=state.number + 1)
        else:
            state.report(AuditFault.TRAIL_REPLACED, seal=state.known.number)

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


def _list_warnings(heads: HeadsState, known: KnownHead | None) -> tuple[AuditWarning, ...]:
    """What cannot be excluded, because heads are not kept or were begun again."""
    found = []
    if known is not None and known.begun_at is not None:
        found.append(AuditWarning.HEAD_BEGUN)
    match heads.problem:
        case HeadsProblem.DAMAGED:
            found.append(AuditWarning.HEADS_DAMAGED)
        case HeadsProblem.UNWRITABLE:
            found.append(AuditWarning.HEADS_UNWRITABLE)
        case HeadsProblem.FULL if known is None:
            found.append(AuditWarning.HEADS_FULL)
    return tuple(found)
