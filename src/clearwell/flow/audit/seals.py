"""Seals over audit events: every few seconds, the events of each group since its last seal get one.

A seal has the hash of each event and a root over these and the root before it. It is signed with the key of the
installation, which is not in the database: who can write the database cannot make a seal.

The last seal of each group, its head, is kept outside of the database too. A group whose stored seals do not continue
its head is not sealed: a seal over what somebody left there would make a forgery look genuine.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import structlog

from clearwell.ports import AuditBatch, AuditHeads, AuditStore, Clock, SignatureState, Signer
from clearwell.records import AuditEvent, AuditHead, AuditSeal, KnownHead, seal_root

log = structlog.get_logger(__name__)

SEAL_SECONDS: Final = 2.0
"""How often a worker seals. An event is without a seal for at most 10 s, as long as a worker runs."""
GROUPS_AT_ONCE: Final = 500
EVENTS_AT_ONCE: Final = 1000
SEALS_AT_ONCE: Final = 100
BEGINNING_SEALS: Final = 1000
"""This many seals are verified before a head begins with them. Each covers all before it; a busy group has millions."""
FIRST_ROOT: Final = b"\0" * 32


class TrailBroken(Exception):
    """The stored seals of a group do not continue the head that is known here."""


class AuditSealer:
    """Seals the events of all groups whose trails continue the heads that are known here."""

    def __init__(self, audit: AuditStore, heads: AuditHeads, signer: Signer, clock: Clock) -> None:
        self._audit = audit
        self._heads = heads
        self._signer = signer
        self._clock = clock
        self._reported: set[str] = set()

    async def seal_all(self) -> int:
        """Seal what waits, in every group; returns the number of seals."""
        seals, after = 0, None
        while groups := await self._audit.find_unsealed_groups(after=after, limit=GROUPS_AT_ONCE):
            made = [await self._seal_group(group_id) for group_id in groups]
            await self._heads.record([head for _, head in made if head is not None])
            seals += sum(count for count, _ in made)
            if len(groups) < GROUPS_AT_ONCE:
                break
            after = groups[-1]
        return seals

    async def seal_group(self, group_id: str) -> int:
        """Seal the events of one group that wait; returns the number of seals."""
        seals, head = await self._seal_group(group_id)
        if head is not None:
            await self._heads.record([head])
        return seals

    async def _seal_group(self, group_id: str) -> tuple[int, KnownHead | None]:
        """Return the number of seals and the head to keep, once the seals are committed."""
        known = await self._heads.find(group_id)
        if known is None:
            # Else nobody can tell seals of a process that is killed before it keeps their head from seals of somebody.
            await self._heads.begin()
        seals, head = 0, known
        while True:
            async with self._audit.open_batch(group_id, limit=EVENTS_AT_ONCE) as batch:
                try:
                    head = await self._follow(group_id, head, batch)
                except TrailBroken:
                    await self._refuse(group_id, head, batch.last)
                    return seals, head if seals else None
                self._reported.discard(group_id)
                if batch.events:
                    seal = self._make(group_id, batch.last, batch.events)
                    await batch.seal(seal)
                    begun_at = None if head is None else head.begun_at
                    head = KnownHead(group_id=group_id, number=seal.number, root=seal.root, begun_at=begun_at)
                    seals += 1
                if len(batch.events) < EVENTS_AT_ONCE:
                    return seals, head if head != known else None

    async def _follow(self, group_id: str, head: KnownHead | None, batch: AuditBatch) -> KnownHead | None:
        """Return the head at the last stored seal. Raises TrailBroken if the seals do not lead there from the head.

        Without a head, the newest stored seals are verified, and the head begins with them.
        """
        last = batch.last
        if last is None:
            if head is not None:
                raise TrailBroken
            return None
        if head is not None and (last.number, last.root) == (head.number, head.root):
            return replace(head, refused_at=None)
        if head is not None and last.number <= head.number:
            raise TrailBroken
        number = head.number if head is not None else max(0, last.number - BEGINNING_SEALS)
        root = FIRST_ROOT if number == 0 else await self._read_root(batch, number)
        if head is not None and root != head.root:
            raise TrailBroken
        while number < last.number:
            seals = await batch.seals(after=number, limit=SEALS_AT_ONCE)
            for seal in seals:
                self._require_next(seal, number, root)
                number, root = seal.number, seal.root
            if not seals:
                raise TrailBroken
        begun_at = head.begun_at if head is not None else await self._find_beginning(batch)
        return KnownHead(group_id=group_id, number=number, root=root, begun_at=begun_at)

    def _require_next(self, seal: AuditSeal, number: int, root: bytes) -> None:
        """A seal of another key is left to the verification: the key of an installation may be replaced."""
        whole = seal.number == number + 1 and len(seal.event_ids) == len(seal.event_hashes)
        forged = self._signer.verify(seal.to_bytes(), seal.signature) is SignatureState.INVALID
        if not whole or forged or seal.make_root(root) != seal.root:
            raise TrailBroken

    async def _read_root(self, batch: AuditBatch, number: int) -> bytes:
        seals = await batch.seals(after=number - 1, limit=1)
        if not seals or seals[0].number != number:
            raise TrailBroken
        return seals[0].root

    async def _find_beginning(self, batch: AuditBatch) -> datetime | None:
        """When a head begins with stored seals: now, unless they are of another process, made while heads were kept."""
        since = (await self._heads.state()).since
        (first,) = await batch.seals(after=0, limit=1)
        signed = self._signer.verify(first.to_bytes(), first.signature) is SignatureState.VALID
        known = since is not None and first.number == 1 and signed and first.sealed_at >= since
        return None if known else self._clock.now()

    async def _refuse(self, group_id: str, head: KnownHead | None, last: AuditSeal | None) -> None:
        if group_id not in self._reported:
            self._reported.add(group_id)
            log.error(
                "audit not sealed",
                reason="the stored seals do not continue the known head",
                group_id=group_id,
                known_seal=None if head is None else head.number,
                stored_seal=0 if last is None else last.number,
            )
        if head is not None and head.refused_at is None:
            await self._heads.mark_refused(group_id, at=self._clock.now())

    async def head(self, group_id: str) -> AuditHead:
        """The last seal of a group, to be kept elsewhere. What waits is sealed first."""
        await self.seal_group(group_id)
        return make_head(group_id, await self._audit.last_seal(group_id), self._signer)

    def _make(self, group_id: str, last: AuditSeal | None, events: Sequence[AuditEvent]) -> AuditSeal:
        ids, hashes = tuple(event.id for event in events), tuple(event.hash for event in events)
        number = 1 if last is None else last.number + 1
        unsigned = AuditSeal(
            group_id=group_id,
            number=number,
            sealed_at=self._clock.now(),
            event_ids=ids,
            event_hashes=hashes,
            root=seal_root(FIRST_ROOT if last is None else last.root, number, ids, hashes),
            signature=b"",
        )
        return replace(unsigned, signature=self._signer.sign(unsigned.to_bytes()))


def make_head(group_id: str, seal: AuditSeal | None, signer: Signer) -> AuditHead:
    """The head of a group's trail after this seal."""
    if seal is None:
        return AuditHead(
            group_id=group_id, number=0, root="", sealed_at=None, signature="", public_key=signer.public_key
        )
    return AuditHead(
        group_id=group_id,
        number=seal.number,
        root=seal.root.hex(),
        sealed_at=seal.sealed_at,
        signature=seal.signature.hex(),
        public_key=signer.public_key,
    )
