"""Export and import: what became of a file, and of a batch of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field

from clearwell.views.view import View

if TYPE_CHECKING:
    from clearwell.records import ImportResult


class ImportView(View):
    """What became of a batch of an export."""

    group_id: str
    import_id: UUID = Field(description="the id of the export")
    next_number: int = Field(description="the batch to send next")
    finished: bool = Field(description="whether the whole export was imported")
    stored: int = Field(description="rows that were added")
    known: int = Field(description="rows that were there before, or whose batch was imported before")
    refused: int = Field(description="rows that were not added, because a tombstone refuses what they say")

    @classmethod
    def from_record(cls, result: ImportResult) -> Self:
        return cls.read(result)

    def to_record(self) -> ImportResult:
        from clearwell.records import ImportResult

        return self.make(ImportResult)


class ExportView(View):
    """A file that ``clearwell export`` has written."""

    groups: tuple[str, ...]
    rows: int
    bytes: int
    fingerprint: str = Field(description="of the key that has signed it")


class ImportedFileView(View):
    """What became of the rows of an export."""

    groups: tuple[str, ...]
    stored: int
    known: int
    refused: int


class CapturedFileView(View):
    """How many texts of another file were captured."""

    group_id: str
    captured: int
    failed: int
