"""Seals over audit events: every few seconds, the events of each group since its last seal get one.

A seal has the hash of each event and a root over these and the root before it. It is signed with the key of the
installation, which is not in the database: who can write the database cannot make a seal.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from clearwell.ports import AuditStore, Clock, Signer
from clearwell.records import AuditEvent, AuditHead, AuditSeal, seal_root

SEAL_SECONDS: Final = 2.0
"""How often a worker seals. An event is without a seal for at most 10 s, as long as a worker runs."""
GROUPS_AT_ONCE: Final = 500
EVENTS_AT_ONCE: Final = 1000
FIRST_ROOT: Final = b"\0" * 32


class AuditSealer:
    """Seals the events of all groups."""

    def __init__(self, audit: AuditStore, signer: Signer, clock: Clock) -> None:
        self._audit = audit
        self._signer = signer
        self._clock = clock

    async def seal_all(self) -> int:
        """Seal what waits, in every group; returns the number of seals."""
        groups = await self._audit.find_unsealed_groups(limit=GROUPS_AT_ONCE)
        return sum([await self.seal_group(group_id) for group_id in groups])

    async def seal_group(self, group_id: str) -> int:
        """Seal the events of one group that wait; returns the number of seals."""
        seals = 0
        while True:
            async with self._audit.open_batch(group_id, limit=EVENTS_AT_ONCE) as batch:
                if batch.events:
                    await batch.seal(self._make(group_id, batch.last, batch.events))
                    seals += 1
                if len(batch.events) < EVENTS_AT_ONCE:
                    return seals

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
