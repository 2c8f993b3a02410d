"""Exports a group: everything of it at one moment, as lines in signed batches."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from clearwell.errors import NotAllowed
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_right
from clearwell.flow.archive.format import BATCH_BYTES, Seal, seal_root, write_header, write_row, write_seal
from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import ArchiveSnapshot, ArchiveStore, AuditStore, Clock, Ids, Signer
from clearwell.records import ArchiveKind, ExportHeader, Principal, Right
from clearwell.version import __version__
from clearwell.vocabulary import AuditAction


class GroupExporter:
    """Exports groups for a person who may administer and review them."""

    def __init__(self, archive: ArchiveStore, audit: AuditStore, signer: Signer, clock: Clock, ids: Ids) -> None:
        self._archive = archive
        self._audit = audit
        self._signer = signer
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    def export(self, group_id: str, *, by: Principal) -> AsyncGenerator[str]:
        """Yield the lines of the export of a group. Without its last line a file is not complete."""
        require_archivist(by, group_id)
        return self._export(group_id, by)

    async def _export(self, group_id: str, by: Principal) -> AsyncGenerator[str]:
        export_id = self._ids.new()
        event = self._audit_events.make(AuditAction.EXPORT, f"export {export_id}", group_id, by=by.name)
        await self._audit.add(event)
        async with self._archive.open_snapshot(group_id) as snapshot:
            header = write_header(
                ExportHeader(
                    id=export_id,
                    group_id=group_id,
                    exported_at=event.at,
                    program=__version__,
                    rows=await snapshot.count(),
                    public_key=self._signer.public_key,
                )
            )
            yield header
            number, root = 0, ""
            async with aclosing(_make_batches(snapshot)) as batches:
                async for lines, last in batches:
                    root = seal_root(header, root, lines, number=number, last=last)
                    seal = Seal(
                        number=number, rows=len(lines), last=last, root=root, signature=self._signer.sign(root.encode())
                    )
                    for line in lines:
                        yield line
                    yield write_seal(seal)
                    number += 1


async def _make_batches(snapshot: ArchiveSnapshot) -> AsyncGenerator[tuple[Sequence[str], bool]]:
    """Yield the lines of batches, each of one kind, and whether it is the last one, which is known one batch later."""
    held: Sequence[str] | None = None
    for kind in ArchiveKind:
        async for lines in _split(snapshot, kind):
            if held is not None:
                yield held, False
            held = lines
    if held is not None:
        yield held, True


async def _split(snapshot: ArchiveSnapshot, kind: ArchiveKind) -> AsyncIterator[Sequence[str]]:
    """Yield the rows of a kind as lines, some at a time. A batch is never much larger than its largest row."""
    async with aclosing(snapshot.rows(kind)) as pages:
        async for page in pages:
            lines: list[str] = []
            size = 0
            for row in page:
                line = write_row(kind, row)
                size += len(line.encode())
                lines.append(line)
                if size > BATCH_BYTES:
                    yield lines
                    lines, size = [], 0
            if lines:
                yield lines


def require_archivist(by: Principal, group_id: str) -> None:
    """Require a person who may both administer and review the group."""
    for right in (Right.ADMIN, Right.REVIEW):
        require_right(by, right)
    if by.agent_id is not None:
        raise NotAllowed("agent_operates_nothing", name=by.title, agent=by.agent_id)
    require_group_covered(by, limits.require_group(group_id))
