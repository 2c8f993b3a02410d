"""All stores of a program as in-memory twins that know of each other."""

from datetime import timedelta

from clearwell.flow.working.capacity import read_capacity
from clearwell.ports import Clock, Ids, SparseEncoder, Stores
from clearwell.settings import Settings
from clearwell.testing.access import MemoryAudit, MemoryAuditHeads, MemoryIdempotency, MemoryKeys
from clearwell.testing.archive import NoArchive
from clearwell.testing.decisions import MemoryDecisions
from clearwell.testing.digests import MemoryDigests
from clearwell.testing.erasure import NoErasure
from clearwell.testing.events import MemoryEvents
from clearwell.testing.groups import MemoryGroups
from clearwell.testing.ledger import MemoryLedger
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones
from clearwell.testing.maintenance import MemoryHeartbeats, MemoryIndexes, MemoryPauses
from clearwell.testing.quarantine import MemoryQuarantine
from clearwell.testing.reembeddings import MemoryReembeddings
from clearwell.testing.review import MemoryReview, PostgresOnly
from clearwell.testing.statements import MemoryStatements
from clearwell.testing.working import MemoryRecalls, MemoryWorkingStore


class MemoryStores:
    """The twins, each by its own type for a test to look into; ``stores`` has them by their ports."""

    def __init__(self, settings: Settings, clock: Clock, ids: Ids, encoder: SparseEncoder) -> None:
        self.tombstones = MemoryTombstones()
        self.ledger = MemoryLedger()
        self.longterm = MemoryLongTerm(encoder, self.ledger)
        self.quarantine = MemoryQuarantine(
            clock,
            ttl=timedelta(seconds=settings.working_ttl_seconds),
            tombstones=self.tombstones,
            longterm=self.longterm,
        )
        self.statements = MemoryStatements(self.quarantine)
        self.idempotency = MemoryIdempotency(clock, ids)
        self.working = MemoryWorkingStore(clock, capacity=read_capacity(settings))
        self.recalls = MemoryRecalls(clock)
        self.events = MemoryEvents(length=settings.event_stream_length)
        self.pauses = MemoryPauses(clock)
        self.audit, self.keys = MemoryAudit(), MemoryKeys()
        self.audit_heads = MemoryAuditHeads(clock)
        self.groups = MemoryGroups(lambda: self.quarantine.groups() | self.longterm.groups(), keys=self.keys)
        self.digests = MemoryDigests(self.quarantine, self.longterm, self.tombstones, self.ledger, self.groups)
        self.decisions = MemoryDecisions(
            self.ledger, self.longterm, self.tombstones, self.idempotency, self.keys, clock
        )
        self.review = MemoryReview(self.ledger, self.quarantine, self.longterm, self.tombstones, self.digests)

    @property
    def stores(self) -> Stores:
        indexes, postgres_only = MemoryIndexes(), PostgresOnly()
        return Stores(
            captures=self.quarantine,
            quarantine=self.quarantine,
            admissions=self.quarantine,
            statements=self.statements,
            working=self.working,
            recalls=self.recalls,
            events=self.events,
            tombstones=self.tombstones,
            longterm=self.longterm,
            longterm_for_worker=self.longterm,
            longterm_for_reviewer=self.longterm,
            digests=self.digests,
            digest_runs=self.digests,
            digest_material=self.digests,
            decisions=self.decisions,
            review=self.review,
            provenance=postgres_only,
            statistics=postgres_only,
            groups=self.groups,
            keys=self.keys,
            audit=self.audit,
            audit_heads=self.audit_heads,
            erasure=NoErasure(),
            archive=NoArchive(),
            idempotency=self.idempotency,
            reembeddings=MemoryReembeddings(self.longterm),
            lexical_index=indexes,
            vector_indexes=indexes,
            heartbeats=MemoryHeartbeats(),
            pauses=self.pauses,
        )
