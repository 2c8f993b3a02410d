"""The lexical side of chunks that leave or come back: the group's counts, and the words of their sessions.

What ``words.index_again`` does for a whole group, for as much of it as has changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from uuid import UUID

from pgvector import SparseVector
from psycopg.rows import DictRow

from clearwell.offload import offload
from clearwell.ports import Lexicon
from clearwell.stores.postgres.connection import Statement, StatementRunner
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.words import DIMENSIONS, NEIGHBOURS, Living, counted

Place: TypeAlias = tuple[UUID, int]


@dataclass(frozen=True, slots=True)
class _Line:
    """The chunks of a session in order, and who is beside whom."""

    places: Sequence[Place]

    def near(self, at: int) -> tuple[Place, ...]:
        return (*self.places[max(0, at - NEIGHBOURS) : at], *self.places[at + 1 : at + 1 + NEIGHBOURS])


async def reword(
    transaction: StatementRunner, lexicon: Lexicon, group_id: str, chunks: Sequence[DictRow], *, by: Literal[1, -1]
) -> None:
    """Count chunks in or out and make their sessions' words anew, after their validity was changed."""
    if not chunks:
        return
    sessions = list(dict.fromkeys((row["session_id"], row["agent_id"]) for row in chunks if row["session_id"]))
    asked = [
        (query("session_chunks"), {"group_id": group_id, "session_id": session, "agent_id": agent})
        for session, agent in sessions
    ]
    lines = await transaction.run(asked) if asked else []
    size = sum(len(row["content"]) for line in (*lines, chunks) for row in line)
    await transaction.run(await offload(size, _reworded, lexicon, group_id, lines, chunks, by))


def _reworded(
    lexicon: Lexicon, group_id: str, lines: Sequence[Sequence[DictRow]], chunks: Sequence[DictRow], by: Literal[1, -1]
) -> list[Statement]:
    moved = [one for line in lines for one in _rewritten(lexicon, group_id, line, chunks, by)]
    living = [Living(**{name: value for name, value in row.items() if name != "position"}) for row in chunks]
    return [*moved, *counted(lexicon, group_id, living, by=by)]


def _rewritten(
    lexicon: Lexicon, group_id: str, line: Sequence[DictRow], chunks: Sequence[DictRow], by: Literal[1, -1]
) -> list[Statement]:
    """Words of those whose neighbours are others now; places of those that only moved."""
    now = _Line([_place(row) for row in line])
    back = {_place(row) for row in chunks} if by == 1 else set()
    texts = {_place(row): row["content"] for row in line}
    before = {} if by == 1 else _neighbours_before([*line, *chunks])
    statements: list[Statement] = []
    moved: list[tuple[UUID, int, int]] = []
    for at, row in enumerate(line):
        near = now.near(at)
        gone = by == -1 and before[_place(row)] != [one["position"] for one in _around(line, at)]
        if back & {*near, _place(row)} or gone:
            words = _words(lexicon, row["content"], [texts[one] for one in near])
            params = {"group_id": group_id, "id": row["id"], "chunk_no": row["chunk_no"], "position": at + 1, **words}
            statements.append((query("place_again"), params))
        elif row["position"] != at + 1:
            moved.append((row["id"], row["chunk_no"], at + 1))
    if moved:
        ids, numbers, positions = (list(column) for column in zip(*moved, strict=True))
        params = {"group_id": group_id, "ids": ids, "chunk_nos": numbers, "positions": positions}
        statements.append((query("move_chunks"), params))
    return statements


def _neighbours_before(line: Sequence[DictRow]) -> dict[Place, list[int]]:
    """The positions that were beside each chunk while no place was empty."""
    last = max((row["position"] or 0 for row in line), default=0)
    return {
        _place(row): [
            position
            for position in range((row["position"] or 0) - NEIGHBOURS, (row["position"] or 0) + NEIGHBOURS + 1)
            if 1 <= position <= last and position != row["position"]
        ]
        for row in line
    }


def _around(line: Sequence[DictRow], at: int) -> list[DictRow]:
    return [*line[max(0, at - NEIGHBOURS) : at], *line[at + 1 : at + 1 + NEIGHBOURS]]


def _words(lexicon: Lexicon, content: str, near: Sequence[str]) -> dict[str, Any]:
    lexemes = lexicon.lexemes(content, near)
    column = SparseVector({place - 1: weight for place, weight in lexemes.items()}, DIMENSIONS)
    return {"lexemes": column, "tokenizer_version": lexicon.version}


def _place(row: DictRow) -> Place:
    return row["id"], row["chunk_no"]
