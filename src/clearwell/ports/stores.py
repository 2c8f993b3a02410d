"""All stores of a program, by their ports."""

from dataclasses import dataclass

from clearwell.ports.access import AuditHeads, AuditStore, IdempotencyStore, KeyStore
from clearwell.ports.archive import ArchiveStore
from clearwell.ports.digest import DigestMaterial, DigestRuns, DigestStore
from clearwell.ports.erasure import ErasureStore
from clearwell.ports.events import EventStore
from clearwell.ports.groups import GroupStore
from clearwell.ports.longterm import LongTermSearch
from clearwell.ports.maintenance import GroupPauses, Heartbeats, LexicalIndex, VectorIndexes
from clearwell.ports.quarantine import AdmissionStore, CaptureStore, QuarantineStore, TombstoneStore
from clearwell.ports.reembedding import ReembeddingStore
from clearwell.ports.review import DecisionStore, ProvenanceStore, ReviewStore, StatisticsStore
from clearwell.ports.statements import StatementStore
from clearwell.ports.working import RecallStore, WorkingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """What the wiring builds a program from: real stores, or their in-memory twins.

    Long-term memory is given three times, once with the rights of each caller that searches it.
    """

    captures: CaptureStore
    quarantine: QuarantineStore
    admissions: AdmissionStore
    statements: StatementStore
    working: WorkingStore
    recalls: RecallStore
    events: EventStore
    tombstones: TombstoneStore
    longterm: LongTermSearch
    longterm_for_worker: LongTermSearch
    longterm_for_reviewer: LongTermSearch
    digests: DigestStore
    digest_runs: DigestRuns
    digest_material: DigestMaterial
    decisions: DecisionStore
    review: ReviewStore
    provenance: ProvenanceStore
    statistics: StatisticsStore
    groups: GroupStore
    keys: KeyStore
    audit: AuditStore
    audit_heads: AuditHeads
    erasure: ErasureStore
    archive: ArchiveStore
    idempotency: IdempotencyStore
    reembeddings: ReembeddingStore
    lexical_index: LexicalIndex
    vector_indexes: VectorIndexes
    heartbeats: Heartbeats
    pauses: GroupPauses
