"""``status``: what runs where, and how much there is."""

from clearwell.adapters.cli.looking import DatabaseSeen, Seen, WorkingSeen, look
from clearwell.adapters.cli.masking import masked_address
from clearwell.adapters.cli.port import address
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, program, run, start
from clearwell.errors import ClearwellError
from clearwell.records import Admission, Json
from clearwell.servers import ServerAt
from clearwell.settings import Settings
from clearwell.version import __version__


def status(as_json: AsJson = False) -> None:
    """Show addresses, servers, schema, model and counts. Starts nothing."""
    settings, terminal = start()
    seen = run(look(settings))
    if as_json:
        terminal.json(_json(seen, settings, terminal))
        return
    terminal.line(f"Clearwell {__version__}", "bold")
    api = "cli_status_answers" if seen.api else "cli_status_no_api"
    rows = [
        ("API", f"{address(settings)} · {terminal.words(api, program=program())}"),
        ("PostgreSQL", _server(seen.database, settings, terminal)),
        ("Redis/Valkey", _server(seen.working, settings, terminal)),
        (terminal.words("cli_status_model"), _model(seen, settings, terminal)),
    ]
    if isinstance(seen.database, DatabaseSeen):
        rows += _database_rows(seen.database, terminal)
    if isinstance(seen.working, WorkingSeen):
        groups = seen.working.facts.groups
        counted = terminal.words("cli_status_working", groups=len(groups), entries=sum(groups.values()))
        rows.append((terminal.words("layer_working").capitalize(), counted))
    if isinstance(seen.database, DatabaseSeen) and seen.database.counts is not None:
        counts = seen.database.counts
        counted = terminal.words("cli_status_memories", memories=counts.memories, chunks=counts.chunks)
        rows.append((terminal.words("layer_longterm").capitalize(), counted))
    terminal.pairs(rows)


def _server(seen: DatabaseSeen | WorkingSeen | ClearwellError | None, settings: Settings, terminal: Terminal) -> str:
    match seen:
        case None:
            return terminal.words("cli_status_down", path=settings.data_dir)
        case ClearwellError():
            return seen.text(terminal.language)
        case DatabaseSeen():
            pgvector = f" · pgvector {seen.facts.pgvector}" if seen.facts.pgvector else ""
            return f"{seen.facts.version}{pgvector} · {_where(seen.at, terminal)}"
        case WorkingSeen():
            return f"{seen.facts.name} {seen.facts.version} · {_where(seen.at, terminal)}"


def _where(at: ServerAt, terminal: Terminal) -> str:
    if at.bundled is None:
        return masked_address(at.url)
    return terminal.words("cli_status_bundled", pid=at.bundled.pid, path=at.bundled.folder)


def _model(seen: Seen, settings: Settings, terminal: Terminal) -> str:
    stored = seen.database.models if isinstance(seen.database, DatabaseSeen) else None
    shown = f"{seen.model} ({settings.embedder})"
    if not stored or seen.model in stored:
        return shown
    return f"{shown} · {terminal.words('cli_status_other_model', stored=', '.join(sorted(stored)))}"


def _database_rows(seen: DatabaseSeen, terminal: Terminal) -> list[tuple[str, str]]:
    facts, keys = seen.facts, seen.keys
    rows = [("cli_status_schema", _schema(seen, terminal))]
    if keys is not None and keys.valid + keys.revoked == 0:
        rows.append(("cli_status_keys", terminal.words("cli_status_no_keys")))
    elif keys is not None:
        rows.append(
            ("cli_status_keys", terminal.words("cli_status_key_counts", valid=keys.valid, revoked=keys.revoked))
        )
    if seen.counts is not None:
        rows.append(("layer_quarantine", _admissions(seen, terminal)))
    elif facts.schema == facts.newest_schema:
        rows.append(("layer_quarantine", terminal.words("cli_status_hidden")))
    return [(terminal.words(code).capitalize(), value) for code, value in rows]


def _schema(seen: DatabaseSeen, terminal: Terminal) -> str:
    facts = seen.facts
    if facts.schema == facts.newest_schema:
        return terminal.words("cli_status_schema_current", version=facts.schema)
    return terminal.words(
        "cli_status_schema_other", version=facts.schema or 0, newest=facts.newest_schema, program=program()
    )


def _admissions(seen: DatabaseSeen, terminal: Terminal) -> str:
    states = {} if seen.counts is None else seen.counts.admissions
    return terminal.words(
        "cli_status_admissions",
        total=sum(states.values()),
        admitted=states.get(Admission.ADMITTED, 0),
        refused=states.get(Admission.REFUSED, 0),
        pending=states.get(Admission.PENDING, 0),
    )


def _json(seen: Seen, settings: Settings, terminal: Terminal) -> Json:
    found: dict[str, Json] = {
        "version": __version__,
        "data_dir": str(settings.data_dir),
        "api": {"url": address(settings), "answers": seen.api},
        "model": {"name": seen.model, "embedder": settings.embedder},
        "database": _server_json(seen.database, terminal),
        "working_memory": _server_json(seen.working, terminal),
    }
    if isinstance(seen.database, DatabaseSeen):
        found |= _database_json(seen.database)
    if isinstance(seen.working, WorkingSeen):
        groups = seen.working.facts.groups
        found["working"] = {"groups": len(groups), "entries": sum(groups.values())}
    return found


def _server_json(seen: DatabaseSeen | WorkingSeen | ClearwellError | None, terminal: Terminal) -> Json:
    if seen is None:
        return {"running": False, "bundled": True}
    if isinstance(seen, ClearwellError):
        return {"running": False, "problem": seen.text(terminal.language)}
    return {
        "running": True,
        "bundled": seen.at.bundled is not None,
        "version": seen.facts.version,
        "url": masked_address(seen.at.url),
    }


def _database_json(seen: DatabaseSeen) -> dict[str, Json]:
    keys, counts = seen.keys, seen.counts
    return {
        "schema": {"version": seen.facts.schema, "newest": seen.facts.newest_schema},
        "stored_models": None if seen.models is None else {**seen.models},
        "keys": None if keys is None else {"valid": keys.valid, "revoked": keys.revoked},
        "counts": None
        if counts is None
        else {
            "quarantine": {state.value: rows for state, rows in counts.admissions.items()},
            "groups": len(counts.groups),
            "memories": counts.memories,
            "chunks": counts.chunks,
        },
    }
