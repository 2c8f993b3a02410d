"""What is installed here: the schema of the database, the data folder, and the settings in effect."""

import shlex
from pathlib import Path

from clearwell.adapters.cli.command import program, run
from clearwell.adapters.cli.terminal import Terminal, size
from clearwell.embedded import DataSize, data_size
from clearwell.records import Json
from clearwell.servers import is_bundled_postgres_running, is_bundled_valkey_running, running_postgres
from clearwell.settings import Settings, config_path
from clearwell.stores.postgres import migrate as migrate_database
from clearwell.stores.postgres import migrations
from clearwell.views.settings import mask_address, mask_setting, write_setting


def migrate(settings: Settings, terminal: Terminal, *, as_json: bool) -> None:

    async def work() -> list[str]:
        async with running_postgres(settings) as postgres:
            return [f"{one.version:04}_{one.name}" for one in await migrate_database(postgres.url)]

    applied = run(work())
    newest = migrations()[-1].version
    if as_json:
        terminal.json({"applied": [*applied], "schema": newest})
    elif not applied:
        terminal.tell("cli_migrate_nothing", version=newest)
    else:
        terminal.tell("cli_migrate_applied", count=len(applied), version=newest)
        for name in applied:
            terminal.line(f"  {name}")


def show_data(settings: Settings, terminal: Terminal, *, as_json: bool) -> None:
    folder, used = settings.data_dir.absolute(), data_size(settings.data_dir)
    running = run(_is_any_running(settings))
    if as_json:
        terminal.json(_data_json(settings, used, running=running))
        return
    parts = [("PostgreSQL", used.postgres), ("Valkey", used.valkey), (terminal.words("cli_data_logs"), used.logs)]
    terminal.tell("cli_data_where" if folder.exists() else "cli_data_none", path=folder)
    if folder.exists():
        rows = [*parts, (terminal.words("cli_data_total"), used.total)]
        terminal.pairs([(name, size(count)) for name, count in rows])
    for name, url in (("PostgreSQL", settings.database_url), ("Redis/Valkey", settings.redis_url)):
        if url is not None:
            terminal.tell("cli_data_elsewhere", name=name, url=mask_address(url.get_secret_value()))
    if folder.exists():
        _tell_removal(folder, terminal, running=running)


def show_settings(effective: Settings, terminal: Terminal, *, as_json: bool) -> None:
    names = list(Settings.model_fields)
    if as_json:
        terminal.json({name: _setting_json(effective, name) for name in names})
        return
    terminal.tell("cli_settings_file" if config_path().exists() else "cli_settings_no_file", path=config_path())
    for name in names:
        _show_setting(effective, name, terminal)


async def _is_any_running(settings: Settings) -> bool:
    return await is_bundled_postgres_running(settings) or await is_bundled_valkey_running(settings)


def removal_command(folder: Path) -> str:
    """Where root's PostgreSQL has its data elsewhere, the folder has a link to them."""
    elsewhere = folder / "postgres"
    folders = [folder, *([elsewhere.resolve().parent] if elsewhere.is_symlink() else [])]
    return shlex.join(["rm", "-r", "--", *map(str, folders)])


def _tell_removal(folder: Path, terminal: Terminal, *, running: bool) -> None:
    terminal.line()
    terminal.tell("cli_data_remove_running" if running else "cli_data_remove")
    terminal.line()
    terminal.command(f"  {removal_command(folder)}", "bold")
    terminal.line()
    terminal.tell("cli_data_again", program=program())


def _data_json(settings: Settings, used: DataSize, *, running: bool) -> Json:
    return {
        "data_dir": str(settings.data_dir.absolute()),
        "exists": settings.data_dir.exists(),
        "running": running,
        "bytes": {"postgres": used.postgres, "valkey": used.valkey, "logs": used.logs, "total": used.total},
        "remove": removal_command(settings.data_dir.absolute()),
    }


def _show_setting(effective: Settings, name: str, terminal: Terminal) -> None:
    """A setting with its meaning in a line below: both in columns would leave no room for either."""
    value, origin = write_setting(name, getattr(effective, name)), effective.origin(name)
    variable, source = Settings.variables(name)[0], terminal.words(f"cli_origin_{origin}")
    terminal.line(f"{variable}  {value or '–'} · {source}", "bold" if origin != "default" else "")
    terminal.block(Settings.model_fields[name].description or "", "dim", indent=4)


def _setting_json(effective: Settings, name: str) -> Json:
    value = mask_setting(name, getattr(effective, name))
    return {
        "value": list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else _plain(value),
        "variable": Settings.variables(name)[0],
        "origin": effective.origin(name),
        "changed": effective.origin(name) != "default",
    }


def _plain(value: object) -> Json:
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
