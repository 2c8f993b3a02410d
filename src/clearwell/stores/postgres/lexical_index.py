"""The lexical index of verified chunks: their terms, their positions in a session, and the counts of a group.

The terms of a chunk include those of its neighbours in the session. So new, withdrawn and restored chunks change the
terms of the chunks beside them, the positions in their sessions, and how many chunks of the group have a term.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID

from pgvector import SparseVector
from psycopg.rows import DictRow

from clearwell.offload import offload
from clearwell.ports import LexicalIndex, SparseEncoder
from clearwell.records import ChunkKey
from clearwell.stores.postgres.connection import SqlStatement, StatementRunner
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query

DIMENSIONS: Final = 1 << 20
NEIGHBOURS: Final = 2
"""How many neighbours on each side count."""

Session: TypeAlias = tuple[str, str | None]
Item = TypeVar("Item")


class IndexedChunk(Protocol):
    """What the terms of a chunk depend on."""

    @property
    def id(self) -> UUID: ...
    @property
    def chunk_no(self) -> int: ...
    @property
    def session_id(self) -> str | None: ...
    @property
    def agent_id(self) -> str | None: ...
    @property
    def author(self) -> str | None: ...
    @property
    def content(self) -> str: ...


Chunk = TypeVar("Chunk", bound=IndexedChunk)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it is stored."""

    id: UUID
    chunk_no: int
    session_id: str | None
    agent_id: str | None
    author: str | None
    content: str


@dataclass(slots=True)
class _PlacedChunk:
    """A chunk at its position in a session, new or stored before."""

    id: UUID
    chunk_no: int
    content: str
    position: int | None
    new: bool = False


class NewChunkIndexer(Generic[Chunk]):
    """Indexes new chunks of a group. Neighbours are verified, in one session and visible to the same readers."""

    def __init__(self, encoder: SparseEncoder, group_id: str, chunks: Sequence[Chunk]) -> None:
        self._encoder = encoder
        self._group_id = group_id
        self._chunks = chunks
        self.sessions = list(dict.fromkeys(_session(chunk) for chunk in chunks if chunk.session_id is not None))
        self._updates: list[SqlStatement] = []

    def make_reads(self) -> list[SqlStatement]:
        """Return the statements that lock the group and read the last chunks of each session."""
        ends = [
            (query("end_of_session"), self._of_group(session_id=session, agent_id=agent, limit=2 * NEIGHBOURS))
            for session, agent in self.sessions
        ]
        return [(query("alone_in_longterm"), self._of_group()), *ends]

    async def index(
        self, ends: Sequence[Sequence[DictRow]]
    ) -> tuple[list[tuple[Chunk, dict[str, Any]]], list[SqlStatement]]:
        """Return what ``place`` and ``make_updates`` return; large texts are read in a thread."""
        size = sum(len(chunk.content) for chunk in self._chunks)
        placed = await offload(size, self.place, ends)
        return placed, await offload(size, self.make_updates)

    def place(self, ends: Sequence[Sequence[DictRow]]) -> list[tuple[Chunk, dict[str, Any]]]:
        """Return each new chunk with its position and terms, in the given order."""
        lines = {
            session: [
                _PlacedChunk(row["id"], row["chunk_no"], row["content"], row["position"]) for row in reversed(rows)
            ]
            for session, rows in zip(self.sessions, ends[1:], strict=True)
        }
        for chunk in self._chunks:
            line = lines.setdefault(_session(chunk), [])
            position = None if chunk.session_id is None else 1 + (line[-1].position or 0 if line else 0)
            line.append(_PlacedChunk(chunk.id, chunk.chunk_no, chunk.content, position, new=True))
        stored = {
            (one.id, one.chunk_no): {"position": one.position, **self._lexeme_params(one, line, at)}
            for line in lines.values()
            for at, one in enumerate(line)
        }
        self._updates = [
            (
                query("set_lexemes"),
                self._of_group(id=one.id, chunk_no=one.chunk_no, **self._lexeme_params(one, line, at)),
            )
            for line in lines.values()
            for at, one in enumerate(line)
            if not one.new and _has_new_neighbour(line, at)
        ]
        return [(chunk, stored[chunk.id, chunk.chunk_no]) for chunk in self._chunks]

    def make_updates(self) -> list[SqlStatement]:
        """Return the statements that update the terms of earlier neighbours and the counts for each reader."""
        noted = (query("note_indexed"), self._of_group(tokenizer_version=self._encoder.version))
        return [*self._updates, *make_count_statements(self._encoder, self._group_id, self._chunks), noted]

    def _lexeme_params(self, one: _PlacedChunk, line: Sequence[_PlacedChunk], at: int) -> dict[str, Any]:
        near = [] if one.position is None else [other.content for other in _neighbours(line, at)]
        return encode_chunk(self._encoder, one.content, near)

    def _of_group(self, **params: Any) -> dict[str, Any]:
        return {"group_id": self._group_id, **params}


def make_count_statements(
    encoder: SparseEncoder, group_id: str, chunks: Sequence[IndexedChunk], *, by: Literal[1, -1] = 1
) -> list[SqlStatement]:
    """Return the statements that count chunks in, or out with ``by=-1``, for the agents that may read them."""
    readers = sorted({chunk.agent_id or "" for chunk in chunks})
    return [
        one
        for reader in readers
        for one in _make_counts_for_reader(
            encoder, group_id, reader, [one for one in chunks if (one.agent_id or "") == reader], by
        )
    ]


def _make_counts_for_reader(
    encoder: SparseEncoder, group_id: str, reader: str, chunks: Sequence[IndexedChunk], by: Literal[1, -1]
) -> list[SqlStatement]:
    terms = Counter(place for chunk in chunks for place in encoder.dimensions(chunk.content))
    places = sorted({0: len(chunks), **terms}.items())
    authors = Counter(chunk.author for chunk in chunks if chunk.author and encoder.name(chunk.author))
    names = sorted(authors)
    whose = {"group_id": group_id, "reader": reader}
    return [
        (
            query("count_terms"),
            {**whose, "dimensions": [place for place, _ in places], "chunks": [by * count for _, count in places]},
        ),
        (
            query("count_authors"),
            {
                **whose,
                "authors": names,
                "spoken": [encoder.name(name) for name in names],
                "chunks": [by * authors[name] for name in names],
            },
        ),
    ]


class PostgresLexicalIndex(LexicalIndex):
    """The terms of verified chunks, made by one encoder."""

    def __init__(self, database: Database, encoder: SparseEncoder) -> None:
        self._database = database
        self._encoder = encoder

    async def find_outdated_groups(self, *, limit: int) -> list[str]:
        params = {"tokenizer_version": self._encoder.version, "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("groups_to_index"), params)
        return [row["group_id"] for row in rows]

    async def rebuild_group(self, group_id: str) -> int:
        """Make the terms of a group again from its valid chunks, and return how many there are.

        For chunks from before there were terms, for another tokenizer, and after chunks were superseded or forgotten,
        so that neighbours and counts no longer include them. One transaction: searches see the old terms or the new.
        """
        async with self._database.transaction(Role.WORKER, group_id) as transaction:
            params = {"group_id": group_id}
            _, rows = await transaction.run([(query("alone_in_longterm"), params), (query("living_chunks"), params)])
            indexer = NewChunkIndexer(self._encoder, group_id, [StoredChunk(**row) for row in rows])
            placed, changed = await indexer.index([[], *([] for _ in indexer.sessions)])
            await transaction.run(
                [
                    (query("forget_terms"), params),
                    (query("forget_authors"), params),
                    *(
                        (query("place_again"), {**params, "id": chunk.id, "chunk_no": chunk.chunk_no, **more})
                        for chunk, more in placed
                    ),
                    *changed,
                    (query("mark_indexed"), {**params, "tokenizer_version": self._encoder.version}),
                ]
            )
            return len(rows)


def _session(chunk: IndexedChunk) -> Session:
    return chunk.session_id or "", chunk.agent_id


def encode_chunk(encoder: SparseEncoder, content: str, near: Sequence[str]) -> dict[str, Any]:
    lexemes = encoder.lexemes(content, near)
    column = SparseVector({dimension - 1: weight for dimension, weight in lexemes.items()}, DIMENSIONS)
    return {"lexemes": column, "tokenizer_version": encoder.version}


def _neighbours(line: Sequence[Item], at: int) -> list[Item]:
    """Return the items beside one in a session, at most ``NEIGHBOURS`` on each side."""
    return [*line[max(0, at - NEIGHBOURS) : at], *line[at + 1 : at + 1 + NEIGHBOURS]]


def _has_new_neighbour(line: Sequence[_PlacedChunk], at: int) -> bool:
    return any(other.new for other in _neighbours(line, at))


async def reindex_sessions(
    transaction: StatementRunner,
    encoder: SparseEncoder,
    group_id: str,
    chunks: Sequence[DictRow],
    *,
    by: Literal[1, -1],
) -> None:
    """Update the counts and the terms of the sessions after chunks were withdrawn (-1) or restored (1)."""
    if not chunks:
        return
    sessions = list(dict.fromkeys((row["session_id"], row["agent_id"]) for row in chunks if row["session_id"]))
    asked = [
        (query("session_chunks"), {"group_id": group_id, "session_id": session, "agent_id": agent})
        for session, agent in sessions
    ]
    lines = await transaction.run(asked) if asked else []
    size = sum(len(row["content"]) for line in (*lines, chunks) for row in line)
    await transaction.run(await offload(size, _make_session_updates, encoder, group_id, lines, chunks, by))


def _make_session_updates(
    encoder: SparseEncoder,
    group_id: str,
    lines: Sequence[Sequence[DictRow]],
    chunks: Sequence[DictRow],
    by: Literal[1, -1],
) -> list[SqlStatement]:
    moved = [one for line in lines for one in _make_line_updates(encoder, group_id, line, chunks, by)]
    living = [StoredChunk(**{name: value for name, value in row.items() if name != "position"}) for row in chunks]
    return [*moved, *make_count_statements(encoder, group_id, living, by=by)]


def _make_line_updates(
    encoder: SparseEncoder, group_id: str, line: Sequence[DictRow], chunks: Sequence[DictRow], by: Literal[1, -1]
) -> list[SqlStatement]:
    """Return new terms for chunks whose neighbours changed, and new positions for those that only moved."""
    back = {_key(row) for row in chunks} if by == 1 else set()
    before = {} if by == 1 else _neighbours_before([*line, *chunks])
    statements: list[SqlStatement] = []
    moved: list[tuple[UUID, int, int]] = []
    for at, row in enumerate(line):
        near = _neighbours(line, at)
        gone = by == -1 and before[_key(row)] != [one["position"] for one in near]
        if back & {_key(one) for one in (*near, row)} or gone:
            words = encode_chunk(encoder, row["content"], [one["content"] for one in near])
            params = {"group_id": group_id, "id": row["id"], "chunk_no": row["chunk_no"], "position": at + 1, **words}
            statements.append((query("place_again"), params))
        elif row["position"] != at + 1:
            moved.append((row["id"], row["chunk_no"], at + 1))
    if moved:
        ids, numbers, positions = (list(column) for column in zip(*moved, strict=True))
        params = {"group_id": group_id, "ids": ids, "chunk_nos": numbers, "positions": positions}
        statements.append((query("move_chunks"), params))
    return statements


def _neighbours_before(line: Sequence[DictRow]) -> dict[ChunkKey, list[int]]:
    """Return the positions that were beside each chunk before chunks of the session were withdrawn."""
    last = max((row["position"] or 0 for row in line), default=0)
    return {
        _key(row): [
            position
            for position in range((row["position"] or 0) - NEIGHBOURS, (row["position"] or 0) + NEIGHBOURS + 1)
            if 1 <= position <= last and position != row["position"]
        ]
        for row in line
    }


def _key(row: DictRow) -> ChunkKey:
    return row["id"], row["chunk_no"]
