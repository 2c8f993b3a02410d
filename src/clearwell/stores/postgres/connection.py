"""Several statements in one round trip and one transaction, each prepared once on its connection.

psycopg's own pipeline visits the event loop a dozen times for two statements; here everything is sent at once and
read at once, which halves the client's share of a capture. It relies on libpq's pipeline mode: the server runs
everything before one sync in one implicit transaction.

The server decides the types of the parameters when it parses a statement, and every value is converted to the type of
its parameter. So a statement has one plan, whatever values it is run with, and no value is written in a type that
depends on it (psycopg would send 7 as ``smallint`` and 70000 as ``integer``, and an absent value without a type).
"""

import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, lru_cache
from itertools import count
from time import monotonic
from typing import Any, Final, TypeAlias

from psycopg import AsyncConnection, OperationalError, ProgrammingError, pq
from psycopg.abc import RV, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import DictRow

Params: TypeAlias = Mapping[str, Any]
SqlStatement: TypeAlias = tuple[str, Params]

OK = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
MAX_PREPARED: Final = 200
"""How many statements stay prepared on a connection. A single batch may use more."""
UNNAMED = b""
_PLACEHOLDER = re.compile(r"%(?:%|\((\w+)\)s)")


class PreparedStatement:
    """One statement of one connection: its name on the server, the types of its parameters, its columns."""

    def __init__(self, connection: "PooledConnection", name: bytes, text: str) -> None:
        self.name = name
        self.text, self._names = parse_placeholders(text)
        self._transformer = Transformer(connection)
        self._columns: list[str] | None = None
        self._formats = [PyFormat.BINARY] * len(self._names)
        self.types: Sequence[int] = ()

    def describe(self, result: PGresult) -> None:
        """Store the parameter types that the server reported."""
        self.types = [result.param_type(number) for number in range(result.nparams)]
        self._transformer.set_dumper_types(self.types, pq.Format.BINARY)

    def dump(self, params: Params) -> "Sequence[bytes | bytearray | memoryview | None]":
        try:
            values = [params[name] for name in self._names]
        except KeyError as error:
            raise ProgrammingError(f"the statement needs a parameter {error}") from None
        return self._transformer.dump_sequence(values, self._formats)

    def load(self, result: PGresult) -> list[DictRow]:
        """Return the rows. A statement without rows gives one row that says how many rows it changed."""
        if result.status == pq.ExecStatus.COMMAND_OK:
            return [{"rowcount": result.command_tuples or 0}]
        self._transformer.set_pgresult(result, set_loaders=self._columns is None)
        if self._columns is None:
            self._columns = [(result.fname(number) or b"").decode() for number in range(result.nfields)]
        rows: list[tuple[Any, ...]] = self._transformer.load_rows(0, result.ntuples, tuple)
        return [dict(zip(self._columns, values, strict=True)) for values in rows]


class StatementRunner:
    """Runs batches of statements on one connection and keeps them prepared, the least recently used ones first."""

    def __init__(self, connection: "PooledConnection") -> None:
        self._connection = connection
        self._statements: OrderedDict[str, PreparedStatement] = OrderedDict()
        self._numbers = count()

    async def run(self, statements: Sequence[SqlStatement]) -> list[list[DictRow]]:
        """Run all statements in one round trip and return the rows of each; see ``PreparedStatement.load``."""
        wanted = dict.fromkeys(text for text, _ in statements)
        if any(text not in self._statements for text in wanted):
            await self._connection.wait(self._prepare(wanted))
        calls = []
        for text, params in statements:
            self._statements.move_to_end(text)
            statement = self._statements[text]
            calls.append((statement, statement.dump(params)))
        results = await self._connection.wait_for_batch(self._execute(calls), len(calls))
        return [statement.load(result) for (statement, _), result in zip(calls, results, strict=True)]

    def _prepare(self, wanted: Iterable[str]) -> Generator[Any, Any, None]:
        """Prepare and describe the statements that are new, and drop those that were not used for longest."""
        server = self._connection.pgconn
        missing = [text for text in wanted if text not in self._statements]
        surplus = self._surplus(frozenset(wanted), len(missing))
        made = [PreparedStatement(self._connection, self._next_name(), text) for text in missing]
        server.enter_pipeline_mode()
        for statement in made:
            server.send_prepare(statement.name, statement.text)
            server.send_describe_prepared(statement.name)
        dropped = [self._statements[text].name for text in surplus if self._connection.prepare]
        for name in dropped:
            server.send_query_params(b"DEALLOCATE " + name, None)
        answers = yield from _receive(server, 2 * len(made) + len(dropped))
        # What the server has parsed stays prepared there, even where a later statement is refused.
        for text, statement, described in zip(missing, made, answers[1::2], strict=False):
            if described.status in OK:
                statement.describe(described)
                self._statements[text] = statement
        _raise_first_error(answers)
        for text in surplus:
            del self._statements[text]

    def _surplus(self, wanted: frozenset[str], more: int) -> list[str]:
        room = len(self._statements) + more - MAX_PREPARED
        unused = [text for text in self._statements if text not in wanted]
        return unused[: max(0, room)]

    def _next_name(self) -> bytes:
        return f"cw_{next(self._numbers)}".encode() if self._connection.prepare else UNNAMED

    def _execute(
        self, calls: "Sequence[tuple[PreparedStatement, Sequence[bytes | bytearray | memoryview | None]]]"
    ) -> Generator[Any, Any, list[PGresult]]:
        server = self._connection.pgconn
        server.enter_pipeline_mode()
        for statement, values in calls:
            formats = [pq.Format.BINARY] * len(values)
            if self._connection.prepare:
                server.send_query_prepared(statement.name, values, formats, pq.Format.BINARY)
            else:
                server.send_query_params(statement.text, values, statement.types, formats, pq.Format.BINARY)
        results = yield from _receive(server, len(calls))
        _raise_first_error(results)
        return results


class PooledConnection(AsyncConnection[DictRow]):
    """A connection of the pool. It owns its runner, so both are freed together when the pool replaces it."""

    prepare = True
    """Whether statements stay prepared on the server. The pool sets this when it configures the connection."""
    answer_seconds: float | None = None
    """How long one statement may take before the connection is closed. The pool sets this, too."""

    async def wait(self, gen: PQGen[RV], *args: Any, **options: Any) -> RV:
        """Wait for the server for a limited time. A server that is lost silently would otherwise block connections."""
        bounded = gen if self.answer_seconds is None else self._bound(gen, self.answer_seconds)
        return await super().wait(bounded, *args, **options)

    async def wait_for_batch(self, gen: PQGen[RV], size: int) -> RV:
        """The same for several statements. The server sends its answers together, after the last of them."""
        bounded = gen if self.answer_seconds is None else self._bound(gen, size * self.answer_seconds)
        return await super().wait(bounded)

    def _bound(self, gen: PQGen[RV], seconds: float) -> PQGen[RV]:
        """Run ``gen``, and close the connection and raise OperationalError if it does not end within this time."""
        end = monotonic() + seconds
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and monotonic() > end:
                    self.pgconn.finish()
                    raise OperationalError(f"no answer within {seconds:g} seconds")
                wanted = gen.send(ready)
        except StopIteration as done:
            result: RV = done.value
            return result

    @cached_property
    def runner(self) -> StatementRunner:
        return StatementRunner(self)


@asynccontextmanager
async def open_connection(url: str, **options: Any) -> AsyncIterator[AsyncConnection[Any]]:
    """Open a connection outside the pool, commit or roll back at the end, and close it.

    psycopg's own context manager leaves the connection open if the task is cancelled while it commits.
    """
    connection = await AsyncConnection.connect(url, **options)
    try:
        async with connection:
            yield connection
    finally:
        await connection.close()


def _receive(server: PGconn, commands: int) -> Generator[Any, Any, list[PGresult]]:
    """End the pipeline, send everything that is buffered and read the answer to each command."""
    server.pipeline_sync()
    yield from send(server)
    answers: list[PGresult] = []
    for _ in range(commands + 1):
        answers += yield from fetch_many(server)
    server.exit_pipeline_mode()
    return answers[:commands]


def _raise_first_error(answers: Iterable[PGresult]) -> None:
    for answer in answers:
        if answer.status not in OK:
            raise error_from_result(answer)


@lru_cache(maxsize=1000)
def parse_placeholders(text: str) -> tuple[bytes, tuple[str, ...]]:
    """Replace each ``%(name)s`` by ``$1``, ``$2`` and so on; return the statement and the names in that order."""
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return "%" if found[1] is None else f"${numbers.setdefault(found[1], len(numbers) + 1)}"

    return _PLACEHOLDER.sub(numbered, text).encode(), tuple(numbers)
