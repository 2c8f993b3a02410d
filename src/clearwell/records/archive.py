"""Exports of groups, and their import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from clearwell.records.values import Json

ArchivedRow: TypeAlias = Mapping[str, Json]
"""A row of an export: the columns of its table, and the rows that belong to it."""


class ArchiveKind(StrEnum):
    """The kinds of rows of an export, in the order in which they are exported."""

    GROUP = "group"
    AGENT = "agent"
    TOMBSTONE = "tombstone"
    OUTPUT = "output"
    DIGEST = "digest"
    INSIGHT = "insight"
    MEMORY = "memory"
    DECISION = "decision"
    GAP = "gap"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportHeader:
    """The first line of the export of a group."""

    id: UUID
    group_id: str
    exported_at: datetime
    program: str
    rows: int
    public_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportBatch:
    """A part of an export that can be verified on its own: lines as they are in the file.

    ``previous`` is the root of the batch before this one, and empty for the first.
    """

    header: str
    previous: str
    lines: tuple[str, ...]
    seal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportState:
    """The progress of an import: the next expected batch, and the root of the batch before it."""

    next_number: int
    root: str
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """The result of importing a batch. ``next_number`` is the batch to send next.

    ``refused`` rows were not stored, because a tombstone refuses them. ``known`` rows already existed, or
    were in a batch that was imported before.
    """

    group_id: str
    import_id: UUID
    next_number: int
    finished: bool
    stored: int = 0
    known: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRow:
    """A row to be stored, with the hashes of the values in its text and in its metadata."""

    row: ArchivedRow
    value_hashes: Sequence[bytes] = ()
    metadata_hashes: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProgress:
    """The progress of an import after a batch, and who imports it."""

    group_id: str
    import_id: UUID
    number: int
    previous: str
    root: str
    last: bool
    public_key: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """How many rows of a batch were stored, already existed, or were refused by a tombstone."""

    stored: int = 0
    known: int = 0
    refused: int = 0
    detail: Mapping[str, int] = field(default_factory=dict)
