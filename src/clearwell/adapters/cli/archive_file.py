"""The file of an export: its batches, read one at a time, and the proof that it is whole."""

from collections.abc import Iterator
from pathlib import Path

from clearwell.errors import InvalidInput
from clearwell.flow.archive.format import (
    BATCH_BYTES,
    HEADER_BYTES,
    LINE_BYTES,
    Seal,
    check_seal,
    is_header,
    is_seal,
    read_header,
    read_seal,
)
from clearwell.records import ExportHeader, ImportBatch
from clearwell.signing import verify_signature


def is_export(path: Path) -> bool:
    """Whether a file says that it is an export of Clearwell."""
    with path.open("rb") as file:
        first = file.readline(HEADER_BYTES + 1)
    return len(first) <= HEADER_BYTES and is_header(first.decode(errors="replace"))


def verify_file(path: Path) -> list[ExportHeader]:
    """Verify every seal and signature of a file. Returns the header of each group. Raises InvalidInput."""
    headers: list[ExportHeader] = []
    last = True
    for header, number, batch in read_batches(path):
        if number == 0:
            if not last:
                raise InvalidInput("import_broken_off", field="file", group=headers[-1].group_id)
            headers.append(header)
        seal = read_seal(batch.seal)
        try:
            signed = verify_signature(header.public_key, seal.root.encode(), seal.signature)
        except ValueError as error:
            raise InvalidInput("import_no_header", field="header") from error
        if not signed:
            raise InvalidInput("import_not_signed", field="seal", number=number)
        last = seal.last
    if not last:
        raise InvalidInput("import_broken_off", field="file", group=headers[-1].group_id)
    return headers


def read_batches(path: Path) -> Iterator[tuple[ExportHeader, int, ImportBatch]]:
    """Yield the batches of a file, each with the header of its group and its number. Raises InvalidInput."""
    header, header_line, seal, lines, size = None, "", None, list[str](), 0
    for line in _read_lines(path):
        if header is None or (seal is not None and seal.last):
            header, header_line, seal = read_header(line), line, None
        elif is_seal(line):
            batch = ImportBatch(
                header=header_line, previous="" if seal is None else seal.root, lines=tuple(lines), seal=line
            )
            seal = _follow(read_seal(line), seal, batch)
            yield header, seal.number, batch
            lines, size = [], 0
        else:
            lines.append(line)
            size += len(line)
            if size > LINE_BYTES + BATCH_BYTES:
                raise InvalidInput("import_changed", field="lines", number=0 if seal is None else seal.number + 1)
    if header is None or seal is None or lines:
        raise InvalidInput("import_broken_off", field="file", group="–" if header is None else header.group_id)


def _follow(seal: Seal, before: Seal | None, batch: ImportBatch) -> Seal:
    if seal.number != (0 if before is None else before.number + 1):
        raise InvalidInput("import_changed", field="lines", number=seal.number)
    check_seal(batch, seal)
    return seal


def _read_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        while line := file.readline(LINE_BYTES + 1):
            if len(line) > LINE_BYTES:
                raise InvalidInput("import_long_line", field="file", limit=LINE_BYTES)
            try:
                yield line.decode().removesuffix("\n")
            except UnicodeDecodeError as error:
                raise InvalidInput("import_not_json", field="lines") from error
