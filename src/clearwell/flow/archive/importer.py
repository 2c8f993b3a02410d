"""Imports the batches of an export, one after the other, each once.

A batch is stored only if its seal was signed by this installation, or by a key that the caller names. Rows keep their
ids, times and deciders; those that are here already stay as they are. Vectors and terms are made again. What has a
tombstone here stays away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from clearwell.errors import Conflict, InvalidInput
from clearwell.flow.archive.exporter import require_archivist
from clearwell.flow.archive.format import Seal, check_seal, read_header, read_rows, read_seal
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.promotion.planning import Chunker, Embeddings, build_chunks
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.ports import ArchiveStore, Clock, Ids, Signer
from clearwell.records import (
    ArchiveKind,
    AuditEvent,
    ExportHeader,
    ImportBatch,
    ImportedRow,
    ImportProgress,
    ImportResult,
    Memory,
    NewMemory,
    Origin,
    Principal,
    Promotion,
)
from clearwell.vocabulary import AuditAction

MARKED = (ArchiveKind.OUTPUT, ArchiveKind.MEMORY)
"""The kinds of rows that name the import they came with."""


class GroupImporter:
    """Imports groups for a person who may administer and review them."""

    def __init__(
        self, archive: ArchiveStore, hasher: ValueHasher, chunker: Chunker, signer: Signer, clock: Clock, ids: Ids
    ) -> None:
        self._archive = archive
        self._hasher = hasher
        self._chunker = chunker
        self._signer = signer
        self._clock = clock
        self._audit_events = AuditEvents(clock, ids)

    async def add(self, group_id: str, batch: ImportBatch, *, trust: str | None, by: Principal) -> ImportResult:
        """Verify a batch and store it. One that was stored before changes nothing.

        ``trust`` is the fingerprint of the key of another installation. Raises InvalidInput if the batch is not what
        was signed, and Conflict if its key is not trusted or another batch is expected.
        """
        require_archivist(by, group_id)
        header = read_header(batch.header)
        if header.group_id != group_id:
            raise InvalidInput("import_other_group", field="header", group=group_id)
        seal = self._verify(batch, header, trust)
        state = await self._archive.find_import(header.group_id, header.id)
        if state is not None and seal.number < state.next_number:
            return _result(header, state.next_number, finished=state.finished, known=len(batch.lines))
        kind, rows = read_rows(batch.lines)
        if kind is ArchiveKind.GROUP:
            rows = await self._claim_group(header.group_id, rows)
        progress = self._progress(batch, header, seal, by)
        prepared = [await self._prepare(header, kind, row) for row in rows]
        chunks = await self._make_chunks(header.group_id, rows) if kind is ArchiveKind.MEMORY else {}
        event = self._event(header, seal, by)
        counts = await self._archive.add_rows(progress, kind, prepared, chunks, event=event)
        if counts is None:
            expected = 0 if state is None else state.next_number
            raise Conflict("import_order", current={"next_number": expected}, number=seal.number)
        return _result(
            header,
            seal.number + 1,
            finished=seal.last,
            stored=counts.stored,
            known=counts.known,
            refused=counts.refused,
        )

    def _verify(self, batch: ImportBatch, header: ExportHeader, trust: str | None) -> Seal:
        """Check lines, seal and signature, and that the key is trusted. Nothing of the rows is read before."""
        seal = read_seal(batch.seal)
        check_seal(batch, seal)
        try:
            fingerprint = self._signer.fingerprint(header.public_key)
            signed = self._signer.verify_other(header.public_key, seal.root.encode(), seal.signature)
        except ValueError as error:
            raise InvalidInput("import_no_header", field="header") from error
        if not signed:
            raise InvalidInput("import_not_signed", field="seal", number=seal.number)
        if header.public_key != self._signer.public_key and trust != fingerprint:
            raise Conflict("import_untrusted_key", current={"fingerprint": fingerprint}, fingerprint=fingerprint)
        return seal

    async def _claim_group(self, group_id: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Take over the secret of the group, by which tombstones recognise values, and return its settings."""
        secret = bytes.fromhex(rows[0].get("secret") or "")
        if secret and not await self._archive.claim_secret(group_id, secret):
            raise Conflict("import_group_in_use", current={}, group=group_id)
        return [dict(row["group"]) for row in rows if row.get("group")]

    async def _prepare(self, header: ExportHeader, kind: ArchiveKind, row: Mapping[str, Any]) -> ImportedRow:
        own = _put_in_group(dict(row), header.group_id)
        if kind in MARKED:
            own["import_id"] = str(header.id)
        texts = [text for text in _read_texts(kind, row) if text]
        hashes = await self._hasher.hash_values(header.group_id, *texts) if texts else []
        if kind is ArchiveKind.MEMORY and texts:
            hashes = await self._hasher.hash_promotable_values(header.group_id, texts[0])
        beside = [row.get(name) for name in ("raw_metadata", "metadata", "author")] if kind in MARKED else []
        return ImportedRow(
            row=own,
            value_hashes=hashes,
            metadata_hashes=await self._hasher.hash_metadata(header.group_id, *beside),
        )

    async def _make_chunks(self, group_id: str, rows: Sequence[Mapping[str, Any]]) -> dict[UUID, list[Memory]]:
        """The chunks of memories that had any, by promotion, with vectors of the current model."""
        written = [row for row in rows if row.get("promoted_at") and row["content"]]
        texts = [await self._chunker.split(row["content"]) for row in written]
        embeddings = await self._chunker.embed([chunk for chunks in texts for chunk in chunks])
        vectors = iter(embeddings.vectors)
        made = {}
        for row, chunks in zip(written, texts, strict=True):
            promotion = _read_promotion(group_id, row)
            own = Embeddings(embeddings.model, tuple(next(vectors) for _ in chunks))
            built = build_chunks(promotion, chunks, own, at=_read_time(row["promoted_at"]))
            made[promotion.id] = [replace(chunk, valid_to=_read_time(row.get("valid_to"))) for chunk in built]
        return made

    def _progress(self, batch: ImportBatch, header: ExportHeader, seal: Seal, by: Principal) -> ImportProgress:
        return ImportProgress(
            group_id=header.group_id,
            import_id=header.id,
            number=seal.number,
            previous=batch.previous,
            root=seal.root,
            last=seal.last,
            public_key=header.public_key,
            by=by.name,
            at=self._clock.now(),
        )

    def _event(self, header: ExportHeader, seal: Seal, by: Principal) -> AuditEvent | None:
        """The event of the first and of the last batch."""
        if seal.number and not seal.last:
            return None
        action = AuditAction.IMPORT if seal.last else AuditAction.BEGIN_IMPORT
        subject = f"export {header.id} of {header.exported_at.isoformat()}"
        return self._audit_events.make(
            action,
            subject,
            header.group_id,
            by=by.name,
            at=None,
            key=self._signer.fingerprint(header.public_key),
            rows=header.rows,
        )


def _result(header: ExportHeader, next_number: int, *, finished: bool, **counts: int) -> ImportResult:
    return ImportResult(
        group_id=header.group_id, import_id=header.id, next_number=next_number, finished=finished, **counts
    )


def _put_in_group(row: dict[str, Any], group_id: str) -> dict[str, Any]:
    """The row and its parts with the group of the header, whatever group they name."""
    parts = {
        name: [_put_in_group(dict(one), group_id) for one in part]
        for name, part in row.items()
        if name in ("verdicts", "sightings", "marks", "sources") and part
    }
    admission = row.get("admission")
    if admission:
        parts["admission"] = [_put_in_group(dict(admission), group_id)]
    return {**row, **parts, "group_id": group_id}


def _read_texts(kind: ArchiveKind, row: Mapping[str, Any]) -> list[str]:
    """What a row says, for the tombstones to judge."""
    if kind in (ArchiveKind.OUTPUT, ArchiveKind.MEMORY):
        return [row["content"]]
    if kind is ArchiveKind.INSIGHT:
        statements = [one.get("statement") for one in row.get("sources") or ()]
        return [row["summary"], *(one for one in statements if one)]
    if kind is ArchiveKind.DECISION:
        return [row.get("text_before") or "", row.get("text_after") or ""]
    if kind is ArchiveKind.AGENT:
        return [row.get("persona") or ""]
    if kind is ArchiveKind.GROUP:
        return [row.get("system_prompt") or ""]
    return []


def _read_promotion(group_id: str, row: Mapping[str, Any]) -> Promotion:
    decided_at = _read_time(row["decided_at"])
    assert decided_at is not None  # noqa: S101 - a column that is never empty
    text = NewMemory(
        content=row["content"],
        session_id=row["session_id"],
        author=row["author"],
        occurred_at=_read_time(row["occurred_at"]),
        agent_id=row["agent_id"],
        metadata=row["metadata"],
        origin=Origin(row["origin"]),
        origin_id=_read_id(row["origin_id"]),
        supersedes=_read_id(row["supersedes"]),
        flags=tuple(row.get("flags") or ()),
    )
    return Promotion(
        id=UUID(row["id"]),
        memory_id=UUID(row["memory_id"]),
        group_id=group_id,
        decided_by=row["decided_by"],
        decided_at=decided_at,
        text=text,
        chunks=0,
        supersedes=text.supersedes,
    )


def _read_id(value: str | None) -> UUID | None:
    return None if value is None else UUID(value)


def _read_time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)
