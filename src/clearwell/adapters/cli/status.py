"""``status``: what runs where, and how much there is, found out without starting anything."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from clearwell.adapters.cli.addresses import address, find_api, find_foreign_api
from clearwell.adapters.cli.command import program
from clearwell.adapters.cli.spool import count_spooled
from clearwell.adapters.cli.terminal import Terminal
from clearwell.app import make_embedder
from clearwell.errors import ClearwellError
from clearwell.middleware.spool import SpoolReport, read_spool
from clearwell.servers import (
    ServerAt,
    is_bundled_postgres_running,
    is_bundled_valkey_running,
    running_postgres,
    running_valkey,
)
from clearwell.settings import Settings
from clearwell.stores.postgres.overview import Counts, Keys, Overview, ServerFacts, open_overview
from clearwell.stores.valkey.overview import WorkingFacts, working_facts
from clearwell.version import __version__
from clearwell.views.settings import mask_address
from clearwell.views.status import (
    ApiStatusView,
    KeyCountsView,
    ModelStatusView,
    SchemaStatusView,
    ServerStatusView,
    SpoolCountsView,
    StatusView,
    StoredCountsView,
    WorkingCountsView,
)
from clearwell.vocabulary import Admission


@dataclass(slots=True)
class DatabaseStatus:
    """What was read from the database. Keys, models and counts need the schema.

    Counts also need a login that sees all groups.
    """

    at: ServerAt
    facts: ServerFacts
    keys: Keys | None = None
    models: dict[str, int] | None = None
    counts: Counts | None = None


@dataclass(slots=True)
class WorkingStatus:
    at: ServerAt
    facts: WorkingFacts


@dataclass(slots=True)
class Status:
    """The state of each component: None if it does not run, an error if it did not respond."""

    api: str | None
    model: str
    database: DatabaseStatus | ClearwellError | None
    working: WorkingStatus | ClearwellError | None
    spool: tuple[SpoolReport, ...] = ()
    foreign_api: str | None = None
    """The address that is set, if a server on another data folder answers there."""


async def find_status(settings: Settings) -> Status:
    embedder = make_embedder(settings)
    await embedder.close()
    api = find_api(settings)
    return Status(
        api=api,
        foreign_api=None if api else find_foreign_api(settings),
        model=embedder.model,
        database=await _find_database(settings),
        working=await _find_working(settings),
        spool=tuple(read_spool(settings.spool_path)),
    )


def open_overview_of(settings: Settings, url: str) -> AbstractAsyncContextManager[Overview]:
    return open_overview(
        url, connect_seconds=settings.postgres_connect_seconds, statement_seconds=settings.postgres_statement_seconds
    )


async def _find_database(settings: Settings) -> DatabaseStatus | ClearwellError | None:
    if settings.database_url is None and not await is_bundled_postgres_running(settings):
        return None
    try:
        async with running_postgres(settings) as at, open_overview_of(settings, at.url) as overview:
            status = DatabaseStatus(at, await overview.read_server())
            if status.facts.schema == status.facts.newest_schema:
                status.keys, status.models = await overview.read_keys(), await overview.read_models()
                status.counts = await overview.read_counts() if await overview.sees_all() else None
            return status
    except ClearwellError as problem:
        return problem


async def _find_working(settings: Settings) -> WorkingStatus | ClearwellError | None:
    if settings.redis_url is None and not await is_bundled_valkey_running(settings):
        return None
    try:
        async with running_valkey(settings) as at:
            return WorkingStatus(at, await working_facts(at.url, timeout_seconds=settings.redis_timeout_seconds))
    except ClearwellError as problem:
        return problem


def show_status(status: Status, settings: Settings, terminal: Terminal) -> None:
    terminal.line(f"Clearwell {__version__}", "bold")
    api = "cli_status_answers" if status.api else "cli_status_foreign" if status.foreign_api else "cli_status_no_api"
    rows = [
        ("API", f"{status.api or address(settings)} · {terminal.words(api, program=program())}"),
        ("PostgreSQL", _server(status.database, settings, terminal)),
        ("Redis/Valkey", _server(status.working, settings, terminal)),
        (terminal.words("cli_status_model"), _model(status, settings, terminal)),
    ]
    if isinstance(status.database, DatabaseStatus):
        rows += _database_rows(status.database, terminal)
    if isinstance(status.working, WorkingStatus):
        groups = status.working.facts.groups
        counted = terminal.words("cli_status_working", groups=len(groups), entries=sum(groups.values()))
        rows.append((terminal.words("layer_working").capitalize(), counted))
    if isinstance(status.database, DatabaseStatus) and status.database.counts is not None:
        counts = status.database.counts
        counted = terminal.words("cli_status_memories", memories=counts.memories, chunks=counts.chunks)
        rows.append((terminal.words("layer_longterm").capitalize(), counted))
    waiting, refused = count_spooled(status.spool)
    if waiting or refused:
        counted = terminal.words("cli_status_spool", waiting=waiting, refused=refused, program=program())
        rows.append((terminal.words("cli_status_spool_name"), counted))
    terminal.pairs(rows)


def _server(
    status: DatabaseStatus | WorkingStatus | ClearwellError | None, settings: Settings, terminal: Terminal
) -> str:
    match status:
        case None:
            return terminal.words("cli_status_down", path=settings.data_dir)
        case ClearwellError():
            return status.text(terminal.language)
        case DatabaseStatus():
            pgvector = f" · pgvector {status.facts.pgvector}" if status.facts.pgvector else ""
            return f"{status.facts.version}{pgvector} · {_where(status.at, terminal)}"
        case WorkingStatus():
            return f"{status.facts.name} {status.facts.version} · {_where(status.at, terminal)}"


def _where(at: ServerAt, terminal: Terminal) -> str:
    if at.bundled is None:
        return mask_address(at.url)
    return terminal.words("cli_status_bundled", pid=at.bundled.pid, path=at.bundled.folder)


def _model(status: Status, settings: Settings, terminal: Terminal) -> str:
    stored = status.database.models if isinstance(status.database, DatabaseStatus) else None
    shown = f"{status.model} ({settings.embedder})"
    if not stored or status.model in stored:
        return shown
    return f"{shown} · {terminal.words('cli_status_other_model', stored=', '.join(sorted(stored)))}"


def _database_rows(status: DatabaseStatus, terminal: Terminal) -> list[tuple[str, str]]:
    facts, keys = status.facts, status.keys
    rows = [("cli_status_schema", _schema(status, terminal))]
    if keys is not None and keys.valid + keys.revoked == 0:
        rows.append(("cli_status_keys", terminal.words("cli_status_no_keys")))
    elif keys is not None:
        rows.append(
            ("cli_status_keys", terminal.words("cli_status_key_counts", valid=keys.valid, revoked=keys.revoked))
        )
    if status.counts is not None:
        rows.append(("layer_quarantine", _admissions(status, terminal)))
    elif facts.schema == facts.newest_schema:
        rows.append(("layer_quarantine", terminal.words("cli_status_hidden")))
    return [(terminal.words(code).capitalize(), value) for code, value in rows]


def _schema(status: DatabaseStatus, terminal: Terminal) -> str:
    facts = status.facts
    if facts.schema == facts.newest_schema:
        return terminal.words("cli_status_schema_current", version=facts.schema)
    return terminal.words(
        "cli_status_schema_other", version=facts.schema or 0, newest=facts.newest_schema, program=program()
    )


def _admissions(status: DatabaseStatus, terminal: Terminal) -> str:
    states = {} if status.counts is None else status.counts.admissions
    return terminal.words(
        "cli_status_admissions",
        total=sum(states.values()),
        admitted=states.get(Admission.ADMITTED, 0),
        refused=states.get(Admission.REFUSED, 0),
        pending=states.get(Admission.PENDING, 0),
    )


def describe_status(status: Status, settings: Settings, terminal: Terminal) -> StatusView:
    database = status.database if isinstance(status.database, DatabaseStatus) else None
    keys, counts = (None, None) if database is None else (database.keys, database.counts)
    groups = status.working.facts.groups if isinstance(status.working, WorkingStatus) else None
    waiting, refused = count_spooled(status.spool)
    return StatusView(
        version=__version__,
        data_dir=str(settings.data_dir),
        api=ApiStatusView(
            url=status.api or address(settings),
            answers=status.api is not None,
            serves_other_folder=status.foreign_api is not None,
        ),
        model=ModelStatusView(name=status.model, embedder=settings.embedder),
        database=_describe_server(status.database, terminal),
        working_memory=_describe_server(status.working, terminal),
        schema_=None
        if database is None
        else SchemaStatusView(version=database.facts.schema, newest=database.facts.newest_schema),
        stored_models=None if database is None else database.models,
        keys=None if keys is None else KeyCountsView.read(keys),
        counts=None if counts is None else _describe_counts(counts),
        working=None if groups is None else WorkingCountsView(groups=len(groups), entries=sum(groups.values())),
        spool=SpoolCountsView(path=str(settings.spool_path), waiting=waiting, refused=refused),
    )


def _describe_server(
    status: DatabaseStatus | WorkingStatus | ClearwellError | None, terminal: Terminal
) -> ServerStatusView:
    if status is None:
        return ServerStatusView(running=False, bundled=True)
    if isinstance(status, ClearwellError):
        return ServerStatusView(running=False, problem=status.text(terminal.language))
    return ServerStatusView(
        running=True,
        bundled=status.at.bundled is not None,
        version=status.facts.version,
        url=mask_address(status.at.url),
    )


def _describe_counts(counts: Counts) -> StoredCountsView:
    return StoredCountsView(
        quarantine=counts.admissions, groups=len(counts.groups), memories=counts.memories, chunks=counts.chunks
    )
