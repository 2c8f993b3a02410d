"""The lines of an export, and the seals that prove them.

An export is a header, batches of rows of one kind, and a seal after each batch. A seal covers the header, its number,
the root of the seal before it, the lines of its batch and whether it is the last one; it is signed with the key of the
installation. So each batch can be verified by itself, and none can be changed, removed, added or moved.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from clearwell.errors import InvalidInput
from clearwell.records import ArchivedRow, ArchiveKind, ExportHeader, ImportBatch

FORMAT: Final = 1
HEADER_BYTES: Final = 4_000
LINE_BYTES: Final = 15_000_000
"""The longest line. A batch has to fit into the body of a request, by default 16 MiB."""
BATCH_BYTES: Final = 1_000_000
"""A batch is ended by the row that exceeds this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The last line of a batch. ``root`` stands for everything up to here."""

    number: int
    rows: int
    last: bool
    root: str
    signature: bytes


def write_line(value: Mapping[str, Any]) -> str:
    """One line of a file, always written alike."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def write_header(header: ExportHeader) -> str:
    return write_line(
        {
            "clearwell": "export",
            "format": FORMAT,
            "id": str(header.id),
            "group_id": header.group_id,
            "exported_at": header.exported_at.isoformat(),
            "program": header.program,
            "rows": header.rows,
            "public_key": header.public_key,
        }
    )


def write_row(kind: ArchiveKind, row: ArchivedRow) -> str:
    return write_line({"kind": kind.value, "row": row})


def write_seal(seal: Seal) -> str:
    return write_line(
        {
            "kind": "seal",
            "number": seal.number,
            "rows": seal.rows,
            "last": seal.last,
            "root": seal.root,
            "signature": seal.signature.hex(),
        }
    )


def seal_root(header: str, previous: str, lines: Iterable[str], *, number: int, last: bool) -> str:
    """What stands for a batch and everything before it."""
    batch = sha256()
    for line in lines:
        batch.update(line.encode() + b"\n")
    parts = (f"clearwell export {FORMAT}", sha256(header.encode()).hexdigest(), previous, str(number), str(last))
    return sha256("\n".join((*parts, batch.hexdigest())).encode()).hexdigest()


def is_header(line: str) -> bool:
    """Whether a line says that it begins an export. That does not make it one."""
    try:
        said = parse_line(line)
    except InvalidInput:
        return False
    return said.get("clearwell") == "export"


def is_seal(line: str) -> bool:
    return line.startswith('{"kind":"seal"')


def is_last(line: str) -> bool:
    """Whether a line is the last one of an export."""
    return is_seal(line) and read_seal(line).last


def read_header(line: str) -> ExportHeader:
    """Read the first line of an export. Raises InvalidInput."""
    if len(line.encode(errors="replace")) > HEADER_BYTES:
        raise InvalidInput("import_no_header", field="header")
    said = parse_line(line)
    if said.get("clearwell") != "export":
        raise InvalidInput("import_no_header", field="header")
    if said.get("format") != FORMAT:
        raise InvalidInput("import_other_format", field="header", format=said.get("format"))
    try:
        exported_at = datetime.fromisoformat(said["exported_at"])
        if exported_at.tzinfo is None:
            raise ValueError
        return ExportHeader(
            id=UUID(said["id"]),
            group_id=_text(said["group_id"]),
            exported_at=exported_at,
            program=_text(said["program"]),
            rows=int(said["rows"]),
            public_key=_text(said["public_key"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput("import_no_header", field="header") from error


def read_seal(line: str) -> Seal:
    """Read the last line of a batch. Raises InvalidInput."""
    said = parse_line(line)
    try:
        if said["kind"] != "seal" or not isinstance(said["last"], bool):
            raise ValueError
        return Seal(
            number=int(said["number"]),
            rows=int(said["rows"]),
            last=said["last"],
            root=_text(said["root"]),
            signature=bytes.fromhex(said["signature"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("import_no_seal", field="seal") from error


def read_rows(lines: Sequence[str]) -> tuple[ArchiveKind, list[dict[str, Any]]]:
    """Read the rows of a verified batch, which are of one kind. Raises InvalidInput."""
    said = [parse_line(line) for line in lines]
    try:
        (kind,) = {ArchiveKind(one["kind"]) for one in said}
        rows = [one["row"] for one in said]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("import_no_row", field="lines") from error
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidInput("import_no_row", field="lines")
    return kind, rows


def check_seal(batch: ImportBatch, seal: Seal) -> None:
    """Raise InvalidInput if the seal does not fit the lines of its batch. Its signature is another matter."""
    root = seal_root(batch.header, batch.previous, batch.lines, number=seal.number, last=seal.last)
    if root != seal.root or seal.rows != len(batch.lines):
        raise InvalidInput("import_changed", field="lines", number=seal.number)


def parse_line(line: str) -> dict[str, Any]:
    """Parse a line as a JSON object in which no name occurs twice. Raises InvalidInput."""
    try:
        said = json.loads(line, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("import_not_json", field="lines") from error
    if not isinstance(said, dict):
        raise InvalidInput("import_not_json", field="lines")
    return said


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
