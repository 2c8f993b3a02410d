"""Several statements in one round trip and one transaction.

psycopg's own pipeline visits the event loop a dozen times for two statements; here everything is sent at once and
read at once. Measured on the capture path, that halves the client's share. It stands on libpq's pipeline mode:
the server runs all that comes before one sync in one implicit transaction.
"""

from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, TypeAlias

from psycopg import AsyncConnection, pq
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq.abc import PGresult
from psycopg.rows import DictRow

Params: TypeAlias = Mapping[str, Any]
Statement: TypeAlias = tuple[str, Params]
Place: TypeAlias = tuple[bytes, tuple[int, ...]]

OK = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


class Exchange:
    """The statements that one connection has prepared, and how it reads and writes values."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._transformer = Transformer(connection)
        self._prepared: dict[Place, bytes] = {}
        self._numbers = count()

    async def run(self, statements: Sequence[Statement]) -> list[list[DictRow]]:
        """The rows of each statement; of one without rows, how many it touched."""
        queries = [self._converted(statement) for statement in statements]
        results = await self._connection.wait(self._round_trip(queries))
        return [self._rows(result) for result in results]

    def _converted(self, statement: Statement) -> PostgresQuery:
        converted = PostgresQuery(self._transformer)
        converted.convert(*statement)
        return converted

    def _round_trip(self, queries: Sequence[PostgresQuery]) -> Generator[Any, Any, list[PGresult]]:
        server = self._connection.pgconn
        server.enter_pipeline_mode()
        sent = [place for one in queries for place in self._send(one)]
        server.pipeline_sync()
        yield from send(server)
        answers: list[PGresult] = []
        for _ in range(len(sent) + 1):
            answers += yield from fetch_many(server)
        server.exit_pipeline_mode()
        for place, answer in zip(sent, answers, strict=False):
            # What was prepared stays prepared, even where a later statement fails.
            if place is not None and answer.status not in OK:
                del self._prepared[place]
        for answer in answers[: len(sent)]:
            if answer.status not in OK:
                raise error_from_result(answer)
        return [answer for place, answer in zip(sent, answers, strict=False) if place is None]

    def _send(self, one: PostgresQuery) -> list[Place | None]:
        """Send one statement; for each answer that will come, what it prepares, or None for the rows."""
        server = self._connection.pgconn
        if not self._connection.prepare:
            server.send_query_params(one.query, one.params, one.types, one.formats, pq.Format.BINARY)
            return [None]
        place = (one.query, one.types)
        answers: list[Place | None] = [None]
        if place not in self._prepared:
            self._prepared[place] = f"cw_{next(self._numbers)}".encode()
            server.send_prepare(self._prepared[place], one.query, one.types)
            answers = [place, None]
        server.send_query_prepared(self._prepared[place], one.params, one.formats, pq.Format.BINARY)
        return answers

    def _rows(self, result: PGresult) -> list[DictRow]:
        if result.status == pq.ExecStatus.COMMAND_OK:
            return [{"rowcount": result.command_tuples or 0}]
        names = [(result.fname(number) or b"").decode() for number in range(result.nfields)]
        self._transformer.set_pgresult(result)
        rows: list[tuple[Any, ...]] = self._transformer.load_rows(0, result.ntuples, tuple)
        return [dict(zip(names, values, strict=True)) for values in rows]


class Connection(AsyncConnection[DictRow]):
    """A connection of the pool. It owns its exchange, so both are freed together when the pool replaces it."""

    prepare = True
    """Whether statements are prepared on the server. The pool sets this when it configures the connection."""

    @cached_property
    def exchange(self) -> Exchange:
        return Exchange(self)
