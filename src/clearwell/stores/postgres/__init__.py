"""PostgreSQL with pgvector: quarantine, long-term memory, keys and the audit trail."""

from clearwell.stores.postgres.admissions import PostgresAdmissions
from clearwell.stores.postgres.archive import PostgresArchive
from clearwell.stores.postgres.audit import PostgresAudit
from clearwell.stores.postgres.database import Database, Role, database_address, name_database, open_database
from clearwell.stores.postgres.decisions import PostgresDecisions
from clearwell.stores.postgres.digest_material import PostgresDigestMaterial
from clearwell.stores.postgres.digests import PostgresDigestRuns, PostgresDigests
from clearwell.stores.postgres.erasure import PostgresErasure
from clearwell.stores.postgres.group_indexes import GroupIndexBuilder, IndexedGroups
from clearwell.stores.postgres.groups import PostgresGroups
from clearwell.stores.postgres.idempotency import PostgresIdempotency
from clearwell.stores.postgres.keys import PostgresKeys
from clearwell.stores.postgres.lexical_index import PostgresLexicalIndex
from clearwell.stores.postgres.longterm import PostgresLongTerm
from clearwell.stores.postgres.lost_memories import PostgresLostMemories
from clearwell.stores.postgres.quarantine import PostgresCaptures, PostgresQuarantine
from clearwell.stores.postgres.reembeddings import PostgresReembeddings
from clearwell.stores.postgres.review import PostgresReview
from clearwell.stores.postgres.schema import migrate, migrations, require_schema
from clearwell.stores.postgres.statements import PostgresStatements
from clearwell.stores.postgres.tombstones import PostgresTombstones

__all__ = [
    "Database",
    "GroupIndexBuilder",
    "IndexedGroups",
    "PostgresAdmissions",
    "PostgresArchive",
    "PostgresAudit",
    "PostgresCaptures",
    "PostgresDecisions",
    "PostgresDigestMaterial",
    "PostgresDigestRuns",
    "PostgresDigests",
    "PostgresErasure",
    "PostgresGroups",
    "PostgresIdempotency",
    "PostgresKeys",
    "PostgresLexicalIndex",
    "PostgresLongTerm",
    "PostgresLostMemories",
    "PostgresQuarantine",
    "PostgresReembeddings",
    "PostgresReview",
    "PostgresStatements",
    "PostgresTombstones",
    "Role",
    "database_address",
    "migrate",
    "migrations",
    "name_database",
    "open_database",
    "require_schema",
]
