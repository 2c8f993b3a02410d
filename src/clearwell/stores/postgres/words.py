"""The lexical side of new memories: their places, their words with their neighbours', and the group's counts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID

from pgvector import SparseVector
from psycopg.rows import DictRow

from clearwell.offload import offload
from clearwell.ports import Lexicon
from clearwell.stores.postgres.connection import Statement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query

DIMENSIONS: Final = 1 << 20
NEIGHBOURS: Final = 2
"""So many on each side."""

Session: TypeAlias = tuple[str, str | None]


class Indexed(Protocol):
    """What the words of a chunk depend on."""

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


Chunk = TypeVar("Chunk", bound=Indexed)


@dataclass(frozen=True, slots=True)
class Living:
    """A chunk that is stored already."""

    id: UUID
    chunk_no: int
    session_id: str | None
    agent_id: str | None
    author: str | None
    content: str


@dataclass(slots=True)
class _Placed:
    """A chunk at its place in a session; or one that was there before."""

    id: UUID
    chunk_no: int
    content: str
    position: int | None
    new: bool = False


class Words(Generic[Chunk]):
    """What new chunks add to their group. Neighbours are verified, of one session and seen by the same readers."""

    def __init__(self, lexicon: Lexicon, group_id: str, chunks: Sequence[Chunk]) -> None:
        self._lexicon = lexicon
        self._group_id = group_id
        self._chunks = chunks
        self.sessions = list(dict.fromkeys(_session(chunk) for chunk in chunks if chunk.session_id is not None))
        self._updates: list[Statement] = []

    def asked(self) -> list[Statement]:
        """Hold the group, then read where each session ends."""
        ends = [
            (query("end_of_session"), self._of_group(session_id=session, agent_id=agent, limit=2 * NEIGHBOURS))
            for session, agent in self.sessions
        ]
        return [(query("alone_in_longterm"), self._of_group()), *ends]

    async def read(
        self, ends: Sequence[Sequence[DictRow]]
    ) -> tuple[list[tuple[Chunk, dict[str, Any]]], list[Statement]]:
        """Return what ``placed`` and ``changed`` return; many texts are read in a thread."""
        size = sum(len(chunk.content) for chunk in self._chunks)
        placed = await offload(size, self.placed, ends)
        return placed, await offload(size, self.changed)

    def placed(self, ends: Sequence[Sequence[DictRow]]) -> list[tuple[Chunk, dict[str, Any]]]:
        """Each new chunk with its place and words, in the order given."""
        lines = {
            session: [_Placed(row["id"], row["chunk_no"], row["content"], row["position"]) for row in reversed(rows)]
            for session, rows in zip(self.sessions, ends[1:], strict=True)
        }
        for chunk in self._chunks:
            line = lines.setdefault(_session(chunk), [])
            position = None if chunk.session_id is None else 1 + (line[-1].position or 0 if line else 0)
            line.append(_Placed(chunk.id, chunk.chunk_no, chunk.content, position, new=True))
        stored = {
            (one.id, one.chunk_no): {"position": one.position, **self._words(one, line, at)}
            for line in lines.values()
            for at, one in enumerate(line)
        }
        self._updates = [
            (query("set_lexemes"), self._of_group(id=one.id, chunk_no=one.chunk_no, **self._words(one, line, at)))
            for line in lines.values()
            for at, one in enumerate(line)
            if not one.new and _has_new_neighbour(line, at)
        ]
        return [(chunk, stored[chunk.id, chunk.chunk_no]) for chunk in self._chunks]

    def changed(self) -> list[Statement]:
        """What else changes: the words of earlier neighbours, and the counts of those who may read the chunks."""
        noted = (query("note_indexed"), self._of_group(tokenizer_version=self._lexicon.version))
        return [*self._updates, *counted(self._lexicon, self._group_id, self._chunks), noted]

    def _words(self, one: _Placed, line: Sequence[_Placed], at: int) -> dict[str, Any]:
        near = [] if one.position is None else [other.content for other in _near(line, at)]
        lexemes = self._lexicon.lexemes(one.content, near)
        column = SparseVector({place - 1: weight for place, weight in lexemes.items()}, DIMENSIONS)
        return {"lexemes": column, "tokenizer_version": self._lexicon.version}

    def _of_group(self, **params: Any) -> dict[str, Any]:
        return {"group_id": self._group_id, **params}


def counted(lexicon: Lexicon, group_id: str, chunks: Sequence[Indexed], *, by: Literal[1, -1] = 1) -> list[Statement]:
    """Chunks counted in, or out, for those who may read them."""
    readers = sorted({chunk.agent_id or "" for chunk in chunks})
    return [
        one
        for reader in readers
        for one in _counted_for(
            lexicon, group_id, reader, [one for one in chunks if (one.agent_id or "") == reader], by
        )
    ]


def _counted_for(
    lexicon: Lexicon, group_id: str, reader: str, chunks: Sequence[Indexed], by: Literal[1, -1]
) -> list[Statement]:
    terms = Counter(place for chunk in chunks for place in lexicon.dimensions(chunk.content))
    places = sorted({0: len(chunks), **terms}.items())
    authors = Counter(chunk.author for chunk in chunks if chunk.author and lexicon.name(chunk.author))
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
                "spoken": [lexicon.name(name) for name in names],
                "chunks": [by * authors[name] for name in names],
            },
        ),
    ]


class PostgresLexicalIndex:
    """The terms of verified chunks, made by one lexicon."""

    def __init__(self, database: Database, lexicon: Lexicon) -> None:
        self._database = database
        self._lexicon = lexicon

    async def find_outdated_groups(self, *, limit: int) -> list[str]:
        params = {"tokenizer_version": self._lexicon.version, "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("groups_to_index"), params)
        return [row["group_id"] for row in rows]

    async def rebuild_group(self, group_id: str) -> int:
        """Make the terms of a group again from its living chunks; how many there are.

        For chunks from before there were terms, for another tokenizer, and after chunks were superseded or forgotten,
        so that neighbours and counts no longer include them. One transaction: searches see the old terms or the new.
        """
        async with self._database.transaction(Role.WORKER, group_id) as transaction:
            params = {"group_id": group_id}
            _, rows = await transaction.run([(query("alone_in_longterm"), params), (query("living_chunks"), params)])
            words = Words(self._lexicon, group_id, [Living(**row) for row in rows])
            placed, changed = await words.read([[], *([] for _ in words.sessions)])
            await transaction.run(
                [
                    (query("forget_terms"), params),
                    (query("forget_authors"), params),
                    *(
                        (query("place_again"), {**params, "id": chunk.id, "chunk_no": chunk.chunk_no, **more})
                        for chunk, more in placed
                    ),
                    *changed,
                    (query("mark_indexed"), {**params, "tokenizer_version": self._lexicon.version}),
                ]
            )
            return len(rows)


def _session(chunk: Indexed) -> Session:
    return chunk.session_id or "", chunk.agent_id


def _near(line: Sequence[_Placed], at: int) -> list[_Placed]:
    return [*line[max(0, at - NEIGHBOURS) : at], *line[at + 1 : at + 1 + NEIGHBOURS]]


def _has_new_neighbour(line: Sequence[_Placed], at: int) -> bool:
    return any(other.new for other in _near(line, at))
