"""What is installed here: the schema of the database, the data folder, and the settings in effect."""

import shlex
from pathlib import Path

from clearwell.adapters.cli.command import program, run
from clearwell.adapters.cli.terminal import Terminal, size
from clearwell.embedded import DataSize, data_size
from clearwell.servers import is_bundled_postgres_running, is_bundled_valkey_running, running_postgres
from clearwell.settings import Settings, config_path
from clearwell.stores.postgres import migrate as migrate_database
from clearwell.stores.postgres import migrations
from clearwell.views.installation import SettingsByNameView
from clearwell.views.maintenance import DataBytesView, DataView, MigrationsView
from clearwell.views.settings import mask_address, write_setting


def migrate(settings: Settings, terminal: Terminal, *, as_json: bool) -> None:

    async def work() -> list[str]:
        async with running_postgres(settings) as postgres:
            return [f"{one.version:04}_{one.name}" for one in await migrate_database(postgres.url)]

    applied = run(work())
    newest = migrations()[-1].version
    if as_json:
        terminal.answer(MigrationsView(applied=tuple(applied), schema_=newest))
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
        terminal.answer(_describe_data(settings, used, running=running))
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
    if as_json:
        terminal.answer(SettingsByNameView.from_settings(effective))
        return
    terminal.tell("cli_settings_file" if config_path().exists() else "cli_settings_no_file", path=config_path())
    for name in Settings.model_fields:
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


def _describe_data(settings: Settings, used: DataSize, *, running: bool) -> DataView:
    folder = settings.data_dir.absolute()
    return DataView(
        data_dir=str(folder),
        exists=folder.exists(),
        running=running,
        bytes=DataBytesView.read(used),
        remove=removal_command(folder),
    )


def _show_setting(effective: Settings, name: str, terminal: Terminal) -> None:
    """A setting with its meaning in a line below: both in columns would leave no room for either."""
    value, origin = write_setting(name, getattr(effective, name)), effective.origin(name)
    variable, source = Settings.variables(name)[0], terminal.words(f"cli_origin_{origin}")
    terminal.line(f"{variable}  {value or '–'} · {source}", "bold" if origin != "default" else "")
    terminal.block(Settings.model_fields[name].description or "", "dim", indent=4)
