"""In-memory twins of the ports, for tests of code that uses Clearwell.

They pass the contract tests of the real ones. Provenance and statistics have no twin: they are SQL.
"""

from clearwell.testing.access import MemoryAudit, MemoryAuditHeads, MemoryIdempotency, MemoryKeys
from clearwell.testing.decisions import MemoryDecisions
from clearwell.testing.digests import MemoryDigests
from clearwell.testing.events import MemoryEvents
from clearwell.testing.groups import MemoryGroups
from clearwell.testing.ledger import MemoryLedger
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones
from clearwell.testing.quarantine import MemoryQuarantine
from clearwell.testing.reembeddings import MemoryReembeddings
from clearwell.testing.review import MemoryReview
from clearwell.testing.simple import CountedIds, ManualClock, WordEmbedder
from clearwell.testing.statements import MemoryStatements
from clearwell.testing.stores import MemoryStores
from clearwell.testing.working import MemoryRecalls, MemoryWorkingStore

__all__ = [
    "CountedIds",
    "ManualClock",
    "MemoryAudit",
    "MemoryAuditHeads",
    "MemoryDecisions",
    "MemoryDigests",
    "MemoryEvents",
    "MemoryGroups",
    "MemoryIdempotency",
    "MemoryKeys",
    "MemoryLedger",
    "MemoryLongTerm",
    "MemoryQuarantine",
    "MemoryRecalls",
    "MemoryReembeddings",
    "MemoryReview",
    "MemoryStatements",
    "MemoryStores",
    "MemoryTombstones",
    "MemoryWorkingStore",
    "WordEmbedder",
]
