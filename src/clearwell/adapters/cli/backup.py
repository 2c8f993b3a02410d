"""``backup`` and ``restore`` of the data folder of the bundled servers."""

from datetime import UTC, datetime
from pathlib import Path

from clearwell.adapters.cli.command import UsageProblem, program, run
from clearwell.adapters.cli.connection import operator, person
from clearwell.adapters.cli.progress import show_progress
from clearwell.adapters.cli.terminal import Terminal
from clearwell.app import record_operation
from clearwell.embedded import Backup, make_backup, read_backup, restore_backup
from clearwell.errors import EmbeddedStoreError
from clearwell.flow.access.permissions import require_right
from clearwell.records import Principal
from clearwell.servers import running_postgres
from clearwell.settings import Settings, config_path
from clearwell.signing import FILE_NAME
from clearwell.stores.files import FILE_NAME as HEADS_FILE
from clearwell.stores.postgres import migrations
from clearwell.version import __version__
from clearwell.views.maintenance import BackupView, RestoreView
from clearwell.vocabulary import AuditAction, Right

SETTINGS_FILE = "clearwell.toml"


def back_up(settings: Settings, terminal: Terminal, target: Path, *, as_json: bool) -> None:
    """Back up the bundled PostgreSQL, the key and the heads of the audit, and the settings file."""
    by = operator(settings, "backup")
    _require_bundled(settings)
    if target.resolve().is_relative_to(settings.data_dir.resolve()):
        raise UsageProblem("backup_inside", field="folder", folder=settings.data_dir)
    made = run(_back_up(settings, terminal, target.absolute(), by))
    if as_json:
        terminal.answer(BackupView(folder=str(target.absolute()), made_at=made.made_at, schema_=made.schema))
        return
    terminal.tell("cli_backup_done", folder=target, style="green")
    if FILE_NAME not in made.files:
        terminal.warn("cli_backup_no_key")
    terminal.tell("cli_backup_secret")


def restore(settings: Settings, terminal: Terminal, source: Path, *, as_json: bool) -> None:
    """Verify a backup and put it into the data folder, which must be empty."""
    _require_operator(settings)
    _require_bundled(settings)
    source = source.absolute()
    backup = read_backup(source)
    newest = migrations()[-1].version
    if backup.schema > newest:
        raise EmbeddedStoreError("restore_newer_schema", folder=source, schema=backup.schema, newest=newest)
    run(_restore(settings, terminal, source))
    run(_record_restore(settings, backup))
    if as_json:
        terminal.answer(RestoreView(data_dir=str(settings.data_dir.absolute()), made_at=backup.made_at))
        return
    made_at = terminal.moment(datetime.fromisoformat(backup.made_at))
    terminal.tell("cli_restore_done", folder=settings.data_dir.absolute(), made_at=made_at, style="green")
    terminal.tell("cli_restore_again", made_at=made_at)
    if SETTINGS_FILE in backup.files:
        terminal.tell("cli_restore_settings", file=settings.data_dir.absolute() / SETTINGS_FILE)
    terminal.tell("cli_restore_check", program=program())


async def _back_up(settings: Settings, terminal: Terminal, target: Path, by: Principal) -> Backup:
    files = {
        FILE_NAME: settings.data_dir / FILE_NAME,
        HEADS_FILE: settings.data_dir / HEADS_FILE,
        SETTINGS_FILE: config_path(),
    }
    async with running_postgres(settings) as postgres:
        await record_operation(settings, postgres.url, AuditAction.BACKUP, by=by.name, subject="installation")
        if postgres.bundled is None:
            raise EmbeddedStoreError("backup_not_bundled")
        with show_progress(terminal, "cli_backup_progress", "cli_backup_step", in_bytes=True) as report:
            return await make_backup(
                postgres.bundled,
                target,
                {name: path for name, path in files.items() if path.is_file()},
                report,
                at=datetime.now(UTC),
                program=__version__,
                schema=migrations()[-1].version,
            )


async def _restore(settings: Settings, terminal: Terminal, source: Path) -> None:
    with show_progress(terminal, "cli_restore_progress", "cli_restore_step", in_bytes=True) as report:
        await restore_backup(source, settings.data_dir, report)


async def _record_restore(settings: Settings, backup: Backup) -> None:
    async with running_postgres(settings) as postgres:
        subject = f"backup of {backup.made_at}"
        await record_operation(settings, postgres.url, AuditAction.RESTORE, by=person(settings).name, subject=subject)


def _require_operator(settings: Settings) -> None:
    """Refuse an agent. It is recorded if there is a database: none is made for it."""
    if settings.database_url is not None or (settings.data_dir / "postgres").exists():
        operator(settings, "restore")
    require_right(person(settings), Right.ADMIN)


def _require_bundled(settings: Settings) -> None:
    if settings.database_url is not None:
        raise EmbeddedStoreError("backup_not_bundled")
